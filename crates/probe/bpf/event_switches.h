/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who has each CPU, and who wakes whom. With a target: its threads, and whoever has a CPU that one of them waits for. What was not
 * handed out because it was of no concern is made up for when it becomes one (EVENT_CAME).
 */
#ifndef PINWISE_EVENT_SWITCHES_H
#define PINWISE_EVENT_SWITCHES_H

#include "event_maps.h"

inline_always struct mark *mark_of(struct task_struct *task)
{
#ifdef RAW_TRACEPOINTS
	u32 tid = follow(task, pid);

	return bpf_map_lookup_elem(&marks, &tid);
#else
	return bpf_task_storage_get(&marks, task, 0, 0);
#endif
}

inline_always void add_mark(struct task_struct *task)
{
	struct mark fresh = { .state = MARK_AWAY };
	struct event_control *set = control_of();
	void *made;
#ifdef RAW_TRACEPOINTS
	u32 tid = follow(task, pid);

	bpf_map_update_elem(&marks, &tid, &fresh, UPDATE_NOEXIST);
	made = bpf_map_lookup_elem(&marks, &tid);
#else
	made = bpf_task_storage_get(&marks, task, &fresh, STORAGE_CREATE);
#endif
	if (!made && set)
		__sync_fetch_and_add(&set->lost_marks, 1);
}

inline_always void comes_to(u32 id)
{
	struct event_cpu *cpu = cpu_of(id);

	if (cpu)
		__sync_fetch_and_add(&cpu->waiting, 1);
}

inline_always void waits(struct mark *mark, u32 id)
{
	mark->state = MARK_WAITING;
	if (mark->waits_on)
		return;
	mark->waits_on = id + 1;
	comes_to(id);
}

inline_always void waits_no_more(struct mark *mark)
{
	struct event_cpu *cpu;

	if (!mark->waits_on)
		return;
	cpu = cpu_of(mark->waits_on - 1);
	mark->waits_on = 0;
	if (cpu)
		__sync_fetch_and_add(&cpu->waiting, -1);
}

inline_always void gets(struct mark *mark)
{
	mark->state = MARK_RUNNING;
	mark->wake_told = 0;
	waits_no_more(mark);
}

/* Hands out an event about a task. */
inline_always int tell_task(struct event_cpu *cpu, u32 id, u32 kind, u64 at_ns, struct task_struct *task, u32 prev_tid,
			    u32 prev_state, u32 flags)
{
	struct event_switch *event = room_for(struct event_switch, cpu);

	if (!event) {
		if (kind <= EVENT_CAME && !cpu->lost_since_ns)
			cpu->lost_since_ns = at_ns;
		return 0;
	}
	entitle(&event->head, kind, id, at_ns, follow(task, pid), follow(task, prio));
	event->prev_tid = prev_tid;
	event->prev_state = prev_state;
	event->tgid = follow(task, tgid);
	event->flags = flags | (follow(task, flags) & FLAG_KTHREAD ? NEXT_OF_KERNEL : 0);
	if (bpf_probe_read_kernel_str(event->comm, sizeof(event->comm), __builtin_preserve_access_index(&task->comm)) < 0)
		event->comm[0] = 0;
	hand_out(event);
	return 1;
}

/* A stay in a C-state that has ended and was not handed out. */
inline_always void tell_idle(struct event_cpu *cpu, u32 id)
{
	u64 from = cpu->idle_at_ns, until = cpu->idle_until_ns;

	if (!from || !until)
		return;
	cpu->idle_at_ns = 0;
	tell_stretch(cpu, id, EVENT_IDLE, from, until - from, cpu->idle_state, 0);
}

/* There is room again: from when to when slices of this CPU are not known. */
inline_always void tell_lost(struct event_cpu *cpu, u32 id, u64 now)
{
	u64 since = cpu->lost_since_ns;

	if (since && tell_stretch(cpu, id, EVENT_LOST, since, now - since, 0, 0))
		cpu->lost_since_ns = 0;
}

