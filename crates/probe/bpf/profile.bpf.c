/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the threads of a server do while they have a CPU, by samples of their stacks at the interrupts of the CPU's own timer. Those come
 * anyway, mostly as ticks, and not where a CPU is idle.
 */
#include "stack_sums.h"

/* At least so long between two samples on a CPU: some kernels tick a thousand times a second, and timers of tasks come at any rate. */
enum { BETWEEN_NS = 3500000 };

/* When the last sample was taken on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} sampled_at SEC(".maps");

static __always_inline int is_due(void)
{
	u32 first = 0;
	u64 *last = bpf_map_lookup_elem(&sampled_at, &first), now = bpf_ktime_get_ns();

	if (!last || now - *last < BETWEEN_NS)
		return 0;
	*last = now;
	return 1;
}

/* arch/x86/include/asm/trace/irq_vectors.h: local_timer_entry(vector). What is interrupted is the current task. */
SEC_TP(local_timer_entry) int local_timer_entry(u64 *ctx)
{
	struct stack_control *set = control_of();
	struct task_struct *task = current_task();
	struct stack_key key = { .state = THREAD_RUNNING };
	u64 unkept = STACK_NOT_TAKEN;
	u32 tgid = task->tgid;
	struct stack_sum *sum;

	if (!counting_since(set) || !bpf_map_lookup_elem(&wanted, &tgid) || !is_due())
		return 0;
	name_key(&key, task);
	key.kernel_stack = kernel_stack(set, ctx, &unkept);
	unkept = STACK_NOT_TAKEN;
	key.user_stack = user_stack(set, ctx, task, &unkept);
	sum = sum_of(&key);
	if (sum)
		__sync_fetch_and_add(&sum->count, 1);
	else
		__sync_fetch_and_add(&set->lost_sums, 1);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a child process belongs to the target as well. */
SEC_TP(sched_process_fork) int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = parent->tgid, born = child->tgid;
	u32 *meant = bpf_map_lookup_elem(&wanted, &tgid);
	struct stack_control *set = control_of();

	if (meant && born != tgid && bpf_map_update_elem(&wanted, &born, meant, 0) && set)
		__sync_fetch_and_add(&set->lost_threads, 1);
	return 0;
}

char profile_license[] SEC("license") = "Dual BSD/GPL";
