/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the time of the target's threads goes: on a CPU, able to run but not on one (and who was there instead), or waiting for
 * something of their own will.
 *
 * sched_switch and sched_wakeup are called under the lock of the run queue concerned, so what belongs to a thread is never
 * written on two CPUs at once.
 */
#ifndef PINWISE_THREADS_H
#define PINWISE_THREADS_H

#include "clock.h"
#include "sleep.h"
#include "tasks.h"
#include "waiting.h"

static __always_inline struct thread_seen *thread_in(u32 slot)
{
	return bpf_map_lookup_elem(&threads, &slot);
}

/* The record of a task that belongs to the target; none for all others. */
static __always_inline struct thread_seen *find_thread(struct task_struct *task)
{
#ifdef RAW_TRACEPOINTS
	u32 tid = CORE_DEREF(task, pid);
	u32 *slot = bpf_map_lookup_elem(&slots, &tid);
	struct thread_seen *thread = slot ? thread_in(*slot) : 0;

	/* Its record may have been cleared, and given to another. */
	return thread && thread->tid == tid ? thread : 0;
#else
	u32 *slot = bpf_task_storage_get(&slots, task, 0, 0);

	return slot ? thread_in(*slot) : 0;
#endif
}

/*
 * The record of the task that this CPU was last seen to run, if it belongs to the target. User space clears the record of a thread that
 * /proc no longer lists; such a thread can still be on its way to its last switch.
 */
static __always_inline struct thread_seen *thread_on(struct cpu_seen *cpu)
{
	struct thread_seen *thread = cpu->current_slot ? thread_in(cpu->current_slot - 1) : 0;

	return thread && thread->tid ? thread : 0;
}

static __always_inline void know(struct known_thread *known, struct task_struct *task, u32 tid, u32 slot)
{
	known->task = (u64)task;
	known->tid = tid;
	known->slot = slot;
}

/* Looks a task up for a CPU, which knows it from then on. `adopted` was read before. */
static __noinline __cold struct thread_seen *look_up(struct task_struct *task, struct cpu_seen *cpu, u32 tid, u32 adopted)
{
	struct known_thread *known = &cpu->known[tid % KNOWN_THREADS];
	struct thread_seen *thread = find_thread(task);

	if (thread)
		know(known, task, tid, thread->slot);
	else
		know(known, task, tid | NOT_OF_TARGET, adopted);
	return thread;
}

/*
 * The same through a cache of the CPU on which it is looked up: the same few tasks come there again and again. A task that was
 * found before is known by its address and number, and its slot still has that number. One that is none of the target's is
 * known as that until another thread is taken in, which may be it. Others are looked up.
 */
static __always_inline struct thread_seen *thread_of(struct task_struct *task, struct cpu_seen *cpu)
{
	u32 tid = CORE_DEREF(task, pid);
	struct known_thread *known = &cpu->known[tid % KNOWN_THREADS];
	u32 adopted = threads_adopted;
	struct thread_seen *thread;

	if (known->task == (u64)task) {
		if (known->tid == (tid | NOT_OF_TARGET) && known->slot == adopted)
			return 0;
		if (known->tid == tid) {
			thread = thread_in(known->slot);
			if (thread && thread->tid == tid && thread->state != THREAD_ENDED)
				return thread;
		}
	}
	return look_up(task, cpu, tid, adopted);
}

static __always_inline u64 cgroup_of(struct task_struct *task)
{
	struct css_set *groups = CORE_DEREF(task, cgroups);
	struct cgroup *group = BPF_CORE_READ(groups, dfl_cgrp);
	struct kernfs_node *node = BPF_CORE_READ(group, kn);

	return BPF_CORE_READ(node, id);
}

static __always_inline void describe(struct thread_seen *thread, struct task_struct *task)
{
	thread->tid = CORE_DEREF(task, pid);
	thread->tgid = CORE_DEREF(task, tgid);
#ifndef RAW_TRACEPOINTS
	if (namespace_inum) {
		thread->own_tid = own_number(task);
		thread->own_tgid = own_number(task->group_leader);
	}
#endif
	thread->cgroup = cgroup_of(task);
	bpf_probe_read_kernel_str(thread->comm, sizeof(thread->comm),
				  __builtin_preserve_access_index(&task->comm));
}

static __always_inline void see_faults(struct faults *faults, struct task_struct *task)
{
	faults->minor = CORE_DEREF(task, min_flt);
	faults->major = CORE_DEREF(task, maj_flt);
}