/* The task that is about to leave was of no concern when it came, and is now. */
inline_always void tell_late(struct event_cpu *cpu, u32 id, struct task_struct *prev, u64 since)
{
	u32 flags = cpu->current & CURRENT_OF_TARGET ? NEXT_OF_TARGET : 0;

	tell_task(cpu, id, EVENT_CAME, cpu->switched_at_ns ? cpu->switched_at_ns : since, prev, 0, 0, flags);
	if (!follow(prev, pid))
		tell_idle(cpu, id);
}

/*
 * The task that leaves is not the one that was seen to come: the kernel did not tell a switch in between
 * (docs/journal/0012). The scheduler's own sum says since when a task of the fair class has had the CPU. For others nobody knows.
 */
inline_always void catch_up(struct event_cpu *cpu, u32 id, struct task_struct *prev, u64 now)
{
	u64 ran = follow(prev, se.sum_exec_runtime) - follow(prev, se.prev_sum_exec_runtime);
	u32 tid = follow(prev, pid);
	int known = tid && ran && ran <= now - cpu->switched_at_ns;
	u64 at = known ? now - ran : now;
	struct mark *mark = everything ? 0 : mark_of(prev);
	u64 before = cpu->current;

	cpu->untold++;
	if (mark)
		gets(mark);
	cpu->current = tid | CURRENT_KNOWN | (mark ? CURRENT_OF_TARGET : 0);
	if (cpu->watched && ((before & CURRENT_TOLD) || concerns(cpu))) {
		/* The slice before began one ns earlier: nobody knows how long it was. */
		if (!known && now > cpu->switched_at_ns + 1)
			tell_stretch(cpu, id, EVENT_LOST, cpu->switched_at_ns + 1, now - cpu->switched_at_ns - 1, tid, 0);
		tell_task(cpu, id, EVENT_UNTOLD, at, prev, (u32)before, 0, mark ? NEXT_OF_TARGET : 0);
		cpu->current |= CURRENT_TOLD;
	}
	cpu->switched_at_ns = at;
}

/* The same where a CPU is found idle that a task was seen to get. The kernel's record of the idle task is the running one. */
inline_always void goes_idle_untold(struct event_cpu *cpu, u32 id, u64 now)
{
	u64 before = cpu->current;

	cpu->untold++;
	cpu->current = CURRENT_KNOWN;
	cpu->switched_at_ns = now;
	if (cpu->watched && ((before & CURRENT_TOLD) || concerns(cpu))) {
		tell_task(cpu, id, EVENT_UNTOLD, now, current_task(), (u32)before, 0, 0);
		cpu->current |= CURRENT_TOLD;
	}
}

inline_always u32 leaves(struct mark *mark, u32 id, u32 state)
{
	mark->wake_told = 0;
	/* One that was found able to run when handing out began is taken for waiting until it is seen. */
	waits_no_more(mark);
	if (state == THREAD_PREEMPTED) {
		waits(mark, id);
		return PREV_PREEMPTED;
	}
	mark->state = MARK_AWAY;
	return state == THREAD_THROTTLED ? PREV_PREEMPTED | PREV_THROTTLED : 0;
}

