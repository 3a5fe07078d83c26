/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long one thread is in system calls. For measurements only (`cargo bench -p benches -- account`): how the kernel splits a thread's
 * time into user and system is a guess from where its ticks happened to hit.
 */
#include "kernel.h"

/* Its number, in the first PID namespace. */
const volatile u32 measured = 0;

struct inside {
	u64 entered_ns; /* 0: it is in none */
	u64 total_ns; /* in those that have ended */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct inside);
} inside SEC(".maps");

static __always_inline struct inside *of_measured(void)
{
	u32 first = 0;

	return (u32)bpf_get_current_pid_tgid() == measured ? bpf_map_lookup_elem(&inside, &first) : 0;
}

/* include/trace/events/syscalls.h: sys_enter(struct pt_regs *, long number) */
SEC_TP(sys_enter) int sys_enter(u64 *ctx)
{
	struct inside *of = of_measured();

	if (of)
		of->entered_ns = bpf_ktime_get_ns();
	return 0;
}

/* sys_exit(struct pt_regs *, long answer) */
SEC_TP(sys_exit) int sys_exit(u64 *ctx)
{
	struct inside *of = of_measured();

	if (of && of->entered_ns) {
		of->total_ns += bpf_ktime_get_ns() - of->entered_ns;
		of->entered_ns = 0;
	}
	return 0;
}

char syscalls_license[] SEC("license") = "Dual BSD/GPL";
