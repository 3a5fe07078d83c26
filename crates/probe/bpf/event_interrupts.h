/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interrupts, softirqs, NMIs, C-states and frequencies. Each interrupt is one event that is submitted at its end, with its
 * beginning: so none is ever reported by half. Times are gross: what interrupted a softirq lies within it.
 */
#ifndef PINWISE_EVENT_INTERRUPTS_H
#define PINWISE_EVENT_INTERRUPTS_H

#include "event_switches.h"
#include "vectors.h"

static __always_inline int begins(int is_softirq)
{
	struct event_cpu *cpu = cpu_of(bpf_get_smp_processor_id());

	if (!cpu || !cpu->watched || !tracing_since())
		return 0;
	if (is_softirq)
		cpu->softirq_at_ns = bpf_ktime_get_ns();
	else
		cpu->interrupt_at_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int ends(u64 *began_at_ns, struct event_cpu *cpu, u32 id, u32 source, u32 line)
{
	u64 began = *began_at_ns;

	*began_at_ns = 0;
	/* What began before tracing did has no start. */
	if (began && tracing_since() && concerns(cpu))
		emit_stretch(cpu, id, EVENT_INTERRUPT, began, bpf_ktime_get_ns() - began, line, source);
	return 0;
}

static __always_inline int interrupt_ends(u32 source, u32 line)
{
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);

	return cpu ? ends(&cpu->interrupt_at_ns, cpu, id, source, line) : 0;
}

/* Interrupts that have no line are reported with 0. */
enum { NO_LINE = 0 };

VECTORS(VECTOR)

/* include/trace/events/irq.h: irq_handler_entry(int irq, struct irqaction *), irq_handler_exit(the same, int ret) */
SEC_TP(irq_handler_entry) int irq_handler_entry(u64 *ctx)
{
	return begins(0);
}

SEC_TP(irq_handler_exit) int irq_handler_exit(u64 *ctx)
{
	return interrupt_ends((u32)ctx[2] ? SOURCE_DEVICE : SOURCE_DEVICE | NOT_HANDLED, ctx[0]);
}

/* softirq_entry(unsigned int vector) */
SEC_TP(softirq_entry) int softirq_entry(u64 *ctx)
{
	return begins(1);
}

SEC_TP(softirq_exit) int softirq_exit(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);

	return cpu ? ends(&cpu->softirq_at_ns, cpu, id, SOURCE_SOFTIRQ + (u32)ctx[0], 0) : 0;
}

/* include/trace/events/nmi.h: nmi_handler(void *handler, s64 delta_ns, int handled), after the handler has run */
SEC_TP(nmi_handler) int nmi_handler(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct event_cpu *cpu = cpu_of(id);
	u64 ns = ctx[1];

	if (cpu && tracing_since() && concerns(cpu))
		emit_stretch(cpu, id, EVENT_INTERRUPT, bpf_ktime_get_ns() - ns, ns, 0, SOURCE_NMI);
	return 0;
}

/* include/trace/events/power.h: cpu_idle(unsigned int state, unsigned int cpu); -1 when the CPU wakes */
SEC_TP(cpu_idle) int cpu_idle(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id(), state = ctx[0];
	struct event_cpu *cpu = cpu_of(id);
	u64 now;

	if (!cpu || !cpu->watched || !tracing_since())
		return 0;
	now = bpf_ktime_get_ns();
	if (state == (u32)-1) {
		if (!cpu->idle_at_ns)
			return 0;
		cpu->idle_until_ns = now;
		if (everything)
			emit_idle(cpu, id);
		return 0;
	}
	/* A task was seen to come and not to leave. */
	if ((u32)cpu->current)
		goes_idle_unreported(cpu, id, now);
	cpu->idle_state = state;
	cpu->idle_at_ns = now;
	cpu->idle_until_ns = 0;
	return 0;
}

/* cpu_frequency(unsigned int kHz, unsigned int cpu) */
SEC_TP(cpu_frequency) int cpu_frequency(u64 *ctx)
{
	u32 id = ctx[1];
	struct event_cpu *cpu = cpu_of(id);
	struct event *event;

	if (!cpu || !cpu->watched || !tracing_since())
		return 0;
	event = reserve(struct event, cpu);
	if (!event)
		return 0;
	fill_head(event, EVENT_FREQUENCY, id, bpf_ktime_get_ns(), (u32)ctx[0], 0);
	submit(event);
	return 0;
}

#endif