inline_always int switched(struct task_struct *prev, struct task_struct *next, int preempted, u32 waits_for)
{
	u64 since = tracing_since(), now;
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	u32 prev_tid = follow(prev, pid), flags = 0;
	struct mark *leaving = 0, *coming = 0;
	int told;

	if (!since || !cpu)
		return 0;
	now = bpf_ktime_get_ns();
	tell_lost(cpu, id, now);
	if (cpu->current && (u32)cpu->current != prev_tid)
		catch_up(cpu, id, prev, now);
	if (!everything) {
		coming = mark_of(next);
		if (!cpu->current || (cpu->current & CURRENT_OF_TARGET))
			leaving = mark_of(prev);
		if (!cpu->current && leaving)
			cpu->current |= CURRENT_OF_TARGET;
	}
	told = cpu->watched && ((cpu->current & CURRENT_TOLD) || concerns(cpu) || coming);
	if (told && !(cpu->current & CURRENT_TOLD))
		tell_late(cpu, id, prev, since);

	if (leaving)
		flags |= leaves(leaving, id, state_after(prev, preempted, waits_for));
	else if (preempted || !waits_for)
		flags |= PREV_PREEMPTED;
	if (coming) {
		gets(coming);
		flags |= NEXT_OF_TARGET;
	}
	cpu->current = (u64)(u32)follow(next, pid) | CURRENT_KNOWN | (coming ? CURRENT_OF_TARGET : 0);
	cpu->switched_at_ns = now;
	if (!told)
		return 0;
	if (!concerns(cpu))
		flags |= NEXT_NOT_TOLD;
	if (tell_task(cpu, id, EVENT_SWITCH, now, next, prev_tid, waits_for, flags) && !(flags & NEXT_NOT_TOLD))
		cpu->current |= CURRENT_TOLD;
	return 0;
}

/* include/trace/events/sched.h; the fourth argument came in 5.18 */
tracepoint(sched_switch) int sched_switch(u64 *arguments)
{
	return switched((void *)arguments[1], (void *)arguments[2], arguments[0] & 1, arguments[3]);
}

tracepoint(sched_switch) int sched_switch_of_three(u64 *arguments)
{
	struct task_struct *prev = (void *)arguments[1];

	return switched(prev, (void *)arguments[2], arguments[0] & 1, state_of_task(prev));
}

inline_always void tell_wake(struct task_struct *task, u32 waker, u64 now)
{
	u32 id = bpf_get_smp_processor_id(), to = cpu_of_task(task);
	struct event_cpu *cpu = cpu_of(id), *there = cpu_of(to);
	struct event_wake *event;

	if (!cpu || !there || (!cpu->watched && !there->watched))
		return;
	event = room_for(struct event_wake, cpu);
	if (!event)
		return;
	entitle(&event->head, EVENT_WAKE, id, now, follow(task, pid), follow(task, prio));
	event->waker = waker;
	event->to_cpu = to;
	hand_out(event);
}

/*
 * sched_waking(struct task_struct *): where it is woken from, so that it is known by whom. It may still be on its way off the CPU:
 * its wake-up is then handed out by the next program.
 */
tracepoint(sched_waking) int sched_waking(u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];
	struct mark *mark;

	if (!tracing_since())
		return 0;
	if (!everything) {
		mark = mark_of(task);
		if (!mark || mark->state != MARK_AWAY)
			return 0;
		mark->wake_told = 1;
	}
	tell_wake(task, (u32)bpf_get_current_pid_tgid(), bpf_ktime_get_ns());
	return 0;
}

/* It is in the run queue of the CPU for which it waits. */
inline_always int woken(struct task_struct *task)
{
	struct mark *mark;

	if (!tracing_since())
		return 0;
	mark = mark_of(task);
	if (!mark || mark->state == MARK_WAITING || (mark->state == MARK_RUNNING && follow(task, on_cpu)))
		return 0;
	waits(mark, cpu_of_task(task));
	if (!mark->wake_told)
		tell_wake(task, 0, bpf_ktime_get_ns());
	mark->wake_told = 1;
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

/* sched_migrate_task(struct task_struct *, int to): one that waits is moved to another run queue. */
tracepoint(sched_migrate_task) int sched_migrate_task(u64 *arguments)
{
	struct mark *mark;
	u32 to = arguments[1];

	if (!tracing_since())
		return 0;
	mark = mark_of((void *)arguments[0]);
	if (!mark || !mark->waits_on)
		return 0;
	waits_no_more(mark);
	mark->waits_on = to + 1;
	comes_to(to);
	return 0;
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child): a thread or a process. */
tracepoint(sched_process_fork) int sched_process_fork(u64 *arguments)
{
	struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);

	if (!everything) {
		if (!mark_of(parent))
			return 0;
		add_mark(child);
	}
	if (cpu && tracing_since())
		tell_task(cpu, id, EVENT_BORN, bpf_ktime_get_ns(), child, follow(parent, pid), 0,
			  everything ? 0 : NEXT_OF_TARGET);
	return 0;
}