/* Has the task found by its record from now on. A number may still stand for the task that had it before. */
static __always_inline int mark(struct task_struct *task, struct thread_seen *thread)
{
#ifdef RAW_TRACEPOINTS
	return !bpf_map_update_elem(&slots, &thread->tid, &thread->slot, 0);
#else
	return bpf_task_storage_get(&slots, task, &thread->slot, BPF_LOCAL_STORAGE_GET_F_CREATE) != 0;
#endif
}

/* Gives a task a slot of its own; none where there is no room for it, which is counted. */
static __always_inline struct thread_seen *adopt(struct task_struct *task, u64 now)
{
	struct control *set = control_of();
	struct thread_seen *thread;
	u32 slot;

	if (!set)
		return 0;
	if (bpf_map_pop_elem(&free_slots, &slot)) {
		__sync_fetch_and_add(&set->lost.threads, 1);
		return 0;
	}
	thread = thread_in(slot);
	if (!thread)
		return 0;
	describe(thread, task);
	thread->slot = slot;
	thread->began_ns = now;
	thread->since_ns = now;
	thread->cpu = cpu_of_task(task);
	see_faults(&thread->faults_before, task);
	thread->faults = thread->faults_before;
	if (mark(task, thread)) {
		/* After it: whoever looks it up from here on finds it. */
		__sync_fetch_and_add(&threads_adopted, 1);
		return thread;
	}
	thread->tid = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
	__sync_fetch_and_add(&set->lost.threads, 1);
	return 0;
}

static __always_inline u64 distance(u32 from, u32 to)
{
	struct place *here = bpf_map_lookup_elem(&places, &from);
	struct place *there = bpf_map_lookup_elem(&places, &to);

	if (!here || !there || !here->known || !there->known)
		return DISTANCE_UNKNOWN;
	if (here->core == there->core)
		return WITHIN_CORE;
	if (here->cache == there->cache)
		return WITHIN_CACHE;
	return here->node == there->node ? WITHIN_NODE : ACROSS_NODES;
}

static __noinline __cold void migrates(struct thread_seen *thread, u32 to)
{
	struct route_key key = { .from = thread->cpu, .to = to };
	u64 *times = bpf_map_lookup_elem(&routes, &key), none = 0;
	struct control *set = control_of();
	u64 far = distance(thread->cpu, to);

	if (far < DISTANCES)
		thread->migrations[far]++;
	if (!times && set)
		times = new_entry(&routes, &key, &none, &set->made.routes, &set->lost.routes);
	if (times)
		__sync_fetch_and_add(times, 1);
}

static __always_inline struct taker_seen *new_taker(struct taker_key *key, struct taker_seen *fresh)
{
	struct control *set = control_of();

	return set ? new_entry(&takers, key, fresh, &set->made.takers, &set->lost.takers) : 0;
}

/* The record of a task as a taker of one CPU. */
static __noinline __cold struct taker_seen *taker_of(struct task_struct *task, u32 cpu)
{
	struct taker_key key = { .tid = CORE_DEREF(task, pid), .cpu = cpu };
	struct taker_seen *taker = bpf_map_lookup_elem(&takers, &key);
	struct taker_seen fresh = {};

	if (taker)
		return taker;
	fresh.tgid = CORE_DEREF(task, tgid);
	fresh.of_kernel = !!(CORE_DEREF(task, flags) & PF_KTHREAD);
	fresh.cgroup = cgroup_of(task);
	bpf_probe_read_kernel_str(fresh.comm, sizeof(fresh.comm),
				  __builtin_preserve_access_index(&task->comm));
	return new_taker(&key, &fresh);
}

/* Begins to wait for a CPU, whose run queue is locked. */
static __always_inline void waits(struct thread_seen *thread, u32 state, struct cpu_seen *cpu, u32 id, u64 now)
{
	thread->state = state;
	thread->since_ns = now;
	thread->waits_on = id + 1;
	comes(cpu, now);
}

/* Waits no longer for its CPU, whose run queue is not locked. */
static __noinline __cold void is_moved_away(struct thread_seen *thread, u64 now)
{
	struct cpu_seen *cpu = cpu_of(thread->waits_on - 1);

	thread->waits_on = 0;
	if (cpu)
		is_taken_away(cpu, now);
}

