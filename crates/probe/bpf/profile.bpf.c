/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the threads of a server do while they have a CPU, by samples of their stacks. The program runs at overflows of the software CPU clock,
 * which pinwise opens for each of the threads: it sees no others.
 */
#include "stack_keeping.h"

section("perf_event") int on_cpu(void *context)
{
	struct stack_control *set = control_of();
	struct task_struct *task = current_task();
	struct stack_key key = { .state = THREAD_RUNNING };
	struct stack_sum *sum;
	u64 last = STACK_NOT_TAKEN;

	if (!set || !counting_since(set))
		return 0;
	name_key(&key, task);
	key.kernel_stack = interrupted_kernel_stack(set, context, &last);
	last = STACK_NOT_TAKEN;
	key.user_stack = user_stack(set, context, task, &last);
	sum = sum_of(&key);
	if (sum)
		__sync_fetch_and_add(&sum->count, 1);
	else
		__sync_fetch_and_add(&set->lost_sums, 1);
	return 0;
}

char profile_license[] section("license") = "Dual BSD/GPL";
