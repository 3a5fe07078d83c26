/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What threads did, by the stack with which they left the CPU. `src/bpf/stack_records.rs` says the same in Rust; the test that holds
 * `records.h` and its twin together holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_STACK_RECORDS_H
#define PINWISE_STACK_RECORDS_H

#include "kernel.h"

/* In place of a stack's number, which is not negative, nor are the kernel's own refusals this: it was not asked for. */
enum { STACK_NOT_TAKEN = -1 };

/* A thread of the target. */
struct left {
	u64 since_ns; /* since when it does what it does; 0: since before counting began */
	u32 state; /* enum thread_state; THREAD_NONE: nobody knows */
	s32 kernel_stack; /* with which it left the CPU: a number of `stacks`, or negative */
	s32 user_stack;
	u32 spare;
};

struct stack_key {
	u32 tgid;
	u32 state; /* enum thread_state */
	s32 kernel_stack;
	s32 user_stack;
	char comm[16];
};

struct stack_sum {
	u64 count;
	u64 ns;
};

/* Set by pinwise: nothing is counted before `began_ns` is not 0, nor once `ended_ns` is not. */
struct stack_control {
	u64 began_ns;
	u64 ended_ns;
	u64 lost_threads; /* for which there was no room */
	u64 lost_stacks; /* another one lay in its place */
	u64 lost_sums; /* times that found no room */
	u64 lost_ns; /* their length */
	u64 untold; /* switches that the kernel did not tell */
};

#endif
