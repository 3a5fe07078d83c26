/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records that the programs fill in and pinwise reads: the one truth for both. `src/bpf/records.rs` says the same in
 * Rust, and a test holds the two together by the types (BTF) of the compiled object. All times are ns of
 * CLOCK_MONOTONIC.
 */
#ifndef PINWISE_RECORDS_H
#define PINWISE_RECORDS_H

/* What takes a CPU away from threads. */
enum source {
	SOURCE_TICK, /* interrupt of the CPU's own timer: the tick, and timers of tasks */
	SOURCE_RESCHEDULE,
	SOURCE_CALL_FUNCTION,
	SOURCE_CALL_FUNCTION_SINGLE,
	SOURCE_IRQ_WORK,
	SOURCE_PLATFORM_IPI,
	SOURCE_THERMAL,
	SOURCE_APIC_FAULT, /* error, spurious, threshold and deferred-error vectors */
	SOURCE_DEVICE, /* handlers of all devices; each line is in `lines` */
	SOURCE_NMI,
	SOURCE_SOFTIRQ, /* the first of ten: HI, TIMER, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER, RCU */
	SOURCES = 20,
};

/* How a time is sorted: four steps to each power of two; the last takes all that is longer. */
enum { STEPS_BITS = 2, BUCKETS = 160 };

/* The steps of a source lie a line of the cache at a time in a table of their own. */
enum { STEPS_IN_LINE = 16, STEPS_LINES = BUCKETS / STEPS_IN_LINE };

/* C-states that are distinguished; the last takes all deeper ones. */
enum { IDLE_STATES = 10 };

/* Bits of the mask that says why a tick was not stopped (include/linux/tick.h). */
enum { TICK_DEPENDENCIES = 8 };

/* Events and their time. */
struct tally {
	u64 count;
	u64 total_ns;
	u64 shortest_ns; /* of those counted; 0 where there was none */
	u64 longest_ns;
};

/* The same for what is booked at every switch: no more than is wanted. */
struct stretches {
	u64 count;
	u64 total_ns;
	u64 longest_ns;
};

struct sum {
	u64 count;
	u64 total_ns;
};

/* Page faults of a task, as it counts them itself. */
struct faults {
	u64 minor; /* what it wanted was in memory */
	u64 major; /* it had to be read: from a file, or from swap */
};

/* One source on one CPU: a line of the cache. */
struct source_seen {
	struct tally all;
	/* The part that ran while a thread of the target was on the CPU. */
	u64 on_count;
	u64 on_ns;
	/* Events during which threads of the target waited for the CPU, and the waiting of all of them. */
	u64 waiting_count;
	u64 waiting_ns;
};

/* An interrupt or softirq that runs: moved on by what interrupts it, so that the difference at its end is net. */
struct running {
	u64 at_ns; /* 0: none runs */
	u64 waited_ns; /* what threads of the target had waited then, mod 2^48 */
};

/* A timer function or remote call that runs, or did last. */
struct running_function {
	u64 at_ns; /* 0: none runs */
	/*
	 * Its number; above it its kind; above that the low bits of its address: all addresses of functions have the same ones
	 * beyond.
	 */
	u64 which;
};

enum { NUMBER_BITS = 12, FUNCTION_BITS = 16 };

/* A task that was looked up on a CPU. */
struct known_thread {
	u64 task; /* address of its record in the kernel */
	u32 tid; /* with NOT_OF_TARGET where it is none of the target's */
	u32 slot; /* then: how many threads had been taken in when that was found out */
};

/* No number of a task has this bit: they end at 2^22. */
#define NOT_OF_TARGET (1u << 31)

enum { KNOWN_THREADS = 8 };

/*
 * What of a CPU is read each time: the beginning of a line of its cache, and five lines where that has changed. Written on that CPU, or
 * under the lock of its run queue, but for what is said to be written without it; who runs there when counting begins, or comes to be of
 * the target while it runs, is written by the walk over tasks.
 */
struct cpu_head {
	/*
	 * One of these three words changes whenever anything that is reported of this CPU does, after all else that changes with it: a copy
	 * of which they are still those of the record is whole.
	 */
	u64 switches;
	u64 interrupted_ns; /* all sources together, also those of the slice that goes on */
	u32 unreported; /* switches that the kernel did not report: the task that left was not the one that had come */
	u32 moved; /* whatever else changed, mod 2^32 */

	u32 idle_state; /* C-state that was requested last, +1; 0 when none */
	u32 woken; /* whether a task was woken onto this CPU since the slice that goes on began */

	/* Complete slices, net of interrupts. */
	u64 target_ns; /* threads of the target ran */
	u64 other_ns; /* other tasks ran */
	u64 idle_ns;
	u32 current_slot; /* slot of the target's thread that runs, +1; 0 when another task does */
	u32 current_tid; /* number of the task that runs; 0 when it is idle, or not known */

