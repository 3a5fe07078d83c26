/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums up what the threads of the target did, by the stacks with which they left the CPU. Only with typed trace points: stacks are an
 * extra, and a kernel without types has fewer of them.
 */
#include "stack_records.h"
#include "tasks.h"

/* uapi/linux/bpf.h */
static long (*const bpf_get_stackid)(void *context, void *map, u64 flags) = (void *)27;
enum { MAP_STACK_TRACE = 7, STACK_OF_USER = 1 << 8 };
enum { REFUSED_FOR_ANOTHER = -17 /* EEXIST */ };

/* As deep as the kernel goes where nobody has set sysctl kernel.perf_event_max_stack. */
enum { DEPTH = 127 };

struct stack_frames {
	u64 at[DEPTH];
};

struct {
	map_uint(type, MAP_ARRAY);
	map_uint(map_flags, FLAG_MMAPABLE);
	map_uint(max_entries, 1);
	map_type(key, u32);
	map_type(value, struct stack_control);
} control section(".maps");

/* Sizes are for a small target: pinwise sets them before it loads the programs. */
struct {
	map_uint(type, MAP_STACK_TRACE);
	map_uint(max_entries, 64);
	map_type(key, u32);
	map_type(value, struct stack_frames);
} stacks section(".maps");

struct {
	map_uint(type, MAP_HASH);
	map_uint(max_entries, 64);
	map_type(key, struct stack_key);
	map_type(value, struct stack_sum);
} sums section(".maps");

struct {
	map_uint(type, MAP_TASK_STORAGE);
	map_uint(map_flags, FLAG_NO_PREALLOC);
	map_type(key, int);
	map_type(value, struct left);
} threads section(".maps");

inline_always struct stack_control *control_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

/* When counting began; 0 while it has not, and once it has ended. */
inline_always u64 counting_since(struct stack_control *set)
{
	return set && !set->ended_ns ? set->began_ns : 0;
}

inline_always struct left *left_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

inline_always void add_thread(struct stack_control *set, struct task_struct *task, u64 since, u32 state)
{
	struct left fresh = {
		.since_ns = since, .state = state, .kernel_stack = STACK_NOT_TAKEN, .user_stack = STACK_NOT_TAKEN,
	};

	if (!bpf_task_storage_get(&threads, task, &fresh, STORAGE_CREATE) && set)
		__sync_fetch_and_add(&set->lost_threads, 1);
}

/* What a thread did until `now` is summed up under its state and stacks. */
inline_always void charge(struct stack_control *set, struct task_struct *task, struct left *left, u64 now)
{
	struct stack_key key = {
		.tgid = task->tgid,
		.state = left->state,
		.kernel_stack = left->kernel_stack,
		.user_stack = left->user_stack,
	};
	struct stack_sum *sum, none = {};
	u64 since = left->since_ns ? left->since_ns : set->began_ns;
	u64 ns = now > since ? now - since : 0;

	left->since_ns = now;
	if (!ns)
		return;
	if (bpf_probe_read_kernel_str(key.comm, sizeof(key.comm), __builtin_preserve_access_index(&task->comm)) < 0)
		key.comm[0] = 0;
	sum = bpf_map_lookup_elem(&sums, &key);
	if (!sum) {
		bpf_map_update_elem(&sums, &key, &none, UPDATE_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &key);
	}
	if (!sum) {
		__sync_fetch_and_add(&set->lost_sums, 1);
		__sync_fetch_and_add(&set->lost_ns, ns);
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
}

inline_always void enters(struct left *left, u32 state)
{
	left->state = state;
	left->kernel_stack = STACK_NOT_TAKEN;
	left->user_stack = STACK_NOT_TAKEN;
}

inline_always s32 stack_of(struct stack_control *set, void *context, u64 flags)
{
	s32 number = bpf_get_stackid(context, &stacks, flags);

	if (number == REFUSED_FOR_ANOTHER)
		__sync_fetch_and_add(&set->lost_stacks, 1);
	return number;
}

/*
 * `prev` is still the current task: the stacks are its own. Where it was not seen to come, the kernel did not tell that switch
 * (docs/journal/0012), and the scheduler's own sum says since when it has had the CPU.
 */
inline_always void leaves(struct stack_control *set, void *context, struct task_struct *prev, struct left *left, u64 now,
			  u32 state)
{
	u64 ran = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;

	if (left->state != THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->untold, 1);
		charge(set, prev, left, ran <= now - left->since_ns ? now - ran : now);
	}
	enters(left, THREAD_RUNNING);
	charge(set, prev, left, now);
	left->state = state;
	if (state == THREAD_ENDED)
		return;
	left->kernel_stack = stack_of(set, context, 0);
	/* Where it was in user space when it was preempted is chance, and nearly each time another place. */
	if (state == THREAD_ASLEEP || state == THREAD_BLOCKED)
		left->user_stack = stack_of(set, context, STACK_OF_USER);
}

