/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long the threads of the target wait at each futex; of some waits the stacks with which they went there and with which others let
 * them go on; and whether those had a CPU meanwhile. Only with typed tracepoints.
 */
#include "futex.h"
#include "stack_keeping.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lock_thread);
} threads SEC(".maps");

/* Sizes are for a small target: pinwise sets them before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct lock_key);
	__type(value, struct lock_sum);
} locks SEC(".maps");

/* When somebody was last let go on there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct lock_place);
	__type(value, u64);
} released_at SEC(".maps");

/*
 * At least so long between two waits of a thread of which stacks are taken: unwinding takes longer than all the rest of a switch, and a
 * thread that waits more often does so with the same few stacks.
 */
enum { BETWEEN_STACKS_NS = 1000000 };

static __always_inline struct lock_thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline void add_thread(struct stack_control *set, struct task_struct *task)
{
	struct lock_thread fresh = {};

	if (!bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE) && set)
		__sync_fetch_and_add(&set->lost_threads, 1);
}

static __always_inline void add(struct stack_control *set, const struct lock_key *key, const struct lock_sum *more)
{
	struct lock_sum *sum = bpf_map_lookup_elem(&locks, key), none = {};

	if (!sum) {
		bpf_map_update_elem(&locks, key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&locks, key);
	}
	if (!sum) {
		__sync_fetch_and_add(&set->lost_sums, 1);
		__sync_fetch_and_add(&set->lost_ns, more->ns);
		return;
	}
	__sync_fetch_and_add(&sum->count, more->count);
	__sync_fetch_and_add(&sum->ns, more->ns);
	if (more->by_waiters)
		__sync_fetch_and_add(&sum->by_waiters, more->by_waiters);
	if (more->held_ns)
		__sync_fetch_and_add(&sum->held_ns, more->held_ns);
	if (more->holder_asleep_ns)
		__sync_fetch_and_add(&sum->holder_asleep_ns, more->holder_asleep_ns);
	if (more->holder_waiting_ns)
		__sync_fetch_and_add(&sum->holder_waiting_ns, more->holder_waiting_ns);
}

/* Books a wait that ends now; what of it was released is in `more` and `key` already. */
static __always_inline void waited(struct stack_control *set, struct task_struct *task, struct lock_thread *thread, u64 now,
			  struct lock_key *key, struct lock_sum *more)
{
	thread->is_waiting = 0;
	if (now <= thread->left_ns)
		return;
	key->address = thread->address;
	key->waiter_stack = thread->stack;
	key->tgid = task->tgid;
	key->kind = thread->kind;
	more->count = 1;
	more->ns = now - thread->left_ns;
	add(set, key, more);
}

static __always_inline void ended_otherwise(struct stack_control *set, struct task_struct *task, struct lock_thread *thread, u64 now,
				   u32 end)
{
	struct lock_key key = { .releaser_stack = STACK_NOT_TAKEN, .end = end };
	struct lock_sum more = {};

	waited(set, task, thread, now, &key, &more);
}

static __always_inline void begins_to_wait(struct lock_thread *thread, struct futex_call *call)
{
	u32 place = thread->next++ % WAITED_AT;

	thread->address = call->address;
	thread->kind = call->kind;
	thread->is_waiting = 1;
	/* The verifier has to see the very number that is compared. */
	asm volatile("" : "+r"(place));
	if (place < WAITED_AT)
		thread->waited_at[place] = call->address;
}

/* `prev` is still the current task: the stack is its own. */
static __always_inline void leaves(struct stack_control *set, void *ctx, struct task_struct *prev, struct lock_thread *thread, u32 state)
{
	struct futex_call call = {};

	thread->left_ns = bpf_ktime_get_ns();
	thread->woken_ns = 0;
	thread->back_ns = 0;
	thread->address = 0;
	if (state != THREAD_ASLEEP && state != THREAD_BLOCKED) {
		thread->woken_ns = thread->left_ns;
		return;
	}
	call = waits_at(prev);
	if (!call.address)
		return;
	thread->stack = STACK_NOT_TAKEN;
	if (thread->left_ns - thread->stack_taken_ns >= BETWEEN_STACKS_NS) {
		thread->stack_taken_ns = thread->left_ns;
		thread->stack = user_stack(set, ctx, prev, &thread->last_stack);
	}
	begins_to_wait(thread, &call);
}

static __always_inline void forget_times_away(struct lock_thread *thread)
{
	thread->away_since_ns = 0;
	thread->asleep_ns = 0;
	thread->waiting_ns = 0;
}

static __always_inline void comes(struct stack_control *set, struct task_struct *next, struct lock_thread *thread)
{
	/* Back already: the kernel did not report the switch in which it left since, and how long it was away is not known. */
	u64 now = bpf_ktime_get_ns(), was_back_ns = thread->back_ns;

	/* Its wake-up came before it had left. */
	if (thread->is_waiting)
		ended_otherwise(set, next, thread, now, WAIT_BROKEN_OFF);
	if (thread->left_ns && !thread->woken_ns)
		thread->woken_ns = now;
	thread->back_ns = now;
	if (thread->address) {
		forget_times_away(thread);
	} else if (thread->left_ns && !was_back_ns) {
		if (!thread->away_since_ns)
			thread->away_since_ns = thread->left_ns;
		thread->asleep_ns += thread->woken_ns - thread->left_ns;
		thread->waiting_ns += now - thread->woken_ns;
	}
}

