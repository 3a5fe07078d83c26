/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The events that are reported one by one, and what the programs keep for it. `src/bpf/event_records.rs` says the same in
 * Rust; the test that holds `records.h` and its twin together holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_EVENT_RECORDS_H
#define PINWISE_EVENT_RECORDS_H

#include "kernel.h"

enum event_kind {
	/* struct event_switch: prev_tid leaves, the task in `head.number` comes. */
	EVENT_SWITCH,
	/* The same, which the kernel did not report: found out later. prev_tid left at some time between its coming and this. */
	EVENT_UNREPORTED,
	/* struct event_switch: the task has had this CPU since; who had it before is not reported. */
	EVENT_CAME,
	/* struct event_switch: who a task is, met or after an exec; prev_state is what it does. */
	EVENT_TASK,
	/* struct event_switch: a task was born of prev_tid. */
	EVENT_BORN,
	/* struct event_wake: the thread `head.number` is woken from `head.cpu`. */
	EVENT_WAKE,
	/* struct event_stretch: `head.detail` is enum source (and NOT_HANDLED), `head.number` the line where it is SOURCE_DEVICE. */
	EVENT_INTERRUPT,
	/* struct event_stretch: the CPU was in the C-state `head.number`. */
	EVENT_IDLE,
	/* struct event: `head.cpu` is to run at so many kHz from now on. */
	EVENT_FREQUENCY,
	/* struct event: the thread `head.number` of the target met a page that is not mapped. */
	EVENT_PAGE_FAULT,
	/*
	 * struct event_stretch: who had this CPU is not known. Switches found no room (`head.number` 0), or the kernel did not
	 * report one, nor since when the thread `head.number` had the CPU.
	 */
	EVENT_LOST,
	EVENT_KINDS,
};

/* In `detail`: the handler returned IRQ_NONE: its device had raised no interrupt. */
enum { NOT_HANDLED = 0x80 };

struct event {
	u64 at_ns;
	u32 number;
	u16 cpu;
	u8 kind; /* enum event_kind */
	u8 detail;
};

struct event_stretch {
	struct event head; /* at_ns: its beginning */
	u64 ns;
};

struct event_wake {
	struct event head; /* detail: its priority */
	u32 waker; /* the task that ran on head.cpu, in an interrupt as well; 0 where it is not known */
	u32 to_cpu;
};

/* Of what leaves, and of what comes. */
enum event_flags {
	PREV_PREEMPTED = 1, /* it could have run on */
	PREV_THROTTLED = 2, /* the same, but its cgroup's quota is used up */
	NEXT_OF_KERNEL = 4,
	NEXT_OF_TARGET = 8,
	NEXT_NOT_REPORTED = 16, /* of no concern: its end will not be reported, unless a thread of the target comes to wait for the CPU */
};

struct event_switch {
	struct event head; /* detail: priority of the task */
	u32 prev_tid;
	u32 prev_state; /* what it waits for, as in the kernel's record */
	u32 tgid;
	u32 flags; /* enum event_flags */
	char comm[16];
};

/* Bits above the number of the task that has a CPU. */
#define CURRENT_KNOWN (1ULL << 32)
#define CURRENT_REPORTED (1ULL << 33) /* its coming was reported: its leaving has to be as well */
#define CURRENT_OF_TARGET (1ULL << 34)

/* One CPU: two lines of its cache, so that CPUs do not take them from each other. */
struct event_cpu {
	u64 current; /* number of the task that has it, and the bits above; 0 before it is known */
	u64 switched_at_ns; /* when it got it; 0 before the first switch */
	u64 interrupt_at_ns; /* 0: none runs */
	u64 softirq_at_ns;
	u64 idle_at_ns; /* the last stay in a C-state; 0: none, or it was reported */
	u64 idle_until_ns; /* 0: it goes on */
	u64 dropped; /* events that found no room */
	u64 unreported; /* switches that the kernel did not report */
	u64 watched; /* set by pinwise: whether events of this CPU are reported */
	u32 idle_state;
	s32 waiting; /* threads of the target that wait for this CPU */
	u64 lost_since_ns; /* the first switch that found no room and is still to be reported; 0: none */
	u64 spare[5];
};

enum mark_state { MARK_AWAY, MARK_WAITING, MARK_RUNNING };

/* A thread of the target. */
struct mark {
	u32 state; /* enum mark_state */
	u32 waits_on; /* the CPU whose `waiting` counts it, +1; 0: none */
	u32 wake_reported;
	u32 spare;
};

/* Set by pinwise: nothing is reported before `began_ns` is not 0, nor once `ended_ns` is not. */
struct event_control {
	u64 began_ns;
	u64 ended_ns;
	u64 lost_marks; /* threads of the target for which there was no room */
};

#endif