inline_always void comes(struct stack_control *set, struct task_struct *next, struct left *left, u64 now)
{
	/* It has a CPU already: when it left it nobody has told. */
	if (left->state == THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->untold, 1);
		enters(left, THREAD_NONE);
	}
	charge(set, next, left, now);
	enters(left, THREAD_RUNNING);
}

inline_always int switched(void *context, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	struct stack_control *set = control_of();
	struct left *left;

	if (!counting_since(set))
		return 0;
	left = left_of(prev);
	if (left)
		leaves(set, context, prev, left, bpf_ktime_get_ns(), state_after(prev, preempted, waits_for));
	left = left_of(next);
	if (left)
		comes(set, next, left, bpf_ktime_get_ns());
	return 0;
}

/* include/trace/events/sched.h; the fourth argument came in 5.18 */
tracepoint(sched_switch) int sched_switch(u64 *arguments)
{
	return switched(arguments, (void *)arguments[1], (void *)arguments[2], arguments[0] & 1, arguments[3]);
}

tracepoint(sched_switch) int sched_switch_of_three(u64 *arguments)
{
	struct task_struct *prev = (void *)arguments[1];

	return switched(arguments, prev, (void *)arguments[2], arguments[0] & 1, state_of_task(prev));
}

/* It is in a run queue: what it waited for has come, and it waits on with the same stack. */
inline_always int woken(struct task_struct *task)
{
	struct stack_control *set = control_of();
	struct left *left;

	if (!counting_since(set))
		return 0;
	left = left_of(task);
	if (!left || (left->state != THREAD_ASLEEP && left->state != THREAD_BLOCKED))
		return 0;
	charge(set, task, left, bpf_ktime_get_ns());
	left->state = THREAD_WAITING;
	return 0;
}

tracepoint(sched_wakeup) int sched_wakeup(u64 *arguments)
{
	return woken((void *)arguments[0]);
}

tracepoint(sched_wakeup_new) int sched_wakeup_new(u64 *arguments)
{
	return woken((void *)arguments[0]);
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
tracepoint(sched_process_fork) int sched_process_fork(u64 *arguments)
{
	struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];
	struct stack_control *set = control_of();

	if (set && left_of(parent))
		add_thread(set, child, counting_since(set) ? bpf_ktime_get_ns() : 0, THREAD_WAITING);
	return 0;
}

/* What a thread that has not been seen yet does. */
inline_always u32 state_at_first(struct task_struct *task)
{
	u32 waits_for = state_of_task(task);

	if (task->on_cpu)
		return THREAD_RUNNING;
	if (!waits_for)
		return throttled(task) ? THREAD_THROTTLED : THREAD_WAITING;
	return state_after(task, 0, waits_for);
}

/*
 * All tasks. Read three times before counting: twice to mark those of the target (a thread that is born during the first pass, of a
 * parent that had no mark yet, is met in the second), once when it has begun, to see what they do; and once when it has ended, to sum
 * up what they did last.
 */
section("iter/task") int every_thread(struct bpf_iter__task *met)
{
	struct task_struct *task = met->task;
	struct stack_control *set = control_of();
	struct left *left;

	if (!task || !set)
		return 0;
	left = left_of(task);
	if (!left && is_wanted(task) && !set->ended_ns) {
		add_thread(set, task, 0, THREAD_NONE);
		left = left_of(task);
	}
	if (!left || !set->began_ns)
		return 0;
	if (set->ended_ns) {
		if (left->state != THREAD_ENDED)
			charge(set, task, left, set->ended_ns);
		return 0;
	}
	if (!left->since_ns && left->state == THREAD_NONE)
		left->state = state_at_first(task);
	return 0;
}

char stacks_license[] section("license") = "Dual BSD/GPL";
