/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The step into which a time falls: its power of two, then its next two bits. `account/rows/distribution.rs` says the same in Rust, and a
 * test holds the two together.
 */
#ifndef PINWISE_STEPS_H
#define PINWISE_STEPS_H

#include "kernel.h"
#include "records.h"

#define TWICE(step) step, step
#define FOUR(step) TWICE(step), TWICE(step)
#define EIGHT(step) FOUR(step), FOUR(step)
#define SIXTEEN(step) EIGHT(step), EIGHT(step)
#define THIRTY_TWO(step) SIXTEEN(step), SIXTEEN(step)
#define SIXTY_FOUR(step) THIRTY_TWO(step), THIRTY_TWO(step)
#define HUNDRED_TWENTY_EIGHT(step) SIXTY_FOUR(step), SIXTY_FOUR(step)
#define ONCE(step) step
#define POWER(power, times) times(4 * power), times(4 * power + 1), times(4 * power + 2), times(4 * power + 3)

enum { SHORT_BITS = 10 };

/*
 * The steps of short times. Of longer ones the lowest bits are cut off, as many at a time as leave the two bits that count: of what
 * takes some us or ms all day long one comparison is mostly predicted. (BPF has no instruction for the highest bit, and finding it by
 * arithmetic takes thirty others.)
 */
static const u8 short_steps[1 << SHORT_BITS] = {
	0, 1, 2, 3,
	POWER(2, ONCE), POWER(3, TWICE), POWER(4, FOUR), POWER(5, EIGHT), POWER(6, SIXTEEN), POWER(7, THIRTY_TWO),
	POWER(8, SIXTY_FOUR), POWER(9, HUNDRED_TWENTY_EIGHT),
};

/* Of a time that is short when `cut` bits are cut off. */
#define step_of_longer(ns, cut) (short_steps[(ns) >> (cut)] + ((u64)(cut) << STEPS_BITS))

/* 4 ms and longer. */
static __noinline __cold u64 step_of_long(u64 ns)
{
	if (ns < 1ULL << (SHORT_BITS + 18))
		return step_of_longer(ns, 18);
	if (ns < 1ULL << (SHORT_BITS + 24))
		return step_of_longer(ns, 24);
	if (ns < 1ULL << (SHORT_BITS + 30))
		return step_of_longer(ns, 30);
	return BUCKETS - 1;
}

/*
 * The step of a time, of those that are kept. What becomes an index is u64: clang for BPF without 32-bit instructions cuts a u32 off by
 * shifts, behind which the verifier has lost its bounds; and of what a table says it knows no more than that it is a byte.
 */
static __always_inline u64 step_of(u64 ns)
{
	u64 step;

	if (ns < 1ULL << SHORT_BITS)
		step = short_steps[ns];
	else if (ns < 1ULL << (SHORT_BITS + 6))
		step = step_of_longer(ns, 6);
	else if (ns < 1ULL << (SHORT_BITS + 12))
		step = step_of_longer(ns, 12);
	else
		step = step_of_long(ns);
	return step < BUCKETS ? step : BUCKETS - 1;
}

static __always_inline void count_step(u32 *steps, u64 ns)
{
	steps[step_of(ns)]++;
}

#endif
