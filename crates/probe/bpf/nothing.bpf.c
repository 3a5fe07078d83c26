/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that do nothing, where those of the account meet a task that is none of the target's, and where they meet a tick. For
 * measurements only: what they cost is what any program there costs, and with a read of the clock what any costs that measures how long
 * something took (`cargo bench -p benches -- traced noise`).
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

char nothing_license[] SEC("license") = "Dual BSD/GPL";
