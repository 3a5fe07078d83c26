/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The programs at sched_wakeup and sched_wakeup_new. To be included after the definition of woken(struct task_struct *task). */
#ifndef PINWISE_SCHED_WAKEUP_H
#define PINWISE_SCHED_WAKEUP_H

#include "kernel.h"

SEC_TP(sched_wakeup) int sched_wakeup(u64 *ctx)
{
	return woken((void *)ctx[0]);
}

SEC_TP(sched_wakeup_new) int sched_wakeup_new(u64 *ctx)
{
	return woken((void *)ctx[0]);
}

#endif
