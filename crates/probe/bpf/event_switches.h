/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who has each CPU, and who wakes which thread. With a target: its threads, and whoever has a CPU that one of them waits for. A task
 * that was of no concern when it came, and therefore not reported, is reported when it becomes one (EVENT_CAME).
 */
#ifndef PINWISE_EVENT_SWITCHES_H
#define PINWISE_EVENT_SWITCHES_H

#include "event_maps.h"

static __always_inline struct mark *mark_of(struct task_struct *task)
{
#ifdef RAW_TRACEPOINTS
	u32 tid = CORE_DEREF(task, pid);

	return bpf_map_lookup_elem(&marks, &tid);
#else
	return bpf_task_storage_get(&marks, task, 0, 0);
#endif
}

static __always_inline void add_mark(struct task_struct *task)
{
	struct mark fresh = { .state = MARK_AWAY };
	struct event_control *set = control_of();
	void *made;
#ifdef RAW_TRACEPOINTS
	u32 tid = CORE_DEREF(task, pid);

	bpf_map_update_elem(&marks, &tid, &fresh, BPF_NOEXIST);
	made = bpf_map_lookup_elem(&marks, &tid);
#else
	made = bpf_task_storage_get(&marks, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
#endif
	if (!made && set)
		__sync_fetch_and_add(&set->lost_marks, 1);
}

static __always_inline void comes_to(u32 id)
{
	struct event_cpu *cpu = cpu_of(id);

	if (cpu)
		__sync_fetch_and_add(&cpu->waiting, 1);
}

static __always_inline void waits(struct mark *mark, u32 id)
{
	mark->state = MARK_WAITING;
	if (mark->waits_on)
		return;
	mark->waits_on = id + 1;
	comes_to(id);
}

static __always_inline void waits_no_more(struct mark *mark)
{
	struct event_cpu *cpu;

	if (!mark->waits_on)
		return;
	cpu = cpu_of(mark->waits_on - 1);
	mark->waits_on = 0;
	if (cpu)
		__sync_fetch_and_add(&cpu->waiting, -1);
}

static __always_inline void gets(struct mark *mark)
{
	mark->state = MARK_RUNNING;
	mark->wake_reported = 0;
	waits_no_more(mark);
}

/* Hands out an event about a task. */
static __always_inline int emit_task(struct event_cpu *cpu, u32 id, u32 kind, u64 at_ns, struct task_struct *task, u32 prev_tid,
			    u32 prev_state, u32 flags)
{
	struct event_switch *event = reserve(struct event_switch, cpu);

	if (!event) {
		if (kind <= EVENT_CAME && !cpu->lost_since_ns)
			cpu->lost_since_ns = at_ns;
		return 0;
	}
	fill_head(&event->head, kind, id, at_ns, CORE_DEREF(task, pid), CORE_DEREF(task, prio));
	event->prev_tid = prev_tid;
	event->prev_state = prev_state;
	event->tgid = CORE_DEREF(task, tgid);
	event->flags = flags | (CORE_DEREF(task, flags) & PF_KTHREAD ? NEXT_OF_KERNEL : 0);
	if (bpf_probe_read_kernel_str(event->comm, sizeof(event->comm), __builtin_preserve_access_index(&task->comm)) < 0)
		event->comm[0] = 0;
	submit(event);
	return 1;
}

/* A stay in a C-state that has ended and was not reported. */
static __always_inline void emit_idle(struct event_cpu *cpu, u32 id)
{
	u64 from = cpu->idle_at_ns, until = cpu->idle_until_ns;

	if (!from || !until)
		return;
	cpu->idle_at_ns = 0;
	emit_stretch(cpu, id, EVENT_IDLE, from, until - from, cpu->idle_state, 0);
}

/* There is room again: from when to when slices of this CPU are not known. */
static __always_inline void emit_lost(struct event_cpu *cpu, u32 id, u64 now)
{
	u64 since = cpu->lost_since_ns;

	if (since && emit_stretch(cpu, id, EVENT_LOST, since, now - since, 0, 0))
		cpu->lost_since_ns = 0;
}

/* The task that is about to leave was of no concern when it came, and is now. */
static __always_inline void emit_late(struct event_cpu *cpu, u32 id, struct task_struct *prev, u64 since)
{
	u32 flags = cpu->current & CURRENT_OF_TARGET ? NEXT_OF_TARGET : 0;

	emit_task(cpu, id, EVENT_CAME, cpu->switched_at_ns ? cpu->switched_at_ns : since, prev, 0, 0, flags);
	if (!CORE_DEREF(prev, pid))
		emit_idle(cpu, id);
}

/*
 * The task that leaves is not the one that was seen to come: the kernel did not report a switch in between
 * (docs/journal/0012). The scheduler's own sum says since when a task of the fair class has had the CPU. For others nobody knows.
 */
static __always_inline void catch_up(struct event_cpu *cpu, u32 id, struct task_struct *prev, u64 now)
{
	u64 ran = CORE_DEREF(prev, se.sum_exec_runtime) - CORE_DEREF(prev, se.prev_sum_exec_runtime);
	u32 tid = CORE_DEREF(prev, pid);
	int known = tid && ran && ran <= now - cpu->switched_at_ns;
	u64 at = known ? now - ran : now;
	struct mark *mark = everything ? 0 : mark_of(prev);
	u64 before = cpu->current;

	cpu->unreported++;
	if (mark)
		gets(mark);
	cpu->current = tid | CURRENT_KNOWN | (mark ? CURRENT_OF_TARGET : 0);
	if (cpu->watched && ((before & CURRENT_REPORTED) || concerns(cpu))) {
		/* The slice before began one ns earlier: nobody knows how long it was. */
		if (!known && now > cpu->switched_at_ns + 1)
			emit_stretch(cpu, id, EVENT_LOST, cpu->switched_at_ns + 1, now - cpu->switched_at_ns - 1, tid, 0);
		emit_task(cpu, id, EVENT_UNREPORTED, at, prev, (u32)before, 0, mark ? NEXT_OF_TARGET : 0);
		cpu->current |= CURRENT_REPORTED;
	}
	cpu->switched_at_ns = at;
}

/* The same where a CPU is found idle that a task was seen to get. The kernel's record of the idle task is the running one. */
static __always_inline void goes_idle_unreported(struct event_cpu *cpu, u32 id, u64 now)
{
	u64 before = cpu->current;

	cpu->unreported++;
	cpu->current = CURRENT_KNOWN;
	cpu->switched_at_ns = now;
	if (cpu->watched && ((before & CURRENT_REPORTED) || concerns(cpu))) {
		emit_task(cpu, id, EVENT_UNREPORTED, now, current_task(), (u32)before, 0, 0);
		cpu->current |= CURRENT_REPORTED;
	}
}

static __always_inline u32 leaves(struct mark *mark, u32 id, u32 state)
{
	mark->wake_reported = 0;
	/* One that was found able to run when tracing began is taken for waiting until it is seen. */
	waits_no_more(mark);
	if (state == THREAD_PREEMPTED) {
		waits(mark, id);
		return PREV_PREEMPTED;
	}
	mark->state = MARK_AWAY;
	return state == THREAD_THROTTLED ? PREV_PREEMPTED | PREV_THROTTLED : 0;
}

static __always_inline int switched(void *ctx, struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	u64 since = tracing_since(), now;
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	u32 prev_tid = CORE_DEREF(prev, pid), flags = 0;
	struct mark *leaving = 0, *coming = 0;
	int reported;

	if (!since || !cpu)
		return 0;
	now = bpf_ktime_get_ns();
	emit_lost(cpu, id, now);
	if (cpu->current && (u32)cpu->current != prev_tid)
		catch_up(cpu, id, prev, now);
	if (!everything) {
		coming = mark_of(next);
		if (!cpu->current || (cpu->current & CURRENT_OF_TARGET))
			leaving = mark_of(prev);
		if (!cpu->current && leaving)
			cpu->current |= CURRENT_OF_TARGET;
	}
	reported = cpu->watched && ((cpu->current & CURRENT_REPORTED) || concerns(cpu) || coming);
	if (reported && !(cpu->current & CURRENT_REPORTED))
		emit_late(cpu, id, prev, since);

	if (leaving)
		flags |= leaves(leaving, id, state_after(prev, preempted, waits_for));
	else if (preempted || !waits_for)
		flags |= PREV_PREEMPTED;
	if (coming) {
		gets(coming);
		flags |= NEXT_OF_TARGET;
	}
	cpu->current = (u64)(u32)CORE_DEREF(next, pid) | CURRENT_KNOWN | (coming ? CURRENT_OF_TARGET : 0);
	cpu->switched_at_ns = now;
	if (!reported)
		return 0;
	if (!concerns(cpu))
		flags |= NEXT_NOT_REPORTED;
	if (emit_task(cpu, id, EVENT_SWITCH, now, next, prev_tid, waits_for, flags) && !(flags & NEXT_NOT_REPORTED))
		cpu->current |= CURRENT_REPORTED;
	return 0;
}

#include "sched_switch.h"

static __always_inline void emit_wake(struct task_struct *task, u32 waker, u64 now)
{
	u32 id = bpf_get_smp_processor_id(), to = cpu_of_task(task);
	struct event_cpu *cpu = cpu_of(id), *there = cpu_of(to);
	struct event_wake *event;

	if (!cpu || !there || (!cpu->watched && !there->watched))
		return;
	event = reserve(struct event_wake, cpu);
	if (!event)
		return;
	fill_head(&event->head, EVENT_WAKE, id, now, CORE_DEREF(task, pid), CORE_DEREF(task, prio));
	event->waker = waker;
	event->to_cpu = to;
	submit(event);
}

/*
 * sched_waking(struct task_struct *): where it is woken from, so that the waker is known. It may still be on its way off the CPU:
 * its wake-up is then reported by the next program.
 */
SEC_TP(sched_waking) int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct mark *mark;

	if (!tracing_since())
		return 0;
	if (!everything) {
		mark = mark_of(task);
		if (!mark || mark->state != MARK_AWAY)
			return 0;
		mark->wake_reported = 1;
	}
	emit_wake(task, (u32)bpf_get_current_pid_tgid(), bpf_ktime_get_ns());
	return 0;
}

