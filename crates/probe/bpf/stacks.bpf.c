/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums up what the threads of the target did, by the stacks with which they left the CPU. Only with typed trace points: stacks are an
 * extra, and a kernel without types has fewer of them.
 */
#include "stack_sums.h"

struct {
	map_uint(type, MAP_TASK_STORAGE);
	map_uint(map_flags, FLAG_NO_PREALLOC);
	map_type(key, int);
	map_type(value, struct left);
} threads section(".maps");

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

inline_always void add(struct stack_control *set, struct task_struct *task, struct stack_key *key,
		       const struct stack_sum *more)
{
	struct stack_sum *sum;

	name_key(key, task);
	sum = sum_of(key);
	if (!sum) {
		__sync_fetch_and_add(&set->lost_sums, 1);
		__sync_fetch_and_add(&set->lost_ns, more->ns + more->waited_ns);
		return;
	}
	__sync_fetch_and_add(&sum->count, more->count);
	__sync_fetch_and_add(&sum->ns, more->ns);
	if (more->waited_ns)
		__sync_fetch_and_add(&sum->waited_ns, more->waited_ns);
}

/* The time of a thread without a CPU, up to `until`. */
inline_always void was_away(struct stack_control *set, struct task_struct *task, struct left *left, u64 until)
{
	struct stack_key key = {
		.state = left->state, .kernel_stack = left->kernel_stack, .user_stack = left->user_stack,
	};
	u64 since = left->since_ns ? left->since_ns : set->began_ns, woken = left->woken_ns;
	struct stack_sum more = { .count = 1 };

	left->since_ns = until;
	left->woken_ns = 0;
	if (until <= since)
		return;
	if (woken <= since || woken > until)
		woken = until;
	more.ns = woken - since;
	more.waited_ns = until - woken;
	add(set, task, &key, &more);
}

/* The same for one that has a CPU; told later. */
inline_always void ran(struct stack_control *set, struct left *left, u64 until)
{
	u64 since = left->since_ns ? left->since_ns : set->began_ns;

	left->since_ns = until;
	if (until <= since)
		return;
	left->ran++;
	left->ran_ns += until - since;
}

inline_always void tell_ran(struct stack_control *set, struct task_struct *task, struct left *left)
{
	struct stack_key key = {
		.state = THREAD_RUNNING, .kernel_stack = STACK_NOT_TAKEN, .user_stack = STACK_NOT_TAKEN,
	};
	struct stack_sum more = { .count = left->ran, .ns = left->ran_ns };

	left->ran = 0;
	left->ran_ns = 0;
	if (more.count)
		add(set, task, &key, &more);
}

/* include/linux/sched/prio.h, MAX_RT_PRIO */
enum { FIRST_FAIR_PRIORITY = 100 };

inline_always void is_not_told(struct left *left)
{
	left->state = THREAD_NONE;
	left->woken_ns = 0;
	left->kernel_stack = STACK_NOT_TAKEN;
	left->user_stack = STACK_NOT_TAKEN;
}

/*
 * `prev` is still the current task: the stacks are its own. Where it was not seen to come, the kernel did not tell that switch
 * (docs/journal/0012), and the scheduler's own sum says since when it has had the CPU.
 */
inline_always void leaves(struct stack_control *set, void *context, struct task_struct *prev, struct left *left, u64 now,
			  u32 state)
{
	u64 has_run = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;

	if (left->state != THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->untold, 1);
		/* Of others than the fair class it does not say so: nobody knows what they did. */
		if (prev->prio < FIRST_FAIR_PRIORITY || has_run > now - left->since_ns) {
			is_not_told(left);
			was_away(set, prev, left, now);
		} else {
			was_away(set, prev, left, now - has_run);
		}
	}
	ran(set, left, now);
	left->state = state;
	left->kernel_stack = STACK_NOT_TAKEN;
	left->user_stack = STACK_NOT_TAKEN;
	if (state == THREAD_ENDED)
		tell_ran(set, prev, left);
	/* Where it was when it was preempted is chance, nearly each time another place, and as dear: most of a switch here is unwinding. */
	if (state == THREAD_ASLEEP || state == THREAD_BLOCKED) {
		left->kernel_stack = kernel_stack(set, context, &left->last_kernel_stack);
		left->user_stack = user_stack(set, context, prev, &left->last_user_stack);
	}
}

inline_always void comes(struct stack_control *set, struct task_struct *next, struct left *left, u64 now)
{
	/* It has a CPU already: when it left it nobody has told. */
	if (left->state == THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->untold, 1);
		is_not_told(left);
	}
	was_away(set, next, left, now);
	left->state = THREAD_RUNNING;
}

inline_always int switched(void *context, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	struct stack_control *set = control_of();
	struct left *left;
	u64 now = 0;

	if (!counting_since(set))
		return 0;
	left = left_of(prev);
	if (left) {
		now = bpf_ktime_get_ns();
		leaves(set, context, prev, left, now, state_after(prev, preempted, waits_for));
	}
	left = left_of(next);
	/* The taking of a stack is the next one's time, as it is by the kernel's account. */
	if (left)
		comes(set, next, left, now ? now : bpf_ktime_get_ns());
	return 0;
}

#include "switch_programs.h"

/* It is in a run queue: what it waited for has come, and it waits on with the same stack. */
inline_always int woken(struct task_struct *task)
{
	struct stack_control *set = control_of();
	struct left *left;

	if (!counting_since(set))
		return 0;
	left = left_of(task);
	if (!left || left->woken_ns || (left->state != THREAD_ASLEEP && left->state != THREAD_BLOCKED))
		return 0;
	left->woken_ns = bpf_ktime_get_ns();
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

	if (!set || !left_of(parent))
		return 0;
	/* Before counting begins nobody sees what it does: it is looked at when that has begun, as all others. */
	if (counting_since(set))
		add_thread(set, child, bpf_ktime_get_ns(), THREAD_WAITING);
	else
		add_thread(set, child, 0, THREAD_NONE);
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

inline_always void tells_the_last(struct stack_control *set, struct task_struct *task, struct left *left)
{
	if (left->state == THREAD_ENDED)
		return;
	if (left->state == THREAD_RUNNING)
		ran(set, left, set->ended_ns);
	else
		was_away(set, task, left, set->ended_ns);
	tell_ran(set, task, left);
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
	u32 state;

	if (!task || !set)
		return 0;
	left = left_of(task);
	if (!left && is_wanted(task) && !set->ended_ns) {
		/* One that joins while others are counted is counted from now on. */
		if (set->began_ns) {
			add_thread(set, task, bpf_ktime_get_ns(), state_at_first(task));
			return 0;
		}
		add_thread(set, task, 0, THREAD_NONE);
		left = left_of(task);
	}
	if (!left || !set->began_ns)
		return 0;
	if (set->ended_ns) {
		tells_the_last(set, task, left);
		return 0;
	}
	/* Unless it has switched meanwhile, which says it better. */
	if (left->state == THREAD_NONE && !left->since_ns) {
		state = state_at_first(task);
		if (__sync_val_compare_and_swap(&left->state, THREAD_NONE, state) == THREAD_NONE)
			__sync_val_compare_and_swap(&left->since_ns, 0, set->began_ns);
	}
	return 0;
}

char stacks_license[] section("license") = "Dual BSD/GPL";
