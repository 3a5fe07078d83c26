/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that do nothing, where those of the account meet a task that is none of the target's, where they meet a tick, and where those of
 * requests meet a socket. For measurements only: what they cost is what any program there costs, and with a read of the clock what any
 * costs that measures how long something took (`cargo bench -p benches -- traced noise requests`).
 */
#include "kernel.h"

/* Whether they read the clock. The verifier removes dead code when they are loaded. */
const volatile u32 reads_clock = 0;

u64 seen_ns = 0;

static __always_inline int look(void)
{
	if (reads_clock)
		seen_ns = bpf_ktime_get_ns();
	return 0;
}

SEC_TP(sched_switch) int sched_switch(u64 *ctx)
{
	return look();
}

SEC_TP(sched_wakeup) int sched_wakeup(u64 *ctx)
{
	return look();
}

SEC_TP(local_timer_entry) int local_timer_entry(u64 *ctx)
{
	return look();
}

SEC_TP(local_timer_exit) int local_timer_exit(u64 *ctx)
{
	return look();
}

SEC_TP(hrtimer_expire_entry) int hrtimer_expire_entry(u64 *ctx)
{
	return look();
}

SEC_TP(hrtimer_expire_exit) int hrtimer_expire_exit(u64 *ctx)
{
	return look();
}

SEC_TP(inet_sock_set_state) int inet_sock_set_state(u64 *ctx)
{
	return look();
}

SEC_TP(sk_data_ready) int sk_data_ready(u64 *ctx)
{
	return look();
}

SEC_TP(sock_recv_length) int sock_recv_length(u64 *ctx)
{
	return look();
}

SEC_TP(sock_send_length) int sock_send_length(u64 *ctx)
{
	return look();
}

char nothing_license[] SEC("license") = "Dual BSD/GPL";