/* It is in the run queue of the CPU for which it waits. */
static __always_inline int woken(struct task_struct *task)
{
	struct mark *mark;

	if (!tracing_since())
		return 0;
	mark = mark_of(task);
	if (!mark || mark->state == MARK_WAITING || (mark->state == MARK_RUNNING && CORE_DEREF(task, on_cpu)))
		return 0;
	waits(mark, cpu_of_task(task));
	if (!mark->wake_reported)
		emit_wake(task, 0, bpf_ktime_get_ns());
	mark->wake_reported = 1;
	return 0;
}

#include "sched_wakeup.h"

/* sched_migrate_task(struct task_struct *, int to): one that waits is moved to another run queue. */
SEC_TP(sched_migrate_task) int sched_migrate_task(u64 *ctx)
{
	struct mark *mark;
	u32 to = ctx[1];

	if (!tracing_since())
		return 0;
	mark = mark_of((void *)ctx[0]);
	if (!mark || !mark->waits_on)
		return 0;
	waits_no_more(mark);
	mark->waits_on = to + 1;
	comes_to(to);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
SEC_TP(sched_process_fork) int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);

	if (!everything) {
		if (!mark_of(parent))
			return 0;
		add_mark(child);
	}
	if (cpu && tracing_since())
		emit_task(cpu, id, EVENT_BORN, bpf_ktime_get_ns(), child, CORE_DEREF(parent, pid), 0,
			  everything ? 0 : NEXT_OF_TARGET);
	return 0;
}

