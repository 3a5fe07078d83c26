/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The tables. Arrays are mapped into pinwise's memory and read there without a system call. */
#ifndef PINWISE_MAPS_H
#define PINWISE_MAPS_H

#include "kernel.h"
#include "records.h"
#include "steps.h"

/* Sizes are for a small machine: pinwise sets them before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct cpu_seen);
} cpus SEC(".maps");

/*
 * What each source did and how long it ran at a time, a line of the cache a row: a row for each CPU of the first source, or of the first line
 * of its steps, then for each of the next. Few sources come everywhere, and of their steps few lines are written: so what is read of many
 * CPUs lies side by side, on a third of the pages that it would take CPU by CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 160);
	__type(key, u32);
	__type(value, struct source_seen);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1600);
	__type(key, u32);
	__type(value, struct steps_line);
} source_steps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, struct thread_seen);
} threads SEC(".maps");

/* Slots of `threads` that nobody has; pinwise fills it. The last that was given back is given out first: slots in use stay low. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 64);
	__type(value, u32);
} free_slots SEC(".maps");

#ifdef RAW_TRACEPOINTS
/* Thread number to slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} slots SEC(".maps");
#else
/* Task to slot: looking up a task that has none costs next to nothing, and most tasks have none. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} slots SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct taker_key);
	__type(value, struct taker_seen);
} takers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct line_key);
	__type(value, struct line_seen);
} lines SEC(".maps");

/* Numbers of functions. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FUNCTIONS);
	__type(key, struct function_key);
	__type(value, u32);
} function_numbers SEC(".maps");

/* Numbers that no function has; pinwise fills it. The last that was given back is given out first: numbers in use stay low. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, FUNCTIONS);
	__type(value, u32);
} free_numbers SEC(".maps");

/* By number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FUNCTIONS);
	__type(key, u32);
	__type(value, struct known_function);
} known_functions SEC(".maps");

/*
 * What each function did on each CPU: on a machine with many there are thousands of such pairs, which are too many to ask the kernel for
 * one by one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct function_seen);
} functions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 128);
	__type(key, u32);
	__type(value, struct functions_came);
} functions_came SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct route_key);
	__type(value, u64);
} routes SEC(".maps");

/*
 * How many CPUs there is room for: the rows of `cpus`, and those of one source in `sources`. An odd number: lines of one CPU that lie a power of
 * two apart would all want the same few places of its cache.
 */
const volatile u32 room_for_cpus = 9;

/* Whether the time of every task is counted, not only of those that take it from the target. */
const volatile u32 every_task = 0;

static __always_inline struct control *control_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

static __always_inline struct cpu_seen *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/*
 * Makes an entry of a table by key, which is counted as made, or as lost where there is no room for it. Another CPU may have made it
 * meanwhile: then it is that one.
 */
static __always_inline void *new_entry(void *map, const void *key, const void *fresh, u64 *made, u64 *lost)
{
	void *entry;

	if (!bpf_map_update_elem(map, key, fresh, BPF_NOEXIST))
		__sync_fetch_and_add(made, 1);
	entry = bpf_map_lookup_elem(map, key);
	if (!entry)
		__sync_fetch_and_add(lost, 1);
	return entry;
}

/* When counting began. */
static __always_inline u64 counting_since(void)
{
	struct control *set = control_of();

	return set ? set->began_ns : 0;
}

/*
 * Whether events are counted: set and cleared by pinwise. It is read at each event, and what is no map of its own is read there without
 * looking anything up.
 */
volatile u32 counting SEC(".data.counting") = 0;

/* How many threads were ever taken in. */
volatile u64 threads_adopted;

/*
 * How long ago something began that an interrupt may move on while it is looked at: programs at the end of a softirq run with
 * interrupts enabled.
 */
static __always_inline u64 since(const volatile u64 *start_ns)
{
	u64 began = *start_ns;
	u64 ns = bpf_ktime_get_ns() - began;

	if (*start_ns != began) {
		began = *start_ns;
		ns = bpf_ktime_get_ns() - began;
	}
	return ns >> 63 ? 0 : ns;
}

/* Adds to sums that nobody wants the extremes of. */
static __always_inline void add(struct sum *sum, u64 ns)
{
	sum->count++;
	sum->total_ns += ns;
}

static __always_inline void extend(struct stretches *stretches, u64 ns)
{
	stretches->count++;
	stretches->total_ns += ns;
	if (ns > stretches->longest_ns)
		stretches->longest_ns = ns;
}

static __always_inline void charge(struct tally *tally, u64 ns)
{
	tally->count++;
	tally->total_ns += ns;
	if (!tally->shortest_ns || ns < tally->shortest_ns)
		tally->shortest_ns = ns ? ns : 1;
	if (ns > tally->longest_ns)
		tally->longest_ns = ns;
}

#endif
