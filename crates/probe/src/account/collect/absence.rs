//! A CPU that was offline for a part of the time, and what its record holds for that time.
//!
//! A CPU that is offline reports no event (include/linux/tracepoint.h: a tracepoint is passed over unless its CPU is online). So what had it last,
//! the thread that stopped it (`migration/N`), seems to go on. The first event after it came back ends that slice, and the programs book it: to
//! that thread, as idle or as unknown.

use std::collections::BTreeMap;

use crate::account::rows::offline::Offline;
use crate::bpf::CpuHead;

/// When a CPU was offline since counting began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Absence {
    left: u64,
    came: u64,
    /// What of absences that are over is in the sums of the record.
    over: Booked,
    /// The part of that which is in slices of tasks, by thread, ns.
    tasks: BTreeMap<u32, u64>,
    /// The absence that goes on.
    open: Option<Open>,
}

/// Time in which a CPU was offline, by the sum of its record that has it, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::account) struct Booked {
    pub(in crate::account) target_ns: u64,
    pub(in crate::account) other_ns: u64,
    pub(in crate::account) idle_ns: u64,
    pub(in crate::account) unknown_ns: u64,
}

impl Booked {
    fn plus(self, more: Self) -> Self {
        Self {
            target_ns: self.target_ns.saturating_add(more.target_ns),
            other_ns: self.other_ns.saturating_add(more.other_ns),
            idle_ns: self.idle_ns.saturating_add(more.idle_ns),
            unknown_ns: self.unknown_ns.saturating_add(more.unknown_ns),
        }
    }

    fn total_ns(self) -> u64 {
        let parts = [self.target_ns, self.other_ns, self.idle_ns, self.unknown_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// An absence that was not seen to end.
#[derive(Debug, Clone, Copy)]
struct Open {
    since_ns: u64,
    /// The record as the CPU left it.
    last: CpuHead,
}

impl Open {
    /// Whether anything happened on the CPU since it left: it is back then, whether that was seen or not.
    fn has_run(&self, seen: &CpuHead) -> bool {
        (seen.switches, seen.unreported) != (self.last.switches, self.last.unreported)
    }

    /// What of the absence a record has in its sums in which the CPU has run again. That was one slice: it is in the sum that grew most. What is
    /// in the others is of the time since.
    fn booked(&self, seen: &CpuHead, at_ns: u64) -> Booked {
        let most_ns = at_ns.saturating_sub(self.since_ns);
        let more = |now: u64, before: u64| now.saturating_sub(before).min(most_ns);
        let grown = Booked {
            // A thread of the target had the CPU only where its leaving was not reported.
            target_ns: if self.last.current_slot == 0 {
                0
            } else {
                more(seen.target_ns, self.last.target_ns)
            },
            other_ns: more(seen.other_ns, self.last.other_ns),
            idle_ns: more(seen.idle_ns, self.last.idle_ns),
            unknown_ns: more(seen.unknown_ns, self.last.unknown_ns),
        };
        let largest_ns = grown.target_ns.max(grown.other_ns).max(grown.idle_ns).max(grown.unknown_ns);
        let nothing = Booked::default();
        match largest_ns {
            ns if ns == grown.unknown_ns => Booked { unknown_ns: ns, ..nothing },
            ns if ns == grown.other_ns => Booked { other_ns: ns, ..nothing },
            ns if ns == grown.idle_ns => Booked { idle_ns: ns, ..nothing },
            ns => Booked { target_ns: ns, ..nothing },
        }
    }
}

impl Absence {
    /// Of a CPU that was offline when counting began.
    pub(in crate::account) fn from_the_start(began_ns: u64, last: CpuHead) -> Self {
        Self { open: Some(Open { since_ns: began_ns, last }), ..Self::default() }
    }

    /// It is found offline; `online_ns` is when it was found online last.
    pub(in crate::account) fn goes(&mut self, online_ns: u64, last: CpuHead) {
        if self.open.is_none() {
            self.left += 1;
            self.open = Some(Open { since_ns: last.switched_at_ns.max(online_ns), last });
        }
    }

    /// It has run again, or is found online. Until something happened there its record says nothing of the time since.
    pub(in crate::account) fn comes(&mut self, seen: &CpuHead, at_ns: u64) {
        let Some(open) = self.back(seen).copied() else { return };
        let booked = open.booked(seen, at_ns);
        self.came += 1;
        self.over = self.over.plus(booked);
        if booked.other_ns > 0 {
            let of_task = self.tasks.entry(open.last.current_tid).or_default();
            *of_task = of_task.saturating_add(booked.other_ns);
        }
        self.open = None;
    }

    /// Whether the CPU has run again by this record, though it was not seen to come back.
    pub(in crate::account) fn is_over(&self, seen: &CpuHead) -> bool {
        self.back(seen).is_some()
    }

    /// The absence that goes on by this record.
    fn away(&self, seen: &CpuHead) -> Option<&Open> {
        self.open.as_ref().filter(|open| !open.has_run(seen))
    }

    /// The same if it is over by this record, and was not seen to be.
    fn back(&self, seen: &CpuHead) -> Option<&Open> {
        self.open.as_ref().filter(|open| open.has_run(seen))
    }

    /// Whether the CPU was not online once.
    pub(in crate::account) fn was_all_along(&self, seen: &CpuHead) -> bool {
        self.left == 0 && self.came == 0 && self.away(seen).is_some()
    }

    /// Until when the slice went on that has not ended by a record of this moment.
    pub(in crate::account) fn slice_ended_ns(&self, seen: &CpuHead, at_ns: u64) -> u64 {
        self.away(seen).map_or(at_ns, |open| open.since_ns.min(at_ns))
    }

    /// What of a record of this moment is time in which the CPU was offline.
    pub(in crate::account) fn booked(&self, seen: &CpuHead, at_ns: u64) -> Booked {
        self.back(seen).map_or(self.over, |open| self.over.plus(open.booked(seen, at_ns)))
    }

    /// The same of slices of tasks: threads, and ns.
    pub(in crate::account) fn in_tasks(&self, seen: &CpuHead, at_ns: u64) -> Vec<(u32, u64)> {
        let over = self.tasks.iter().map(|(tid, ns)| (*tid, *ns));
        let back = self.back(seen).map(|open| (open.last.current_tid, open.booked(seen, at_ns).other_ns));
        over.chain(back.filter(|(_, ns)| *ns > 0)).collect()
    }

    /// How long it was offline by then; `None` where it was not.
    pub(in crate::account) fn offline(&self, seen: &CpuHead, at_ns: u64) -> Option<Offline> {
        let away_ns = self.away(seen).map_or(0, |open| at_ns.saturating_sub(open.since_ns));
        let offline = Offline {
            total_ns: self.booked(seen, at_ns).total_ns().saturating_add(away_ns),
            left: self.left,
            came: self.came + u64::from(self.back(seen).is_some()),
        };
        (offline != Offline::default()).then_some(offline)
    }
}
