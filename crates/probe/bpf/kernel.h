/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few fields of kernel structs that are read here, and the helpers that are called. The loader relocates each field to its
 * offset on the running kernel (CO-RE), so only names have to match, not offsets or order.
 *
 * A flavour (name___old) is the same struct in another kernel version: the loader ignores what follows the three underscores.
 */
#ifndef PINWISE_KERNEL_H
#define PINWISE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define SEC(name) __attribute__((section(name), used))
/*
 * A rare path is a function of its own (__noinline __cold), out of line from what runs at each event: the hot code then lies close
 * together in memory and keeps more in registers. Every function that is not inlined is __cold: the others would come into another section, and
 * aya-obj 0.3 (relocation.rs, linked_functions) takes functions at the same offset of two sections for one and the same.
 */
#define __cold __attribute__((cold))
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Map definitions, as BTF that the loader reads (as in libbpf's bpf_helpers.h). */
#define __uint(name, value) int(*name)[value]
#define __type(name, type) type *name

/* uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,

	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,

	BPF_NOEXIST = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
};

struct tcp_sock;

/* uapi/linux/bpf.h: numbers of the helpers. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*const bpf_get_current_task)(void) = (void *)35;
static u64 (*const bpf_get_socket_cookie)(void *socket) = (void *)46;
static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*const bpf_probe_read_kernel)(void *into, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *into, u32 size, const void *from) = (void *)115;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *socket) = (void *)137;
static void *(*const bpf_task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*const bpf_task_pt_regs)(void *task) = (void *)175;

/* As in libbpf's bpf_core_read.h. */
enum { BPF_FIELD_EXISTS = 2, BPF_ENUMVAL_EXISTS = 0 };

#define bpf_core_field_exists(field) __builtin_preserve_field_info(field, BPF_FIELD_EXISTS)
#define bpf_core_enum_value_exists(type, value) __builtin_preserve_enum_value(*(type *)value, BPF_ENUMVAL_EXISTS)

/* Helpers that not every kernel with typed tracepoints has: 5.15 and later. */
enum bpf_func_id { BPF_FUNC_task_pt_regs = 175 };

/* Reads one field by bpf_probe_read_kernel(), with its offset relocated. */
#define BPF_CORE_READ(pointer, field)                                                                    \
	({                                                                                               \
		typeof((pointer)->field) value_read = 0;                                                 \
		bpf_probe_read_kernel(&value_read, sizeof(value_read),                                   \
				      __builtin_preserve_access_index(&(pointer)->field));               \
		value_read;                                                                              \
	})

/*
 * SEC_TP(name): a program at a tracepoint, tp_btf or raw_tp. CORE_DEREF(pointer, field): reads a field through a pointer that the
 * kernel passed. A tp_btf program dereferences such a pointer directly; a raw_tp program has to use BPF_CORE_READ().
 */
#ifdef RAW_TRACEPOINTS
#define CORE_DEREF(pointer, field) BPF_CORE_READ(pointer, field)
#define SEC_TP(name) SEC("raw_tp/" #name)
#else
#define CORE_DEREF(pointer, field) ((pointer)->field)
#define SEC_TP(name) SEC("tp_btf/" #name)
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

/* Where thread_info has no CPU: x86 before 5.16, arm64 before 5.16. */
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
