//! The records of `bpf/records.h` in Rust. What each field means is described there; all times are ns of CLOCK_MONOTONIC.

/// Sources that are distinguished on a CPU, `enum source`.
pub(crate) const SOURCES: usize = 20;
/// The first of ten softirq vectors among the sources.
pub(crate) const SOURCE_SOFTIRQ: usize = 10;
/// Bits of a time that are distinguished below its power of two.
pub(crate) const STEPS_BITS: u32 = 2;
/// Steps of a distribution.
pub(crate) const BUCKETS: usize = 160;
/// Steps in a row of the table of lengths, and rows of a source and CPU there.
pub(crate) const STEPS_IN_LINE: usize = 16;
pub(crate) const STEPS_LINES: usize = BUCKETS / STEPS_IN_LINE;
/// C-states that are distinguished.
pub(crate) const IDLE_STATES: usize = 10;
/// Threads of the target that a CPU remembers.
pub(crate) const KNOWN_THREADS: usize = 8;
/// Functions that the kernel runs on somebody's behalf and that are distinguished.
pub(crate) const FUNCTIONS: usize = 512;
/// So many of them in a row have it side by side how often they came on a CPU; the number of such rows.
pub(crate) const FUNCTIONS_IN_ROW: usize = 32;
pub(crate) const FUNCTION_ROWS: usize = FUNCTIONS / FUNCTIONS_IN_ROW;
/// So many have it on one line what they did on a CPU.
pub(crate) const FUNCTIONS_IN_LINE: usize = 2;
/// Reasons for a tick to go on.
pub(crate) const TICK_DEPENDENCIES: usize = 8;
/// Distances of a migration, `enum distance`.
pub(crate) const DISTANCES: usize = 5;

/// Why a thread sleeps, `enum sleep_reason`.
pub(crate) const SLEEP_REASONS: usize = 9;
/// System calls that are distinguished.
pub(super) const SYSTEM_CALLS: usize = 512;

/// Wakers of a thread that are counted one by one.
const WAKERS: usize = 3;

/// Bits of a waker.
pub(crate) mod waker_bits {
    pub(crate) const PROCESS: u32 = (1 << 22) - 1;
    pub(crate) const ELSEWHERE: u32 = 1 << 22;
    pub(crate) const SOFTIRQ: u32 = 1 << 23;
    pub(crate) const INTERRUPT: u32 = 1 << 24;
    #[cfg(test)]
    pub(crate) const KNOWN: u32 = 1 << 25;
}

/// `enum thread_state`.
pub(crate) mod thread_state {
    /// The slot is free, or nothing is known of its thread yet.
    pub(crate) const NONE: u32 = 0;
    pub(crate) const RUNNING: u32 = 1;
    pub(crate) const PREEMPTED: u32 = 2;
    pub(crate) const WAITING: u32 = 3;
    pub(crate) const THROTTLED: u32 = 4;
    pub(crate) const ASLEEP: u32 = 5;
    pub(crate) const BLOCKED: u32 = 6;
    pub(crate) const ENDED: u32 = 7;
}

/// `enum sleep_reason`, those that a system call can stand for.
pub(super) mod sleep_reason {
    pub(crate) const UNKNOWN: u32 = 0;
    pub(crate) const FUTEX: u32 = 1;
    pub(crate) const INPUT: u32 = 2;
    pub(crate) const TIMER: u32 = 3;
    pub(crate) const OUTPUT: u32 = 4;
    pub(crate) const SYNC: u32 = 5;
    pub(crate) const CHILD: u32 = 6;
    pub(crate) const OTHER: u32 = 8;
}

/// A record that the kernel shares with this process.
///
/// # Safety
/// Only integers and arrays of them, laid out as C does, without padding, and whole words of eight bytes at multiples of eight bytes.
pub(crate) unsafe trait Record: Copy + 'static {
    /// All zero, as the kernel makes it.
    fn zeroed() -> Self {
        // SAFETY: integers may be zero.
        unsafe { std::mem::zeroed() }
    }

    /// Reads it from the first of these bytes, wherever they lie; `None` where they are too few.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < size_of::<Self>() {
            return None;
        }
        // SAFETY: as many bytes are there, and any bytes are integers.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

/// Name in C, size, and the fields with their offsets.
#[cfg(test)]
pub(crate) type Layout = (&'static str, usize, &'static [(&'static str, usize)]);

macro_rules! records {
    ($($name:ident = $in_c:literal { $($field:ident: $type:ty,)* })*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(C, align(8))]
            pub(crate) struct $name { $(pub(crate) $field: $type,)* }

            // SAFETY: repr(C), integers only; the assertion and the test of the layout hold the rest.
            unsafe impl $crate::bpf::records::Record for $name {}
            // SAFETY: the same promise, in aya's words.
            unsafe impl aya::Pod for $name {}
            const _: () = assert!(size_of::<$name>() % 8 == 0);
        )*

        /// What the test of the layout goes through.
        #[cfg(test)]
        pub(crate) const LAYOUTS: &[$crate::bpf::records::Layout] = &[
            $(($in_c, size_of::<$name>(), &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*]),)*
        ];
    };
}

