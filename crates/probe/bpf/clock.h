/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time of a wake-up, without reading a clock: that is half of what a wake-up would cost (docs/watch.md).
 *
 * Before a task is put into a run queue the kernel brings the queue's clock up to date, under its lock (update_rq_clock in
 * try_to_wake_up and wake_up_new_task, kernel/sched/core.c). That clock runs as fast as CLOCK_MONOTONIC, but for what NTP corrects
 * (0.05 % at most), from another beginning. How far apart they are is found out anew once in a millisecond, so that what NTP
 * does meanwhile is below 1 us. At a switch the same clock may be as old as the last wake-up (rq_clock_skip_update): it is not used there.
 */
#ifndef PINWISE_CLOCK_H
#define PINWISE_CLOCK_H

#include "kernel.h"
#include "records.h"

/* How long two clocks that were compared are taken to be as far apart as then. */
enum { COMPARED_FOR_NS = 1000000 };

/* As far as this one comparison is held against the next. */
enum { REMEMBERED_FOR_NS = 1000000000 };

/* More than NTP would move one clock against the other: a 1,024th. */
enum { DRIFT_SHIFT = 10 };

/*
 * Remembers how far the clocks are apart. They are not read at the same moment, and a hypervisor may take the CPU in between:
 * then the difference is too large, and no more of it is believed than could have come since the last time.
 */
inline_always void compare(struct cpu_seen *cpu, u64 queue_ns, u64 now)
{
	u64 ahead = now - queue_ns, age = queue_ns - cpu->clock_compared_ns;
	u64 believed = cpu->clock_ahead_ns + (age >> DRIFT_SHIFT);

	if (age < REMEMBERED_FOR_NS && (long long)(ahead - believed) > 0)
		ahead = believed;
	cpu->clock_ahead_ns = ahead;
	cpu->clock_compared_ns = queue_ns;
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