	/* What goes on. */
	u64 switched_at_ns; /* when the slice that goes on began; 0 before the first switch */
	u64 slice_interrupted_ns; /* what interrupts took of it */
	/*
	 * Threads of the target that wait for this CPU, in the low 16 bits; above them the sum over those of when they came,
	 * less the sum of when they went, mod 2^48 ns (waiting.h). To be added to waiting_moved.
	 */
	u64 waiting;
	u64 waiting_moved; /* the same, of those that came or went without the lock of the run queue */
	u64 waited_before_ns; /* what they had waited when the slice that goes on began, mod 2^48 */
	u64 waiting_interrupted_ns; /* what interrupts took of the waiting during it */
	u64 clock_ahead_ns; /* how far CLOCK_MONOTONIC was ahead of the run queue's clock (clock.h) */
	u64 clock_compared_ns; /* when that was found out, by the run queue's clock; 0: never, or doubted without the lock */

	u64 unknown_ns; /* time around unreported switches that cannot be given to anybody */
	u64 idle_waited_ns; /* threads of the target waited while the CPU was idle: it was waking up */
	u64 steal_ns; /* what the run queue's clock counted as stolen, since boot, when the tick last ran */
	u64 steal_began_ns; /* the same at the first tick that was seen; 0 before it */
	u64 tick_stopped;
	u64 tick_kept[TICK_DEPENDENCIES];

	/*
	 * How often each source came, mod 2^32, counted when all else of it has been booked: the rest of a source whose number is
	 * still that of the last reading need not be read again.
	 */
	u32 came[SOURCES];
};

/* One CPU, in whole lines of its cache. */
struct cpu_seen {
	struct cpu_head; /* its fields are those of this record (-fms-extensions) */
	u64 clock_doubted_ns; /* what the last comparison of the clocks said and was not believed; 0: it was */
	struct running interrupt;
	struct running softirq;
	struct running_function interrupt_function; /* in an interrupt */
	struct running_function softirq_function; /* in a softirq, moved on by what interrupted it */
	struct known_thread known[KNOWN_THREADS];
};

/* How often a source ran on a CPU for so long at a time: some of the steps. */
struct steps_line {
	u32 steps[STEPS_IN_LINE];
};

/* Where a CPU lies: numbers that are equal for CPUs that share the thing. Written by pinwise before it starts. */
struct place {
	u32 core;
	u32 cache;
	u32 node;
	u32 known;
};

/* What a number to watch stands for. */
enum wanted { WANTED_PROCESS = 1, WANTED_THREAD = 2 };

enum thread_state {
	THREAD_NONE, /* the slot is free, or nothing is known of its thread yet */
	THREAD_RUNNING,
	THREAD_PREEMPTED, /* it could run, and lost the CPU */
	THREAD_WAITING, /* woken, not yet on a CPU */
	THREAD_THROTTLED, /* its cgroup's quota is used up */
	THREAD_ASLEEP, /* it waits for something, of its own will */
	THREAD_BLOCKED, /* the same in a way that no signal ends: disk, swap, a lock of the kernel */
	THREAD_ENDED,
};

/* How far a thread moved between two CPUs on which it ran. */
enum distance { WITHIN_CORE, WITHIN_CACHE, WITHIN_NODE, ACROSS_NODES, DISTANCE_UNKNOWN, DISTANCES };

/* What a thread that is asleep waits for, by the system call in which it sleeps (src/bpf/system_calls.rs). */
enum sleep_reason {
	SLEEP_UNKNOWN, /* which call it is in is not known */
	SLEEP_FUTEX,
	SLEEP_INPUT,
	SLEEP_TIMER,
	SLEEP_OUTPUT,
	SLEEP_SYNC,
	SLEEP_CHILD,
	SLEEP_STOPPED, /* by a signal, a tracer or a freezer, whatever call it is in */
	SLEEP_OTHER, /* another call, or none: threads of the kernel, one that is being born */
	SLEEP_REASONS,
};

/* System calls that are distinguished, by their number. */
enum { SYSTEM_CALLS = 512 };

/* Wakers of a thread that are distinguished: the first that come. */
enum { WAKERS = 3 };

/*
 * Bits of a waker: its process, in the first PID namespace; whether it was on another CPU than the one that the thread was woken onto; in what
 * it ran; and one that is always set.
 */
enum { WAKER_PROCESS = (1 << 22) - 1, WAKER_ELSEWHERE = 1 << 22, WAKER_SOFTIRQ = 1 << 23, WAKER_INTERRUPT = 1 << 24, WAKER_KNOWN = 1 << 25 };

/* Who woke a thread, and how often. */
struct waker {
	u32 who;
	u32 count;
};