/* Waits no longer: it gets this CPU, whose run queue is locked. It may have waited for another. */
static __always_inline void waits_no_more(struct thread_seen *thread, struct cpu_seen *cpu, u32 id, u64 now)
{
	if (thread->waits_on == id + 1) {
		thread->waits_on = 0;
		goes(cpu, now);
	} else if (thread->waits_on) {
		is_moved_away(thread, now);
	}
}

/* What interrupts took of the slice that ends. One in progress when counting began can reach back beyond the slice. */
static __always_inline u64 interrupted_of(struct cpu_seen *cpu, u64 slice)
{
	return cpu->slice_interrupted_ns < slice ? cpu->slice_interrupted_ns : slice;
}

/* A thread of the target leaves the CPU; `reason` is why, where it goes to sleep. */
static __always_inline void leaves(struct thread_seen *thread, struct cpu_seen *cpu, u32 id, u32 state, u32 reason, u64 now)
{
	u64 slice = now - thread->since_ns;
	u64 interrupted = interrupted_of(cpu, slice);

	thread->version++;
	extend(&thread->on_cpu, slice - interrupted);
	count_step(thread->on_cpu_steps, slice - interrupted);
	thread->interrupted_ns += interrupted;
	thread->cpu = id;
	if (state == THREAD_PREEMPTED) {
		waits(thread, state, cpu, id, now);
	} else {
		thread->state = state;
		thread->sleeps_for = reason;
		thread->since_ns = now;
	}
	thread->version++;
}

/*
 * Whether its state is what /proc said before counting began: that does not distinguish one that is on a CPU from one
 * that waits for one, and may be out of date. A task iterator in the kernel does distinguish them.
 */
static __always_inline int nothing_seen(struct thread_seen *thread)
{
#ifdef RAW_TRACEPOINTS
	return thread->since_ns == thread->began_ns;
#else
	return 0;
#endif
}

/* Books what a thread did before it got the CPU. */
static __always_inline void book_before(struct thread_seen *thread, u32 from_idle_state, u64 now)
{
	u64 stretch = now - thread->since_ns;
	u64 deep = (u64)from_idle_state - 1;

	switch (thread->state) {
	case THREAD_PREEMPTED:
		extend(&thread->preempted, stretch);
		break;
	case THREAD_THROTTLED:
		extend(&thread->throttled, stretch);
		break;
	case THREAD_ASLEEP:
		/* Its wake-up was not seen. */
		slept(thread, stretch);
		return;
	case THREAD_BLOCKED:
		add(&thread->blocked, stretch);
		return;
	case THREAD_RUNNING:
		/* It was not seen to leave: what it did is not known. But where nothing was seen of it yet, it waited all the time. */
		if (!nothing_seen(thread))
			return;
		extend(&thread->waiting, stretch);
		break;
	default:
		extend(&thread->waiting, stretch);
		if (from_idle_state) {
			/* The verifier has to see the very number that is compared: without this, clang compares another form of it. */
			asm volatile("" : "+r"(deep));
			if (deep >= IDLE_STATES)
				deep = IDLE_STATES - 1;
			thread->from_idle_count[deep]++;
			thread->from_idle_ns[deep] += stretch;
		}
	}
	count_step(thread->off_cpu_steps, stretch);
	if (!thread->waits_on && thread->state != THREAD_THROTTLED)
		thread->unseen_waiting_ns += stretch;
}

/* A thread of the target gets the CPU. */
static __always_inline void gets(struct thread_seen *thread, struct cpu_seen *cpu, u32 id, u32 from_idle_state, u64 now)
{
	thread->version++;
	book_before(thread, from_idle_state, now);
	waits_no_more(thread, cpu, id, now);
	if (unlikely(thread->cpu != id))
		migrates(thread, id);
	thread->cpu = id;
	thread->state = THREAD_RUNNING;
	thread->since_ns = now;
	thread->version++;
}

/* Books a slice to a task in its record as a taker. What a thread of the target took is in its own. */
static __noinline __cold void book_taker(struct task_struct *task, u32 id, u64 net, u64 taken)
{
	struct taker_seen *taker = taker_of(task, id);

	if (!taker)
		return;
	taker->slices++;
	taker->on_cpu_ns += net;
	if (taken)
		extend(&taker->took, taken);
}