/* sched_process_exec(struct task_struct *, pid_t old, struct linux_binprm *): the name is another now. */
tracepoint(sched_process_exec) int sched_process_exec(u64 *arguments)
{
	struct task_struct *task = (void *)arguments[0];
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	struct mark *mark = everything ? 0 : mark_of(task);

	if (cpu && tracing_since() && (everything || mark))
		tell_task(cpu, id, EVENT_TASK, bpf_ktime_get_ns(), task, 0, 0, mark ? NEXT_OF_TARGET : 0);
	return 0;
}

#ifdef RAW_TRACEPOINTS
/* A number may be given to another task from here on. */
tracepoint(sched_process_free) int sched_process_free(u64 *arguments)
{
	u32 tid = follow((struct task_struct *)arguments[0], pid);

	bpf_map_delete_elem(&marks, &tid);
	return 0;
}
#endif

/* arch/x86/include/asm/trace/exceptions.h: page_fault_user(address, regs, error code) */
tracepoint(page_fault_user) int page_fault_user(u64 *arguments)
{
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	u32 tid = bpf_get_current_pid_tgid();
	struct event *event;

	if (!cpu || !cpu->watched || !tracing_since())
		return 0;
	if ((u32)cpu->current != tid ? !mark_of(current_task()) : !(cpu->current & CURRENT_OF_TARGET))
		return 0;
	event = room_for(struct event, cpu);
	if (!event)
		return 0;
	entitle(event, EVENT_PAGE_FAULT, id, bpf_ktime_get_ns(), tid, 0);
	hand_out(event);
	return 0;
}

#ifndef RAW_TRACEPOINTS
/* Who has a CPU that has not switched yet. */
inline_always void runs_from_the_start(struct task_struct *task, struct mark *mark, u64 since)
{
	u32 id = cpu_of_task(task);
	struct event_cpu *cpu = cpu_of(id);
	u64 runs = (u32)task->pid | CURRENT_KNOWN | (mark ? CURRENT_OF_TARGET : 0), before;
	int told;

	if (!cpu)
		return;
	told = cpu->watched && (everything || mark);
	before = __sync_val_compare_and_swap(&cpu->current, 0, told ? runs | CURRENT_TOLD : runs);
	/* It came to the target while it ran: its leaving makes up for the rest. */
	if (mark && before && (u32)before == (u32)task->pid)
		__sync_val_compare_and_swap(&cpu->current, before, before | CURRENT_OF_TARGET);
	if (told && !before)
		tell_task(cpu, id, EVENT_CAME, since, task, 0, 0, mark ? NEXT_OF_TARGET : 0);
}

/*
 * All tasks, who they are and what they do. Read three times: twice to mark those of the target (a thread that is born
 * during the first pass, of a parent that had no mark yet, is met in the second), once after handing out began.
 */
section("iter/task") int every_thread(struct bpf_iter__task *met)
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
	tell_task(cpu, cpu_of_task(task), EVENT_TASK, since, task, 0, state, mark ? NEXT_OF_TARGET : 0);
	if (task->on_cpu) {
		if (mark)
			mark->state = MARK_RUNNING;
		runs_from_the_start(task, mark, since);
		return 0;
	}
	/* If it gets the CPU just now, it is counted as waiting until it gets one again: some slices more are handed out. */
	id = cpu_of_task(task);
	if (mark && !state && !throttled(task) && !__sync_val_compare_and_swap(&mark->waits_on, 0, id + 1)) {
		mark->state = MARK_WAITING;
		comes_to(id);
	}
	return 0;
}
#endif

#endif
