/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long requests to a server wait in its sockets, and how long the server takes to answer. A request begins with bytes that arrive while
 * nothing waits to be read; it is answered when the server sends for the first time after the last read of new bytes. So one request at a
 * time on a connection is exact, several that are read together count as one, and one in several packets has a wait for each.
 *
 * Where bytes are received before anything of the answer to what was read is written, more than one request is out, or one is in pieces.
 * If they are still not read when the answer is written, it is more than one (`overlapping`); if they are, it may be either (`continued`).
 * TCP's own numbers of bytes decide, not the end of the write: on the loopback interface the client may have the answer, and ask again,
 * before the write ends.
 *
 * A client that sends several requests at once and waits for all answers shows in neither. Where the server answers them one by one, it
 * writes again before it reads again (`rewritten`); so it does where an answer is long.
 *
 * A request that is never answered is in no sum. pinwise looks for those that wait, and says when it did: requests that are answered later are
 * counted by how long they had waited by then as well (`checked_steps`), so that none counts twice.
 *
 * What is known by client is kept in the connection and added to `peers` when it ends, so that a request costs nothing more.
 *
 * A server is known by its ports in its network namespace and, where others may listen on them, by its addresses: a connection belongs to who
 * listens nearest to the address at which it comes in. That is how the kernel finds who listens (__inet_lookup_listener of
 * net/ipv4/inet_hashtables.c, inet6_lookup_listener of net/ipv6/inet6_hashtables.c).
 *
 * It is also known by the names of its Unix sockets there: a connection that it accepts shares the name of the socket that listens. The
 * kernel does not report the end of such a connection; what is known of it is kept until there is another one at its address. There are no
 * clients and no overlaps.
 *
 * Only with typed tracepoints: those of sockets came with 6.3.
 */
#include "request_records.h"
#include "steps.h"

/* include/net/tcp_states.h, include/uapi/linux/in.h */
enum { TCP_ESTABLISHED = 1, TCP_FIN_WAIT1 = 4, TCP_CLOSE = 7, TCP_LAST_ACK = 9, IPPROTO_TCP = 6, IPPROTO_MPTCP = 262 };
/* include/linux/socket.h, include/linux/net.h */
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, SOCK_STREAM = 1, MSG_PEEK = 2, MSG_ERRQUEUE = 0x2000 };
/* include/net/sock.h: bits of sk_shutdown. Nothing more is received, nothing more can be sent. */
enum { RCV_SHUTDOWN = 1, SEND_SHUTDOWN = 2 };

/* The third word of an IPv4 address as IPv6 has it, ::ffff:0:0/96: 0, 0, 0xff, 0xff as it is sent. */
enum { IPV4_IN_IPV6 = 0xffff0000 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	struct ns_common ns;
};

/* include/net/sock.h, include/net/net_namespace.h */
typedef struct {
	struct net *net;
} possible_net_t;

/* include/uapi/linux/in6.h: more than the address that is read here. */
struct in6_addr {
	u8 unused;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	unsigned short skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

/* include/linux/skbuff.h */
struct sk_buff_head {
	u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	u8 sk_shutdown;
	u16 sk_type;
	u16 sk_protocol;
};

/* include/uapi/linux/un.h, include/net/af_unix.h; the name lies behind the family. */
struct sockaddr_un {
	unsigned short sun_family;
};

enum { SUN_PATH = 2 };

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
};

/*
 * include/linux/tcp.h: numbers of the next byte to be received, read by the server, and written by it; whether it is a part of an MPTCP
 * connection (CONFIG_MPTCP).
 */
struct tcp_sock {
	u32 rcv_nxt;
	u32 copied_seq;
	u32 write_seq;
	u8 is_mptcp;
};

#pragma clang attribute pop

/* The network namespace of the server; its ports mean nothing elsewhere. */
const volatile u32 network_inum = 0;
/* Whether it listens on Unix sockets: where it does not, none is looked at. */
const volatile u32 has_unix = 0;
/* Whether addresses are distinguished: else all that comes to its ports is the server's. */
const volatile u32 has_addresses = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct request_control);
} control SEC(".maps");

