/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maps of the programs that report single events, and how an event is submitted to the ring buffer. */
#ifndef PINWISE_EVENT_MAPS_H
#define PINWISE_EVENT_MAPS_H

#include "event_records.h"
#include "tasks.h"

/* Sizes are for a small machine: pinwise sets them before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct event_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} events SEC(".maps");

#ifdef RAW_TRACEPOINTS
/* By thread number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, struct mark);
} marks SEC(".maps");
#else
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mark);
} marks SEC(".maps");
#endif

/* Whether there is no target: every switch and wake-up is reported. */
const volatile u32 everything = 0;

static __always_inline struct event_control *control_of(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

static __always_inline struct event_cpu *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* When tracing began; 0 while it has not, and once it has ended. */
static __always_inline u64 tracing_since(void)
{
	struct event_control *set = control_of();

	return set && !set->ended_ns ? set->began_ns : 0;
}

static __always_inline int somebody_waits(struct event_cpu *cpu)
{
	return *(volatile s32 *)&cpu->waiting > 0;
}

/* Whether what happens on this CPU now is of concern. */
static __always_inline int concerns(struct event_cpu *cpu)
{
	return cpu->watched && (everything || (cpu->current & CURRENT_OF_TARGET) || somebody_waits(cpu));
}

/* Room for an event, or none, which is counted as dropped. The reader polls: a wake-up would be one more interrupt. */
#define reserve(type, cpu)                                                        \
	({                                                                        \
		type *room = bpf_ringbuf_reserve(&events, sizeof(type), 0);       \
		if (!room)                                                        \
			__sync_fetch_and_add(&(cpu)->dropped, 1);                 \
		room;                                                             \
	})

static __always_inline void submit(void *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void fill_head(struct event *head, u32 kind, u32 cpu, u64 at_ns, u32 number, u32 detail)
{
	head->at_ns = at_ns;
	head->number = number;
	head->cpu = cpu;
	head->kind = kind;
	head->detail = detail;
}

static __always_inline int emit_stretch(struct event_cpu *cpu, u32 id, u32 kind, u64 from_ns, u64 ns, u32 number, u32 detail)
{
	struct event_stretch *event = reserve(struct event_stretch, cpu);

	if (!event)
		return 0;
	fill_head(&event->head, kind, id, from_ns, number, detail);
	event->ns = ns;
	submit(event);
	return 1;
}

#endif
