/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sched_switch in both its forms. Whoever includes this has defined before
 * switched(void *context, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for).
 */
#ifndef PINWISE_SWITCH_PROGRAMS_H
#define PINWISE_SWITCH_PROGRAMS_H

#include "tasks.h"

/* include/trace/events/sched.h; the fourth argument came in 5.18 */
tracepoint(sched_switch) int sched_switch(u64 *arguments)
{
	return switched(arguments, (void *)arguments[1], (void *)arguments[2], arguments[0] & 1, arguments[3]);
}

tracepoint(sched_switch) int sched_switch_of_three(u64 *arguments)
{
	struct task_struct *prev = (void *)arguments[1];

	return switched(arguments, prev, (void *)arguments[2], arguments[0] & 1, state_of_task(prev));
}

#endif