/* The server's ports, each with its place in `sums`. Filled in before the programs are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PORTS);
	__type(key, u32);
	__type(value, u32);
} ports SEC(".maps");

/*
 * The same by address, and NOWHERE where another server listens on such a port. :: is any address at which nobody listens, ::ffff:0.0.0.0 any of
 * IPv4. pinwise sets how many there are.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct listening_address);
	__type(value, u32);
} addresses SEC(".maps");

/* The same of its Unix sockets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PORTS);
	__type(key, struct unix_name);
	__type(value, u32);
} unix_names SEC(".maps");

/* The place of a name by its address in the kernel, which all connections of a socket share. NOWHERE: the name is not the server's. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, u32);
} unix_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, u32);
	__type(value, struct port_requests);
} sums SEC(".maps");

/* By the address of the socket. Set aside at once: packets arrive where no memory can be waited for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, struct connection);
} connections SEC(".maps");

/* What ended connections had, by client: the first so many of them. Whoever comes later is in `sums` alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct peer);
	__type(value, struct request_sums);
} peers SEC(".maps");

static __always_inline int counts(void)
{
	u32 first = 0;
	struct request_control *set = bpf_map_lookup_elem(&control, &first);

	return set && set->began_ns && !set->ended_ns;
}

/* Looks a name up that was not seen yet. */
static __noinline __cold u32 *new_unix_place(struct unix_address *address)
{
	u64 key = (u64)address;
	u32 nowhere = NOWHERE, *place;
	struct unix_name name = {};
	u32 bytes = BPF_CORE_READ(address, len) - SUN_PATH;

	if (bytes <= UNIX_NAME_BYTES)
		bpf_probe_read_kernel(name.name, bytes, (void *)__builtin_preserve_access_index(&address->name) + SUN_PATH);
	if (!name.name[0])
		name.bytes = bytes;
	place = bpf_map_lookup_elem(&unix_names, &name);
	if (!place)
		place = &nowhere;
	bpf_map_update_elem(&unix_places, &key, place, 0);
	return bpf_map_lookup_elem(&unix_places, &key);
}

/* The place of a connected Unix socket's name. */
static __always_inline u32 *unix_place_of(struct sock *socket)
{
	struct unix_address *address;
	u64 key;
	u32 *place;

	if (!has_unix || socket->sk_type != SOCK_STREAM || socket->__sk_common.skc_state != TCP_ESTABLISHED)
		return 0;
	address = BPF_CORE_READ((struct unix_sock *)socket, addr);
	if (!address || socket->__sk_common.skc_net.net->ns.inum != network_inum)
		return 0;
	key = (u64)address;
	place = bpf_map_lookup_elem(&unix_places, &key);
	if (!place)
		place = new_unix_place(address);
	return place && *place != NOWHERE ? place : 0;
}

/* The port and the address at which a connection came in. A socket of IPv6 has one of IPv4 in the form of IPv6, which is the form here, too. */
static __always_inline void note_address(struct listening_address *at, struct sock *socket)
{
	struct sock_common *common = &socket->__sk_common;
	u16 family = socket->__sk_common.skc_family;

	at->port = socket->__sk_common.skc_num;
	if (family == AF_INET) {
		at->address[2] = IPV4_IN_IPV6;
		at->address[3] = socket->__sk_common.skc_rcv_saddr;
	} else if (family == AF_INET6 && bpf_core_field_exists(common->skc_v6_rcv_saddr)) {
		bpf_probe_read_kernel(at->address, ADDRESS_BYTES, __builtin_preserve_access_index(&common->skc_v6_rcv_saddr));
	}
}

/* The place of who listens nearest to the address at which a connection came in; none where that is not the server. */
static __noinline __cold u32 *place_by_address(struct sock *socket)
{
	struct listening_address at = {};
	u32 *place;

	note_address(&at, socket);
	place = bpf_map_lookup_elem(&addresses, &at);
	if (!place && !at.address[0] && !at.address[1] && at.address[2] == IPV4_IN_IPV6) {
		at.address[3] = 0;
		place = bpf_map_lookup_elem(&addresses, &at);
	}
	if (!place) {
		at.address[0] = at.address[1] = at.address[2] = at.address[3] = 0;
		place = bpf_map_lookup_elem(&addresses, &at);
	}
	return place && *place != NOWHERE ? place : 0;
}