/* One thread of the target. */
struct thread_seen {
	/* What is written at every switch and wake-up. */
	u64 version; /* odd while it is written */
	u32 tid; /* in the first PID namespace, as the next */
	u32 tgid;
	u32 state; /* enum thread_state */
	u32 cpu; /* where it ran last */
	u32 waits_on; /* the CPU whose `waiting` counts it, +1; 0: none */
	u32 slot;
	u64 since_ns; /* when the state that goes on began */
	struct stretches on_cpu; /* slices, net of interrupts */
	u64 interrupted_ns; /* what interrupts took of its slices */
	struct stretches waiting;
	struct sum blocked;
	u32 sleeps_for; /* enum sleep_reason, while it is asleep */
	u32 unused_half;
	u64 woken_elsewhere; /* woken on another CPU than the one where it ran last */
	struct sum asleep_for[SLEEP_REASONS];

	struct stretches preempted;
	struct stretches throttled;
	struct stretches took; /* as a taker: what its slices took from other threads of the target */
	u64 preempted_others;
	u64 migrations[DISTANCES];
	u64 unseen_waiting_ns; /* waiting that had begun before it was watched: who ran meanwhile is not known */
	u64 page_faults; /* in its own code */
	struct faults faults; /* as last looked at */
	struct faults faults_before; /* when it came to be watched */
	/* Freeing memory before it could have any (vmscan), because there was none left or for the limit of a cgroup. */
	struct stretches reclaim;
	u64 reclaims_since_ns; /* 0: it does not */
	u32 own_tid; /* in pinwise's PID namespace; 0 where that is the first */
	u32 own_tgid;
	char comm[16];
	u64 cgroup;
	u64 began_ns; /* when it came to be watched */
	/* Wake-ups onto an idle CPU, by the C-state that was requested there; waiting time of each. */
	u64 from_idle_count[IDLE_STATES];
	u64 from_idle_ns[IDLE_STATES];
	u64 woken_by; /* who is about to wake it, without WAKER_ELSEWHERE, and above that on which CPU; 0: not known */
	/* With so many of them each record, and the counts below, begin with a line of the cache. Wake-ups by others are the rest. */
	struct waker wakers[WAKERS];
	u32 on_cpu_steps[BUCKETS];
	u32 off_cpu_steps[BUCKETS]; /* preempted, throttled or waiting in the run queue, each stretch once */
};

/* A task that ran. */
struct taker_key {
	u32 tid;
	u32 cpu;
};

struct taker_seen {
	u32 tgid;
	u32 of_kernel; /* 1 for a thread of the kernel */
	char comm[16];
	u64 cgroup;
	u64 slices;
	u64 on_cpu_ns; /* net of interrupts; counted only when all tasks are */
	u64 preempted; /* how often it came in the place of a target's thread that could have run on */
	struct stretches took; /* slices during which threads of the target waited, net of interrupts */
};

struct line_key {
	u32 cpu;
	u32 irq;
};

struct line_seen {
	struct source_seen seen;
	u32 steps[BUCKETS];
};

enum function_kind { FUNCTION_HRTIMER, FUNCTION_TIMER, FUNCTION_CALL, FUNCTION_WORK };

/* Functions that the kernel runs on somebody's behalf have numbers, in the order in which they were first seen on any CPU. */
enum { FUNCTIONS = 512, NO_FUNCTION = 0xffff };

/*
 * Functions in a row have it side by side how often they came on a CPU, and those in a line what they did there, in tables that have such a
 * piece for each CPU, then the next functions. A line of the cache belongs to one CPU.
 */
enum { FUNCTIONS_IN_ROW = 32, FUNCTION_ROWS = FUNCTIONS / FUNCTIONS_IN_ROW, FUNCTIONS_IN_LINE = 2 };

struct function_key {
	u64 address;
	u32 kind; /* enum function_kind */
	u32 unused;
};

/* The function of a number. */
struct known_function {
	u64 address;
	u32 kind; /* enum function_kind */
	u32 is_known; /* 1; 0: nobody has this number */
};

/* A function on a CPU. */
struct function_seen {
	struct tally all; /* times only where the end is seen as well; a work item has none */
};

/*
 * How often functions in a row came on a CPU, mod 2^32, counted when all else of it has been booked: of most a reading need not look at
 * more than this.
 */
struct functions_came {
	u32 came[FUNCTIONS_IN_ROW];
};

struct route_key {
	u32 from;
	u32 to;
};

/* What could not be counted, because a table was full. */
struct lost {
	u64 threads;
	u64 takers;
	u64 lines;
	u64 functions;
	u64 routes;
};

/* Entries that were ever made in a table: while the number stays, no key has come to it. */
struct made {
	u64 takers;
	u64 lines;
	u64 functions;
	u64 routes;
};

/* When counting began and ended is set by pinwise; whether it goes on is `counting` (maps.h). */
struct control {
	u64 began_ns;
	u64 ended_ns;
	struct lost lost;
	struct made made;
};

#endif
