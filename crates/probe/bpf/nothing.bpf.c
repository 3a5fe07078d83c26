/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that do nothing, where those of the account meet a task that is none of the target's, and where they meet a tick. For
 * measurements only: what they cost is what any program there costs, and with a look at the clock what any costs that tells how long
 * something took (`cargo bench -p benches -- traced noise`).
 */
#include "kernel.h"

/* Whether they look at the clock. The kernel leaves out what cannot be reached when it loads them. */
const volatile u32 reads_clock = 0;

u64 seen_ns = 0;

inline_always int look(void)
{
	if (reads_clock)
		seen_ns = bpf_ktime_get_ns();
	return 0;
}

tracepoint(sched_switch) int sched_switch(u64 *arguments)
{
	return look();
}

tracepoint(sched_wakeup) int sched_wakeup(u64 *arguments)
{
	return look();
}

tracepoint(local_timer_entry) int local_timer_entry(u64 *arguments)
{
	return look();
}

tracepoint(local_timer_exit) int local_timer_exit(u64 *arguments)
{
	return look();
}

tracepoint(hrtimer_expire_entry) int hrtimer_expire_entry(u64 *arguments)
{
	return look();
}

tracepoint(hrtimer_expire_exit) int hrtimer_expire_exit(u64 *arguments)
{
	return look();
}

char nothing_license[] section("license") = "Dual BSD/GPL";