/* The place of a socket's port or name; none where it is not of the server. */
static __always_inline u32 *place_of(struct sock *socket)
{
	u32 port = socket->__sk_common.skc_num;
	u16 protocol = socket->sk_protocol;
	u32 *place;

	if (socket->__sk_common.skc_family == AF_UNIX)
		return unix_place_of(socket);
	place = bpf_map_lookup_elem(&ports, &port);
	if (!place || (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) || socket->__sk_common.skc_net.net->ns.inum != network_inum)
		return 0;
	return has_addresses ? place_by_address(socket) : place;
}

/* What is known by the address of a socket. That of a Unix socket which has ended is forgotten: its end is not reported. */
static __always_inline struct connection *connection_of(struct sock *socket)
{
	u64 address = (u64)socket;
	struct connection *connection = bpf_map_lookup_elem(&connections, &address);

	if (has_unix && connection && connection->cookie && connection->cookie != bpf_get_socket_cookie(socket)) {
		bpf_map_delete_elem(&connections, &address);
		return 0;
	}
	return connection;
}

/* Adds what a connection had to its client. */
static __always_inline void add_to_peer(struct connection *connection)
{
	struct request_sums none = {}, *sums;
	struct peer peer = connection->peer;

	if (!(connection->sums.read | connection->sums.answered))
		return;
	sums = bpf_map_lookup_elem(&peers, &peer);
	if (!sums) {
		bpf_map_update_elem(&peers, &peer, &none, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&peers, &peer);
	}
	if (!sums)
		return;
	__sync_fetch_and_add(&sums->read, connection->sums.read);
	__sync_fetch_and_add(&sums->waited_ns, connection->sums.waited_ns);
	__sync_fetch_and_add(&sums->answered, connection->sums.answered);
	__sync_fetch_and_add(&sums->served_ns, connection->sums.served_ns);
}

/* Forgets what is known by the address of a socket; its client keeps what it had. */
static __noinline __cold int end_connection(struct sock *socket)
{
	u64 address = (u64)socket;
	struct connection *connection = bpf_map_lookup_elem(&connections, &address);

	if (!connection)
		return 0;
	add_to_peer(connection);
	bpf_map_delete_elem(&connections, &address);
	return 0;
}

static __always_inline void note_peer(struct peer *peer, struct sock *socket)
{
	struct sock_common *common = &socket->__sk_common;
	u16 family = BPF_CORE_READ(common, skc_family);

	peer->port = BPF_CORE_READ(common, skc_num);
	if (family == AF_INET) {
		peer->address[10] = peer->address[11] = 0xff;
		bpf_probe_read_kernel(&peer->address[12], 4, __builtin_preserve_access_index(&common->skc_daddr));
	} else if (family == AF_INET6 && bpf_core_field_exists(common->skc_v6_daddr)) {
		bpf_probe_read_kernel(peer->address, ADDRESS_BYTES, __builtin_preserve_access_index(&common->skc_v6_daddr));
	}
}

/* Whether it carries a part of an MPTCP connection. Its bytes are read from the socket of the whole, so that they would seem to be unread. */
static __always_inline int is_subflow(struct sock *socket)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(socket);

	return tcp && bpf_core_field_exists(tcp->is_mptcp) && tcp->is_mptcp;
}

/* Another CPU may have added it since it was looked for: what it has noted stays. */
static __noinline __cold struct connection *new_connection(struct sock *socket)
{
	u64 address = (u64)socket;
	struct connection fresh = {}, *connection;
	u32 first = 0;
	struct request_control *set;

	if (is_subflow(socket))
		return 0;
	note_peer(&fresh.peer, socket);
	if (socket->__sk_common.skc_family == AF_UNIX)
		fresh.cookie = bpf_get_socket_cookie(socket);
	bpf_map_update_elem(&connections, &address, &fresh, BPF_NOEXIST);
	connection = bpf_map_lookup_elem(&connections, &address);
	if (connection)
		return connection;
	set = bpf_map_lookup_elem(&control, &first);
	if (set)
		__sync_fetch_and_add(&set->lost, 1);
	return 0;
}

