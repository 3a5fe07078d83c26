//! Names of what the kernel's programs know by number.

use std::collections::{BTreeMap, BTreeSet};

use machine::limits::cgroups::path_of_process;
use machine::limits::mounts;
use machine::procfs::{pid_memory, pid_stat};
use machine::{Machine, Missing, Root};

use super::symbols::Symbols;
use crate::account::collect::cgroups;
use crate::account::collect::cpu_group::CpuOf;
use crate::account::collect::snapshot::Snapshot;
use crate::account::rows::taker::{self, waiting};
use crate::account::rows::waker;

/// What the numbers in a [`Snapshot`] stand for.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Cgroups by id: their path below the mount. The programs know those of version 2.
    pub cgroups: BTreeMap<u64, String>,
    /// The same by process, as /proc showed it when they were first seen (see [`path_of_process`]): of those that are at the top of version 2
    /// because controllers are on version 1 hierarchies, and of those of which the programs booked nothing yet.
    pub by_process: BTreeMap<u32, String>,
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
    /// Whether numbers of tasks are those of another PID namespace than this process's /proc.
    pub(in crate::account) foreign_numbers: bool,
    /// What has no name, and why.
    pub missing: Vec<Missing>,
    /// Whether there are such hierarchies; `None` where it was not looked yet.
    has_version_1: Option<bool>,
    /// What was looked up, found or not.
    looked_up: BTreeSet<(Kind, u64)>,
    symbols: Symbols,
}

impl Names {
    /// What is read of the machine: lines and C-states.
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
        self.learn_tasks(snapshot);
        let root = Root::live();
        self.learn_version_1(&root, |names| processes(snapshot, names));
        let addresses = snapshot.functions.known().iter().flatten().map(|known| known.address);
        let fresh = self.fresh(Kind::Function, addresses.filter(|address| *address != 0));
        match self.symbols.of(&fresh) {
            Ok(functions) => self.functions.extend(functions),
            Err(missing) if self.missing.contains(&missing) => {}
            Err(missing) => self.missing.push(missing),
        }
    }

    /// The part of [`learn`](Self::learn) that is about tasks, and is quick: for those that may be gone by the time of the rest. A task
    /// that never left its CPU is known by nothing but its number.
    pub fn learn_tasks(&mut self, snapshot: &Snapshot) {
        self.foreign_numbers = snapshot.foreign_numbers;
        let nameless =
            snapshot.takers.iter().filter(|(_, taker)| taker.comm[0] == 0 && !snapshot.foreign_numbers);
        let wakers = snapshot.threads.iter().filter(|_| !snapshot.foreign_numbers);
        let wakers = wakers.flat_map(|(_, thread)| waker::processes(thread));
        let nameless = nameless.map(|(key, _)| key.tid).chain(wakers).map(u64::from);
        let fresh = self.fresh(Kind::Task, nameless);
        let unseen = self.running_unseen(snapshot);
        let unseen = self.fresh(Kind::Task, unseen.into_iter());
        let root = Root::live();
        let fresh = fresh.iter().chain(&unseen);
        self.tasks.extend(fresh.filter_map(|tid| Some((*tid as u32, task(&root, *tid)?))));
        self.learn_unseen(&root, &unseen);
    }

    /// Tasks that have had a CPU without a break, so that nothing of them was booked yet: they have no name. With a target those alone for
    /// which its threads wait.
    fn running_unseen(&self, snapshot: &Snapshot) -> BTreeSet<u64> {
        if snapshot.foreign_numbers {
            return BTreeSet::new();
        }
        let matters = |read: &CpuOf<'_>| {
            snapshot.threads.is_empty() || (read.head().current_slot == 0 && waiting(read.head()) > 0)
        };
        let running = snapshot.cpus.iter().filter(matters).map(|read| u64::from(read.head().current_tid));
        let mut unseen: BTreeSet<u64> =
            running.filter(|tid| *tid != 0 && !self.looked_up.contains(&(Kind::Task, *tid))).collect();
        if !unseen.is_empty() {
            snapshot.takers.iter().for_each(|(key, _)| {
                unseen.remove(&u64::from(key.tid));
            });
        }
        unseen
    }

    /// Looks up the cgroups of processes of these tasks.
    fn learn_unseen(&mut self, root: &Root, tids: &BTreeSet<u64>) {
        let tasks = tids.iter().filter_map(|tid| self.tasks.get(&(*tid as u32)));
        let pids: Vec<u64> = tasks.map(|(_, pid)| u64::from(*pid)).collect();
        self.learn_processes(root, pids);
    }

    /// Looks up the cgroup of each of these processes once, if it lives.
    fn learn_processes(&mut self, root: &Root, pids: Vec<u64>) {
        for pid in self.fresh(Kind::Process, pids.into_iter()) {
            let text = root.read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            self.by_process.extend(path_of_process(&text).map(|path| (pid as u32, path)));
        }
    }

    /// Looks up those of these processes (cgroup of version 2, process) that are at the top of version 2.
    fn learn_version_1(&mut self, root: &Root, processes: impl FnOnce(&Self) -> Vec<(u64, u32)>) {
        if !*self.has_version_1.get_or_insert_with(|| has_version_1(root)) {
            return;
        }
        let unplaced: Vec<u64> = processes(self)
            .iter()
            .filter(|(id, _)| !self.is_below_top(*id))
            .map(|(_, pid)| u64::from(*pid))
            .collect();
        self.learn_processes(root, unplaced);
    }

    fn is_below_top(&self, id: u64) -> bool {
        self.cgroups.get(&id).is_some_and(|path| path != "/")
    }

    /// The path of a process's cgroup: in version 2, and where all are at the top of that, in version 1. `id` is the number that the programs
    /// know it by, 0 where they booked nothing of it.
    pub(in crate::account) fn cgroup(&self, id: u64, pid: u32) -> Option<String> {
        let first = self.by_process.get(&pid).filter(|_| !self.is_below_top(id));
        first.or_else(|| self.cgroups.get(&id)).cloned()
    }

    /// Those of these numbers that were never looked up; from now on they were.
    fn fresh(&mut self, kind: Kind, numbers: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        numbers.filter(|number| self.looked_up.insert((kind, *number))).collect()
    }
}

