/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads of the target that free memory themselves before they get any, because there is none left on the machine (direct
 * reclaim) or their cgroup has reached its limit. include/trace/events/vmscan.h
 */
#ifndef PINWISE_RECLAIM_H
#define PINWISE_RECLAIM_H

#include "threads.h"

static __always_inline int begins_to_reclaim(void)
{
	struct thread_seen *thread = current_thread();

	if (thread)
		thread->reclaims_since_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int has_reclaimed(void)
{
	struct thread_seen *thread = current_thread();

	if (!thread || !thread->reclaims_since_ns)
		return 0;
	thread->version++;
	extend(&thread->reclaim, bpf_ktime_get_ns() - thread->reclaims_since_ns);
	thread->reclaims_since_ns = 0;
	thread->version++;
	return 0;
}

SEC_TP(mm_vmscan_direct_reclaim_begin) int mm_vmscan_direct_reclaim_begin(u64 *ctx)
{
	return begins_to_reclaim();
}

SEC_TP(mm_vmscan_direct_reclaim_end) int mm_vmscan_direct_reclaim_end(u64 *ctx)
{
	return has_reclaimed();
}

SEC_TP(mm_vmscan_memcg_reclaim_begin) int mm_vmscan_memcg_reclaim_begin(u64 *ctx)
{
	return begins_to_reclaim();
}

SEC_TP(mm_vmscan_memcg_reclaim_end) int mm_vmscan_memcg_reclaim_end(u64 *ctx)
{
	return has_reclaimed();
}

#endif
