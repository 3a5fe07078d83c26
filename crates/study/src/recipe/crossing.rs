//! Which knobs a study may switch on a server that goes on serving: those whose effect comes and goes within seconds.
//!
//! A study under a server's own traffic switches between arms every few seconds. Of a knob whose effect outlives its trial, the next arm
//! is measured with it: both sides of every comparison then have a part of it, and a difference is hidden or made up.

use machine::knobs;

/// Whether the effect of a knob comes with its setting and goes when that is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    /// Within seconds.
    WithinSeconds(&'static str),
    /// Not while the server runs: why, as the end of a sentence about the knob.
    Outlasts(&'static str),
    /// Switching it disturbs the traffic itself: how.
    Disturbs(&'static str),
}

use Crossing::{Disturbs, Outlasts, WithinSeconds};

/// Why the threads and interrupts of a placement cross over.
const AT_NEXT_WAKEUP: Crossing = WithinSeconds("it holds for a thread at once, or from when it next wakes");
const AT_NEXT_INTERRUPT: Crossing = WithinSeconds("the next interrupt goes by it");
const AT_NEXT_PACKET: Crossing = WithinSeconds("the next packet goes by it");
const AT_NEXT_IDLE: Crossing = WithinSeconds("it holds from the next change of the CPU's state on");
const AT_NEXT_TICK: Crossing = WithinSeconds("it holds from the next run of the kernel's own work on");
const PLACED_MEMORY: Crossing = Outlasts("memory that the server has already stays where it is");
const LAUNCH: Crossing = Outlasts("it takes effect when the server is started");
const DIRTY_PAGES: Crossing =
    Outlasts("the pages that one trial leaves unwritten are written in the next ones");

/// Every knob, by its id.
const KNOBS: &[(&str, Crossing)] = &[
    ("autogroup", AT_NEXT_WAKEUP),
    ("autogroup-nice", AT_NEXT_WAKEUP),
    (machine::plan::BOOT_PARAMETERS, Outlasts("it takes effect at boot")),
    ("busy-poll", WithinSeconds("the next poll(2) goes by it")),
    ("busy-read", Outlasts("a socket takes it over when it is made, or from the listener that accepts it")),
    ("channels", Disturbs("the driver may take the interface down to change its queues")),
    ("coalescing", AT_NEXT_INTERRUPT),
    ("cpu-dma-latency", AT_NEXT_IDLE),
    ("cpu-resume-latency", AT_NEXT_IDLE),
    ("cpuset", AT_NEXT_WAKEUP),
    ("cpuset-mems", PLACED_MEMORY),
    ("device-irqs", AT_NEXT_INTERRUPT),
    ("dirty-background-bytes", DIRTY_PAGES),
    ("dirty-background-ratio", DIRTY_PAGES),
    ("dirty-bytes", DIRTY_PAGES),
    ("dirty-expire", DIRTY_PAGES),
    ("dirty-ratio", DIRTY_PAGES),
    ("dirty-writeback", DIRTY_PAGES),
    ("emulator-affinity", AT_NEXT_WAKEUP),
    ("energy-performance-preference", AT_NEXT_IDLE),
    ("frequency-governor", AT_NEXT_IDLE),
    ("frequency-max", AT_NEXT_IDLE),
    ("frequency-min", AT_NEXT_IDLE),
    ("gro", AT_NEXT_PACKET),
    ("gro-flush-timeout", AT_NEXT_PACKET),
    ("gro-hw", Disturbs("drivers reset the card to change it")),
    ("gro-list", AT_NEXT_PACKET),
    ("huge-pages", Outlasts("a server maps huge pages when it starts, or when it next asks for memory")),
    ("idle-state", AT_NEXT_IDLE),
    ("interleave-weight", PLACED_MEMORY),
    ("io-priority", AT_NEXT_WAKEUP),
    ("iothread-affinity", AT_NEXT_WAKEUP),
    ("irq-affinity", AT_NEXT_INTERRUPT),
    ("irq-default-affinity", Outlasts("it holds for interrupts that are set up later")),
    ("irqbalance-banned-irqs", Outlasts("irqbalance acts on it every ten seconds, and moves nothing back")),
    ("kernel-thread-affinity", AT_NEXT_WAKEUP),
    ("memory-policy", LAUNCH),
    ("napi-defer-hard-irqs", AT_NEXT_PACKET),
    ("napi-threaded", AT_NEXT_PACKET),
    ("netdev-budget", AT_NEXT_PACKET),
    ("netdev-budget-us", AT_NEXT_PACKET),
    ("netdev-max-backlog", AT_NEXT_PACKET),
    ("nmi-watchdog", AT_NEXT_TICK),
    ("numa-balancing", Outlasts("pages that it moves stay where it moved them")),
    ("oom-score", Outlasts("it shows only when memory runs out")),
    ("process-affinity", AT_NEXT_WAKEUP),
    ("process-memory-nodes", Disturbs("all pages of the server are moved, and moved back, in each trial")),
    ("rps-cpus", AT_NEXT_PACKET),
    ("rps-flow-count", AT_NEXT_PACKET),
    ("rps-sock-flow-entries", AT_NEXT_PACKET),
    ("rt-runtime", AT_NEXT_TICK),
    ("scheduling-policy", AT_NEXT_WAKEUP),
    ("soft-watchdog", AT_NEXT_TICK),
    ("swappiness", Outlasts("pages that were swapped out or dropped come back one by one")),
    ("timer-migration", WithinSeconds("the next timer goes by it")),
    ("transparent-huge-pages", Outlasts("memory that is mapped already keeps the size of its pages")),
    ("transparent-huge-pages-defrag", Outlasts("memory that is mapped already keeps the size of its pages")),
    ("turbo", AT_NEXT_IDLE),
    ("unit-command", LAUNCH),
    ("unit-environment", LAUNCH),
    ("utilization-clamp", AT_NEXT_WAKEUP),
    ("vcpu-affinity", AT_NEXT_WAKEUP),
    ("vhost-affinity", AT_NEXT_WAKEUP),
    ("vm-stat-interval", AT_NEXT_TICK),
    ("watchdog-cpus", AT_NEXT_TICK),
    ("workqueue-cpus", AT_NEXT_TICK),
    ("writeback-cpus", AT_NEXT_TICK),
    ("writeback-numa", AT_NEXT_TICK),
    ("xps-cpus", AT_NEXT_PACKET),
    ("zone-reclaim", PLACED_MEMORY),
];

/// Whether the effect of a knob crosses over; `None` of one that there is not.
pub fn of(knob: &str) -> Option<Crossing> {
    KNOBS.iter().find(|(id, _)| *id == knob).map(|(_, crossing)| *crossing)
}

/// Every knob that there is, with whether it crosses over, in order of their ids.
pub fn all() -> Vec<(&'static str, Crossing)> {
    knobs::ALL.iter().filter_map(|knob| Some((knob.about().id, of(knob.about().id)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_classified_once_and_no_other() {
        let known: Vec<&str> = knobs::ALL.iter().map(|knob| knob.about().id).collect();
        let classified: Vec<&str> = KNOBS.iter().map(|(id, _)| *id).collect();
        assert_eq!(classified, known, "in the order of machine::knobs::ALL");
        assert_eq!(all().len(), known.len());
    }

    #[test]
    fn what_is_said_at_the_start_or_leaves_something_behind_does_not_cross_over() {
        let crosses = |knob: &str| matches!(of(knob), Some(WithinSeconds(_)));
        assert!(crosses("process-affinity") && crosses("irq-affinity") && crosses("scheduling-policy"));
        for knob in [
            "boot-parameters",
            "memory-policy",
            "unit-environment",
            "transparent-huge-pages",
            "cpuset-mems",
            "channels",
        ] {
            assert!(!crosses(knob), "{knob}");
        }
        assert_eq!(of("no-such-knob"), None);
    }
}
