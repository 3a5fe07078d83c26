//! Interrupts: lines of devices, and those that only /proc/interrupts counts.

use std::cmp::Reverse;

use super::row::Row;
use crate::account::collect::interrupt_counts::CountedInterrupts;
use crate::account::rows::source::Interruptions;
use crate::account::time_account::LineAccount;

impl Row for LineAccount {
    type Key = (u32, u32);

    fn key(&self) -> Self::Key {
        (self.irq, self.cpu)
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let nothing = Interruptions::default();
        let seen = self.seen.since(before.map_or(&nothing, |before| &before.seen));
        let some = seen.all.count > 0;
        some.then(|| Self { irq: self.irq, name: self.name.clone(), cpu: self.cpu, seen })
    }

    fn then(&self, later: &Self) -> Self {
        let seen = self.seen.plus(&later.seen);
        Self { irq: self.irq, name: later.name.clone(), cpu: self.cpu, seen }
    }

    fn rank(&self) -> impl Ord + use<> {
        Reverse((self.seen.took_ns(), self.seen.all.total_ns))
    }
}

impl Row for CountedInterrupts {
    type Key = (u32, String);

    fn key(&self) -> Self::Key {
        (self.cpu, self.name.clone())
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let count = self.count.saturating_sub(before.map_or(0, |before| before.count));
        (count > 0).then(|| Self { count, ..self.clone() })
    }

    fn then(&self, later: &Self) -> Self {
        Self { count: self.count.saturating_add(later.count), ..later.clone() }
    }

    fn rank(&self) -> impl Ord + use<> {
        // As the kernel's file has them, CPU by CPU of each.
        (self.name.clone(), self.cpu)
    }
}
