//! The metrics that there are: their names, kinds and what they mean.

/// Kinds of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows only.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Always 1: its labels are what it says.
    Info,
    /// How many were at most so long, by length.
    Histogram,
}

impl Kind {
    /// The word after `# TYPE`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
            Self::Histogram => "histogram",
        }
    }

    /// What the names of its samples end in beyond that of the family.
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Counter => &["_total"],
            Self::Gauge => &[""],
            Self::Info => &["_info"],
            Self::Histogram => &["_bucket", "_count", "_sum"],
        }
    }
}

/// Metrics of one name.
#[derive(Debug)]
pub struct Family {
    /// The name, without the ending of its samples.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// What it means, in a sentence.
    pub help: &'static str,
}

impl Family {
    /// Its unit: where it has one, its name ends in it.
    pub fn unit(&self) -> Option<&'static str> {
        self.name.ends_with("_seconds").then_some("seconds")
    }
}

const fn family(kind: Kind, name: &'static str, help: &'static str) -> Family {
    Family { name, kind, help }
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    family(Kind::Counter, name, help)
}

pub(super) static BUILD: Family = family(Kind::Info, "pinwise_build", "The version of pinwise.");
pub(super) static TARGET: Family =
    family(Kind::Info, "pinwise_target", "What is watched, and by which means.");
pub(super) static MISSING: Family =
    family(Kind::Info, "pinwise_missing", "A fact that is not known; pinwise watch says why.");
pub(super) static WATCHED: Family =
    counter("pinwise_watched_seconds", "How long pinwise has been counting; all counters cover this time.");
pub(super) static OWN: Family = counter("pinwise_own_cpu_seconds", "CPU time that pinwise itself took.");
pub(super) static LOST: Family = counter(
    "pinwise_lost_events",
    "Events that were not counted: entries of a full table, switches that the kernel did not report, runs of a program that were left out.",
);
pub(super) static THREADS: Family =
    family(Kind::Gauge, "pinwise_server_threads", "Threads of the server that are alive.");
pub(super) static SERVER_TIME: Family = counter(
    "pinwise_server_time_seconds",
    "Time of all threads of the server by what they did; on_cpu includes interrupts. The states add up.",
);
pub(super) static SERVER_STRETCHES: Family =
    counter("pinwise_server_stretches", "How often a thread of the server entered a state.");
pub(super) static SERVER_INTERRUPTED: Family = counter(
    "pinwise_server_interrupted_seconds",
    "What interrupts took of the server's slices; a part of on_cpu.",
);
pub(super) static SERVER_ASLEEP: Family = counter(
    "pinwise_server_asleep_seconds",
    "Time asleep by what was waited for; the parts add up to asleep.",
);
pub(super) static MIGRATIONS: Family = counter(
    "pinwise_server_migrations",
    "How often a thread of the server ran on another CPU than before, by how far that is.",
);
pub(super) static GROUP_TIME: Family = counter(
    "pinwise_thread_group_time_seconds",
    "As pinwise_server_time_seconds, by thread name without its number: the first 20 names, the rest as other.",
);
pub(super) static WAIT: Family = family(
    Kind::Histogram,
    "pinwise_wait_seconds",
    "Stretches in which a thread of the server could have run and had no CPU: woken, preempted or throttled.",
);
pub(super) static SLICE: Family = family(
    Kind::Histogram,
    "pinwise_slice_seconds",
    "Stretches in which a thread of the server was on a CPU, net of interrupts.",
);
pub(super) static FROM_IDLE: Family =
    counter("pinwise_idle_wakeups", "Wake-ups of the server onto an idle CPU by its C-state.");
pub(super) static FROM_IDLE_TIME: Family = counter(
    "pinwise_idle_wakeup_seconds",
    "Time from wake-up to running, of wake-ups of the server onto an idle CPU by its C-state.",
);
pub(super) static TAKER_TIME: Family = counter(
    "pinwise_taker_seconds",
    "Time that others took from the server: how long they made its threads wait or interrupted them; without a target, their CPU time. At \
     most 50 names, the rest as other.",
);
pub(super) static TAKER_EVENTS: Family = counter(
    "pinwise_taker_events",
    "How often they took it: slices, interrupts or stretches. Names as of pinwise_taker_seconds.",
);
pub(super) static CPU_TIME: Family = counter(
    "pinwise_cpu_time_seconds",
    "Time of a CPU by what had it: the server, other tasks, nobody, interrupts, offline, not known.",
);
pub(super) static CPU_STEAL: Family = counter(
    "pinwise_cpu_steal_seconds",
    "Time of a CPU that the hypervisor took; it is also in its other times.",
);
pub(super) static CPU_SWITCHES: Family =
    counter("pinwise_cpu_switches", "Changes of the task that runs on a CPU.");
pub(super) static INTERRUPTS: Family =
    counter("pinwise_interrupts", "Interrupts and softirqs of a CPU by source.");
pub(super) static INTERRUPT_TIME: Family = counter(
    "pinwise_interrupt_seconds",
    "Time of interrupts and softirqs of a CPU by source, net of what interrupted them.",
);
pub(super) static INTERRUPT_LENGTH: Family = family(
    Kind::Histogram,
    "pinwise_interrupt_length_seconds",
    "Lengths of interrupts and softirqs of all CPUs.",
);
pub(super) static COUNTED: Family = counter(
    "pinwise_counted_interrupts",
    "Interrupts that no trace point reports, as counted by /proc/interrupts: how long they took is not known.",
);

/// All, in the order in which they are shown.
#[cfg(test)]
pub(super) static ALL: [&Family; 26] = [
    &BUILD,
    &TARGET,
    &MISSING,
    &WATCHED,
    &OWN,
    &LOST,
    &THREADS,
    &SERVER_TIME,
    &SERVER_STRETCHES,
    &SERVER_INTERRUPTED,
    &SERVER_ASLEEP,
    &MIGRATIONS,
    &GROUP_TIME,
    &WAIT,
    &SLICE,
    &FROM_IDLE,
    &FROM_IDLE_TIME,
    &TAKER_TIME,
    &TAKER_EVENTS,
    &CPU_TIME,
    &CPU_STEAL,
    &CPU_SWITCHES,
    &INTERRUPTS,
    &INTERRUPT_TIME,
    &INTERRUPT_LENGTH,
    &COUNTED,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_our_own_and_those_of_no_two_samples_are_the_same() {
        let mut names = BTreeSet::new();
        for family in ALL {
            assert!(family.name.starts_with("pinwise_"), "{}", family.name);
            assert!(family.name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'), "{}", family.name);
            let own =
                ["_total", "_info", "_bucket", "_count", "_sum"].iter().any(|own| family.name.ends_with(own));
            assert!(!own, "{}: an ending is that of a sample", family.name);
            for ending in family.kind.endings() {
                assert!(names.insert(format!("{}{ending}", family.name)), "{}{ending}", family.name);
            }
        }
    }

    #[test]
    fn a_help_is_one_line_without_anything_to_escape() {
        assert!(ALL.iter().all(|family| !family.help.contains(['\n', '\\', '"']) && !family.help.is_empty()));
    }
}