/* include/trace/events/sock.h: inet_sock_set_state(const struct sock *, const int oldstate, const int newstate) */
SEC_TP(inet_sock_set_state) int inet_sock_set_state(u64 *ctx)
{
	struct sock *socket = (struct sock *)ctx[0];
	int state = (int)ctx[2];

	if (!counts())
		return 0;
	/* Another socket may have been at this address before. */
	if (state == TCP_ESTABLISHED && place_of(socket)) {
		end_connection(socket);
		new_connection(socket);
	} else if (state == TCP_FIN_WAIT1 || state == TCP_LAST_ACK || state == TCP_CLOSE) {
		/* The server sends nothing more, so that nothing waits for its answer, though the client may not answer for long. */
		end_connection(socket);
	}
	return 0;
}

/*
 * A connection by Unix socket to which bytes have come. That it began is not reported. Where they are the first in its queue, all before
 * them was read, though it may not have been seen.
 */
static __noinline __cold struct connection *unix_connection(struct sock *socket, struct connection *connection)
{
	if (!connection)
		return counts() && place_of(socket) ? new_connection(socket) : 0;
	if (socket->sk_receive_queue.qlen <= 1)
		connection->arrived_ns = 0;
	return connection;
}

/* A connection that is older than the counting. Sockets that listen are ready, too, once there is one to accept. */
static __noinline __cold struct connection *older_connection(struct sock *socket)
{
	return socket->__sk_common.skc_state == TCP_ESTABLISHED && counts() && place_of(socket) ? new_connection(socket) : 0;
}

/* sk_data_ready(const struct sock *) */
SEC_TP(sk_data_ready) int sk_data_ready(u64 *ctx)
{
	struct sock *socket = (struct sock *)ctx[0];
	struct connection *connection = connection_of(socket);
	struct tcp_sock *tcp;

	if (has_unix && socket->__sk_common.skc_family == AF_UNIX)
		connection = unix_connection(socket, connection);
	else if (!connection)
		connection = older_connection(socket);
	if (!connection || connection->arrived_ns)
		return 0;
	connection->arrived_ns = bpf_ktime_get_ns();
	connection->early = 0;
	if (!connection->read_ns)
		return 0;
	tcp = bpf_skc_to_tcp_sock(socket);
	if (tcp && tcp->write_seq == connection->written) {
		connection->early = 1;
		connection->received = tcp->rcv_nxt;
	}
	return 0;
}

/* How far a connection is when a request was read. Not of MPTCP, whose sockets have no such numbers: nothing is found to overlap there. */
static __always_inline void note_numbers(struct connection *connection, struct sock *socket)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(socket);

	if (!tcp)
		return;
	connection->written = tcp->write_seq;
	connection->received = tcp->rcv_nxt;
}

/* Whether more had been received before the answer than was read when it had been written. */
static __always_inline int is_behind(struct connection *connection, struct sock *socket)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(socket);

	return tcp && (s32)(connection->received - tcp->copied_seq) > 0;
}

/*
 * Whether the client has sent its last byte and all of them were read. A read of no bytes alone does not say so: its buffer may have no room, or
 * what it read are notices of what was sent (MSG_ERRQUEUE).
 */
static __always_inline int is_at_end(struct sock *socket)
{
	struct tcp_sock *tcp;

	if (!(socket->sk_shutdown & RCV_SHUTDOWN))
		return 0;
	tcp = bpf_skc_to_tcp_sock(socket);
	/* TCP numbers the end like a byte, which is still to be read where it was only looked at (MSG_PEEK). */
	return tcp ? tcp->rcv_nxt - tcp->copied_seq <= 1 : !socket->sk_receive_queue.qlen;
}

/* A read gave no bytes. At the end of the client's bytes, what had arrived was that end, which is no request. */
static __noinline __cold int note_end(struct sock *socket)
{
	u64 address = (u64)socket;
	struct connection *connection = connection_of(socket);

	if (!connection || !counts() || !is_at_end(socket))
		return 0;
	connection->arrived_ns = 0;
	/* The nearest to an end of its connection that a Unix socket shows: its client receives nothing more, either. */
	if (socket->__sk_common.skc_family == AF_UNIX && (socket->sk_shutdown & SEND_SHUTDOWN))
		bpf_map_delete_elem(&connections, &address);
	return 0;
}

