/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is summed up by stack. */
#ifndef PINWISE_STACK_SUMS_H
#define PINWISE_STACK_SUMS_H

#include "stack_keeping.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct stack_key);
	__type(value, struct stack_sum);
} sums SEC(".maps");

/* The sum of a key, made where there is none yet; none where there is no room for it. */
static __always_inline struct stack_sum *sum_of(struct stack_key *key)
{
	struct stack_sum *sum = bpf_map_lookup_elem(&sums, key), none = {};

	if (sum)
		return sum;
	bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sums, key);
}

/* Whose a sum is. */
static __always_inline void name_key(struct stack_key *key, struct task_struct *task)
{
	key->tgid = task->tgid;
	if (bpf_probe_read_kernel_str(key->comm, sizeof(key->comm), __builtin_preserve_access_index(&task->comm)) < 0)
		key->comm[0] = 0;
}

#endif