/* sched_process_exec(struct task_struct *, pid_t old, struct linux_binprm *): the name is another now. */
SEC_TP(sched_process_exec) int sched_process_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	struct mark *mark = everything ? 0 : mark_of(task);

	if (cpu && tracing_since() && (everything || mark))
		emit_task(cpu, id, EVENT_TASK, bpf_ktime_get_ns(), task, 0, 0, mark ? NEXT_OF_TARGET : 0);
	return 0;
}

#ifdef RAW_TRACEPOINTS
/* A number may be given to another task from here on. */
SEC_TP(sched_process_free) int sched_process_free(u64 *ctx)
{
	u32 tid = CORE_DEREF((struct task_struct *)ctx[0], pid);

	bpf_map_delete_elem(&marks, &tid);
	return 0;
}
#endif

/* arch/x86/include/asm/trace/exceptions.h: page_fault_user(address, regs, error code) */
SEC_TP(page_fault_user) int page_fault_user(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	u32 tid = bpf_get_current_pid_tgid();
	struct event *event;

	if (!cpu || !cpu->watched || !tracing_since())
		return 0;
	if ((u32)cpu->current != tid ? !mark_of(current_task()) : !(cpu->current & CURRENT_OF_TARGET))
		return 0;
	event = reserve(struct event, cpu);
	if (!event)
		return 0;
	fill_head(event, EVENT_PAGE_FAULT, id, bpf_ktime_get_ns(), tid, 0);
	submit(event);
	return 0;
}

