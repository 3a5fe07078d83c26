//! Programs in the kernel that report events, while they run.

use std::collections::BTreeMap;

use machine::{CpuSet, Machine, Missing, Root};

use super::event::Event;
use super::offline;
use super::ring_consumer::RingConsumer;
use super::trace::Trace;
use crate::account::collect::target::{all_cpus, full, possible_cpus, same_numbers, threads_of};
use crate::account::{Target, TracePoints};
use crate::bpf::{
    EventControl, EventCpu, EventPrograms, EventTables, Loaded, Mark, Record, mark_state, missed_events,
    thread_state,
};
use crate::clock;
use crate::online::OnlineLooks;

/// Room in the ring for each CPU, bytes: 5 ms of a million switches a second, many times what comes while nobody reads.
const RING_OF_A_CPU: u64 = 2 << 20;
const SMALLEST_RING: u64 = 16 << 20;
const LARGEST_RING: u64 = 128 << 20;

/// BPF_NOEXIST: an entry that is there stays as it is, and the kernel says so.
const NEW_ONLY: u64 = 1;

/// How often both clocks are read to say how far they lie apart; the reading with the least time in between counts.
const READINGS: usize = 16;

/// What is to be taken.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Whose events: with a target only its threads, who has the CPUs that they wait for, and what interrupts those.
    pub target: Target,
    /// Only these CPUs; `None` for all.
    pub cpus: Option<CpuSet>,
    /// Which trace points are used.
    pub trace_points: TracePoints,
    /// Memory for events, bytes. What comes when it is full is left out, and reported.
    pub memory_bytes: u64,
}

/// Programs in the kernel that report events; they end with this.
pub struct Tracing {
    loaded: Loaded,
    tables: EventTables,
    consumer: RingConsumer,
    everything: bool,
    began_ns: u64,
    memory_bytes: u64,
    /// Those that are watched, of all that can be online.
    cpus: Vec<u32>,
    root: Root,
    looks: OnlineLooks,
}

impl Tracing {
    /// Loads and attaches the programs (some 20 ms), and begins to take events.
    ///
    /// # Errors
    /// When the kernel has no such programs, or does not permit them: what, why and the remedy.
    pub fn begin(plan: &Plan, machine: &Machine) -> Result<Self, Missing> {
        same_numbers(&plan.target)?;
        let everything = plan.target == Target::Everything;
        let programs = EventPrograms {
            cpus: possible_cpus(machine),
            ring_bytes: ring_bytes(machine.online().len() as u64),
            marks: 4_096,
            wanted: 1_024,
            everything,
            softirqs_are_threads: machine.kernel.preempt.as_deref() == Some("rt"),
            typed: plan.trace_points == TracePoints::Best,
            types: plan.trace_points.types().cloned(),
        };
        let mut loaded = programs.load()?;
        let (mut tables, ring) = EventTables::open(&mut loaded, programs.cpus)?;
        let wanted = |cpu: &u32| plan.cpus.as_ref().is_none_or(|cpus| cpus.contains(*cpu));
        // One that is offline may come.
        let watched: Vec<u32> = all_cpus(machine, programs.cpus).iter().filter(wanted).collect();
        for cpu in &watched {
            let cpu = *cpu as usize;
            let Some(mut record) = tables.cpus.get(cpu) else { continue };
            record.watched = 1;
            tables.cpus.set(cpu, &record);
        }
        let (named, meant) = plan.target.numbers();
        for number in named {
            tables.wanted.insert(number, meant, 0).map_err(full)?;
        }
        let most = plan.memory_bytes / size_of::<Event>() as u64;
        let consumer = RingConsumer::start(ring, most as usize)?;
        let (memory_bytes, root) = (plan.memory_bytes, Root::live());
        let looks = OnlineLooks::begin(&root, watched.iter().copied().collect());
        let cpus = watched;
        let mut tracing =
            Self { loaded, tables, consumer, everything, began_ns: 0, memory_bytes, cpus, root, looks };
        tracing.start(&plan.target)?;
        Ok(tracing)
    }

    /// Marks the threads that are there, lets the programs report events, and has all tasks named.
    fn start(&mut self, target: &Target) -> Result<(), Missing> {
        self.loaded.walk_tasks()?;
        self.loaded.walk_tasks()?;
        self.mark_by_number(target)?;
        self.began_ns = clock::monotonic_ns();
        self.tables.control.set(0, &EventControl { began_ns: self.began_ns, ..EventControl::zeroed() });
        self.loaded.walk_tasks()
    }

    /// Without a walk inside the kernel: marks the threads that /proc lists. It does not distinguish one that is on a CPU from one that waits
    /// for one; that shows with its first event.
    fn mark_by_number(&mut self, target: &Target) -> Result<(), Missing> {
        let Some(marks) = &mut self.tables.marks else { return Ok(()) };
        for thread in threads_of(target) {
            let mut mark = Mark { state: mark_state::AWAY, ..Mark::zeroed() };
            let cpu = thread.cpu as usize;
            if let Some(mut record) =
                self.tables.cpus.get(cpu).filter(|_| thread.state == thread_state::RUNNING)
            {
                record.waiting += 1;
                self.tables.cpus.set(cpu, &record);
                mark = Mark { state: mark_state::WAITING, waits_on: thread.cpu + 1, ..mark };
            }
            marks.insert(thread.tid, mark, 0).map_err(full)?;
        }
        Ok(())
    }

