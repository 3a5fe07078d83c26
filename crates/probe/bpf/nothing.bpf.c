/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that do nothing, where those of the account meet a task that is none of the target's. For measurements only: what they cost
 * is what any program there costs (`cargo bench -p benches -- traced`).
 */
#include "kernel.h"

tracepoint(sched_switch) int sched_switch(u64 *arguments)
{
	return 0;
}

tracepoint(sched_wakeup) int sched_wakeup(u64 *arguments)
{
	return 0;
}

char nothing_license[] section("license") = "Dual BSD/GPL";
