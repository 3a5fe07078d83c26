/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reports events one by one, in a ring buffer that pinwise reads: what account.bpf.c sums up, for a trace. The same tracepoints, and
 * compiled twice as that is. What finds no room in the ring is counted by CPU.
 */
#include "event_interrupts.h"
#include "event_switches.h"

char events_license[] SEC("license") = "Dual BSD/GPL";
