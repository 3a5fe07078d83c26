/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Accounts for the time of CPUs and of the threads of a target: one program for each trace point, trace points only, so that
 * it works on kernels without kprobes, modules and schedstats. No event is handed out: everything is summed up in the
 * kernel, in tables that pinwise maps into its memory.
 *
 * Compiled twice: for trace points with types (tp_btf), and with RAW_TRACEPOINTS for kernels that have none (raw_tp).
 */
#include "functions.h"
#include "interrupts.h"
#include "reclaim.h"
#include "threads.h"

char account_license[] section("license") = "Dual BSD/GPL";
