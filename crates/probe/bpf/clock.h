/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time of a wake-up, and of a switch where that can be, without reading a clock: that is half of what either would cost
 * (docs/watch.md).
 *
 * Before a task is put into a run queue the kernel brings the queue's clock up to date, under its lock (update_rq_clock in
 * try_to_wake_up and wake_up_new_task, kernel/sched/core.c). That clock runs as fast as CLOCK_MONOTONIC, but for what NTP corrects
 * (mostly below 0.05 %), from another beginning. How far apart they are is found out anew once in a millisecond, so that what NTP
 * does meanwhile is mostly below 1 us.
 *
 * A switch begins in the same way (__schedule), unless something that came to the queue since the last one was to preempt the task
 * that leaves: then the clock may stay as it was then, or as another CPU left it meanwhile (rq_clock_skip_update in wakeup_preempt),
 * and what lies in between would be taken from the one that leaves. So CLOCK_MONOTONIC is read where a task was woken onto the queue
 * since the slice began, whatever became of that, where a task is preempted, and where a CPU becomes idle or busy. Where a task that
 * can run was moved to the queue the two are compared anew, which takes two wake-ups. Not seen are changes of class or priority.
 */
#ifndef PINWISE_CLOCK_H
#define PINWISE_CLOCK_H

#include "kernel.h"
#include "records.h"

/* How long two clocks that were compared are taken to be as far apart as then. */
enum { COMPARED_FOR_NS = 1000000 };

/* As far as this one comparison is held against the next. */
enum { REMEMBERED_FOR_NS = 1000000000 };

/* More than NTP mostly moves one clock against the other: a 1,024th. */
enum { DRIFT_SHIFT = 10 };

static __always_inline int is_more(u64 a, u64 b)
{
	return (long long)(a - b) > 0;
}

/*
 * Remembers how far the clocks are apart. They are not read at the same moment, and a hypervisor may take the CPU in between:
 * then the difference is too large. No more of it is believed than could have come since the last time, unless two
 * comparisons in a row say so (a clock that is set right quickly); and where there is none to hold it against, the next wake-up
 * compares again.
 */
static __noinline __cold void compare(struct cpu_seen *cpu, u64 queue_ns, u64 now)
{
	u64 ahead = now - queue_ns, age = queue_ns - cpu->clock_compared_ns;
	u64 believed = cpu->clock_ahead_ns + (age >> DRIFT_SHIFT);
	u64 doubted = cpu->clock_doubted_ns;
	int is_first = age >= REMEMBERED_FOR_NS;

	cpu->clock_doubted_ns = 0;
	if (!is_first && is_more(ahead, believed)) {
		cpu->clock_doubted_ns = ahead;
		if (!doubted || !is_more(doubted, believed))
			ahead = believed;
		else if (is_more(ahead, doubted))
			ahead = doubted;
	}
	cpu->clock_ahead_ns = ahead;
	cpu->clock_compared_ns = is_first ? queue_ns - COMPARED_FOR_NS : queue_ns;
}

/*
 * The clock of the run queue that a task is in, or was in last; 0 where there is no way to it: without CONFIG_FAIR_GROUP_SCHED.
 */
static __always_inline u64 queue_clock(struct task_struct *task)
{
#ifndef RAW_TRACEPOINTS
	struct cfs_rq *queue = task->se.cfs_rq;
	struct rq *rq = 0;

	if (bpf_core_field_exists(queue->rq) && bpf_core_field_exists(rq->clock)) {
		rq = queue->rq;
		return rq->clock;
	}
#endif
	return 0;
}

static __always_inline int is_compared(struct cpu_seen *cpu, u64 queue_ns)
{
	return queue_ns && queue_ns - cpu->clock_compared_ns < COMPARED_FOR_NS;
}

/* When a task was put into the run queue of `cpu`, which is locked and has this clock; for sched_wakeup and sched_wakeup_new only. */
static __always_inline u64 woken_at(struct cpu_seen *cpu, u64 queue_ns)
{
	u64 now;

	if (is_compared(cpu, queue_ns))
		return queue_ns + cpu->clock_ahead_ns;
	now = bpf_ktime_get_ns();
	if (queue_ns)
		compare(cpu, queue_ns, now);
	return now;
}

/* When `prev` leaves `cpu`, to sleep or not; for sched_switch only. */
static __always_inline u64 left_at(struct task_struct *prev, struct task_struct *next, struct cpu_seen *cpu, int sleeps)
{
	u64 queue_ns;

	if (sleeps && !cpu->woken && CORE_DEREF(prev, pid) && CORE_DEREF(next, pid)) {
		queue_ns = queue_clock(prev);
		if (is_compared(cpu, queue_ns))
			return queue_ns + cpu->clock_ahead_ns;
	}
	return bpf_ktime_get_ns();
}

/*
 * A task that can run is moved to the run queue of this CPU. It will arrive there in some us, and this is said without the lock: a
 * comparison at that very moment may still be believed.
 */
static __always_inline void doubt(struct cpu_seen *cpu)
{
	if (cpu && cpu->clock_compared_ns)
		cpu->clock_compared_ns = 0;
}

/* `now`, or when the state of a thread began where that is later: clocks that were compared differ by some 100 ns. */
static __always_inline u64 not_before(struct thread_seen *thread, u64 now)
{
	return thread && now < thread->since_ns ? thread->since_ns : now;
}

#endif
