//! CPUs that were offline for a part of a trace.
//!
//! One that is offline reports no event (include/linux/tracepoint.h: a tracepoint is passed over unless its CPU is online). So the slice of the
//! thread that stopped it (`migration/N`) seems to go on, and nobody reports its end: with the first event after the CPU came back the programs
//! find a switch that they have not seen.

use std::collections::BTreeMap;

use super::event::{Event, What};
use super::trace::Trace;
use crate::changed_cpu::ChangedCpu;
use crate::online::{OfflineLooks, OnlineLooks};

/// When a CPU was offline, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    from_ns: u64,
    until_ns: u64,
    /// Whether it was reported since who has the CPU.
    is_followed: bool,
}

/// Puts into a sorted trace when its CPUs were offline, and takes out what the programs made of that.
pub(super) fn put_into(trace: &mut Trace, looks: &OnlineLooks) {
    let mut stretches = stretches(trace, looks);
    if stretches.is_empty() {
        return;
    }
    let dropped = &trace.dropped;
    trace.events.retain_mut(|event| {
        let some_dropped = dropped.contains_key(&event.cpu);
        stretches.get_mut(&event.cpu).is_none_or(|of_cpu| stays(event, of_cpu, some_dropped))
    });
    for (cpu, of_cpu) in &stretches {
        // A switch of the same moment belongs before it.
        let event = |stretch: &Stretch| Event {
            at_ns: stretch.from_ns + 1,
            cpu: *cpu,
            what: What::Offline { ns: stretch.until_ns - stretch.from_ns - 1 },
        };
        trace.events.extend(of_cpu.iter().map(event));
    }
    Trace::sort(&mut trace.events);
}

/// A CPU was offline between two moments at which it ran where a look in between found it so.
fn stretches(trace: &Trace, looks: &OnlineLooks) -> BTreeMap<u32, Vec<Stretch>> {
    let traced = looks.offline().filter(|(cpu, _)| trace.cpus.contains(cpu));
    let seen: Vec<(u32, OfflineLooks<'_>)> = traced.collect();
    let mut ran: BTreeMap<u32, Vec<u64>> = seen.iter().map(|(cpu, _)| (*cpu, Vec::new())).collect();
    for event in &trace.events {
        if let Some(moments) = ran.get_mut(&event.cpu) {
            moments.extend(ran_at(event).into_iter().flatten());
        }
    }
    ran.values_mut().for_each(|moments| moments.sort_unstable());
    let mut stretches: BTreeMap<u32, Vec<Stretch>> = BTreeMap::new();
    for (cpu, found) in seen {
        let moments = ran.get(&cpu).map_or(&[][..], Vec::as_slice);
        let around = |at_ns: &u64| {
            let stretch = between(*at_ns, &found, moments);
            let (from_ns, until_ns) =
                (stretch.from_ns.max(trace.began_ns), stretch.until_ns.min(trace.ended_ns));
            (until_ns > from_ns.saturating_add(1)).then_some(Stretch { from_ns, until_ns, ..stretch })
        };
        let mut of_cpu: Vec<Stretch> = found.offline_ns.iter().filter_map(around).collect();
        of_cpu.dedup();
        if !of_cpu.is_empty() {
            stretches.entry(cpu).or_default().extend(of_cpu);
        }
    }
    stretches
}

/// Moments at which a CPU was online, by an event of it.
fn ran_at(event: &Event) -> [Option<u64>; 2] {
    let (at_ns, ended_ns) = (event.at_ns, event.at_ns.saturating_add(event.what.ns()));
    match event.what {
        What::Switch { .. }
        | What::Unreported { .. }
        | What::Came(_)
        | What::Born { .. }
        | What::Woken { .. }
        | What::PageFault { .. } => [Some(at_ns), None],
        What::Interrupt { .. } | What::Idle { .. } => [Some(at_ns), Some(ended_ns)],
        // Found out at its end.
        What::Lost { .. } => [Some(ended_ns), None],
        What::Met(_) | What::Frequency { .. } | What::Offline { .. } => [None, None],
    }
}

/// The stretch around a moment at which it was found offline.
fn between(at_ns: u64, looks: &OfflineLooks<'_>, ran_ns: &[u64]) -> Stretch {
    let next = ran_ns.partition_point(|ns| *ns <= at_ns);
    let before_ns = next.checked_sub(1).and_then(|place| ran_ns.get(place)).copied().unwrap_or(0);
    let next_ns = ran_ns.get(next).copied().unwrap_or(u64::MAX);
    Stretch {
        from_ns: before_ns.max(looks.online_ns),
        until_ns: next_ns.min(looks.back_ns.unwrap_or(u64::MAX)),
        is_followed: false,
    }
}

/// Whether an event stays, and what it is then.
fn stays(event: &mut Event, stretches: &mut [Stretch], some_dropped: bool) -> bool {
    let at_ns = event.at_ns;
    match event.what {
        What::Lost { unreported, ns } => {
            let until_ns = at_ns.saturating_add(ns);
            let over = stretches.iter().find(|of| at_ns < of.until_ns && of.from_ns < until_ns);
            let Some(stretch) = over else { return true };
            // Unless the ring was full, who had the CPU is known up to the moment at which it left.
            let before_ns = stretch.from_ns.saturating_sub(at_ns);
            event.what = What::Lost { unreported, ns: before_ns };
            some_dropped && before_ns > 0
        }
        What::Switch { .. } | What::Came(_) => {
            follow(at_ns, stretches);
            true
        }
        What::Unreported { next, .. } => {
            if follow(at_ns, stretches) {
                event.what = What::Came(next);
            }
            true
        }
        _ => true,
    }
}

/// Whether who has the CPU is reported for the first time since it was offline.
fn follow(at_ns: u64, stretches: &mut [Stretch]) -> bool {
    let mut is_first = false;
    for stretch in stretches.iter_mut().filter(|stretch| !stretch.is_followed && stretch.from_ns < at_ns) {
        (stretch.is_followed, is_first) = (true, true);
    }
    is_first
}

impl Trace {
    /// CPUs that went offline or came online within it, by number.
    pub fn changed_cpus(&self) -> Vec<ChangedCpu> {
        let wall_ns = self.ended_ns.saturating_sub(self.began_ns);
        let absence = |event: &Event| {
            let What::Offline { ns: offline_ns } = event.what else { return None };
            let left = u64::from(event.at_ns > self.began_ns.saturating_add(1));
            let came = u64::from(event.at_ns.saturating_add(offline_ns) < self.ended_ns);
            Some(ChangedCpu { cpu: event.cpu, offline_ns, wall_ns, left, came })
        };
        ChangedCpu::summed(self.events.iter().filter_map(absence))
    }
}

#[cfg(test)]
mod tests;
