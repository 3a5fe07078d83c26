/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel ran on a CPU on somebody's behalf, by the address of the function: timers, remote calls, work items. */
#ifndef PINWISE_FUNCTIONS_H
#define PINWISE_FUNCTIONS_H

#include "maps.h"

inline_always struct function_seen *function_of(u64 address, u32 cpu, u32 kind)
{
	struct function_key key = { .address = address, .cpu = cpu, .kind = kind };
	struct function_seen *seen = bpf_map_lookup_elem(&functions, &key);
	struct function_seen none = {};
	struct control *set;

	if (seen)
		return seen;
	set = control_of();
	return set ? new_entry(&functions, &key, &none, &set->made.functions, &set->lost.functions) : 0;
}

/* Functions do not nest in each other, but one in an interrupt may come while one in a softirq runs. */
inline_always struct running_function *running_function(struct cpu_seen *cpu)
{
	return cpu->interrupt.at_ns ? &cpu->interrupt_function : &cpu->softirq_function;
}

inline_always int function_begins(u64 address, u32 kind)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	struct running_function *running;

	if (!cpu || !counting || !function_of(address, id, kind))
		return 0;
	running = running_function(cpu);
	running->address = address;
	running->at_ns = bpf_ktime_get_ns();
	return 0;
}

inline_always int function_ends(u32 kind)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	struct running_function *running;
	struct function_seen *seen;

	if (!cpu)
		return 0;
	running = running_function(cpu);
	if (!running->at_ns)
		return 0;
	seen = function_of(running->address, id, kind);
	if (seen)
		charge(&seen->all, since(&running->at_ns));
	running->at_ns = 0;
	return 0;
}

/* include/trace/events/timer.h: hrtimer_expire_entry(struct hrtimer *, ktime_t *now) */
tracepoint(hrtimer_expire_entry) int hrtimer_expire_entry(u64 *arguments)
{
	return function_begins((u64)follow((struct hrtimer *)arguments[0], function), FUNCTION_HRTIMER);
}

tracepoint(hrtimer_expire_exit) int hrtimer_expire_exit(u64 *arguments)
{
	return function_ends(FUNCTION_HRTIMER);
}

/* timer_expire_entry(struct timer_list *, unsigned long base_clock) */
tracepoint(timer_expire_entry) int timer_expire_entry(u64 *arguments)
{
	return function_begins((u64)follow((struct timer_list *)arguments[0], function), FUNCTION_TIMER);
}

tracepoint(timer_expire_exit) int timer_expire_exit(u64 *arguments)
{
	return function_ends(FUNCTION_TIMER);
}

/*
 * include/trace/events/csd.h: csd_function_entry(smp_call_func_t, call_single_data_t *). Always a raw one: a program of kind
 * tp_btf may not take a pointer to a function, and the data of the call may be free already.
 */
section("raw_tp/csd_function_entry") int csd_function_entry(u64 *arguments)
{
	return function_begins(arguments[0], FUNCTION_CALL);
}

tracepoint(csd_function_exit) int csd_function_exit(u64 *arguments)
{
	return function_ends(FUNCTION_CALL);
}

/* include/trace/events/workqueue.h: workqueue_execute_start(struct work_struct *). It can be preempted and can sleep: only counted. */
tracepoint(workqueue_execute_start) int workqueue_execute_start(u64 *arguments)
{
	u32 id = bpf_get_smp_processor_id();
	struct function_seen *seen;

	if (!counting)
		return 0;
	seen = function_of((u64)follow((struct work_struct *)arguments[0], func), id, FUNCTION_WORK);
	if (seen)
		__sync_fetch_and_add(&seen->all.count, 1);
	return 0;
}

inline_always void tick_is_kept(struct cpu_seen *cpu, u32 mask)
{
	u32 bit;

	/* Bit n of the mask stands for dependency n; the kernel names one at a time. */
	for (bit = 0; bit < TICK_DEPENDENCIES; bit++) {
		if (mask & (1u << bit)) {
			cpu->tick_kept[bit]++;
			break;
		}
	}
}

/* timer.h: tick_stop(int success, int dependency) */
tracepoint(tick_stop) int tick_stop(u64 *arguments)
{
	struct cpu_seen *cpu = cpu_of(bpf_get_smp_processor_id());

	if (!cpu || !counting)
		return 0;
	if (arguments[0] & 1)
		cpu->tick_stopped++;
	else
		tick_is_kept(cpu, arguments[1]);
	*(volatile u32 *)&cpu->moved += 1;
	return 0;
}

#endif
