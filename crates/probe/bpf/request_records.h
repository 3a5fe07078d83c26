/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requests to a server's ports. `src/bpf/request_records.rs` says the same in Rust; the test that holds `records.h` and its twin together
 * holds these, too. All times are ns of CLOCK_MONOTONIC.
 */
#ifndef PINWISE_REQUEST_RECORDS_H
#define PINWISE_REQUEST_RECORDS_H

#include "kernel.h"
#include "records.h"

/*
 * Ports and Unix sockets that are distinguished; bytes of an address, IPv4 as IPv6 has it (::ffff:a.b.c.d); of the name of a Unix
 * socket.
 */
enum { PORTS = 64, ADDRESS_BYTES = 16, UNIX_NAME_BYTES = 108 };

/* The place of what is another server's. */
enum { NOWHERE = 0xffffffff };

/* Where somebody listens: an address of this host, as it is sent (IPv4 as above), and a port. */
struct listening_address {
	u32 address[ADDRESS_BYTES / 4];
	u64 port;
};

/* The name of a Unix socket, as bind(2) had it: a path, whose end is 0, or an abstract name, which begins with 0; the rest is 0. */
struct unix_name {
	u32 bytes; /* of an abstract name; 0 for a path */
	u8 name[UNIX_NAME_BYTES];
};

/* Requests of a client, or of one of its connections; the fields are those of struct port_requests. */
struct request_sums {
	u64 read;
	u64 waited_ns;
	u64 answered;
	u64 served_ns;
};

/* A client of a port. */
struct peer {
	u8 address[ADDRESS_BYTES];
	u64 port; /* of the server */
};

/* A connection of the server. */
struct connection {
	u64 arrived_ns; /* when bytes arrived that nobody has read yet; 0: there are none */
	u64 read_ns; /* when the request that is being answered was read; 0: none is */
	u64 asked_ns; /* when it arrived; 0: that was not seen */
	u32 written; /* what the server had written by then, as TCP numbers it */
	u32 received; /* what had been received before anything of the answer was written, likewise */
	u32 early; /* whether what arrived last did so before that, too */
	u32 answered; /* whether the last write was the first since a read */
	u64 cookie; /* of a Unix socket, by which one that comes later to its address is known as another; 0: of TCP */
	struct peer peer;
	struct request_sums sums;
};

/* What came to a port or a Unix socket, on one CPU. */
struct port_requests {
	u64 read; /* requests of which both arrival and read were seen */
	u64 waited_ns; /* between the two, all together */
	u64 answered; /* requests of which both read and answer were seen */
	u64 served_ns; /* between the two */
	u64 overlapping; /* of those that were answered, before how many answers more had been received than was read */
	u64 continued; /* of those that were read, how many arrived and were read before the one that was read before was answered */
	u64 rewritten; /* of those that were answered, after how many the server wrote again before it read again */
	u32 waited_steps[BUCKETS];
	u32 served_steps[BUCKETS];
	u32 took_steps[BUCKETS]; /* between arrival and answer, of requests of which all three were seen */
	u32 checked_steps[BUCKETS]; /* between arrival and the last check, of those of TCP that had arrived before it */
};

/* Set by pinwise: nothing is counted before `began_ns` is not 0, nor once `ended_ns` is not. */
struct request_control {
	u64 began_ns;
	u64 ended_ns;
	u64 lost; /* connections for which there was no room */
	u64 checked_ns; /* set by pinwise: when it last began to look for requests that wait; 0: not yet */
};

#endif
