//! Which CPUs went offline or came online while the kernel's programs counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{CpuSet, Missing, Root};

use super::absence::Absence;
use crate::bpf::{CpuHead, CpuTables, Record};
use crate::clock;
use crate::online::online_to_compare;

/// How often a record is copied when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

/// Looks again and again which CPUs are online. One that goes and comes back between two looks is not seen to be offline.
pub(in crate::account) struct Absences {
    /// All that there can be.
    cpus: CpuSet,
    /// Those that were online at the last look, and when that was.
    online: CpuSet,
    looked_ns: u64,
    by_cpu: Arc<BTreeMap<u32, Absence>>,
    missing: Option<Missing>,
    ended: bool,
}

impl Absences {
    /// Of these CPUs, of which so many are online.
    pub(in crate::account) fn of(cpus: CpuSet, online: &CpuSet) -> Self {
        let online = online.intersection(&cpus);
        Self { cpus, online, looked_ns: 0, by_cpu: Arc::default(), missing: None, ended: false }
    }

    /// Counting has just begun: those that are offline by now are so from the beginning.
    pub(in crate::account) fn begin(&mut self, root: &Root, tables: &CpuTables, began_ns: u64) {
        if let Some(online) = self.read(root) {
            self.online = online;
        }
        self.start(began_ns, |cpu| head_of(tables, cpu));
    }

    fn start(&mut self, began_ns: u64, head: impl Fn(u32) -> CpuHead) {
        self.looked_ns = began_ns;
        let away = self.cpus.difference(&self.online);
        let absence = |cpu: u32| (cpu, Absence::from_the_start(began_ns, head(cpu)));
        self.by_cpu = Arc::new(away.iter().map(absence).collect());
    }

    /// Looks, unless counting has ended. To be called some ten times a second.
    pub(in crate::account) fn look(&mut self, root: &Root, tables: &CpuTables) {
        let at_ns = clock::monotonic_ns();
        if self.ended {
            return;
        }
        if let Some(online) = self.read(root) {
            self.see(online, at_ns, |cpu| head_of(tables, cpu), clock::monotonic_ns);
        }
    }

    /// Counting ends: what happens from now on is of no concern.
    pub(in crate::account) fn end(&mut self) {
        self.ended = true;
    }

    /// Those that were offline, by CPU.
    pub(in crate::account) fn by_cpu(&self) -> Arc<BTreeMap<u32, Absence>> {
        Arc::clone(&self.by_cpu)
    }

    /// Why it is not known.
    pub(in crate::account) fn missing(&self) -> Option<&Missing> {
        self.missing.as_ref()
    }

    /// Those of the CPUs that are online.
    fn read(&mut self, root: &Root) -> Option<CpuSet> {
        let online = online_to_compare(root);
        let beyond = online.as_ref().map_or(CpuSet::new(), |online| online.difference(&self.cpus));
        if !beyond.is_empty() {
            let why = "it came online, and there is no room for a CPU of that number";
            self.missing
                .get_or_insert_with(|| Missing::new(format_args!("what happened on CPU {beyond}"), why));
        }
        match online {
            Ok(online) => Some(online.intersection(&self.cpus)),
            Err(missing) => {
                self.missing.get_or_insert(missing);
                None
            }
        }
    }

    /// Takes in which are online. The look began at `at_ns`; `now` gives the time of a record.
    fn see(&mut self, online: CpuSet, at_ns: u64, head: impl Fn(u32) -> CpuHead, now: impl Fn() -> u64) {
        let over = |(cpu, absence): (&u32, &Absence)| {
            let seen = head(*cpu);
            absence.is_over(&seen).then_some((*cpu, seen))
        };
        let over: Vec<(u32, CpuHead)> = self.by_cpu.iter().filter_map(over).collect();
        let gone = self.online.difference(&online);
        if !(gone.is_empty() && over.is_empty()) {
            let by_cpu = Arc::make_mut(&mut self.by_cpu);
            for (cpu, seen) in over {
                let absence = by_cpu.entry(cpu).or_default();
                absence.comes(&seen, now());
                // It came and left between two looks.
                if !online.contains(cpu) {
                    absence.goes(self.looked_ns, seen);
                }
            }
            for cpu in gone.iter() {
                by_cpu.entry(cpu).or_default().goes(self.looked_ns, head(cpu));
            }
        }
        (self.online, self.looked_ns) = (online, at_ns);
    }
}

/// The record of a CPU as it was between two events; all zero where there is none.
fn head_of(tables: &CpuTables, cpu: u32) -> CpuHead {
    let mut head = CpuHead::zeroed();
    for _ in 0..TRIES {
        let before = head;
        tables.copy_head(cpu as usize, &mut head);
        if head == before {
            break;
        }
        std::hint::spin_loop();
    }
    head
}

#[cfg(test)]
mod tests;
