/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fields of struct task_struct, whatever the kernel's version. */
#ifndef PINWISE_TASKS_H
#define PINWISE_TASKS_H

#include "kernel.h"
#include "records.h"

/* include/linux/sched.h: flags and states of a task. */
enum { PF_KTHREAD = 0x200000 };
enum { TASK_UNINTERRUPTIBLE = 0x2, TASK_DEAD = 0x80, TASK_NOLOAD = 0x400 };

static __always_inline struct task_struct *current_task(void)
{
#ifdef RAW_TRACEPOINTS
	return (void *)bpf_get_current_task();
#else
	return bpf_get_current_task_btf();
#endif
}

static __always_inline u32 cpu_of_task(struct task_struct *task)
{
	struct task_struct___cpu *older = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return CORE_DEREF(task, thread_info.cpu);
	return CORE_DEREF(older, cpu);
}

static __always_inline u32 state_of_task(struct task_struct *task)
{
	struct task_struct___state *older = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return CORE_DEREF(task, __state);
	return CORE_DEREF(older, state);
}

/*
 * Whether it leaves the CPU because the quota of one of its cgroups is used up. Since 6.18 each task is stopped by itself, on its
 * way back to user space: until then it runs on, and can be preempted as any other.
 */
static __always_inline int throttled(struct task_struct *task)
{
	struct cfs_rq *queue;

	if (bpf_core_field_exists(task->throttled))
		return CORE_DEREF(task, throttled);
	queue = CORE_DEREF(task, se.cfs_rq);
	return bpf_core_field_exists(queue->throttle_count) && queue && BPF_CORE_READ(queue, throttle_count) > 0;
}

/* What a thread that leaves the CPU does from now on. */
static __always_inline u32 state_after(struct task_struct *task, int preempted, u32 waits_for)
{
	if (preempted || !waits_for)
		return throttled(task) ? THREAD_THROTTLED : THREAD_PREEMPTED;
	if (waits_for & TASK_DEAD)
		return THREAD_ENDED;
	if ((waits_for & TASK_UNINTERRUPTIBLE) && !(waits_for & TASK_NOLOAD))
		return THREAD_BLOCKED;
	return THREAD_ASLEEP;
}

/* Numbers to watch, each with enum wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} wanted SEC(".maps");

#ifndef RAW_TRACEPOINTS
/* PID namespace of pinwise, by the number that /proc shows of it; 0 when it is the first, whose numbers the kernel itself uses. */
const volatile u32 namespace_inum = 0;

/* Namespaces within each other that are looked through: containers in containers in ... */
enum { NAMESPACE_DEPTH = 8 };

/* The number of a task in pinwise's namespace; 0 where it has none there. */
static __always_inline u32 own_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
	/* Where the numbers begin and how far apart they are is the running kernel's; how many there are no type says. */
	const char *numbers = (const void *)__builtin_preserve_access_index(&pid->numbers[0]);
	struct upid at;

	if (!pid)
		return 0;
	for (u32 depth = 0; depth < NAMESPACE_DEPTH && depth <= level; depth++) {
		bpf_probe_read_kernel(&at, sizeof(at), numbers + depth * sizeof(at));
		if (at.ns && BPF_CORE_READ(at.ns, ns.inum) == namespace_inum)
			return at.nr;
	}
	return 0;
}

static __always_inline int is_wanted(struct task_struct *task)
{
	u32 tid = namespace_inum ? own_number(task) : (u32)task->pid;
	u32 tgid = namespace_inum ? own_number(task->group_leader) : (u32)task->tgid;
	u32 *process = bpf_map_lookup_elem(&wanted, &tgid);
	u32 *thread = bpf_map_lookup_elem(&wanted, &tid);

	return (process && *process == WANTED_PROCESS) || (thread && *thread == WANTED_THREAD);
}

#endif

#endif