    /// Takes in more processes: those that came to the target by another way than being started by it (moved into its cgroup).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add(&mut self, pids: &[u32]) -> Result<(), Missing> {
        let (_, meant) = Target::Processes(Vec::new()).numbers();
        let mut fresh = false;
        for pid in pids {
            fresh |= self.tables.wanted.insert(pid, meant, NEW_ONLY).is_ok();
        }
        if fresh { self.loaded.walk_tasks() } else { Ok(()) }
    }

    /// Looks which CPUs are online; to be called some ten times a second: one that is not reports no event, not even that it leaves.
    pub fn look(&mut self) {
        self.looks.look(&self.root);
    }

    /// Whether the memory for events is used up: nothing more is kept.
    pub fn is_full(&self) -> bool {
        self.consumer.is_full()
    }

    /// Ends the tracing; everything that was taken.
    pub fn end(mut self) -> Trace {
        self.look();
        let mut control = self.tables.control.get(0).unwrap_or_else(EventControl::zeroed);
        let ended_ns = clock::monotonic_ns();
        control.ended_ns = ended_ns;
        self.tables.control.set(0, &control);
        let missing = self.missing(control.lost_marks);
        let dropped = self.by_cpu(|cpu| cpu.dropped);
        let (mut events, left_out) = self.consumer.end();
        Trace::sort(&mut events);
        let mut trace = Trace {
            began_ns: self.began_ns,
            ended_ns,
            suspended_ns: suspended_ns(),
            everything: self.everything,
            means: if self.loaded.typed { "tp_btf" } else { "raw_tp" },
            cpus: self.cpus.into_iter().filter(|cpu| self.looks.ever_online().contains(*cpu)).collect(),
            dropped,
            missing,
            events,
        };
        if left_out > 0 {
            // Beyond the last one nothing is known.
            trace.ended_ns = trace.events.last().map_or(ended_ns, |event| event.at_ns + event.what.ns());
            let reached = trace.ended_ns.saturating_sub(trace.began_ns);
            let why = format_args!(
                "{left_out} events came when {} were full: a larger --size, a shorter time, a target or fewer CPUs",
                in_units(self.memory_bytes)
            );
            let ms = reached / 1_000_000;
            trace.missing.push(Missing::new(format_args!("events after {ms} ms"), why));
        }
        offline::put_into(&mut trace, &self.looks);
        trace
    }

    fn missing(&self, lost_marks: u64) -> Vec<Missing> {
        let mut missing = self.loaded.missing.clone();
        missing.extend(self.looks.missing().cloned());
        let dropped = self.by_cpu(|cpu| cpu.dropped).into_iter().map(|(cpu, count)| {
            let why = format_args!(
                "{count} found no room, for they came faster than they could be taken: a target or fewer CPUs give less"
            );
            Missing::new(format_args!("some events of CPU {cpu}"), why)
        });
        missing.extend(dropped);
        let unreported = self.by_cpu(|cpu| cpu.unreported).into_iter().filter_map(|(cpu, count)| {
            // The end of a slice over the time in which a CPU was offline is reported by nobody.
            let count = count.saturating_sub(self.looks.times_back(cpu));
            (count > 0).then_some((cpu, count))
        });
        missing.extend(unreported.map(|(cpu, count)| {
            let why = format_args!(
                "the kernel did not report {count}: slices were cut where the next event showed another task, and marked"
            );
            Missing::new(format_args!("some switches on CPU {cpu}"), why)
        }));
        missing.extend(missed_events(&self.loaded.misses()));
        if lost_marks > 0 {
            let why = format_args!("a table was full: {lost_marks} are left out");
            missing.push(Missing::new("threads", why));
        }
        missing
    }

    /// A count of each watched CPU, where it is not 0.
    fn by_cpu(&self, count: impl Fn(&EventCpu) -> u64) -> BTreeMap<u32, u64> {
        let of = |cpu: &u32| Some((*cpu, count(&self.tables.cpus.get(*cpu as usize)?)));
        self.cpus.iter().filter_map(of).filter(|(_, count)| *count > 0).collect()
    }
}

/// As much as comes in a while, a power of two.
fn ring_bytes(cpus: u64) -> u32 {
    let bytes = (cpus * RING_OF_A_CPU).clamp(SMALLEST_RING, LARGEST_RING).next_power_of_two();
    u32::try_from(bytes).unwrap_or(u32::MAX / 2 + 1)
}

/// Memory, in whole MiB where it has any.
fn in_units(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
fn suspended_ns() -> u64 {
    let reading = || {
        let before = clock::monotonic_ns();
        let boot = clock::boot_ns();
        let after = clock::monotonic_ns();
        (after - before, boot.saturating_sub(before + (after - before) / 2))
    };
    (0..READINGS).map(|_| reading()).min().map_or(0, |(_, ahead)| ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_a_power_of_two_within_its_bounds() {
        assert_eq!([1, 8, 20, 64, 10_000].map(|cpus| ring_bytes(cpus) >> 20), [16, 16, 64, 128, 128]);
    }

    #[test]
    fn memory_is_never_told_as_none() {
        assert_eq!([100 << 10, 256 << 20, (1 << 20) - 1].map(in_units), ["100 KiB", "256 MiB", "1023 KiB"]);
    }

    #[test]
    fn both_clocks_run_alike_between_two_readings() {
        let apart = suspended_ns().abs_diff(suspended_ns());
        assert!(apart < 1_000_000, "{apart} ns");
    }
}
