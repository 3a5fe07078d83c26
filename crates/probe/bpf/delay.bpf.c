/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes each timer interrupt longer by a known time. For measurements only: what is to show how much longer a watch makes the gaps of a
 * loop that wants quiet has to show this (`cargo bench -p benches -- noise`).
 */
#include "kernel.h"

/* By how much. The kernel takes this as a constant when it loads the program. */
const volatile u32 delay_ns = 0;

/* As many looks at the clock as the verifier lets a program have; each takes more than 10 ns. */
enum { LOOKS = 1000 };

SEC_TP(local_timer_entry) int local_timer_entry(u64 *ctx)
{
	u64 from_ns = bpf_ktime_get_ns();
	u32 look;

	for (look = 0; look < LOOKS; look++) {
		if (bpf_ktime_get_ns() - from_ns >= delay_ns)
			break;
	}
	return 0;
}

char delay_license[] SEC("license") = "Dual BSD/GPL";