/* Books the slice that ends to whoever had it. */
static __always_inline void book_slice(struct task_struct *task, struct thread_seen *thread, struct cpu_seen *cpu, u32 id,
			      u64 net, u64 taken)
{
	if (thread) {
		cpu->target_ns += net;
		if (taken)
			extend(&thread->took, taken);
	} else if (!CORE_DEREF(task, pid)) {
		cpu->idle_ns += net;
		cpu->idle_waited_ns += taken;
		return;
	} else {
		cpu->other_ns += net;
	}
	if (every_task || (!thread && taken))
		book_taker(task, id, net, thread ? 0 : taken);
}

/* Somebody comes in the place of a target's thread that could have run on. */
static __always_inline void book_preemption(struct task_struct *next, struct thread_seen *thread, u32 id)
{
	struct taker_seen *taker;

	if (thread) {
		thread->preempted_others++;
		return;
	}
	if (!CORE_DEREF(next, pid))
		return;
	taker = taker_of(next, id);
	if (taker)
		taker->preempted++;
}

/*
 * From one task to another, both of no concern, while nobody waits: their slices may as well be one. Saves reading the clock on
 * machines where much else goes on.
 */
static __always_inline int nothing_to_book(struct task_struct *prev, struct task_struct *next, struct cpu_seen *cpu)
{
	return !every_task && cpu->switched_at_ns && !cpu->current_slot && nobody_waited(cpu) && CORE_DEREF(prev, pid) &&
	       CORE_DEREF(next, pid);
}

/* Books a slice of a task of which only the number is known: pinwise reads its name from /proc. */
static __always_inline void book_unreported(struct cpu_seen *cpu, struct thread_seen *thread, u32 id, u64 net)
{
	struct taker_key key = { .tid = cpu->current_tid, .cpu = id };
	struct taker_seen *taker, nameless = {};

	if (thread) {
		cpu->target_ns += net;
		return;
	}
	cpu->other_ns += net;
	if (!every_task)
		return;
	taker = bpf_map_lookup_elem(&takers, &key);
	if (!taker)
		taker = new_taker(&key, &nameless);
	if (taker) {
		taker->slices++;
		taker->on_cpu_ns += net;
	}
}

/*
 * The current slice ended unreported, and one of `thread` began, or of another task with this number. `known`: whether it is known
 * when. If not, the time is given to nobody.
 */
static __always_inline void switched_unreported(struct cpu_seen *cpu, u32 id, struct thread_seen *thread, u32 tid, u64 since,
				  int known, u64 now)
{
	struct thread_seen *before = thread_on(cpu);
	u64 slice = since - cpu->switched_at_ns;
	u64 interrupted = interrupted_of(cpu, slice);

	if (known)
		book_unreported(cpu, before, id, slice - interrupted);
	else
		cpu->unknown_ns += slice - interrupted;
	if (before)
		leaves(before, cpu, id, THREAD_NONE, SLEEP_UNKNOWN, not_before(before, since));
	if (thread && thread->state != THREAD_RUNNING)
		gets(thread, cpu, id, 0, not_before(thread, since));
	cpu->current_slot = thread ? thread->slot + 1 : 0;
	cpu->current_tid = tid;
	cpu->switched_at_ns = since;
	cpu->slice_interrupted_ns -= interrupted;
	cpu->waited_before_ns = waited(cpu, now);
	cpu->waiting_interrupted_ns = 0;
	/* Last: see struct cpu_head. */
	*(volatile u32 *)&cpu->unreported += 1;
}

/*
 * The task that leaves is not the one that was seen to come: a switch in between was not reported. (Seen on 6.18: that kernel
 * reports no switch away from some tasks.) The scheduler's own sum says since when a task of the fair class has had the CPU; the slice is
 * cut there. Nobody knows how the task before left: its state is unknown until it is seen again.
 */
static __noinline __cold void catch_up(struct task_struct *prev, struct cpu_seen *cpu, u32 id, u64 now)
{
	u64 ran = CORE_DEREF(prev, se.sum_exec_runtime) - CORE_DEREF(prev, se.prev_sum_exec_runtime);
	u32 tid = CORE_DEREF(prev, pid);
	int known = tid && ran && ran <= now - cpu->switched_at_ns;

	switched_unreported(cpu, id, thread_of(prev, cpu), tid, known ? now - ran : now, known, now);
}

