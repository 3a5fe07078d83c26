//! The records of `bpf/stack_records.h` in Rust. What each field means is described there; all times are ns of CLOCK_MONOTONIC.

/// Frames of a stack that are kept.
pub(crate) const STACK_DEPTH: usize = 127;

/// What stands in the place of a stack's hash.
pub(crate) mod stack_hash {
    pub(crate) const NOT_TAKEN: u64 = 0;
    pub(crate) const NONE: u64 = 1;
    pub(crate) const LOST: u64 = 2;
}

/// In the place of a caller that cannot be one.
pub(crate) const STACK_NO_CODE: u64 = 1;

records! {
    Left = "left" { since_ns: u64, woken_ns: u64, ran: u64, ran_ns: u64, kernel_stack: u64, user_stack: u64, last_kernel_stack: u64, last_user_stack: u64, state: u32, spare: u32, }

    StackKey = "stack_key" { tgid: u32, state: u32, kernel_stack: u64, user_stack: u64, comm: [u8; 16], }

    StackSum = "stack_sum" { count: u64, ns: u64, waited_ns: u64, }

    StackFrames = "stack_frames" { at: [u64; STACK_DEPTH], spare: u64, }

    StackControl = "stack_control" {
        began_ns: u64,
        ended_ns: u64,
        lost_threads: u64,
        lost_stacks: u64,
        lost_sums: u64,
        lost_ns: u64,
        unreported: u64,
    }
}

/// The numbers above by their names in C, for the test of the layout.
#[cfg(test)]
pub(crate) const NUMBERS: &[(&str, usize)] = &[
    ("STACK_DEPTH", STACK_DEPTH),
    ("STACK_NOT_TAKEN", stack_hash::NOT_TAKEN as usize),
    ("STACK_NONE", stack_hash::NONE as usize),
    ("STACK_LOST", stack_hash::LOST as usize),
    ("STACK_NO_CODE", STACK_NO_CODE as usize),
];
