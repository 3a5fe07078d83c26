/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Stacks, each kept once and identified by a hash of its frames. */
#ifndef PINWISE_STACK_KEEPING_H
#define PINWISE_STACK_KEEPING_H

#include "stack_records.h"
#include "tasks.h"

/* uapi/linux/bpf.h */
static long (*const bpf_get_stack)(void *ctx, void *into, u32 size, u64 flags) = (void *)67;
enum { BPF_F_USER_STACK = 1 << 8 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_control);
} control SEC(".maps");

/* Where a stack is put together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_frames);
} scratch SEC(".maps");

/*
 * Sizes are for a small target: pinwise sets them before it loads the programs. They are set aside at once: the kernel has but a few pieces
 * of such a size at hand for who cannot wait for memory, as a switch cannot.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, struct stack_frames);
} stacks SEC(".maps");

static __always_inline struct stack_control *control_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

/* When counting began; 0 while it has not, and once it has ended. */
static __always_inline u64 counting_since(struct stack_control *set)
{
	return set && !set->ended_ns ? set->began_ns : 0;
}

/* Where a thread's callers can be. */
struct code {
	u64 start, length;
	u64 below; /* files that are mapped lie below this */
};

/* As far below there is code. Where files are mapped from the bottom up, the stack lies further above than that. */
enum { LIBRARIES_BITS = 42 };

static __always_inline struct code code_of(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct code code = {};

	if (mm) {
		code.start = mm->start_code;
		code.length = mm->end_code - code.start;
		code.below = mm->mmap_base;
		if ((mm->start_stack - code.below) >> LIBRARIES_BITS)
			code.below += 1ULL << LIBRARIES_BITS;
	}
	return code;
}

/*
 * The kernel follows frame pointers; code without them has other things in their place, often another number each time, which would be
 * another stack each time. No branch in it: there are as many ways through the loop as the verifier has to go.
 */
static __always_inline int may_be_code(const struct code *code, u64 address)
{
	return (address - code->start < code->length) | ((code->below - address) >> LIBRARIES_BITS == 0);
}

/* FNV-1a (Fowler, Noll, Vo) by words: http://www.isthe.com/chongo/tech/comp/fnv */
#define FNV_OFFSET_BASIS 0xcbf29ce484222325ULL

static __always_inline u64 hash_on(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

/* `last` is one that is kept: mostly a thread goes to sleep where it did the last time. */
static __always_inline u64 keep(struct stack_control *set, struct stack_frames *frames, u64 hash, u64 *last)
{
	if (hash < STACK_FIRST)
		hash += STACK_FIRST;
	if (hash == *last)
		return hash;
	*last = hash;
	if (bpf_map_lookup_elem(&stacks, &hash))
		return hash;
	bpf_map_update_elem(&stacks, &hash, frames, BPF_NOEXIST);
	if (bpf_map_lookup_elem(&stacks, &hash))
		return hash;
	*last = STACK_LOST;
	__sync_fetch_and_add(&set->lost_stacks, 1);
	return STACK_LOST;
}

/* Whose caller cannot be there ends a stack of user space: what comes after is as wrong, and not looked at. */
static __always_inline u64 user_stack(struct stack_control *set, void *ctx, struct task_struct *task, u64 *last)
{
	u32 first = 0, depth;
	struct stack_frames *frames = bpf_map_lookup_elem(&scratch, &first);
	struct code code = code_of(task);
	u64 hash = FNV_OFFSET_BASIS;

	if (!frames || bpf_get_stack(ctx, frames->at, sizeof(frames->at), BPF_F_USER_STACK) <= 0)
		return STACK_NONE;
	/* The innermost frame is the instruction pointer: it is always right. */
	hash = hash_on(hash, frames->at[0]);
	for (depth = 1; depth < STACK_DEPTH; depth++) {
		if (!may_be_code(&code, frames->at[depth])) {
			frames->at[depth] = frames->at[depth] ? STACK_NO_CODE : 0;
			hash = hash_on(hash, frames->at[depth]);
			break;
		}
		hash = hash_on(hash, frames->at[depth]);
	}
	return keep(set, frames, hash, last);
}

static __always_inline u64 kernel_stack(struct stack_control *set, void *ctx, u64 *last)
{
	u32 first = 0, depth;
	struct stack_frames *frames = bpf_map_lookup_elem(&scratch, &first);
	u64 hash = FNV_OFFSET_BASIS;

	/* There always are some: this one is running in the kernel. */
	if (!frames || bpf_get_stack(ctx, frames->at, sizeof(frames->at), 0) <= 0) {
		__sync_fetch_and_add(&set->lost_stacks, 1);
		return STACK_LOST;
	}
	for (depth = 0; depth < STACK_DEPTH; depth++) {
		if (!frames->at[depth])
			break;
		hash = hash_on(hash, frames->at[depth]);
	}
	return keep(set, frames, hash, last);
}

#endif