/* sock_recv_length(struct sock *, int ret, int flags): at the end of a read */
SEC_TP(sock_recv_length) int sock_recv_length(u64 *ctx)
{
	struct sock *socket = (struct sock *)ctx[0];
	struct connection *connection;
	struct port_requests *sum;
	u64 arrived_ns, now_ns;
	u32 *place;

	if (!(int)ctx[1])
		return note_end(socket);
	if ((int)ctx[1] < 0 || ((int)ctx[2] & (MSG_PEEK | MSG_ERRQUEUE)) || !counts())
		return 0;
	place = place_of(socket);
	if (!place)
		return 0;
	connection = connection_of(socket);
	if (!connection)
		connection = new_connection(socket);
	sum = bpf_map_lookup_elem(&sums, place);
	if (!connection || !sum)
		return 0;
	now_ns = bpf_ktime_get_ns();
	arrived_ns = connection->arrived_ns;
	connection->arrived_ns = 0;
	/* More of a request that is being read. What has arrived since is another one, or the end of it: what came before needed no answer. */
	if (connection->read_ns && !arrived_ns)
		return 0;
	if (connection->read_ns && connection->early)
		sum->continued++;
	note_numbers(connection, socket);
	connection->read_ns = now_ns;
	connection->asked_ns = arrived_ns;
	connection->answered = 0;
	if (arrived_ns && now_ns > arrived_ns) {
		sum->read++;
		sum->waited_ns += now_ns - arrived_ns;
		count_step(sum->waited_steps, now_ns - arrived_ns);
		connection->sums.read++;
		connection->sums.waited_ns += now_ns - arrived_ns;
	}
	return 0;
}

/* How long a request that is answered had waited at the last check. Unix sockets are in none: that they end is not reported. */
static __always_inline void note_checked(struct port_requests *sum, struct connection *connection)
{
	u32 first = 0;
	struct request_control *set = bpf_map_lookup_elem(&control, &first);
	u64 checked_ns = set ? set->checked_ns : 0;

	if (connection->peer.port && checked_ns > connection->asked_ns)
		count_step(sum->checked_steps, checked_ns - connection->asked_ns);
}

/* The second write since a read. The answer goes on, or what was read were several requests that are answered one by one. */
static __noinline __cold int note_further_write(struct sock *socket, struct connection *connection)
{
	u32 *place = place_of(socket);
	struct port_requests *sum = place ? bpf_map_lookup_elem(&sums, place) : 0;

	connection->answered = 0;
	if (sum)
		sum->rewritten++;
	return 0;
}

/* sock_send_length(struct sock *, int ret, int flags): at the end of a write */
SEC_TP(sock_send_length) int sock_send_length(u64 *ctx)
{
	struct sock *socket = (struct sock *)ctx[0];
	struct connection *connection;
	struct port_requests *sum;
	u64 now_ns;
	u32 *place;

	if ((int)ctx[1] <= 0 || !counts())
		return 0;
	connection = connection_of(socket);
	if (!connection)
		return 0;
	if (!connection->read_ns)
		return connection->answered ? note_further_write(socket, connection) : 0;
	place = place_of(socket);
	sum = place ? bpf_map_lookup_elem(&sums, place) : 0;
	if (!sum)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (now_ns > connection->read_ns) {
		sum->answered++;
		sum->served_ns += now_ns - connection->read_ns;
		count_step(sum->served_steps, now_ns - connection->read_ns);
		if (connection->asked_ns && now_ns > connection->asked_ns) {
			count_step(sum->took_steps, now_ns - connection->asked_ns);
			note_checked(sum, connection);
		}
		sum->overlapping += is_behind(connection, socket);
		connection->sums.answered++;
		connection->sums.served_ns += now_ns - connection->read_ns;
	}
	connection->read_ns = 0;
	connection->answered = 1;
	return 0;
}

char requests_license[] SEC("license") = "Dual BSD/GPL";
