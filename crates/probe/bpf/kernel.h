/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few fields of the kernel's own records that are read here, and the helpers that are called. The loader finds where
 * each field lies on the running kernel (BTF relocations), so only names have to fit, not offsets or order.
 *
 * A flavour (name___old) is the same record of another kernel: what stands behind the three underscores is not looked at.
 */
#ifndef PINWISE_KERNEL_H
#define PINWISE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define inline_always static inline __attribute__((always_inline))
#define section(name) __attribute__((section(name), used))
/*
 * What happens seldom is a function of its own, away from what happens at each event: that then lies close together in memory and
 * keeps more in registers.
 */
#define seldom static __attribute__((noinline, cold))
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Map definitions, as BTF that the loader reads. */
#define map_uint(name, value) int(*name)[value]
#define map_type(name, type) type *name

enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_STACK = 23,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,

	FLAG_NO_PREALLOC = 1,
	FLAG_MMAPABLE = 1024,

	UPDATE_NOEXIST = 1,
	STORAGE_CREATE = 1,
	RING_NO_WAKEUP = 1,
};

/* uapi/linux/bpf.h: numbers of the helpers. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*const bpf_probe_read_kernel)(void *into, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *into, u32 size, const void *from) = (void *)115;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void *(*const bpf_task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*const bpf_task_pt_regs)(void *task) = (void *)175;

#define field_exists(field) __builtin_preserve_field_info(field, 2)

/* Helpers that not every kernel with typed trace points has: 5.15 and later. */
enum bpf_func_id { BPF_FUNC_task_pt_regs = 175 };

#define helper_exists(name) __builtin_preserve_enum_value(*(enum bpf_func_id *)BPF_FUNC_##name, 0)

/*
 * Reads a field through a pointer that the kernel gave. A program of kind tp_btf may follow such a pointer by itself, a
 * raw_tp one has to ask.
 */
#define ask(pointer, field)                                                                              \
	({                                                                                               \
		typeof((pointer)->field) value_read = 0;                                                 \
		bpf_probe_read_kernel(&value_read, sizeof(value_read),                                   \
				      __builtin_preserve_access_index(&(pointer)->field));               \
		value_read;                                                                              \
	})
#ifdef RAW_TRACEPOINTS
#define follow(pointer, field) ask(pointer, field)
#define tracepoint(name) section("raw_tp/" #name)
#else
#define follow(pointer, field) ((pointer)->field)
#define tracepoint(name) section("tp_btf/" #name)
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	u64 clock;
	u64 prev_steal_time_rq;
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct thread_info {
	u32 cpu;
	u32 status; /* x86 */
};

/* x86: the number of the system call, -1 outside of any; its first three arguments. */
struct pt_regs {
	u64 orig_ax;
	u64 di;
	u64 si;
	u64 dx;
};

/* arm64: the same; the first argument is kept apart, for the call's result takes its place. */
struct pt_regs___arm64 {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
	u64 pstate;
};

struct ns_common {
	u32 inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* One number for each PID namespace in which the task is seen, the first namespace first; there are level + 1. */
struct pid {
	u32 level;
	struct upid numbers[1];
};

struct mm_struct;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	struct sched_entity se;
	u64 jobctl;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	char comm[16];
	u64 min_flt;
	u64 maj_flt;
	struct css_set *cgroups;
	u8 throttled;
	struct mm_struct *mm;
};

/* include/linux/mm_types.h: where a process has its own code, and from where on down it maps files. */
struct mm_struct {
	u64 start_code;
	u64 end_code;
	u64 mmap_base;
	u64 start_stack;
};

/* Where thread_info does not know the CPU: x86 before 5.16, arm64 before 5.16. */
struct task_struct___cpu {
	u32 cpu;
};

/* Before 5.14. */
struct task_struct___state {
	long state;
};

struct hrtimer {
	void *function;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
