/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread does at a futex, by the arguments of the call that it is in. */
#ifndef PINWISE_FUTEX_H
#define PINWISE_FUTEX_H

#include "lock_records.h"
#include "system_call.h"

/* include/uapi/linux/futex.h */
enum {
	FUTEX_WAIT = 0,
	FUTEX_WAKE = 1,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE = 4,
	FUTEX_WAKE_OP = 5,
	FUTEX_LOCK_PI = 6,
	FUTEX_UNLOCK_PI = 7,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAKE_BITSET = 10,
	FUTEX_LOCK_PI2 = 13,
	FUTEX_COMMAND = 0x7f, /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
};

/* futex(2), by its number on this architecture: set by pinwise before it loads the programs. */
const volatile u32 futex_call = 202;

/* include/uapi/asm-generic/unistd.h, the same everywhere: 6.7 and later. */
enum { CALL_FUTEX_WAKE = 454, CALL_FUTEX_WAIT = 455, CALL_FUTEX_REQUEUE = 456 };

struct futex_call {
	u64 address; /* 0: the thread is in no such call */
	u32 kind; /* enum lock_kind, of one who waits */
	u32 may_requeue; /* one who wakes may wake those of another address, too */
};

static __always_inline u64 argument_of(struct task_struct *task, u32 number)
{
	struct pt_regs *registers = bpf_task_pt_regs(task);
	struct pt_regs___arm64 *arm64 = (void *)registers;

	if (bpf_core_field_exists(registers->di))
		return number == 0 ? registers->di : number == 1 ? registers->si : registers->dx;
	if (bpf_core_field_exists(arm64->orig_x0))
		return number == 0 ? arm64->orig_x0 : arm64->regs[number];
	return 0;
}

/*
 * By the value that it expects. Most mutexes write 2 where somebody waits (glibc, Rust), or set the highest bit (musl, robust ones); -1 is
 * a thread that parks (Rust).
 */
static __always_inline u32 kind_by_value(u32 expected)
{
	if (expected == 2 || (expected >> 31 && expected != (u32)-1))
		return LOCK_MUTEX;
	return LOCK_UNKNOWN;
}

/* Where it waits. */
static __always_inline struct futex_call waits_at(struct task_struct *task)
{
	struct futex_call call = {};
	u32 number, command;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) || task->flags & NEVER_IN_USER_SPACE)
		return call;
	number = system_call_of(task);
	if (number == CALL_FUTEX_WAIT) {
		call.address = argument_of(task, 0);
		call.kind = kind_by_value(argument_of(task, 1));
		return call;
	}
	if (number != futex_call)
		return call;
	command = argument_of(task, 1) & FUTEX_COMMAND;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		call.address = argument_of(task, 0);
		call.kind = LOCK_PRIORITY;
	} else if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
		call.address = argument_of(task, 0);
		call.kind = kind_by_value(argument_of(task, 2));
	}
	return call;
}

/* Where it wakes others. */
static __always_inline struct futex_call wakes_at(struct task_struct *task)
{
	struct futex_call call = {};
	u32 number, command;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) || task->flags & NEVER_IN_USER_SPACE)
		return call;
	number = system_call_of(task);
	if (number == CALL_FUTEX_WAKE || number == CALL_FUTEX_REQUEUE) {
		call.address = argument_of(task, 0);
		call.may_requeue = number == CALL_FUTEX_REQUEUE;
		return call;
	}
	if (number != futex_call)
		return call;
	command = argument_of(task, 1) & FUTEX_COMMAND;
	call.may_requeue = command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP;
	if (call.may_requeue || command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET || command == FUTEX_UNLOCK_PI)
		call.address = argument_of(task, 0);
	return call;
}

#endif
