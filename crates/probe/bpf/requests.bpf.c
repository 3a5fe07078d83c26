/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long requests to a server wait in its sockets, and how long the server takes to answer. A request begins with bytes that arrive while
 * nothing waits to be read; it is answered when the server sends for the first time after the last read of new bytes. So one request at a
 * time on a connection is exact, several that are read together count as one, and one in several packets has a wait for each.
 *
 * A server is known by its ports in its network namespace. Only with typed tracepoints: those of sockets came with 6.3.
 */
#include "request_records.h"
#include "steps.h"

/* include/net/tcp_states.h, include/linux/socket.h, include/uapi/linux/in.h */
enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, MSG_PEEK = 2, IPPROTO_TCP = 6, IPPROTO_MPTCP = 262 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	struct ns_common ns;
};

/* include/net/sock.h, include/net/net_namespace.h */
typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	unsigned short skc_num;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

#pragma clang attribute pop

/* The network namespace of the server; its ports mean nothing elsewhere. */
const volatile u32 network_inum = 0;

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

static __always_inline int counts(void)
{
	u32 first = 0;
	struct request_control *set = bpf_map_lookup_elem(&control, &first);

	return set && set->began_ns && !set->ended_ns;
}

/* The place of a socket's port; none where it is no port of the server. */
static __always_inline u32 *place_of(struct sock *socket)
{
	u32 port = socket->__sk_common.skc_num;
	u32 *place = bpf_map_lookup_elem(&ports, &port);
	u16 protocol = socket->sk_protocol;

	if (!place || (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) || socket->__sk_common.skc_net.net->ns.inum != network_inum)
		return 0;
	return place;
}

static __always_inline struct connection *connection_of(struct sock *socket)
{
	u64 address = (u64)socket;

	return bpf_map_lookup_elem(&connections, &address);
}

static __noinline __cold struct connection *new_connection(struct sock *socket)
{
	u64 address = (u64)socket;
	struct connection fresh = {};
	u32 first = 0;
	struct request_control *set;

	if (!bpf_map_update_elem(&connections, &address, &fresh, 0))
		return bpf_map_lookup_elem(&connections, &address);
	set = bpf_map_lookup_elem(&control, &first);
	if (set)
		__sync_fetch_and_add(&set->lost, 1);
	return 0;
}

/* include/trace/events/sock.h: inet_sock_set_state(const struct sock *, const int oldstate, const int newstate) */
SEC_TP(inet_sock_set_state) int inet_sock_set_state(u64 *ctx)
{
	struct sock *socket = (struct sock *)ctx[0];
	u64 address = (u64)socket;
	int state = (int)ctx[2];

	if (!counts())
		return 0;
	/* Another socket may have been at this address before. */
	if (state == TCP_ESTABLISHED && place_of(socket))
		new_connection(socket);
	else if (state == TCP_CLOSE)
		bpf_map_delete_elem(&connections, &address);
	return 0;
}

/* sk_data_ready(const struct sock *) */
SEC_TP(sk_data_ready) int sk_data_ready(u64 *ctx)
{
	struct connection *connection = connection_of((struct sock *)ctx[0]);

	if (connection && !connection->arrived_ns)
		connection->arrived_ns = bpf_ktime_get_ns();
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

	if ((int)ctx[1] <= 0 || ((int)ctx[2] & MSG_PEEK) || !counts())
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
	connection->read_ns = now_ns;
	if (arrived_ns && now_ns > arrived_ns) {
		sum->read++;
		sum->waited_ns += now_ns - arrived_ns;
		count_step(sum->waited_steps, now_ns - arrived_ns);
	}
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
	if (!connection || !connection->read_ns)
		return 0;
	place = place_of(socket);
	sum = place ? bpf_map_lookup_elem(&sums, place) : 0;
	if (!sum)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (now_ns > connection->read_ns) {
		sum->answered++;
		sum->served_ns += now_ns - connection->read_ns;
		count_step(sum->served_steps, now_ns - connection->read_ns);
	}
	connection->read_ns = 0;
	return 0;
}

char requests_license[] SEC("license") = "Dual BSD/GPL";
