//! The records of `bpf/stack_records.h` in Rust. What each field means is told there; all times are ns of CLOCK_MONOTONIC.

records! {
    Left = "left" { since_ns: u64, state: u32, kernel_stack: i32, user_stack: i32, spare: u32, }

    StackKey = "stack_key" { tgid: u32, state: u32, kernel_stack: i32, user_stack: i32, comm: [u8; 16], }

    StackSum = "stack_sum" { count: u64, ns: u64, }

    StackControl = "stack_control" {
        began_ns: u64,
        ended_ns: u64,
        lost_threads: u64,
        lost_stacks: u64,
        lost_sums: u64,
        lost_ns: u64,
        untold: u64,
    }
}

/// What the kernel says of a stack whose place another one has: -EEXIST of bpf_get_stackid, kernel/bpf/stackmap.c.
pub(crate) const STACK_OF_ANOTHER: i32 = -17;
