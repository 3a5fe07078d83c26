/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long threads of the target have waited for a CPU, all together, up to any moment.
 *
 * If they came at a1, a2 ... and went at d1, d2 ..., that is n * t - (sum of a - sum of d), n being those that still wait.
 * Both are kept in one word, n in the low 16 bits and the sum above them mod 2^48 ns (78 hours), so that what is read is never
 * torn. Differences of two such readings are what was waited in between.
 *
 * Who holds the lock of the run queue (sched_switch, sched_wakeup) adds to a word of its own, which needs no atomic addition: that
 * would hold the CPU up until all it wrote before is out. Others add to a second word. Carries run from n into the sum in
 * either and in both together, so that the two words added up are the one word.
 */
#ifndef PINWISE_WAITING_H
#define PINWISE_WAITING_H

#include "maps.h"

enum { WAITING_BITS = 16 };
#define WAITED_MASK ((1ULL << 48) - 1)

static __always_inline u64 coming(u64 now)
{
	return 1 + (now << WAITING_BITS);
}

/* With the lock of the run queue. */
static __always_inline void comes(struct cpu_seen *cpu, u64 now)
{
	cpu->waiting += coming(now);
}

/* With the lock of the run queue. */
static __always_inline void goes(struct cpu_seen *cpu, u64 now)
{
	cpu->waiting -= coming(now);
}

/* Without it. */
static __always_inline void is_brought(struct cpu_seen *cpu, u64 now)
{
	__sync_fetch_and_add(&cpu->waiting_moved, coming(now));
}

/* Without it. */
static __always_inline void is_taken_away(struct cpu_seen *cpu, u64 now)
{
	__sync_fetch_and_add(&cpu->waiting_moved, -coming(now));
}

static __always_inline u64 waiting_word(struct cpu_seen *cpu)
{
	return *(volatile u64 *)&cpu->waiting + *(volatile u64 *)&cpu->waiting_moved;
}

/* How many wait. */
static __always_inline u64 waiting_count(struct cpu_seen *cpu)
{
	return waiting_word(cpu) & 0xffff;
}

/* What has been waited up to now, mod 2^48. */
static __always_inline u64 waited(struct cpu_seen *cpu, u64 now)
{
	u64 word = waiting_word(cpu);

	return ((word & 0xffff) * now - (word >> WAITING_BITS)) & WAITED_MASK;
}

/* Whether no thread of the target waits here, nor has since the slice that goes on began. */
static __always_inline int nobody_waited(struct cpu_seen *cpu)
{
	u64 word = waiting_word(cpu);

	return !(word & 0xffff) && ((-(word >> WAITING_BITS)) & WAITED_MASK) == cpu->waited_before_ns;
}

/* What lies between two readings. Clocks of two CPUs may differ by some ns: then a difference can be below 0. */
static __always_inline u64 waited_since(u64 now_waited, u64 before)
{
	u64 difference = (now_waited - before) & WAITED_MASK;

	return difference >> 47 ? 0 : difference;
}

#endif
