/* The reference of benches/measure/ldap.rs: simple binds by libldap, the way a careful C program makes them.
 *
 *   ldap_binds URI MODE CONNECTIONS BINDS DN PASSWORD
 *
 * MODE threads: a thread and a blocking ldap_sasl_bind_s for each connection. MODE poll: one thread, requests of all connections out
 * at the same time, answers fetched by ldap_result as poll(2) reports them. Prints how many binds succeeded; fails unless all did.
 * cc -O2 -o ldap_binds ldap_binds.c -lldap -llber -lpthread */
#include <ldap.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *uri, *dn;
static struct berval password;

static void check(int code, const char *what) {
  if (code == LDAP_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, ldap_err2string(code));
  exit(1);
}

static LDAP *connection(void) {
  LDAP *ld;
  int version = LDAP_VERSION3;
  check(ldap_initialize(&ld, uri), "ldap_initialize");
  check(ldap_set_option(ld, LDAP_OPT_PROTOCOL_VERSION, &version), "ldap_set_option");
  return ld;
}

static void *bind_in_turn(void *binds) {
  LDAP *ld = connection();
  for (long left = *(long *)binds; left > 0; left--)
    check(ldap_sasl_bind_s(ld, dn, LDAP_SASL_SIMPLE, &password, NULL, NULL, NULL), "ldap_sasl_bind_s");
  ldap_unbind_ext(ld, NULL, NULL);
  return NULL;
}

static void with_threads(int connections, long binds) {
  pthread_t *threads = calloc(connections, sizeof *threads);
  long *shares = calloc(connections, sizeof *shares);
  for (int i = 0; i < connections; i++) {
    shares[i] = binds / connections + (i < binds % connections);
    if (pthread_create(&threads[i], NULL, bind_in_turn, &shares[i])) check(LDAP_NO_MEMORY, "pthread_create");
  }
  for (int i = 0; i < connections; i++) pthread_join(threads[i], NULL);
}

static void ask(LDAP *ld, int *asked) {
  check(ldap_sasl_bind(ld, dn, LDAP_SASL_SIMPLE, &password, NULL, NULL, asked), "ldap_sasl_bind");
}

static void answered(LDAP *ld, LDAPMessage *message, int asked) {
  int code = LDAP_OTHER;
  if (ldap_msgid(message) != asked || ldap_msgtype(message) != LDAP_RES_BIND) check(LDAP_DECODING_ERROR, "answer");
  check(ldap_parse_result(ld, message, &code, NULL, NULL, NULL, NULL, 1), "ldap_parse_result");
  check(code, "bind");
}

static void with_poll(int connections, long binds) {
  LDAP **lds = calloc(connections, sizeof *lds);
  struct pollfd *fds = calloc(connections, sizeof *fds);
  int *asked = calloc(connections, sizeof *asked);
  long begun = 0, done = 0;
  for (int i = 0; i < connections; i++) {
    lds[i] = connection();
    ask(lds[i], &asked[i]);
    begun++;
    ldap_get_option(lds[i], LDAP_OPT_DESC, &fds[i].fd);
    fds[i].events = POLLIN;
  }
  while (done < binds) {
    if (poll(fds, connections, -1) < 0) continue;
    for (int i = 0; i < connections; i++) {
      struct timeval at_once = {0, 0};
      LDAPMessage *message = NULL;
      if (!fds[i].revents) continue;
      int type = ldap_result(lds[i], asked[i], LDAP_MSG_ALL, &at_once, &message);
      if (type < 0) check(LDAP_SERVER_DOWN, "ldap_result");
      if (type == 0) continue;
      answered(lds[i], message, asked[i]);
      done++;
      if (begun < binds) {
        ask(lds[i], &asked[i]);
        begun++;
      }
    }
  }
  for (int i = 0; i < connections; i++) ldap_unbind_ext(lds[i], NULL, NULL);
}

int main(int count, char **given) {
  if (count != 7) {
    fprintf(stderr, "usage: %s URI threads|poll CONNECTIONS BINDS DN PASSWORD\n", given[0]);
    return 2;
  }
  int connections = atoi(given[3]);
  long binds = atol(given[4]);
  uri = given[1];
  dn = given[5];
  password.bv_val = given[6];
  password.bv_len = strlen(given[6]);
  if (connections < 1 || binds < connections) return 2;
  strcmp(given[2], "poll") ? with_threads(connections, binds) : with_poll(connections, binds);
  printf("%ld\n", binds);
  return 0;
}
