/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread sleeps for. */
#ifndef PINWISE_SLEEP_H
#define PINWISE_SLEEP_H

#include "maps.h"
#include "system_call.h"

/* include/linux/sched.h: __TASK_STOPPED, __TASK_TRACED; TASK_FROZEN (6.1 and later). */
enum { __TASK_STOPPED = 0x4, __TASK_TRACED = 0x8, TASK_FROZEN = 0x8000 };

/* include/linux/sched/jobctl.h: JOBCTL_TRAP_FREEZE. In a frozen cgroup of version 2 a thread sleeps in an ordinary state. */
enum { JOBCTL_TRAP_FREEZE = 0x800000 };

static __always_inline int is_stopped(struct task_struct *task, u32 waits_for)
{
	return (waits_for & (__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN)) || (CORE_DEREF(task, jobctl) & JOBCTL_TRAP_FREEZE);
}

#ifndef RAW_TRACEPOINTS
/* What each of them sleeps for, by its number on this architecture: set by pinwise before it loads the programs. */
const volatile u8 reasons_of_calls[SYSTEM_CALLS] = {};

static __always_inline u32 reason_of_call(struct task_struct *task)
{
	s32 call;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return SLEEP_UNKNOWN;
	if (task->flags & NEVER_IN_USER_SPACE)
		return SLEEP_OTHER;
	call = system_call_of(task);
	/* In a page fault that another process handles, for one. */
	if (call < 0)
		return SLEEP_OTHER;
	return call < SYSTEM_CALLS ? reasons_of_calls[call] : SLEEP_UNKNOWN;
}
#endif

/* Why a thread that leaves the CPU, or has left it, is asleep. */
static __always_inline u32 sleep_reason(struct task_struct *task, u32 waits_for)
{
	if (is_stopped(task, waits_for))
		return SLEEP_STOPPED;
#ifdef RAW_TRACEPOINTS
	return SLEEP_UNKNOWN;
#else
	return reason_of_call(task);
#endif
}

/* Books a stretch of sleep that ends. */
static __always_inline void slept(struct thread_seen *thread, u64 ns)
{
	u64 reason = thread->sleeps_for;

	/* The verifier has to see the very number that is compared (as in book_before). */
	asm volatile("" : "+r"(reason));
	if (reason >= SLEEP_REASONS)
		reason = SLEEP_UNKNOWN;
	add(&thread->asleep_for[reason], ns);
}

#endif