/// Cgroups and numbers of the processes of a snapshot, those of this process's /proc alone. Threads of the kernel are in no cgroup that
/// says anything.
fn processes(snapshot: &Snapshot, names: &Names) -> Vec<(u64, u32)> {
    let threads = snapshot
        .threads
        .iter()
        .map(|(_, thread)| (thread.cgroup, if thread.own_tgid > 0 { thread.own_tgid } else { thread.tgid }));
    let takers =
        snapshot.takers.iter().filter(|(_, taker)| taker.of_kernel == 0 && !snapshot.foreign_numbers);
    let takers = takers.map(|(key, taker)| (taker.cgroup, taker::named(key.tid, taker, names).1));
    let mut all: Vec<(u64, u32)> = threads.chain(takers).filter(|(_, pid)| *pid > 0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a hierarchy of version 1 is mounted that says where processes belong.
fn has_version_1(root: &Root) -> bool {
    let mountinfo = root.read("/proc/self/mountinfo").unwrap_or_default();
    mounts::parse(&mountinfo).iter().any(|mount| mount.is_v1_of("cpu") || mount.is_v1_of("name=systemd"))
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
    Process,
    Function,
    Task,
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    const TOP: u64 = 1;

    fn hybrid() -> Tree {
        Tree::new()
            .file(
                "/proc/self/mountinfo",
                "1 0 0:1 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:2 / /c/systemd rw - cgroup cgroup rw,name=systemd\n\
                 3 0 0:3 / /c/unified rw - cgroup2 cgroup2 rw\n",
            )
            .file("/proc/7/cgroup", "4:cpu,cpuacct:/docker/7\n2:name=systemd:/x.service\n0::/\n")
            .file("/proc/8/cgroup", "4:cpu,cpuacct:/\n2:name=systemd:/x.service\n0::/\n")
            .file("/proc/9/cgroup", "what is this")
    }

    fn names() -> Names {
        let cgroups = BTreeMap::from([(TOP, "/".to_string()), (2, "/below".to_string())]);
        Names { cgroups, ..Names::default() }
    }

    #[test]
    fn at_the_top_of_version_2_a_process_is_told_by_version_1() {
        let mut names = names();
        names.learn_version_1(&Root::from_tree(hybrid()), |_| {
            vec![(TOP, 7), (TOP, 8), (TOP, 9), (TOP, 10), (2, 11)]
        });
        assert_eq!(names.cgroup(TOP, 7).as_deref(), Some("/docker/7"));
        assert_eq!(names.cgroup(TOP, 8).as_deref(), Some("/x.service"), "at the top for the CPU controller");
        assert_eq!(names.cgroup(TOP, 9).as_deref(), Some("/"), "malformed");
        assert_eq!(names.cgroup(TOP, 10).as_deref(), Some("/"), "it has ended");
        assert_eq!(names.cgroup(2, 7).as_deref(), Some("/below"), "version 2 says more");
        assert_eq!((names.cgroup(3, 7).as_deref(), names.cgroup(3, 11)), (Some("/docker/7"), None));
    }

    #[test]
    fn of_a_task_that_nothing_was_booked_of_proc_tells_the_cgroup() {
        let mut names = Names { tasks: BTreeMap::from([(77, ("spins".into(), 7))]), ..names() };
        names.learn_unseen(&Root::from_tree(hybrid()), &BTreeSet::from([77, 78]));
        assert_eq!(names.by_process, BTreeMap::from([(7, "/docker/7".to_string())]));
        assert_eq!((names.cgroup(0, 7).as_deref(), names.cgroup(0, 8)), (Some("/docker/7"), None));
    }

    #[test]
    fn each_process_is_looked_up_once() {
        let mut names = names();
        names.learn_version_1(&Root::from_tree(hybrid()), |_| vec![(TOP, 7), (TOP, 10)]);
        let moved = hybrid()
            .file("/proc/7/cgroup", "4:cpu,cpuacct:/elsewhere\n")
            .file("/proc/10/cgroup", "4:cpu,cpuacct:/a\n");
        names.learn_version_1(&Root::from_tree(moved), |_| vec![(TOP, 7), (TOP, 10)]);
        assert_eq!(names.cgroup(TOP, 7).as_deref(), Some("/docker/7"));
        assert_eq!(names.cgroup(TOP, 10).as_deref(), Some("/"));
    }

    #[test]
    fn without_version_1_nothing_is_looked_up() {
        let tree = Tree::new()
            .file(
                "/proc/self/mountinfo",
                "3 0 0:3 / /c rw - cgroup2 cgroup2 rw\n4 0 0:4 / /h rw - cgroup c rw,hugetlb\n",
            )
            .file("/proc/7/cgroup", "4:cpu:/docker/7\n");
        let mut names = names();
        names.learn_version_1(&Root::from_tree(tree), |_| vec![(TOP, 7)]);
        assert!(names.by_process.is_empty() && names.cgroup(TOP, 7).as_deref() == Some("/"));
    }
}
