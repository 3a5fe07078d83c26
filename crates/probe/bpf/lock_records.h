/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long threads wait at futexes, and who lets them go on. `src/bpf/lock_records.rs` says the same in Rust; the test that holds
 * `records.h` and its twin together holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_LOCK_RECORDS_H
#define PINWISE_LOCK_RECORDS_H

#include "kernel.h"

/* What a futex is used for, as far as the call of one who waits there says. */
enum lock_kind {
	LOCK_UNKNOWN,
	LOCK_MUTEX, /* by the value that it expects */
	LOCK_PRIORITY, /* with priority inheritance: locked in the kernel */
};

/* How a wait ended. */
enum wait_end {
	WAIT_RELEASED, /* by a thread of the target that wakes who waits at that address */
	WAIT_BROKEN_OFF, /* by a timeout, a signal, the end of a thread, or in a way that was not seen */
	WAIT_GOES_ON, /* it had not ended when counting did */
};

/* Addresses that are remembered of a thread: where it waited last. */
enum { WAITED_AT = 4 };

/* A thread of the target. */
struct lock_thread {
	/* The time that goes on without a CPU, or the last one. */
	u64 left_ns; /* when it began; 0: none was seen yet */
	u64 woken_ns; /* since when it could run again; 0: it cannot yet */
	u64 back_ns; /* when it ended; 0: it goes on */
	u64 address; /* of the futex where it waits, or waited; 0: for something else */
	u64 stack; /* with which it went there; STACK_NOT_TAKEN: one was taken not long before */
	u64 stack_taken_ns; /* when the last one was taken */
	u64 last_stack; /* of those that are kept the last one that it had */
	u64 last_release; /* the same of where it woke others */
	/*
	 * All times without a CPU since it last waited at a futex or released one: when the first began, 0 where there was none; and how long it was
	 * asleep or blocked in them, and waited for a CPU.
	 */
	u64 away_since_ns;
	u64 asleep_ns;
	u64 waiting_ns;
	u32 kind; /* enum lock_kind */
	u32 is_waiting; /* at the futex: nobody has woken it since */
	u32 next; /* the place in `waited_at` that is overwritten next */
	u32 spare;
	u64 waited_at[WAITED_AT];
};

struct lock_key {
	u64 address;
	u64 waiter_stack; /* a hash of its frames in user space, or STACK_NOT_TAKEN and the like */
	u64 releaser_stack;
	u32 tgid;
	u32 kind; /* enum lock_kind */
	u32 end; /* enum wait_end */
	u32 spare;
};

struct lock_sum {
	u64 count; /* waits */
	u64 ns; /* their length, up to the wake-up */
	u64 by_waiters; /* of those that were released, how many by a thread that had waited there itself */
	/*
	 * How long the one that released them had it, as far as somebody waited then: since the wait began, or since the last release there. Of that
	 * how long it was asleep or blocked, and waited for a CPU.
	 */
	u64 held_ns;
	u64 holder_asleep_ns;
	u64 holder_waiting_ns;
};

/* A futex. */
struct lock_place {
	u64 address;
	u32 tgid;
	u32 spare;
};

#endif
