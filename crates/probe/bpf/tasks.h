/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel's record of a task says, whatever its version. */
#ifndef PINWISE_TASKS_H
#define PINWISE_TASKS_H

#include "kernel.h"
#include "records.h"

/* include/linux/sched.h: PF_KTHREAD, and what a thread that leaves the CPU waits for. */
enum { FLAG_KTHREAD = 0x200000 };
enum { STATE_UNINTERRUPTIBLE = 0x2, STATE_DEAD = 0x80, STATE_NOLOAD = 0x400 };

inline_always struct task_struct *current_task(void)
{
#ifdef RAW_TRACEPOINTS
	return (void *)bpf_get_current_task();
#else
	return bpf_get_current_task_btf();
#endif
}

inline_always u32 cpu_of_task(struct task_struct *task)
{
	struct task_struct___cpu *older = (void *)task;

	if (field_exists(task->thread_info.cpu))
		return follow(task, thread_info.cpu);
	return follow(older, cpu);
}

inline_always u32 state_of_task(struct task_struct *task)
{
	struct task_struct___state *older = (void *)task;

	if (field_exists(task->__state))
		return follow(task, __state);
	return follow(older, state);
}

/*
 * Whether it leaves the CPU because the quota of one of its cgroups is used up. Since 6.18 each task is stopped by itself, on its
 * way back to user space: until then it runs on, and can be preempted as any other.
 */
inline_always int throttled(struct task_struct *task)
{
	struct cfs_rq *queue;

	if (field_exists(task->throttled))
		return follow(task, throttled);
	queue = follow(task, se.cfs_rq);
	return field_exists(queue->throttle_count) && queue && ask(queue, throttle_count) > 0;
}

/* What a thread that leaves the CPU does from now on. */
inline_always u32 state_after(struct task_struct *task, int preempted, u32 waits_for)
{
	if (preempted || !waits_for)
		return throttled(task) ? THREAD_THROTTLED : THREAD_PREEMPTED;
	if (waits_for & STATE_DEAD)
		return THREAD_ENDED;
	if ((waits_for & STATE_UNINTERRUPTIBLE) && !(waits_for & STATE_NOLOAD))
		return THREAD_BLOCKED;
	return THREAD_ASLEEP;
}

/* Numbers to watch, each with enum wanted. */
struct {
	map_uint(type, MAP_HASH);
	map_uint(max_entries, 64);
	map_type(key, u32);
	map_type(value, u32);
} wanted section(".maps");

#ifndef RAW_TRACEPOINTS
/* PID namespace of pinwise, by the number that /proc shows of it; 0 when it is the first, whose numbers the kernel itself uses. */
const volatile u32 namespace_inum = 0;

/* Namespaces within each other that are looked through: containers in containers in ... */
enum { NAMESPACE_DEPTH = 8 };

/* The number of a task in pinwise's namespace; 0 where it has none there. */
inline_always u32 own_number(struct task_struct *task)
{
	struct pid *pid = ask(task, thread_pid);
	u32 level = pid ? ask(pid, level) : 0;
	/* Where the numbers begin and how far apart they are is the running kernel's; how many there are no type says. */
	const char *numbers = (const void *)__builtin_preserve_access_index(&pid->numbers[0]);
	struct upid at;

	if (!pid)
		return 0;
	for (u32 depth = 0; depth < NAMESPACE_DEPTH && depth <= level; depth++) {
		bpf_probe_read_kernel(&at, sizeof(at), numbers + depth * sizeof(at));
		if (at.ns && ask(at.ns, ns.inum) == namespace_inum)
			return at.nr;
	}
	return 0;
}

inline_always int is_wanted(struct task_struct *task)
{
	u32 tid = namespace_inum ? own_number(task) : (u32)task->pid;
	u32 tgid = namespace_inum ? own_number(task->group_leader) : (u32)task->tgid;
	u32 *process = bpf_map_lookup_elem(&wanted, &tgid);
	u32 *thread = bpf_map_lookup_elem(&wanted, &tid);

	return (process && *process == WANTED_PROCESS) || (thread && *thread == WANTED_THREAD);
}

#endif

#endif