#ifndef RAW_TRACEPOINTS
/* Who has a CPU that has not switched yet. */
static __always_inline void runs_from_the_start(struct task_struct *task, struct mark *mark, u64 since)
{
	u32 id = cpu_of_task(task);
	struct event_cpu *cpu = cpu_of(id);
	u64 runs = (u32)task->pid | CURRENT_KNOWN | (mark ? CURRENT_OF_TARGET : 0), before;
	int reported;

	if (!cpu)
		return;
	reported = cpu->watched && (everything || mark);
	before = __sync_val_compare_and_swap(&cpu->current, 0, reported ? runs | CURRENT_REPORTED : runs);
	/* It came to the target while it ran: its leaving makes up for the rest. */
	if (mark && before && (u32)before == (u32)task->pid)
		__sync_val_compare_and_swap(&cpu->current, before, before | CURRENT_OF_TARGET);
	if (reported && !before)
		emit_task(cpu, id, EVENT_CAME, since, task, 0, 0, mark ? NEXT_OF_TARGET : 0);
}

/*
 * All tasks, who they are and what they do. Read three times: twice to mark those of the target (a thread that is born
 * during the first pass, of a parent that had no mark yet, is met in the second), once after tracing began.
 */
SEC("iter/task") int every_thread(struct bpf_iter__task *met)
{
	struct task_struct *task = met->task;
	u64 since = tracing_since();
	struct event_cpu *cpu;
	struct mark *mark;
	u32 state, id = bpf_get_smp_processor_id();

	if (!task)
		return 0;
	mark = everything ? 0 : mark_of(task);
	if (!everything && !mark && is_wanted(task)) {
		add_mark(task);
		mark = mark_of(task);
	}
	cpu = cpu_of(id);
	if (!since || !cpu)
		return 0;
	state = state_of_task(task);
	emit_task(cpu, cpu_of_task(task), EVENT_TASK, since, task, 0, state, mark ? NEXT_OF_TARGET : 0);
	if (task->on_cpu) {
		if (mark)
			mark->state = MARK_RUNNING;
		runs_from_the_start(task, mark, since);
		return 0;
	}
	/* If it gets the CPU just now, it is counted as waiting until it gets one again: some more slices are reported. */
	id = cpu_of_task(task);
	if (mark && !state && !throttled(task) && !__sync_val_compare_and_swap(&mark->waits_on, 0, id + 1)) {
		mark->state = MARK_WAITING;
		comes_to(id);
	}
	return 0;
}
#endif

#endif
