/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time of a wake-up, without reading a clock: that is half of what a wake-up would cost (docs/watch.md).
 *
 * Before a task is put into a run queue the kernel brings the queue's clock up to date, under its lock (update_rq_clock in
 * try_to_wake_up and wake_up_new_task, kernel/sched/core.c). That clock runs as fast as CLOCK_MONOTONIC, but for what NTP corrects
 * (mostly below 0.05 %), from another beginning. How far apart they are is found out anew once in a millisecond, so that what NTP
 * does meanwhile is mostly below 1 us. At a switch the same clock may be as old as the last wake-up (rq_clock_skip_update): it is not
 * used there.
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

inline_always int is_more(u64 a, u64 b)
{
	return (long long)(a - b) > 0;
}

/*
 * Remembers how far the clocks are apart. They are not read at the same moment, and a hypervisor may take the CPU in between:
 * then the difference is too large. No more of it is believed than could have come since the last time, unless two
 * comparisons in a row say so (a clock that is set right quickly); and where there is none to hold it against, the next wake-up
 * compares again.
 */
inline_always void compare(struct cpu_seen *cpu, u64 queue_ns, u64 now)
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

/* When `task` was put into the run queue of `cpu`, which is locked; to be asked in sched_wakeup and sched_wakeup_new only. */
inline_always u64 woken_at(struct task_struct *task, struct cpu_seen *cpu)
{
#ifndef RAW_TRACEPOINTS
	struct cfs_rq *queue = task->se.cfs_rq;
	struct rq *rq = 0;
	u64 queue_ns, now;

	/* Without CONFIG_FAIR_GROUP_SCHED there is no way from a task to its run queue. */
	if (field_exists(queue->rq) && field_exists(rq->clock)) {
		rq = queue->rq;
		queue_ns = rq->clock;
		if (queue_ns - cpu->clock_compared_ns < COMPARED_FOR_NS)
			return queue_ns + cpu->clock_ahead_ns;
		now = bpf_ktime_get_ns();
		compare(cpu, queue_ns, now);
		return now;
	}
#endif
	return bpf_ktime_get_ns();
}

/* `now`, or when the state of a thread began where that is later: clocks that were compared differ by some 100 ns. */
inline_always u64 not_before(struct thread_seen *thread, u64 now)
{
	return thread && now < thread->since_ns ? thread->since_ns : now;
}

#endif
