//! The few messages and fields of Perfetto's format that are written, by their public numbers (protos/perfetto/trace).
//!
//! Every field is optional, as there: an absent number is not 0.

use prost::{Message, Oneof};

/// `TracePacket.sequence_flags`: names that were interned before are forgotten.
pub(super) const STATE_CLEARED: u32 = 1;

/// `BuiltinClock`.
pub(super) mod clock {
    pub(crate) const MONOTONIC: u32 = 3;
    pub(crate) const BOOTTIME: u32 = 6;
}

/// `TracePacket`, one piece of a trace.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "58")]
    pub(super) timestamp_clock_id: Option<u32>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(oneof = "Data", tags = "1, 2, 6, 11, 34, 45, 60")]
    pub(super) data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Data {
    #[prost(message, tag = "1")]
    FtraceEvents(FtraceEventBundle),
    #[prost(message, tag = "2")]
    ProcessTree(ProcessTree),
    #[prost(message, tag = "6")]
    ClockSnapshot(ClockSnapshot),
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    #[prost(message, tag = "34")]
    FtraceStats(FtraceStats),
    #[prost(message, tag = "45")]
    SystemInfo(SystemInfo),
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) primary_trace_clock: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub(super) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) utsname: Option<Utsname>,
    #[prost(string, optional, tag = "4")]
    pub(super) tracing_service_version: Option<String>,
    #[prost(uint32, optional, tag = "6")]
    pub(super) page_size: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub(super) num_cpus: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Utsname {
    #[prost(string, optional, tag = "1")]
    pub(super) sysname: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) version: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) release: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) machine: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub(super) processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub(super) threads: Vec<Thread>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    pub(super) cmdline: Vec<String>,
    #[prost(bool, optional, tag = "8")]
    pub(super) is_kthread: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    pub(super) cmdline_is_comm: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Thread {
    #[prost(int32, optional, tag = "1")]
    pub(super) tid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub(super) tgid: Option<i32>,
}

/// What the kernel's tracer wrote on one CPU.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEventBundle {
    #[prost(uint32, optional, tag = "1")]
    pub(super) cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<FtraceEvent>,
    #[prost(bool, optional, tag = "3")]
    pub(super) lost_events: Option<bool>,
}

/// Times are ns of CLOCK_BOOTTIME.
#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub(super) timestamp: Option<u64>,
    /// Number of the task that ran.
    #[prost(uint32, optional, tag = "2")]
    pub(super) pid: Option<u32>,
    #[prost(oneof = "Happened", tags = "4, 11, 13, 20, 24, 25, 36, 37, 235, 559, 560")]
    pub(super) event: Option<Happened>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Happened {
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    #[prost(message, tag = "11")]
    CpuFrequency(CpuState),
    #[prost(message, tag = "13")]
    CpuIdle(CpuState),
    #[prost(message, tag = "20")]
    SchedWaking(SchedWaking),
    #[prost(message, tag = "24")]
    SoftirqEntry(Vector),
    #[prost(message, tag = "25")]
    SoftirqExit(Vector),
    #[prost(message, tag = "36")]
    IrqHandlerEntry(IrqHandlerEntry),
    #[prost(message, tag = "37")]
    IrqHandlerExit(IrqHandlerExit),
    #[prost(message, tag = "235")]
    TaskNewtask(TaskNewtask),
    #[prost(message, tag = "559")]
    LocalTimerEntry(Vector),
    #[prost(message, tag = "560")]
    LocalTimerExit(Vector),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedSwitch {
    #[prost(string, optional, tag = "1")]
    pub(super) prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub(super) prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub(super) next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub(super) next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub(super) next_prio: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedWaking {
    #[prost(string, optional, tag = "1")]
    pub(super) comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(super) pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) prio: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) success: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) target_cpu: Option<i32>,
}

/// `CpuFrequencyFtraceEvent` (kHz) and `CpuIdleFtraceEvent` (C-state).
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct CpuState {
    #[prost(uint32, optional, tag = "1")]
    pub(super) state: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) cpu_id: Option<u32>,
}

/// Softirqs and the local timer.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Vector {
    #[prost(uint32, optional, tag = "1")]
    pub(super) vector: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IrqHandlerEntry {
    #[prost(int32, optional, tag = "1")]
    pub(super) irq: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct IrqHandlerExit {
    #[prost(int32, optional, tag = "1")]
    pub(super) irq: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) ret: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskNewtask {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub(super) comm: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) clone_flags: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceStats {
    /// 1 at the start of a trace, 2 at its end.
    #[prost(uint32, optional, tag = "1")]
    pub(super) phase: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) cpu_stats: Vec<FtraceCpuStats>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct FtraceCpuStats {
    #[prost(uint64, optional, tag = "1")]
    pub(super) cpu: Option<u64>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) dropped_events: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub(super) thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub(super) tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub(super) thread_name: Option<String>,
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(uint32, optional, tag = "9")]
    pub(super) kind: Option<u32>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub(super) categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
}

/// Numbers of tasks, CPUs and lines are far below the limit.
pub(super) fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