/* Books the slice that ends, and whose turn it is. */
static __always_inline int switched(void *ctx, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	struct thread_seen *thread = 0, *incoming;
	u64 now, slice, taken, interrupted;
	u32 state = THREAD_RUNNING, reason = SLEEP_UNKNOWN, from_idle_state = 0;
	int reported;

	if (!counting || !cpu)
		return 0;
	/* Not every processor shows two words in the order in which they were written. */
	if (unlikely(!cpu->switched_at_ns) && !counting_since())
		return 0;
	incoming = thread_of(next, cpu);
	reported = !cpu->switched_at_ns || cpu->current_tid == (u32)CORE_DEREF(prev, pid);
	if (reported && !incoming && nothing_to_book(prev, next, cpu)) {
		cpu->current_tid = CORE_DEREF(next, pid);
		*(volatile u64 *)&cpu->switches += 1;
		return 0;
	}
	now = not_before(incoming, left_at(prev, next, cpu, !preempted && waits_for));
	if (unlikely(now < cpu->switched_at_ns))
		now = cpu->switched_at_ns;
	if (unlikely(!reported))
		catch_up(prev, cpu, id, now);
	if (cpu->current_slot)
		thread = thread_on(cpu);
	else if (unlikely(!cpu->switched_at_ns))
		thread = thread_of(prev, cpu);
	now = not_before(thread, now);
	slice = now - (cpu->switched_at_ns ? cpu->switched_at_ns : counting_since());
	interrupted = interrupted_of(cpu, slice);
	taken = waited_since(waited(cpu, now), cpu->waited_before_ns);
	taken = taken > cpu->waiting_interrupted_ns ? taken - cpu->waiting_interrupted_ns : 0;
	book_slice(prev, thread, cpu, id, slice - interrupted, taken);
	if (thread) {
		state = state_after(prev, preempted, waits_for);
		if (unlikely(state == THREAD_ENDED))
			see_faults(&thread->faults, prev);
		if (state == THREAD_ASLEEP)
			reason = sleep_reason(prev, waits_for);
		leaves(thread, cpu, id, state, reason, now);
	}

	if (state == THREAD_PREEMPTED)
		book_preemption(next, incoming, id);
	if (incoming) {
		if (!CORE_DEREF(prev, pid))
			from_idle_state = cpu->idle_state;
		gets(incoming, cpu, id, from_idle_state, now);
	}
	cpu->current_slot = incoming ? incoming->slot + 1 : 0;
	cpu->current_tid = CORE_DEREF(next, pid);
	cpu->switched_at_ns = now;
	cpu->slice_interrupted_ns = 0;
	cpu->waited_before_ns = waited(cpu, now);
	cpu->waiting_interrupted_ns = 0;
	cpu->woken = 0;
	/* Last: see struct cpu_head. */
	*(volatile u64 *)&cpu->switches += 1;
	return 0;
}

#include "sched_switch.h"

/*
 * A thread that is woken before it has left the CPU, or a second time, goes on as it was. (The lock of the run queue is not held
 * then, nor its clock up to date.)
 */
static __always_inline int can_be_woken(struct thread_seen *thread, struct task_struct *task)
{
	switch (thread->state) {
	case THREAD_NONE:
	case THREAD_ASLEEP:
	case THREAD_BLOCKED:
		return !CORE_DEREF(task, on_cpu);
	case THREAD_RUNNING:
		return nothing_seen(thread) && !CORE_DEREF(task, on_cpu);
	default:
		return 0;
	}
}

/* Books a wake-up onto a CPU to whoever was said to be about to do it. */
static __always_inline void book_waker(struct thread_seen *thread, u32 id)
{
	u64 by = thread->woken_by;
	u32 who = by;

	if (!who)
		return;
	thread->woken_by = 0;
	if (by >> 32 != id)
		who |= WAKER_ELSEWHERE;
	for (u32 at = 0; at < WAKERS; at++) {
		struct waker *waker = &thread->wakers[at];

		if (!waker->who)
			waker->who = who;
		if (waker->who == who) {
			waker->count++;
			return;
		}
	}
}

