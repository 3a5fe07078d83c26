/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The programs at sched_switch, for both prototypes of the tracepoint. To be included after the definition of
 * switched(void *ctx, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for).
 */
#ifndef PINWISE_SCHED_SWITCH_H
#define PINWISE_SCHED_SWITCH_H

#include "tasks.h"

/* include/trace/events/sched.h; the fourth argument came in 5.18 */
SEC_TP(sched_switch) int sched_switch(u64 *ctx)
{
	return switched(ctx, (void *)ctx[1], (void *)ctx[2], ctx[0] & 1, ctx[3]);
}

SEC_TP(sched_switch) int sched_switch_of_three(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	return switched(ctx, prev, (void *)ctx[2], ctx[0] & 1, state_of_task(prev));
}

#endif
