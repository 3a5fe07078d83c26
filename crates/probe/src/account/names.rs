//! Names of what the kernel's programs know by number.

use std::collections::{BTreeMap, BTreeSet};

use machine::procfs::{pid_memory, pid_stat};
use machine::{Machine, Missing, Root};

use super::cgroups;
use super::snapshot::Snapshot;
use super::symbols::Symbols;

/// What the numbers in a [`Snapshot`] stand for.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Cgroups by id: their path below the mount.
    pub cgroups: BTreeMap<u64, String>,
    /// What hangs on a line.
    pub lines: BTreeMap<u32, String>,
    /// Name and process of tasks that the programs know by number only.
    pub tasks: BTreeMap<u32, (String, u32)>,
    /// Functions by address.
    pub functions: BTreeMap<u64, String>,
    /// C-states by index: name and exit latency in us.
    pub idle_states: Vec<(String, Option<u64>)>,
    /// Whether page faults were counted.
    pub page_faults: bool,
    /// What has no name, and why.
    pub missing: Vec<Missing>,
    /// What was looked up, found or not.
    looked_up: BTreeSet<(Kind, u64)>,
    symbols: Symbols,
}

impl Names {
    /// What the machine tells of itself: lines and C-states.
    pub fn of(machine: &Machine) -> Self {
        let states = machine.idle.states.iter();
        Self {
            lines: machine.irqs.iter().map(|irq| (irq.irq, irq.name.clone())).collect(),
            idle_states: states.map(|state| (state.name.clone(), state.exit_latency_us)).collect(),
            ..Self::default()
        }
    }

    /// Looks up what `snapshot` has and was not looked up before, on the running system. Functions take some 50 ms of CPU
    /// time at first, and when there are some of modules that came meanwhile.
    pub fn learn(&mut self, snapshot: &Snapshot) {
        self.page_faults = snapshot.page_faults;
        let of_threads = snapshot.threads.iter().map(|(_, thread)| thread.cgroup);
        let of_takers = snapshot.takers.iter().map(|(_, taker)| taker.cgroup);
        let fresh = self.fresh(Kind::Cgroup, of_threads.chain(of_takers));
        if !fresh.is_empty() {
            self.cgroups.extend(cgroups::paths(&Root::live(), &fresh));
        }
        let nameless =
            snapshot.takers.iter().filter(|(_, taker)| taker.comm[0] == 0 && !snapshot.foreign_numbers);
        let fresh = self.fresh(Kind::Task, nameless.map(|(key, _)| u64::from(key.tid)));
        let unseen = self.running_unseen(snapshot);
        let fresh = fresh.into_iter().chain(self.fresh(Kind::Task, unseen.into_iter()));
        let root = Root::live();
        self.tasks.extend(fresh.filter_map(|tid| Some((tid as u32, task(&root, tid)?))));
        let addresses = snapshot.functions.known().iter().flatten().map(|known| known.address);
        let fresh = self.fresh(Kind::Function, addresses.filter(|address| *address != 0));
        match self.symbols.of(&fresh) {
            Ok(functions) => self.functions.extend(functions),
            Err(missing) if self.missing.contains(&missing) => {}
            Err(missing) => self.missing.push(missing),
        }
    }

    /// Tasks that have had a CPU without a break, so that nothing of them was booked yet: they have no name. Told without a target
    /// only.
    fn running_unseen(&self, snapshot: &Snapshot) -> BTreeSet<u64> {
        if !snapshot.threads.is_empty() || snapshot.foreign_numbers {
            return BTreeSet::new();
        }
        let running = snapshot.cpus.iter().map(|read| u64::from(read.head().current_tid));
        let mut unseen: BTreeSet<u64> =
            running.filter(|tid| *tid != 0 && !self.looked_up.contains(&(Kind::Task, *tid))).collect();
        if !unseen.is_empty() {
            snapshot.takers.iter().for_each(|(key, _)| {
                unseen.remove(&u64::from(key.tid));
            });
        }
        unseen
    }

    /// Those of these numbers that were never looked up; from now on they were.
    fn fresh(&mut self, kind: Kind, numbers: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        numbers.filter(|number| self.looked_up.insert((kind, *number))).collect()
    }
}

/// Name and process of a task that lives.
fn task(root: &Root, tid: u64) -> Option<(String, u32)> {
    let (stat, status) =
        (root.read(format!("/proc/{tid}/stat")).ok()?, root.read(format!("/proc/{tid}/status")).ok()?);
    Some((pid_stat::parse(&stat).ok()?.comm.to_string(), pid_memory::parse(&status).ok()?.process?))
}

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cgroup,
    Function,
    Task,
}