static __always_inline int woken(struct task_struct *task)
{
	struct cpu_seen *cpu = cpu_of(bpf_get_smp_processor_id());
	struct thread_seen *thread;
	u64 now;
	u32 id;

	if (!cpu || !counting)
		return 0;
	thread = thread_of(task, cpu);
	id = cpu_of_task(task);
	cpu = cpu_of(id);
	if (!cpu)
		return 0;
	/* Mostly it is set, or nobody clears it because nothing there concerns the target. */
	if (!cpu->woken)
		cpu->woken = 1;
	if (!thread || !can_be_woken(thread, task))
		return 0;
	now = not_before(thread, woken_at(cpu, queue_clock(task)));
	thread->version++;
	if (thread->state == THREAD_BLOCKED)
		add(&thread->blocked, now - thread->since_ns);
	else
		slept(thread, now - thread->since_ns);
	if (id != thread->cpu)
		thread->woken_elsewhere++;
	book_waker(thread, id);
	waits(thread, THREAD_WAITING, cpu, id, now);
	thread->version++;
	return 0;
}

/*
 * sched_waking(struct task_struct *): a task is about to be woken, by what runs on this CPU. The wake-up itself may be carried out on the
 * CPU that the task is to run on.
 */
SEC_TP(sched_waking) int sched_waking(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id(), who = WAKER_KNOWN;
	struct task_struct *task = (void *)ctx[0];
	struct cpu_seen *cpu = cpu_of(id);
	struct thread_seen *thread;

	if (!cpu || !counting)
		return 0;
	thread = thread_of(task, cpu);
	if (!thread)
		return 0;
	if (cpu->interrupt.at_ns)
		who |= WAKER_INTERRUPT;
	else
		who |= (bpf_get_current_pid_tgid() >> 32) & WAKER_PROCESS;
	if (cpu->softirq.at_ns)
		who |= WAKER_SOFTIRQ;
	thread->woken_by = (u64)id << 32 | who;
	return 0;
}

#include "sched_wakeup.h"

