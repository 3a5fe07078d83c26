/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Accounts for the time of CPUs and of the threads of a target: one program for each tracepoint, tracepoints only, so that
 * it works on kernels without kprobes, modules and schedstats. No single event is reported: everything is summed up in the
 * kernel, in tables that pinwise maps into its memory.
 *
 * Compiled twice: for tracepoints with types (tp_btf), and with RAW_TRACEPOINTS for kernels that have none (raw_tp).
 */
#include "functions.h"
#include "interrupts.h"
#include "reclaim.h"
#include "threads.h"

char account_license[] SEC("license") = "Dual BSD/GPL";