records! {
    Tally = "tally" { count: u64, total_ns: u64, shortest_ns: u64, longest_ns: u64, }

    StretchesSeen = "stretches" { count: u64, total_ns: u64, longest_ns: u64, }

    Sum = "sum" { count: u64, total_ns: u64, }

    Faults = "faults" { minor: u64, major: u64, }

    SourceSeen = "source_seen" { all: Tally, on_count: u64, on_ns: u64, waiting_count: u64, waiting_ns: u64, }

    Running = "running" { at_ns: u64, waited_ns: u64, }

    RunningFunction = "running_function" { at_ns: u64, which: u64, }

    KnownThread = "known_thread" { task: u64, tid: u32, slot: u32, }

    CpuHead = "cpu_head" {
        switches: u64,
        interrupted_ns: u64,
        unreported: u32,
        moved: u32,
        idle_state: u32,
        woken: u32,
        target_ns: u64,
        other_ns: u64,
        idle_ns: u64,
        current_slot: u32,
        current_tid: u32,
        switched_at_ns: u64,
        slice_interrupted_ns: u64,
        waiting: u64,
        waiting_moved: u64,
        waited_before_ns: u64,
        waiting_interrupted_ns: u64,
        clock_ahead_ns: u64,
        clock_compared_ns: u64,
        unknown_ns: u64,
        idle_waited_ns: u64,
        steal_ns: u64,
        steal_began_ns: u64,
        tick_stopped: u64,
        tick_kept: [u64; TICK_DEPENDENCIES],
        came: [u32; SOURCES],
    }

    CpuSeen = "cpu_seen" {
        head: CpuHead,
        clock_doubted_ns: u64,
        interrupt: Running,
        softirq: Running,
        interrupt_function: RunningFunction,
        softirq_function: RunningFunction,
        known: [KnownThread; KNOWN_THREADS],
    }

    StepsLine = "steps_line" { steps: [u32; STEPS_IN_LINE], }

    Place = "place" { core: u32, cache: u32, node: u32, known: u32, }

    WakerSeen = "waker" { who: u32, count: u32, }

    ThreadSeen = "thread_seen" {
        version: u64,
        tid: u32,
        tgid: u32,
        state: u32,
        cpu: u32,
        waits_on: u32,
        slot: u32,
        since_ns: u64,
        on_cpu: StretchesSeen,
        interrupted_ns: u64,
        waiting: StretchesSeen,
        blocked: Sum,
        sleeps_for: u32,
        unused_half: u32,
        woken_elsewhere: u64,
        asleep_for: [Sum; SLEEP_REASONS],
        preempted: StretchesSeen,
        throttled: StretchesSeen,
        took: StretchesSeen,
        preempted_others: u64,
        migrations: [u64; DISTANCES],
        unseen_waiting_ns: u64,
        page_faults: u64,
        faults: Faults,
        faults_before: Faults,
        reclaim: StretchesSeen,
        reclaims_since_ns: u64,
        own_tid: u32,
        own_tgid: u32,
        comm: [u8; 16],
        cgroup: u64,
        began_ns: u64,
        from_idle_count: [u64; IDLE_STATES],
        from_idle_ns: [u64; IDLE_STATES],
        woken_by: u64,
        wakers: [WakerSeen; WAKERS],
        on_cpu_steps: [u32; BUCKETS],
        off_cpu_steps: [u32; BUCKETS],
    }

    TakerKey = "taker_key" { tid: u32, cpu: u32, }

    TakerSeen = "taker_seen" {
        tgid: u32,
        of_kernel: u32,
        comm: [u8; 16],
        cgroup: u64,
        slices: u64,
        on_cpu_ns: u64,
        preempted: u64,
        took: StretchesSeen,
    }

    LineKey = "line_key" { cpu: u32, irq: u32, }

    LineSeen = "line_seen" { seen: SourceSeen, steps: [u32; BUCKETS], }

    KnownFunction = "known_function" { address: u64, kind: u32, is_known: u32, }

    FunctionSeen = "function_seen" { all: Tally, }

    FunctionsCame = "functions_came" { came: [u32; FUNCTIONS_IN_ROW], }

    RouteKey = "route_key" { from: u32, to: u32, }

    Lost = "lost" { threads: u64, takers: u64, lines: u64, functions: u64, routes: u64, }

    Made = "made" { takers: u64, lines: u64, functions: u64, routes: u64, }

    Control = "control" { began_ns: u64, ended_ns: u64, lost: Lost, made: Made, }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::Command;

    use super::super::{event_records, lock_records, request_records, stack_records};
    use super::*;

    /// A C file that only compiles if both sides say the same.
    fn assertions() -> String {
        let mut c = String::from(
            "#include \"maps.h\"\n#include \"event_records.h\"\n#include \"stack_records.h\"\n#include \"request_records.h\"\n#include \"lock_records.h\"\n",
        );
        for (record, size, fields) in LAYOUTS
            .iter()
            .chain(event_records::LAYOUTS)
            .chain(stack_records::LAYOUTS)
            .chain(request_records::LAYOUTS)
            .chain(lock_records::LAYOUTS)
        {
            writeln!(c, "_Static_assert(sizeof(struct {record}) == {size}, \"size of {record}\");").unwrap();
            // The head of a CPU has no name there: its fields are those of the whole.
            for (field, offset) in fields.iter().filter(|(field, _)| *field != "head") {
                let place = format!("__builtin_offsetof(struct {record}, {field})");
                writeln!(c, "_Static_assert({place} == {offset}, \"{record}.{field}\");").unwrap();
            }
        }
        let numbers = [
            ("SOURCES", SOURCES),
            ("SOURCE_SOFTIRQ", SOURCE_SOFTIRQ),
            ("STEPS_BITS", STEPS_BITS as usize),
            ("BUCKETS", BUCKETS),
            ("STEPS_IN_LINE", STEPS_IN_LINE),
            ("STEPS_LINES", STEPS_LINES),
            ("IDLE_STATES", IDLE_STATES),
            ("TICK_DEPENDENCIES", TICK_DEPENDENCIES),
            ("DISTANCES", DISTANCES),
            ("FUNCTIONS", FUNCTIONS),
            ("FUNCTIONS_IN_ROW", FUNCTIONS_IN_ROW),
            ("FUNCTION_ROWS", FUNCTION_ROWS),
            ("FUNCTIONS_IN_LINE", FUNCTIONS_IN_LINE),
            ("KNOWN_THREADS", KNOWN_THREADS),
            ("SLEEP_REASONS", SLEEP_REASONS),
            ("SYSTEM_CALLS", SYSTEM_CALLS),
            ("SLEEP_UNKNOWN", sleep_reason::UNKNOWN as usize),
            ("SLEEP_FUTEX", sleep_reason::FUTEX as usize),
            ("SLEEP_INPUT", sleep_reason::INPUT as usize),
            ("SLEEP_TIMER", sleep_reason::TIMER as usize),
            ("SLEEP_OUTPUT", sleep_reason::OUTPUT as usize),
            ("SLEEP_SYNC", sleep_reason::SYNC as usize),
            ("SLEEP_CHILD", sleep_reason::CHILD as usize),
            ("SLEEP_OTHER", sleep_reason::OTHER as usize),
            ("WAKERS", WAKERS),
            ("WAKER_PROCESS", waker_bits::PROCESS as usize),
            ("WAKER_ELSEWHERE", waker_bits::ELSEWHERE as usize),
            ("WAKER_SOFTIRQ", waker_bits::SOFTIRQ as usize),
            ("WAKER_INTERRUPT", waker_bits::INTERRUPT as usize),
            ("WAKER_KNOWN", waker_bits::KNOWN as usize),
            ("THREAD_NONE", thread_state::NONE as usize),
            ("THREAD_RUNNING", thread_state::RUNNING as usize),
            ("THREAD_PREEMPTED", thread_state::PREEMPTED as usize),
            ("THREAD_WAITING", thread_state::WAITING as usize),
            ("THREAD_THROTTLED", thread_state::THROTTLED as usize),
            ("THREAD_ASLEEP", thread_state::ASLEEP as usize),
            ("THREAD_BLOCKED", thread_state::BLOCKED as usize),
            ("THREAD_ENDED", thread_state::ENDED as usize),
        ];
        for (name, value) in numbers
            .iter()
            .chain(event_records::NUMBERS)
            .chain(stack_records::NUMBERS)
            .chain(request_records::NUMBERS)
            .chain(lock_records::NUMBERS)
        {
            writeln!(c, "_Static_assert({name} == {value}, \"{name}\");").unwrap();
        }
        c
    }

    #[test]
    fn rust_and_c_lay_the_records_out_alike() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("layout.c");
        std::fs::write(&file, assertions()).unwrap();
        let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        let compiled = Command::new("clang-14")
            .args(["-target", "bpfel", "-fsyntax-only", "-fms-extensions", "-Wno-unused-function", "-I"])
            .arg(headers)
            .arg(&file)
            .output();
        match compiled {
            Err(_) => eprintln!("skipped: clang-14 is not installed (scripts/setup test installs it)"),
            Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
        }
    }
}
