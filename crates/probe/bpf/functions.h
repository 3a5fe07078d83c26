/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel ran on a CPU on somebody's behalf, by the address of the function: timers, remote calls, work items. */
#ifndef PINWISE_FUNCTIONS_H
#define PINWISE_FUNCTIONS_H

#include "maps.h"

_Static_assert(FUNCTIONS <= 1 << NUMBER_BITS, "numbers of functions lie in the low bits of running_function.which");

/* A number for a function that has none yet. Another CPU may give it one meanwhile: then it is that one. */
static __noinline __cold u32 new_number(const struct function_key *key)
{
	struct control *set = control_of();
	struct known_function *known;
	u32 number, *given;

	if (!set)
		return NO_FUNCTION;
	if (bpf_map_pop_elem(&free_numbers, &number))
		goto lost;
	known = bpf_map_lookup_elem(&known_functions, &number);
	if (!known)
		goto lost;
	/* Before anybody can find the number. */
	known->address = key->address;
	known->kind = key->kind;
	known->is_known = 1;
	if (!bpf_map_update_elem(&function_numbers, key, &number, BPF_NOEXIST)) {
		__sync_fetch_and_add(&set->made.functions, 1);
		return number;
	}
	known->is_known = 0;
	bpf_map_push_elem(&free_numbers, &number, 0);
	given = bpf_map_lookup_elem(&function_numbers, key);
	if (given)
		return *given;
lost:
	__sync_fetch_and_add(&set->lost.functions, 1);
	return NO_FUNCTION;
}

static __always_inline u32 number_of(u64 address, u32 kind)
{
	struct function_key key = { .address = address, .kind = kind };
	u32 *number = bpf_map_lookup_elem(&function_numbers, &key);

	return number ? *number : new_number(&key);
}

/* What a function did on a CPU, and how often it came there. */
struct function_rows {
	struct function_seen *seen;
	u32 *came;
};

static __always_inline int find_rows(struct function_rows *rows, u32 cpu, u32 number)
{
	u32 at = number % FUNCTIONS_IN_ROW;
	u32 row = number / FUNCTIONS_IN_ROW * room_for_cpus + cpu;
	u32 line = number / FUNCTIONS_IN_LINE * room_for_cpus + cpu;
	u32 cell = line * FUNCTIONS_IN_LINE + number % FUNCTIONS_IN_LINE;
	struct functions_came *came;

	if (number >= FUNCTIONS)
		return 0;
	came = bpf_map_lookup_elem(&functions_came, &row);
	rows->seen = bpf_map_lookup_elem(&functions, &cell);
	if (!came || !rows->seen)
		return 0;
	rows->came = &came->came[at];
	return 1;
}

/* Functions do not nest in each other, but one in an interrupt may come while one in a softirq runs. */
static __always_inline struct running_function *running_function(struct cpu_seen *cpu)
{
	return cpu->interrupt.at_ns ? &cpu->interrupt_function : &cpu->softirq_function;
}

static __always_inline int function_begins(u64 address, u32 kind)
{
	struct cpu_seen *cpu = cpu_of(bpf_get_smp_processor_id());
	u64 which = address << FUNCTION_BITS | (u64)kind << NUMBER_BITS;
	struct running_function *running;
	u32 number;

	if (!cpu || !counting)
		return 0;
	running = running_function(cpu);
	/* Mostly the one that came last comes again: that of the tick. None came yet where there is nothing. */
	if (!running->which || (running->which ^ which) >> NUMBER_BITS) {
		number = number_of(address, kind);
		if (number >= FUNCTIONS)
			return 0;
		running->which = which | number;
	}
	running->at_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int function_ends(void)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	struct running_function *running;
	struct function_rows rows;

	if (!cpu)
		return 0;
	running = running_function(cpu);
	if (!running->at_ns)
		return 0;
	if (find_rows(&rows, id, running->which & ((1u << NUMBER_BITS) - 1))) {
		charge(&rows.seen->all, since(&running->at_ns));
		/* Last, in this order: see struct functions_came and struct cpu_head. */
		*(volatile u32 *)rows.came += 1;
		*(volatile u32 *)&cpu->moved += 1;
	}
	running->at_ns = 0;
	return 0;
}

/* include/trace/events/timer.h: hrtimer_expire_entry(struct hrtimer *, ktime_t *now) */
SEC_TP(hrtimer_expire_entry) int hrtimer_expire_entry(u64 *ctx)
{
	return function_begins((u64)CORE_DEREF((struct hrtimer *)ctx[0], function), FUNCTION_HRTIMER);
}

SEC_TP(hrtimer_expire_exit) int hrtimer_expire_exit(u64 *ctx)
{
	return function_ends();
}

/* timer_expire_entry(struct timer_list *, unsigned long base_clock) */
SEC_TP(timer_expire_entry) int timer_expire_entry(u64 *ctx)
{
	return function_begins((u64)CORE_DEREF((struct timer_list *)ctx[0], function), FUNCTION_TIMER);
}

SEC_TP(timer_expire_exit) int timer_expire_exit(u64 *ctx)
{
	return function_ends();
}

/*
 * include/trace/events/csd.h: csd_function_entry(smp_call_func_t, call_single_data_t *). Always a raw one: a program of kind
 * tp_btf may not take a pointer to a function, and the data of the call may be free already.
 */
SEC("raw_tp/csd_function_entry") int csd_function_entry(u64 *ctx)
{
	return function_begins(ctx[0], FUNCTION_CALL);
}

SEC_TP(csd_function_exit) int csd_function_exit(u64 *ctx)
{
	return function_ends();
}

/* include/trace/events/workqueue.h: workqueue_execute_start(struct work_struct *). It can be preempted and can sleep: only counted. */
SEC_TP(workqueue_execute_start) int workqueue_execute_start(u64 *ctx)
{
	u32 id = bpf_get_smp_processor_id();
	struct cpu_seen *cpu = cpu_of(id);
	struct function_rows rows;
	u32 number;

	if (!cpu || !counting)
		return 0;
	number = number_of((u64)CORE_DEREF((struct work_struct *)ctx[0], func), FUNCTION_WORK);
	if (find_rows(&rows, id, number)) {
		__sync_fetch_and_add(&rows.seen->all.count, 1);
		__sync_fetch_and_add(rows.came, 1);
		*(volatile u32 *)&cpu->moved += 1;
	}
	return 0;
}

static __always_inline void tick_is_kept(struct cpu_seen *cpu, u32 mask)
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
SEC_TP(tick_stop) int tick_stop(u64 *ctx)
{
	struct cpu_seen *cpu = cpu_of(bpf_get_smp_processor_id());

	if (!cpu || !counting)
		return 0;
	if (ctx[0] & 1)
		cpu->tick_stopped++;
	else
		tick_is_kept(cpu, ctx[1]);
	*(volatile u32 *)&cpu->moved += 1;
	return 0;
}

#endif