/* sched_migrate_task(struct task_struct *, int to): a task is moved to another run queue; it may wait. */
SEC_TP(sched_migrate_task) int sched_migrate_task(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread_seen *thread;
	struct cpu_seen *cpu;
	u32 to = ctx[1];
	u64 now;

	if (!counting)
		return 0;
	cpu = cpu_of(to);
	/* One that is woken, and not merely moved, is in no queue. */
	if (CORE_DEREF(task, on_rq))
		doubt(cpu);
	thread = find_thread(task);
	if (!thread || !thread->waits_on || !cpu)
		return 0;
	now = bpf_ktime_get_ns();
	is_moved_away(thread, now);
	thread->waits_on = to + 1;
	is_brought(cpu, now);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
SEC_TP(sched_process_fork) int sched_process_fork(u64 *ctx)
{
	struct thread_seen *thread;

	if (!find_thread((void *)ctx[0]))
		return 0;
	thread = adopt((void *)ctx[1], bpf_ktime_get_ns());
	/* Before counting its end would not be seen either: the task iterator will find what it does. */
	if (thread && counting) {
		thread->sleeps_for = SLEEP_OTHER;
		thread->state = THREAD_ASLEEP;
	}
	return 0;
}

/* sched_process_exec(struct task_struct *, pid_t old, struct linux_binprm *): the name is another now, maybe the number. */
SEC_TP(sched_process_exec) int sched_process_exec(u64 *ctx)
{
	struct thread_seen *thread = find_thread((void *)ctx[0]);

	if (thread)
		describe(thread, (void *)ctx[0]);
	return 0;
}

#ifdef RAW_TRACEPOINTS
/* A number may be given to another task from here on. */
SEC_TP(sched_process_free) int sched_process_free(u64 *ctx)
{
	u32 tid = CORE_DEREF((struct task_struct *)ctx[0], pid);
	u32 *slot = bpf_map_lookup_elem(&slots, &tid);
	struct thread_seen *thread = slot ? thread_in(*slot) : 0;

	/* Unless it has been given to another already. */
	if (thread && (thread->tid != tid || thread->state == THREAD_ENDED))
		bpf_map_delete_elem(&slots, &tid);
	return 0;
}
#endif

/* include/trace/events/power.h: cpu_idle(unsigned int state, unsigned int cpu); -1 when the CPU wakes */
SEC_TP(cpu_idle) int cpu_idle(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu;
	u32 state = ctx[0];
	u64 now;

	if (state == (u32)-1 || !counting)
		return 0;
	cpu = cpu_of(id);
	if (!cpu)
		return 0;
	cpu->idle_state = state + 1;
	if (cpu->current_tid && cpu->switched_at_ns) {
		/* A task was seen to come and not to leave (see catch_up). */
		now = bpf_ktime_get_ns();
		if (now < cpu->switched_at_ns)
			now = cpu->switched_at_ns;
		switched_unreported(cpu, id, 0, 0, now, 1, now);
	}
	return 0;
}

/* The record of the task that runs, if it belongs to the target. Its coming may not have been reported (see catch_up). */
static __always_inline struct thread_seen *current_thread(void)
{
	struct cpu_seen *cpu = cpu_of(bpf_get_smp_processor_id());

	if (!cpu || !counting)
		return 0;
	if (cpu->current_tid != (u32)bpf_get_current_pid_tgid())
		return find_thread(current_task());
	return thread_on(cpu);
}

/* arch/x86/include/asm/trace/exceptions.h: page_fault_user(address, regs, error code) */
SEC_TP(page_fault_user) int page_fault_user(u64 *ctx)
{
	struct thread_seen *thread = current_thread();

	if (thread)
		thread->page_faults++;
	return 0;
}

#ifndef RAW_TRACEPOINTS
/* Who has a CPU that has not switched yet, or to a task that was of no concern until now. */
static __always_inline void runs_from_the_start(struct task_struct *task, struct thread_seen *thread)
{
	struct cpu_seen *cpu = cpu_of(cpu_of_task(task));

	if (!cpu || (cpu->switched_at_ns && cpu->current_tid != (u32)task->pid))
		return;
	if (cpu->current_tid == (u32)task->pid && (!thread || cpu->current_slot == thread->slot + 1))
		return;
	cpu->current_tid = task->pid;
	if (thread)
		cpu->current_slot = thread->slot + 1;
	/* Its own CPU may write the word at the same time: it is another one then as well. */
	*(volatile u32 *)&cpu->moved += 1;
}

/*
 * A thread that waited before counting began, and of which no event was seen by now, is counted among those that wait on its CPU: else a
 * task that never leaves the CPU would not be seen to take it. If the thread gets the CPU at this very moment, it is counted there until it
 * gets one again.
 */
static __noinline __cold void waits_from_the_start(struct thread_seen *thread, u32 id)
{
	struct cpu_seen *cpu = cpu_of(id);
	u64 since = thread->since_ns;

	if (!cpu || thread->state != THREAD_NONE || __sync_val_compare_and_swap(&thread->waits_on, 0, id + 1))
		return;
	is_brought(cpu, since);
	/* Its CPU may have been counted as one where nobody waits, and is another one now. */
	*(volatile u32 *)&cpu->moved += 1;
}

/* How a thread began of which no event was seen by now. */
static __always_inline void say_state(struct thread_seen *thread, struct task_struct *task)
{
	u32 waits_for = state_of_task(task);
	u32 state = THREAD_WAITING;

	if (task->on_cpu)
		state = THREAD_RUNNING;
	else if (waits_for || throttled(task))
		state = state_after(task, 0, waits_for);
	/* Before its state: whoever sees that it is asleep finds why. */
	if (state == THREAD_ASLEEP)
		__sync_val_compare_and_swap(&thread->sleeps_for, SLEEP_UNKNOWN, sleep_reason(task, waits_for));
	if (state == THREAD_WAITING)
		waits_from_the_start(thread, cpu_of_task(task));
	__sync_val_compare_and_swap(&thread->state, THREAD_NONE, state);
}

/*
 * What the tasks do before counting begins, and who they are. Read twice before, to give slots (a thread that is
 * born during the first pass, of a parent that had none yet, is met in the second), and once after counting began, to say how each
 * one began. Read again for what tasks count themselves, also after the end.
 */
SEC("iter/task") int every_thread(struct bpf_iter__task *met)
{
	struct task_struct *task = met->task;
	struct control *set = control_of();
	struct thread_seen *thread;

	if (!task || !set)
		return 0;
	thread = find_thread(task);
	if (thread && thread->tid != (u32)task->pid)
		/* One that has ended and was not waited for: its slot may be another's by now. */
		return 0;
	if (!thread && !set->ended_ns && is_wanted(task))
		thread = adopt(task, set->began_ns ? bpf_ktime_get_ns() : 0);
	if (set->began_ns && !set->ended_ns && task->on_cpu)
		runs_from_the_start(task, thread);
	if (!thread)
		return 0;
	see_faults(set->began_ns ? &thread->faults : &thread->faults_before, task);
	if (set->began_ns && !set->ended_ns && thread->state == THREAD_NONE)
		say_state(thread, task);
	return 0;
}
#endif

#endif
