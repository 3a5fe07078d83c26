/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Interrupts that CPUs of x86 raise for themselves and each other: arch/x86/include/asm/trace/irq_vectors.h. */
#ifndef PINWISE_VECTORS_H
#define PINWISE_VECTORS_H

#define VECTORS(_)                                       \
	_(local_timer, SOURCE_TICK)                      \
	_(reschedule, SOURCE_RESCHEDULE)                 \
	_(call_function, SOURCE_CALL_FUNCTION)           \
	_(call_function_single, SOURCE_CALL_FUNCTION_SINGLE) \
	_(irq_work, SOURCE_IRQ_WORK)                     \
	_(x86_platform_ipi, SOURCE_PLATFORM_IPI)         \
	_(thermal_apic, SOURCE_THERMAL)                  \
	_(error_apic, SOURCE_APIC_FAULT)                 \
	_(spurious_apic, SOURCE_APIC_FAULT)              \
	_(threshold_apic, SOURCE_APIC_FAULT)             \
	_(deferred_error_apic, SOURCE_APIC_FAULT)

/* The programs at both ends of one; the account and the events each have begins(), interrupt_ends() and NO_LINE of their own. */
#define VECTOR(name, source)                                      \
	SEC_TP(name##_entry) int name##_entry(u64 *ctx)           \
	{                                                         \
		return begins(0);                                 \
	}                                                         \
	SEC_TP(name##_exit) int name##_exit(u64 *ctx)             \
	{                                                         \
		return interrupt_ends(source, NO_LINE);           \
	}

#endif
