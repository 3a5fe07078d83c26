/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What threads did, by the stack with which they left the CPU. `src/bpf/stack_records.rs` says the same in Rust; the test that holds
 * `records.h` and its twin together holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_STACK_RECORDS_H
#define PINWISE_STACK_RECORDS_H

#include "kernel.h"

/* As deep as the kernel goes where nobody has set sysctl kernel.perf_event_max_stack. */
enum { STACK_DEPTH = 127 };

/* A stack is known by a hash of its frames, or by one of these in its place. */
enum {
	STACK_NOT_TAKEN,
	STACK_NONE, /* the kernel says that there is none */
	STACK_LOST, /* it found no room */
	STACK_FIRST, /* no hash is less than that */
};

/* In the place of a caller that cannot be one: the last of a stack. */
enum { STACK_NO_CODE = 1 };

struct stack_frames {
	u64 at[STACK_DEPTH]; /* the innermost first; 0 or STACK_NO_CODE behind the last */
	u64 spare;
};

/* A thread of the target. */
struct left {
	u64 since_ns; /* since when it has a CPU, or has none; 0: since before counting began */
	u64 woken_ns; /* since when it waits for one again; 0: it was not woken since */
	u64 ran; /* how often it had a CPU, and how long: kept here, as no stack is taken for it */
	u64 ran_ns;
	u64 kernel_stack; /* with which it left the CPU */
	u64 user_stack;
	u64 last_kernel_stack; /* of those that are kept the last one that it had */
	u64 last_user_stack;
	u32 state; /* enum thread_state, as it left the CPU; THREAD_NONE: nobody knows */
	u32 spare;
};

struct stack_key {
	u32 tgid;
	u32 state; /* enum thread_state */
	u64 kernel_stack;
	u64 user_stack;
	char comm[16];
};

struct stack_sum {
	u64 count;
	u64 ns; /* in that state */
	u64 waited_ns; /* after that in a run queue */
};

/* Set by pinwise: nothing is counted before `began_ns` is not 0, nor once `ended_ns` is not. */
struct stack_control {
	u64 began_ns;
	u64 ended_ns;
	u64 lost_threads; /* for which there was no room */
	u64 lost_stacks; /* times that one found no room, or the kernel did not report it */
	u64 lost_sums; /* times that found no room */
	u64 lost_ns; /* their length */
	u64 unreported; /* switches that the kernel did not report */
};

#endif
