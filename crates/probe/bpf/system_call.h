/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The system call that a thread is in. */
#ifndef PINWISE_SYSTEM_CALL_H
#define PINWISE_SYSTEM_CALL_H

#include "tasks.h"

/*
 * include/linux/sched.h: PF_KTHREAD, PF_IO_WORKER, PF_USER_WORKER (6.4 and later). They never were in user space: what stands where
 * others have their registers is a copy of their creator's, or nothing.
 */
enum { PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000, NEVER_IN_USER_SPACE = PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER };

#ifndef RAW_TRACEPOINTS
/* arch/x86/include/asm/thread_info.h: TS_COMPAT; arch/arm64/include/asm/ptrace.h: PSR_MODE32_BIT. */
enum { TS_COMPAT = 0x2, PSR_MODE32_BIT = 0x10 };

/* Calls of 32-bit programs have other numbers. */
enum { FOREIGN_CALL = SYSTEM_CALLS };

static __always_inline s32 system_call_of(struct task_struct *task)
{
	struct pt_regs *registers = bpf_task_pt_regs(task);
	struct pt_regs___arm64 *arm64 = (void *)registers;

	if (bpf_core_field_exists(registers->orig_ax))
		return task->thread_info.status & TS_COMPAT ? FOREIGN_CALL : (s32)registers->orig_ax;
	if (bpf_core_field_exists(arm64->syscallno))
		return arm64->pstate & PSR_MODE32_BIT ? FOREIGN_CALL : arm64->syscallno;
	return FOREIGN_CALL;
}
#endif

#endif
