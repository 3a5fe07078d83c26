/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums up what the threads of the target did, by the stacks with which they left the CPU. Only with typed tracepoints: stacks are an
 * extra, and a kernel without types has fewer of them.
 */
#include "stack_sums.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct left);
} threads SEC(".maps");

static __always_inline struct left *left_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline void add_thread(struct stack_control *set, struct task_struct *task, u64 since, u32 state)
{
	struct left fresh = {
		.since_ns = since, .state = state, .kernel_stack = STACK_NOT_TAKEN, .user_stack = STACK_NOT_TAKEN,
	};

	if (!bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE) && set)
		__sync_fetch_and_add(&set->lost_threads, 1);
}

static __always_inline void add(struct stack_control *set, struct task_struct *task, struct stack_key *key,
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
static __always_inline void was_away(struct stack_control *set, struct task_struct *task, struct left *left, u64 until)
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

/* The same for one that has a CPU; added to the sums later. */
static __always_inline void ran(struct stack_control *set, struct left *left, u64 until)
{
	u64 since = left->since_ns ? left->since_ns : set->began_ns;

	left->since_ns = until;
	if (until <= since)
		return;
	left->ran++;
	left->ran_ns += until - since;
}

static __always_inline void add_ran(struct stack_control *set, struct task_struct *task, struct left *left)
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

/* include/linux/sched/prio.h: the fair class begins here. */
enum { MAX_RT_PRIO = 100 };

static __always_inline void forget_state(struct left *left)
{
	left->state = THREAD_NONE;
	left->woken_ns = 0;
	left->kernel_stack = STACK_NOT_TAKEN;
	left->user_stack = STACK_NOT_TAKEN;
}

/*
 * `prev` is still the current task: the stacks are its own. Where it was not seen to come, the kernel did not report that switch
 * (docs/journal/0012), and the scheduler's own sum says since when it has had the CPU.
 */
static __always_inline void leaves(struct stack_control *set, void *ctx, struct task_struct *prev, struct left *left, u64 now,
			  u32 state)
{
	u64 has_run = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;

	if (left->state != THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->unreported, 1);
		/* Of others than the fair class it does not say so: nobody knows what they did. */
		if (prev->prio < MAX_RT_PRIO || has_run > now - left->since_ns) {
			forget_state(left);
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
		add_ran(set, prev, left);
	/* Where it was when it was preempted is chance, nearly each time another place, and as dear: most of a switch here is unwinding. */
	if (state == THREAD_ASLEEP || state == THREAD_BLOCKED) {
		left->kernel_stack = kernel_stack(set, ctx, &left->last_kernel_stack);
		left->user_stack = user_stack(set, ctx, prev, &left->last_user_stack);
	}
}

static __always_inline void comes(struct stack_control *set, struct task_struct *next, struct left *left, u64 now)
{
	/* It has a CPU already: when it left that one was not reported. */
	if (left->state == THREAD_RUNNING && left->since_ns) {
		__sync_fetch_and_add(&set->unreported, 1);
		forget_state(left);
	}
	was_away(set, next, left, now);
	left->state = THREAD_RUNNING;
}

static __always_inline int switched(void *ctx, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	struct stack_control *set = control_of();
	struct left *left;
	u64 now = 0;

	if (!counting_since(set))
		return 0;
	left = left_of(prev);
	if (left) {
		now = bpf_ktime_get_ns();
		leaves(set, ctx, prev, left, now, state_after(prev, preempted, waits_for));
	}
	left = left_of(next);
	/* The taking of a stack is the next one's time, as it is by the kernel's account. */
	if (left)
		comes(set, next, left, now ? now : bpf_ktime_get_ns());
	return 0;
}

#include "sched_switch.h"

/* It is in a run queue: what it waited for has come, and it waits on with the same stack. */
static __always_inline int woken(struct task_struct *task)
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

#include "sched_wakeup.h"

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
SEC_TP(sched_process_fork) int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
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
static __always_inline u32 state_at_first(struct task_struct *task)
{
	u32 waits_for = state_of_task(task);

	if (task->on_cpu)
		return THREAD_RUNNING;
	if (!waits_for)
		return throttled(task) ? THREAD_THROTTLED : THREAD_WAITING;
	return state_after(task, 0, waits_for);
}

static __always_inline void add_last(struct stack_control *set, struct task_struct *task, struct left *left)
{
	if (left->state == THREAD_ENDED)
		return;
	if (left->state == THREAD_RUNNING)
		ran(set, left, set->ended_ns);
	else
		was_away(set, task, left, set->ended_ns);
	add_ran(set, task, left);
}

/*
 * All tasks. Read three times before counting: twice to mark those of the target (a thread that is born during the first pass, of a
 * parent that had no mark yet, is met in the second), once when it has begun, to see what they do; and once when it has ended, to sum
 * up what they did last.
 */
SEC("iter/task") int every_thread(struct bpf_iter__task *met)
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
		add_last(set, task, left);
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

char stacks_license[] SEC("license") = "Dual BSD/GPL";