static __always_inline int switched(void *ctx, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	struct stack_control *set = control_of();
	struct lock_thread *thread;

	if (!counting_since(set))
		return 0;
	thread = thread_of(prev);
	if (thread)
		leaves(set, ctx, prev, thread, state_after(prev, preempted, waits_for));
	thread = thread_of(next);
	if (thread)
		comes(set, next, thread);
	return 0;
}

#include "sched_switch.h"

static __always_inline int has_waited_at(struct lock_thread *thread, u64 address)
{
	return thread->waited_at[0] == address || thread->waited_at[1] == address || thread->waited_at[2] == address ||
	       thread->waited_at[3] == address;
}

/* When the last one was let go on at a futex, and that this is the moment of the next. */
static __always_inline u64 last_release(struct lock_place *place, u64 now)
{
	u64 *at = bpf_map_lookup_elem(&released_at, place), before = 0;

	if (at) {
		before = *at;
		*at = now;
	} else {
		bpf_map_update_elem(&released_at, place, &now, 0);
	}
	return before;
}

/*
 * Since when the one who releases has had it, as far as that can be known, and what it did since. Of times without a CPU that began earlier
 * the last may still have been in it.
 */
static __always_inline void had_it(struct lock_thread *holder, u64 since, u64 now, struct lock_sum *more)
{
	more->held_ns = now - since;
	if (holder->away_since_ns >= since) {
		more->holder_asleep_ns = holder->asleep_ns;
		more->holder_waiting_ns = holder->waiting_ns;
	} else if (!holder->address && holder->left_ns >= since && holder->woken_ns >= holder->left_ns &&
		   holder->back_ns >= holder->woken_ns) {
		more->holder_asleep_ns = holder->woken_ns - holder->left_ns;
		more->holder_waiting_ns = holder->back_ns - holder->woken_ns;
	}
	forget_times_away(holder);
}

/* sched_waking(struct task_struct *p): here the current task is who wakes, unless an interrupt does. */
SEC_TP(sched_waking) int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0], *current = current_task();
	struct lock_key key = { .releaser_stack = STACK_NOT_TAKEN, .end = WAIT_BROKEN_OFF };
	struct stack_control *set = control_of();
	struct lock_thread *waiter, *releaser;
	struct futex_call call = {};
	struct lock_sum more = {};
	struct lock_place place = {};
	u64 now, before;

	if (!counting_since(set))
		return 0;
	waiter = thread_of(task);
	if (!waiter || waiter->woken_ns || !waiter->left_ns || waiter->back_ns)
		return 0;
	now = bpf_ktime_get_ns();
	waiter->woken_ns = now;
	if (!waiter->is_waiting)
		return 0;
	releaser = thread_of(current);
	if (releaser)
		call = wakes_at(current);
	/* Processes that share memory mostly have it at the same address: they come from one fork. */
	if (releaser && call.address &&
	    (call.address == waiter->address || (call.may_requeue && current->tgid == task->tgid))) {
		key.end = WAIT_RELEASED;
		if (waiter->stack != STACK_NOT_TAKEN)
			key.releaser_stack = user_stack(set, ctx, current, &releaser->last_release);
		more.by_waiters = has_waited_at(releaser, waiter->address);
		place.address = waiter->address;
		place.tgid = task->tgid;
		before = last_release(&place, now);
		had_it(releaser, before > waiter->left_ns ? before : waiter->left_ns, now, &more);
	}
	waited(set, task, waiter, now, &key, &more);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
SEC_TP(sched_process_fork) int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct stack_control *set = control_of();

	if (set && thread_of(parent))
		add_thread(set, child);
	return 0;
}

/* Where a thread is that has not been seen to switch since counting began. */
static __always_inline void is_away(struct stack_control *set, struct task_struct *task, struct lock_thread *thread)
{
	struct futex_call call;
	u32 waits_for = state_of_task(task);

	if (task->on_cpu || !waits_for || __sync_val_compare_and_swap(&thread->left_ns, 0, set->began_ns))
		return;
	call = waits_at(task);
	if (!call.address)
		return;
	thread->stack = STACK_NOT_TAKEN;
	begins_to_wait(thread, &call);
}

/*
 * All tasks. Read three times before counting, as in stacks.bpf.c: twice to find those of the target, once when it has begun, to see who
 * waits already; and once when it has ended, to sum up the waits that have not.
 */
SEC("iter/task") int every_thread(struct bpf_iter__task *met)
{
	struct task_struct *task = met->task;
	struct stack_control *set = control_of();
	struct lock_thread *thread;

	if (!task || !set)
		return 0;
	thread = thread_of(task);
	if (!thread && is_wanted(task) && !set->ended_ns) {
		add_thread(set, task);
		thread = thread_of(task);
	}
	if (!thread || !set->began_ns)
		return 0;
	if (!set->ended_ns)
		is_away(set, task, thread);
	else if (thread->is_waiting)
		ended_otherwise(set, task, thread, set->ended_ns, WAIT_GOES_ON);
	return 0;
}

char locks_license[] SEC("license") = "Dual BSD/GPL";
