/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hands events out one by one, in a ring that pinwise empties: what account.bpf.c sums up, for a trace. The same trace points, and
 * compiled twice as that is. What finds no room in the ring is counted by CPU.
 */
#include "event_interrupts.h"
#include "event_switches.h"

char events_license[] section("license") = "Dual BSD/GPL";
