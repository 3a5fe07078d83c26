/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requests to a server's ports. `src/bpf/request_records.rs` says the same in Rust; the test that holds `records.h` and its twin together
 * holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_REQUEST_RECORDS_H
#define PINWISE_REQUEST_RECORDS_H

#include "kernel.h"
#include "records.h"

/* Ports that are distinguished. */
enum { PORTS = 64 };

/* A connection of the server. */
struct connection {
	u64 arrived_ns; /* when bytes arrived that nobody has read yet; 0: there are none */
	u64 read_ns; /* when the request that is being answered was read; 0: none is */
};

/* What came to a port, on one CPU. */
struct port_requests {
	u64 read; /* requests of which both arrival and read were seen */
	u64 waited_ns; /* between the two, all together */
	u64 answered; /* requests of which both read and answer were seen */
	u64 served_ns; /* between the two */
	u32 waited_steps[BUCKETS];
	u32 served_steps[BUCKETS];
};

/* Set by pinwise: nothing is counted before `began_ns` is not 0, nor once `ended_ns` is not. */
struct request_control {
	u64 began_ns;
	u64 ended_ns;
	u64 lost; /* connections for which there was no room */
};

#endif
