//! The records of `bpf/event_records.h` in Rust. What each field means is described there; all times are ns of CLOCK_MONOTONIC.

/// `enum event_kind`.
pub(crate) mod event_kind {
    pub(crate) const SWITCH: u8 = 0;
    pub(crate) const UNREPORTED: u8 = 1;
    pub(crate) const CAME: u8 = 2;
    pub(crate) const TASK: u8 = 3;
    pub(crate) const BORN: u8 = 4;
    pub(crate) const WAKE: u8 = 5;
    pub(crate) const INTERRUPT: u8 = 6;
    pub(crate) const IDLE: u8 = 7;
    pub(crate) const FREQUENCY: u8 = 8;
    pub(crate) const PAGE_FAULT: u8 = 9;
    pub(crate) const LOST: u8 = 10;
}

/// `enum event_flags`.
pub(crate) mod event_flags {
    pub(crate) const PREV_PREEMPTED: u32 = 1;
    pub(crate) const PREV_THROTTLED: u32 = 2;
    pub(crate) const NEXT_OF_KERNEL: u32 = 4;
    pub(crate) const NEXT_OF_TARGET: u32 = 8;
    pub(crate) const NEXT_NOT_REPORTED: u32 = 16;
}

/// In the detail of an interrupt: the handler said that its device had not asked for it.
pub(crate) const NOT_HANDLED: u8 = 0x80;

records! {
    EventHead = "event" { at_ns: u64, number: u32, cpu: u16, kind: u8, detail: u8, }

    EventStretch = "event_stretch" { head: EventHead, ns: u64, }

    EventWake = "event_wake" { head: EventHead, waker: u32, to_cpu: u32, }

    EventSwitch = "event_switch" {
        head: EventHead,
        prev_tid: u32,
        prev_state: u32,
        tgid: u32,
        flags: u32,
        comm: [u8; 16],
    }

    EventCpu = "event_cpu" {
        current: u64,
        switched_at_ns: u64,
        interrupt_at_ns: u64,
        softirq_at_ns: u64,
        idle_at_ns: u64,
        idle_until_ns: u64,
        dropped: u64,
        unreported: u64,
        watched: u64,
        idle_state: u32,
        waiting: i32,
        lost_since_ns: u64,
        spare: [u64; 5],
    }

    Mark = "mark" { state: u32, waits_on: u32, wake_reported: u32, spare: u32, }

    EventControl = "event_control" { began_ns: u64, ended_ns: u64, lost_marks: u64, }
}

/// `enum mark_state`.
pub(crate) mod mark_state {
    pub(crate) const AWAY: u32 = 0;
    pub(crate) const WAITING: u32 = 1;
}

/// The numbers above by their names in C, for the test of the layout.
#[cfg(test)]
pub(crate) const NUMBERS: &[(&str, usize)] = &[
    ("EVENT_SWITCH", event_kind::SWITCH as usize),
    ("EVENT_UNREPORTED", event_kind::UNREPORTED as usize),
    ("EVENT_CAME", event_kind::CAME as usize),
    ("EVENT_TASK", event_kind::TASK as usize),
    ("EVENT_BORN", event_kind::BORN as usize),
    ("EVENT_WAKE", event_kind::WAKE as usize),
    ("EVENT_INTERRUPT", event_kind::INTERRUPT as usize),
    ("EVENT_IDLE", event_kind::IDLE as usize),
    ("EVENT_FREQUENCY", event_kind::FREQUENCY as usize),
    ("EVENT_PAGE_FAULT", event_kind::PAGE_FAULT as usize),
    ("EVENT_LOST", event_kind::LOST as usize),
    ("EVENT_KINDS", 11),
    ("NOT_HANDLED", NOT_HANDLED as usize),
    ("PREV_PREEMPTED", event_flags::PREV_PREEMPTED as usize),
    ("PREV_THROTTLED", event_flags::PREV_THROTTLED as usize),
    ("NEXT_OF_KERNEL", event_flags::NEXT_OF_KERNEL as usize),
    ("NEXT_OF_TARGET", event_flags::NEXT_OF_TARGET as usize),
    ("NEXT_NOT_REPORTED", event_flags::NEXT_NOT_REPORTED as usize),
    ("MARK_AWAY", mark_state::AWAY as usize),
    ("MARK_WAITING", mark_state::WAITING as usize),
];
