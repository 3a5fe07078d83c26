/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What runs on a CPU in place of the thread there: interrupts, inside them what the kernel runs on somebody's behalf, softirqs, NMIs.
 *
 * Times are net: when something ends, the start of everything that it interrupted is moved on by its length (the way of
 * kernel/trace/trace_osnoise.c). Interrupts of the kernel do not nest in each other, NMIs nest in everything.
 */
#ifndef PINWISE_INTERRUPTS_H
#define PINWISE_INTERRUPTS_H

#include "tasks.h"
#include "vectors.h"
#include "waiting.h"

static __always_inline void move_on(struct running *outer, u64 ns, u64 waited_ns)
{
	if (outer->at_ns) {
		outer->at_ns += ns;
		outer->waited_ns += waited_ns;
	}
}

/* Books a source on this CPU that took ns, during which threads of the target waited waited_ns in all. */
static __always_inline void book_source(struct source_seen *seen, struct cpu_seen *cpu, u64 ns, u64 waited_ns)
{
	charge(&seen->all, ns);
	if (cpu->current_slot) {
		seen->on_count++;
		seen->on_ns += ns;
	}
	if (waited_ns) {
		seen->waiting_count++;
		seen->waiting_ns += waited_ns;
	}
}

/* Counts how long a source ran. */
static __always_inline void count_length(u32 id, u32 source, u64 ns)
{
	u64 step = step_of(ns);
	u32 row = (source * STEPS_LINES + step / STEPS_IN_LINE) * room_for_cpus + id;
	struct steps_line *line = bpf_map_lookup_elem(&source_steps, &row);

	if (line)
		line->steps[step % STEPS_IN_LINE]++;
}

static __always_inline void book(u32 id, struct cpu_seen *cpu, u32 source, u64 ns, u64 waited_ns)
{
	u32 row = source * room_for_cpus + id;
	struct source_seen *seen;

	if (source >= SOURCES)
		return;
	seen = bpf_map_lookup_elem(&sources, &row);
	if (!seen)
		return;
	/* Whatever came is to be seen in the sums (struct cpu_head): a coarse clock may have stood still meanwhile. */
	if (!ns)
		ns = 1;
	book_source(seen, cpu, ns, waited_ns);
	cpu->slice_interrupted_ns += ns;
	cpu->waiting_interrupted_ns += waited_ns;
	count_length(id, source, ns);
	/* Last, in this order: see struct cpu_head. */
	*(volatile u32 *)&cpu->came[source] += 1;
	*(volatile u64 *)&cpu->interrupted_ns += ns;
}

/* An interrupt or softirq begins on this CPU. */
static __always_inline int begins(int is_softirq)
{
	struct cpu_seen *cpu;
	struct running *running;
	u64 now;

	if (!counting)
		return 0;
	cpu = cpu_of(bpf_get_smp_processor_id());
	if (!cpu)
		return 0;
	running = is_softirq ? &cpu->softirq : &cpu->interrupt;
	now = bpf_ktime_get_ns();
	running->at_ns = now;
	running->waited_ns = waited(cpu, now);
	return 0;
}

/* The line of a device, beside the sum over all devices. */
static __always_inline void book_line(u32 id, u32 irq, struct cpu_seen *cpu, u64 ns, u64 waited_ns)
{
	struct line_key key = { .cpu = id, .irq = irq };
	struct line_seen *line = bpf_map_lookup_elem(&lines, &key);
	struct control *set;

	if (!line) {
		static const struct line_seen none;

		set = control_of();
		if (set)
			line = new_entry(&lines, &key, &none, &set->made.lines, &set->lost.lines);
	}
	if (line) {
		book_source(&line->seen, cpu, ns, waited_ns);
		count_step(line->steps, ns);
	}
}

/* What the run queue's clock counted as stolen; a tick brings it up to date. Needs CONFIG_PARAVIRT_TIME_ACCOUNTING. */
static __always_inline u64 stolen(void)
{
	struct task_struct *task;
	struct cfs_rq *queue;
	struct rq *rq = 0;

	if (!bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	task = current_task();
	queue = CORE_DEREF(task, se.cfs_rq);
	rq = CORE_DEREF(queue, rq);
	return CORE_DEREF(rq, prev_steal_time_rq);
}

enum { NO_LINE = -1 };

static __always_inline int interrupt_ends(u32 source, s32 irq)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	u64 now, ns, waited_ns;

	/* What began before counting did has no start. */
	if (!cpu || !cpu->interrupt.at_ns)
		return 0;
	now = bpf_ktime_get_ns();
	ns = now - cpu->interrupt.at_ns;
	waited_ns = waited_since(waited(cpu, now), cpu->interrupt.waited_ns);
	cpu->interrupt.at_ns = 0;
	if (source == SOURCE_TICK) {
		cpu->steal_ns = stolen();
		if (!cpu->steal_began_ns)
			cpu->steal_began_ns = cpu->steal_ns;
	}
	book(id, cpu, source, ns, waited_ns);
	if (irq != NO_LINE)
		book_line(id, irq, cpu, ns, waited_ns);
	move_on(&cpu->softirq, ns, waited_ns);
	if (cpu->softirq_function.at_ns)
		cpu->softirq_function.at_ns += ns;
	return 0;
}

VECTORS(VECTOR)

/* include/trace/events/irq.h: irq_handler_entry(int irq, struct irqaction *) */
SEC_TP(irq_handler_entry) int irq_handler_entry(u64 *ctx)
{
	return begins(0);
}

SEC_TP(irq_handler_exit) int irq_handler_exit(u64 *ctx)
{
	return interrupt_ends(SOURCE_DEVICE, (s32)ctx[0]);
}

/* softirq_entry(unsigned int vector) */
SEC_TP(softirq_entry) int softirq_entry(u64 *ctx)
{
	return begins(1);
}

SEC_TP(softirq_exit) int softirq_exit(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	u64 ns;

	if (!cpu || !cpu->softirq.at_ns)
		return 0;
	ns = since(&cpu->softirq.at_ns);
	book(id, cpu, SOURCE_SOFTIRQ + (u32)ctx[0], ns,
	     waited_since(waited(cpu, cpu->softirq.at_ns + ns), cpu->softirq.waited_ns));
	cpu->softirq.at_ns = 0;
	return 0;
}

/* include/trace/events/nmi.h: nmi_handler(void *handler, s64 delta_ns, int handled), after the handler has run */
SEC_TP(nmi_handler) int nmi_handler(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	u64 ns = ctx[1];
	u64 waited_ns;

	if (!cpu || !counting)
		return 0;
	waited_ns = ns * waiting_count(cpu);
	book(id, cpu, SOURCE_NMI, ns, waited_ns);
	move_on(&cpu->interrupt, ns, waited_ns);
	move_on(&cpu->softirq, ns, waited_ns);
	if (cpu->interrupt_function.at_ns)
		cpu->interrupt_function.at_ns += ns;
	if (cpu->softirq_function.at_ns)
		cpu->softirq_function.at_ns += ns;
	return 0;
}

#endif
