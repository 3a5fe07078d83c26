//! The records of `bpf/lock_records.h` in Rust. What each field means is said there; all times are ns of CLOCK_MONOTONIC.

/// Addresses of futexes that are remembered of a thread.
pub(crate) const WAITED_AT: usize = 4;

/// What a futex is used for, `enum lock_kind`: those that are known.
pub(crate) mod lock_kind {
    pub(crate) const MUTEX: u32 = 1;
    pub(crate) const PRIORITY: u32 = 2;
}

/// How a wait ended, `enum wait_end`: else it was broken off.
pub(crate) mod wait_end {
    pub(crate) const RELEASED: u32 = 0;
    pub(crate) const GOES_ON: u32 = 2;
}

records! {
    LockThread = "lock_thread" {
        left_ns: u64,
        woken_ns: u64,
        back_ns: u64,
        address: u64,
        stack: u64,
        stack_taken_ns: u64,
        last_stack: u64,
        last_release: u64,
        away_since_ns: u64,
        asleep_ns: u64,
        waiting_ns: u64,
        kind: u32,
        is_waiting: u32,
        next: u32,
        spare: u32,
        waited_at: [u64; WAITED_AT],
    }

    LockKey = "lock_key" {
        address: u64,
        waiter_stack: u64,
        releaser_stack: u64,
        tgid: u32,
        kind: u32,
        end: u32,
        spare: u32,
    }

    LockSum = "lock_sum" {
        count: u64,
        ns: u64,
        by_waiters: u64,
        held_ns: u64,
        holder_asleep_ns: u64,
        holder_waiting_ns: u64,
    }
}

/// The numbers above by their names in C, for the test of the layout.
#[cfg(test)]
pub(crate) const NUMBERS: &[(&str, usize)] = &[
    ("WAITED_AT", WAITED_AT),
    ("LOCK_MUTEX", lock_kind::MUTEX as usize),
    ("LOCK_PRIORITY", lock_kind::PRIORITY as usize),
    ("WAIT_RELEASED", wait_end::RELEASED as usize),
    ("WAIT_GOES_ON", wait_end::GOES_ON as usize),
];
