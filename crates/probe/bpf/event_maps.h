/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The tables of the programs that hand out events, and how an event is handed out. */
#ifndef PINWISE_EVENT_MAPS_H
#define PINWISE_EVENT_MAPS_H

#include "event_records.h"
#include "tasks.h"

/* Sizes are for a small machine: pinwise sets them before it loads the programs. */
struct {
	map_uint(type, MAP_ARRAY);
	map_uint(map_flags, FLAG_MMAPABLE);
	map_uint(max_entries, 1);
	map_type(key, u32);
	map_type(value, struct event_control);
} control section(".maps");

struct {
	map_uint(type, MAP_ARRAY);
	map_uint(map_flags, FLAG_MMAPABLE);
	map_uint(max_entries, 8);
	map_type(key, u32);
	map_type(value, struct event_cpu);
} cpus section(".maps");

struct {
	map_uint(type, MAP_RINGBUF);
	map_uint(max_entries, 1 << 16);
} events section(".maps");

#ifdef RAW_TRACEPOINTS
/* By thread number. */
struct {
	map_uint(type, MAP_HASH);
	map_uint(max_entries, 64);
	map_type(key, u32);
	map_type(value, struct mark);
} marks section(".maps");
#else
struct {
	map_uint(type, MAP_TASK_STORAGE);
	map_uint(map_flags, FLAG_NO_PREALLOC);
	map_type(key, int);
	map_type(value, struct mark);
} marks section(".maps");
#endif

/* Whether there is no target: every switch and wake-up is handed out. */
const volatile u32 everything = 0;

inline_always struct event_control *control_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

inline_always struct event_cpu *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* When handing out began; 0 while it has not, and once it has ended. */
inline_always u64 tracing_since(void)
{
	struct event_control *set = control_of();

	return set && !set->ended_ns ? set->began_ns : 0;
}

inline_always int somebody_waits(struct event_cpu *cpu)
{
	return *(volatile s32 *)&cpu->waiting > 0;
}

/* Whether what happens on this CPU now is of concern. */
inline_always int concerns(struct event_cpu *cpu)
{
	return cpu->watched && (everything || (cpu->current & CURRENT_OF_TARGET) || somebody_waits(cpu));
}

/* Room for an event, or none, which is counted. Whoever reads looks by himself: a wake-up would be one more interrupt. */
#define room_for(type, cpu)                                                       \
	({                                                                        \
		type *room = bpf_ringbuf_reserve(&events, sizeof(type), 0);       \
		if (!room)                                                        \
			__sync_fetch_and_add(&(cpu)->dropped, 1);                 \
		room;                                                             \
	})

inline_always void hand_out(void *event)
{
	bpf_ringbuf_submit(event, RING_NO_WAKEUP);
}

inline_always void entitle(struct event *head, u32 kind, u32 cpu, u64 at_ns, u32 number, u32 detail)
{
	head->at_ns = at_ns;
	head->number = number;
	head->cpu = cpu;
	head->kind = kind;
	head->detail = detail;
}

inline_always int tell_stretch(struct event_cpu *cpu, u32 id, u32 kind, u64 from_ns, u64 ns, u32 number, u32 detail)
{
	struct event_stretch *event = room_for(struct event_stretch, cpu);

	if (!event)
		return 0;
	entitle(&event->head, kind, id, from_ns, number, detail);
	event->ns = ns;
	hand_out(event);
	return 1;
}

#endif
