//! Where the time of a CPU went.

use serde::{Deserialize, Serialize};

use super::by_source::BySource;
use super::offline::Offline;
use super::source::Interruptions;
use crate::account::collect::absence::{Absence, Booked};
use crate::account::collect::cpu_group::CpuOf;
use crate::account::collect::frequency::Frequency;
use crate::bpf::CpuHead;
use crate::ticks::TickDependency;

/// One CPU in the window. Tasks, idling, interrupts and the time in which it was offline add up to the window, but for the time in which a program
/// was left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuAccount {
    /// Number.
    pub cpu: u32,
    /// Its time in the window, ns.
    pub wall_ns: u64,
    /// Threads of the target, net of interrupts, ns.
    pub target_ns: u64,
    /// Other tasks, net of interrupts, ns.
    pub other_ns: u64,
    /// Idle, net of interrupts, ns.
    pub idle_ns: u64,
    /// Interrupts, softirqs and NMIs, ns.
    pub interrupted_ns: u64,
    /// The part of the window in which it was offline; `None`: it was online all the time, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<Offline>,
    /// What the hypervisor took between the first and the last tick, by the run queue's clock, ns; it is in the times above as
    /// well. `None` where it is not known: not in a guest, no tick.
    pub steal_ns: Option<u64>,
    /// Its frequency, looked at once a second; `None` where it is not reported (no cpufreq driver, most guests).
    pub frequency: Option<Frequency>,
    /// Changes of the task that runs.
    pub switches: u64,
    /// Switches that the kernel did not report: a task left that had not been seen to come. Where the scheduler's own sums say
    /// since when, the time is in the rows above; else in `unknown_ns`.
    pub untold_switches: u64,
    /// Time around such switches that can be given to nobody, ns.
    pub unknown_ns: u64,
    /// What threads of the target waited while it was idle, ns: it was waking up, or was not asked.
    pub idle_while_waited_ns: u64,
    /// How often the kernel stopped its tick.
    pub tick_stopped: u64,
    /// Why it did not, most frequent first.
    pub tick_kept: Vec<TickKept>,
    /// What interrupted it.
    pub sources: BySource,
}

/// A reason that kept the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickKept {
    /// The kernel's word.
    pub dependency: TickDependency,
    /// How often the kernel found it; it looks whenever an interrupt ends.
    pub times: u64,
}

impl CpuAccount {
    /// Out of the kernel's record; the slice that goes on is added.
    ///
    /// A CPU on which nothing was seen to change hands is taken as idle if no task was on it when counting began.
    pub(in crate::account) fn of(read: CpuOf<'_>, absence: Option<&Absence>, began_ns: u64) -> Self {
        let (seen, at_ns) = (read.head(), read.at_ns());
        let offline = absence.and_then(|absence| absence.offline(seen, at_ns));
        let away = absence.map_or(Booked::default(), |absence| absence.booked(seen, at_ns));
        // The end of a slice over an absence is reported by nobody.
        let came = offline.map_or(0, |offline| offline.came);
        let mut account = Self {
            cpu: read.cpu(),
            wall_ns: at_ns.saturating_sub(began_ns),
            target_ns: seen.target_ns.saturating_sub(away.target_ns),
            other_ns: seen.other_ns.saturating_sub(away.other_ns),
            idle_ns: seen.idle_ns.saturating_sub(away.idle_ns),
            interrupted_ns: seen.interrupted_ns,
            offline,
            steal_ns: (seen.steal_began_ns > 0).then(|| seen.steal_ns.saturating_sub(seen.steal_began_ns)),
            frequency: None,
            switches: seen.switches,
            untold_switches: u64::from(seen.unreported).saturating_sub(came),
            unknown_ns: seen.unknown_ns.saturating_sub(away.unknown_ns),
            idle_while_waited_ns: seen.idle_waited_ns,
            tick_stopped: seen.tick_stopped,
            tick_kept: tick_kept(seen),
            sources: BySource::default(),
        };
        let sources = read.sources();
        account.sources =
            sources.map(|(source, seen, lengths)| (source, Interruptions::of(seen, lengths))).collect();
        let until_ns = absence.map_or(at_ns, |absence| absence.slice_ended_ns(seen, at_ns));
        account.goes_on(began_ns, until_ns, seen);
        account
    }

    /// Adds the slice that has not ended, until a moment.
    fn goes_on(&mut self, began_ns: u64, until_ns: u64, seen: &CpuHead) {
        let slice_ns = slice_that_goes_on_ns(began_ns, until_ns, seen);
        let into = match (seen.current_slot, seen.current_tid) {
            (0, 0) => &mut self.idle_ns,
            (0, _) => &mut self.other_ns,
            _ => &mut self.target_ns,
        };
        *into += slice_ns;
    }

    /// How long it was offline, ns; 0 where that is not known.
    pub fn offline_ns(&self) -> u64 {
        self.offline.map_or(0, |offline| offline.total_ns)
    }

    /// Its time in the window in which it was online, ns.
    pub fn online_ns(&self) -> u64 {
        self.wall_ns.saturating_sub(self.offline_ns())
    }

    /// Share of a part of it in the time in which it was online; `None` where it was offline all along.
    pub fn share_of_online(&self, ns: u64) -> Option<f64> {
        let online_ns = self.online_ns();
        (online_ns > 0).then(|| ns as f64 / online_ns as f64)
    }

    /// What does not add up, ns.
    pub fn unaccounted_ns(&self) -> i64 {
        let parts = [
            self.target_ns,
            self.other_ns,
            self.idle_ns,
            self.interrupted_ns,
            self.unknown_ns,
            self.offline_ns(),
        ];
        let accounted = parts.into_iter().fold(0, u64::saturating_add);
        (self.wall_ns as i64).saturating_sub(accounted as i64)
    }
}

/// How long the slice that goes on had been at a moment, net of interrupts, ns.
pub(in crate::account) fn slice_that_goes_on_ns(began_ns: u64, at_ns: u64, seen: &CpuHead) -> u64 {
    let from_ns = if seen.switched_at_ns == 0 { began_ns } else { seen.switched_at_ns };
    at_ns.saturating_sub(from_ns).saturating_sub(seen.slice_interrupted_ns)
}

fn tick_kept(seen: &CpuHead) -> Vec<TickKept> {
    let counted = seen.tick_kept.iter().enumerate().filter(|(_, times)| **times > 0);
    let named = counted.filter_map(|(bit, times)| {
        Some(TickKept { dependency: TickDependency::from_mask(1 << bit)?, times: *times })
    });
    let mut kept: Vec<TickKept> = named.collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.times));
    kept
}
