//! Room for those who count for days: what is over is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use super::Counting;
use crate::account::Snapshot;
use crate::bpf::{TakerKey, TakerSeen};

impl Counting {
    /// Forgets the threads that have ended: the last reading has them. For those who count for days.
    pub fn forget_ended(&mut self) {
        let forgotten = std::mem::take(&mut self.ended);
        self.forgotten_unseen_waiting_ns +=
            forgotten.iter().map(|(_, thread)| thread.unseen_waiting_ns).sum::<u64>();
    }

    /// Whether the tables may soon be too small for more tasks.
    pub fn is_crowded(&self, snapshot: &Snapshot) -> bool {
        snapshot.takers.len() > self.room_for_takers / 2
    }

    /// Makes room by forgetting tasks, each with the slices that were read last; those that ran since are kept. Hands out who
    /// was forgotten.
    pub fn forget_tasks(&mut self, tasks: &BTreeMap<u32, u64>) -> BTreeSet<u32> {
        let made = self.made();
        let counted: Vec<(TakerKey, TakerSeen)> = self.tables.takers.read(made.takers);
        let mut slices: BTreeMap<u32, u64> = BTreeMap::new();
        for (key, seen) in &counted {
            *slices.entry(key.tid).or_default() += seen.slices;
        }
        slices.retain(|tid, slices| tasks.get(tid) == Some(slices));
        for (key, _) in counted.iter().filter(|(key, _)| slices.contains_key(&key.tid)) {
            // One that is not there need not be taken away.
            let _ = self.tables.takers.remove(key);
        }
        slices.into_keys().collect()
    }

    /// Makes room for more numbers: the others have ended.
    pub(super) fn forget_all_but(&mut self, numbers: &[u32]) {
        let kept: Vec<u32> = self.tables.wanted.keys().flatten().collect();
        for number in kept.iter().filter(|number| !numbers.contains(number)) {
            let _ = self.tables.wanted.remove(number);
        }
    }
}
