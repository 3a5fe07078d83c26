//! What surrounds a window of a server, beside its account and counters: read before it and after it.

use std::collections::BTreeMap;

use machine::limits::memory_use::{self, MemoryUse};
use machine::processes::{self, Connections, CpuTime, Peer, Server, Task};
use machine::{FactId, Machine, Missing, Notes, Root};

use super::{Busy, Situation};
use crate::account::Account;
use crate::observation::Observation;
use crate::party::Party;

/// Tasks of which it is looked up how they compete, those that took most.
const MOST_TASKS: usize = 64;
/// Busy processes that are kept, and what makes one busy, in CPUs.
const MOST_BUSY: usize = 16;
const BUSY: f64 = 0.02;

/// What was read before a window.
#[derive(Debug)]
pub struct Surroundings {
    /// As [`processes::find`] takes it; `None` for the machine as a whole.
    asked: Option<String>,
    title: String,
    pids: Vec<u32>,
    connections: Connections,
    before: BTreeMap<u32, CpuTime>,
    memory: Vec<MemoryUse>,
    missing: Vec<Missing>,
}

impl Surroundings {
    /// Reads connections, CPU times of all processes (a pass over /proc) and what the server's memory limits met so far. `title` is the
    /// server in words, `pids` its processes.
    pub fn read(root: &Root, asked: Option<&str>, title: impl Into<String>, pids: &[u32]) -> Self {
        let mut missing = Vec::new();
        let connections = processes::connections(root, pids);
        let before = cpu_times(root, &mut missing);
        let (asked, title, pids) = (asked.map(String::from), title.into(), pids.to_vec());
        // What cannot be read is said after the window.
        let memory = memory(root, &pids, &mut Notes::new());
        Self { asked, title, pids, connections, before, memory, missing }
    }

    /// Says that something could not be had, and why.
    pub fn without(&mut self, missing: Missing) {
        self.missing.push(missing);
    }

    /// The server's connections before the window.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Reads the rest, while the server still runs, and puts all together. Counters that were not read are an empty observation.
    pub fn close(
        mut self,
        root: &Root,
        machine: Machine,
        observation: Observation,
        account: Option<Account>,
    ) -> Situation {
        // Without counters the account says how long the window was.
        let window_s = match (&account, observation.window_s()) {
            (Some(account), window_s) if window_s <= 0.0 => account.window_s,
            (_, window_s) => window_s,
        };
        let busy = busy(&self.before, &cpu_times(root, &mut self.missing), window_s);
        let tasks = tasks(root, &self.pids, account.as_ref(), &mut self.missing);
        let server = self
            .asked
            .as_deref()
            .map(|asked| Server::read(root, asked))
            .unwrap_or_else(|| Ok(Server::default()));
        let server = server.unwrap_or_else(|fault| {
            self.missing.push(Missing::new("the server at the end of the window", fault));
            Server::default()
        });
        add_followed(&mut self.connections, &observation);
        let mut notes = Notes::new();
        let memory = memory(root, &self.pids, &mut notes);
        let memory = memory.into_iter().map(|memory| memory.since(&self.memory)).collect();
        self.missing.extend(notes.into_vec());
        Situation {
            target: self.title,
            pids: self.pids,
            observer: Some(std::process::id()),
            window_s,
            machine,
            account,
            observation,
            server,
            tasks,
            busy,
            connections: self.connections,
            memory,
            missing: self.missing,
            ..Situation::default()
        }
    }
}

/// Memory limits of the server's first process.
fn memory(root: &Root, pids: &[u32], notes: &mut Notes) -> Vec<MemoryUse> {
    let of = |pid: &u32| memory_use::of_process(root, *pid, "the server", notes);
    pids.first().map(of).unwrap_or_default()
}

/// Adds processes that were followed as the server's load: with a connection for each request there may be none at the moment of a look.
fn add_followed(connections: &mut Connections, observation: &Observation) {
    for thread in observation.beside.get(&Party::Load).iter().flat_map(|load| &load.threads) {
        if connections.peers.iter().all(|peer| peer.pid != thread.pid) {
            connections.peers.push(Peer { pid: thread.pid, comm: thread.comm.clone(), connections: 0 });
        }
    }
}

fn cpu_times(root: &Root, missing: &mut Vec<Missing>) -> BTreeMap<u32, CpuTime> {
    processes::cpu_times(root).unwrap_or_else(|why| {
        missing.push(Missing::new("CPU time of other processes", why));
        BTreeMap::new()
    })
}

/// Processes that had much of the CPUs between two passes.
fn busy(before: &BTreeMap<u32, CpuTime>, after: &BTreeMap<u32, CpuTime>, window_s: f64) -> Vec<Busy> {
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let since = |(pid, now): (&u32, &CpuTime)| {
        let earlier = before.get(pid).filter(|earlier| earlier.start_time_ticks == now.start_time_ticks);
        let ticks = now.ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.ticks));
        let cpus = ticks as f64 / ticks_per_s / window_s;
        (!now.of_kernel && cpus >= BUSY).then(|| Busy {
            pid: *pid,
            comm: now.comm.clone(),
            cpus,
            last_cpu: now.last_cpu,
        })
    };
    if window_s <= 0.0 {
        return Vec::new();
    }
    let mut busy: Vec<Busy> = after.iter().filter_map(since).collect();
    busy.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    busy.truncate(MOST_BUSY);
    busy
}

/// How the server's first thread competes, and those who took most from it.
pub(super) fn tasks(
    root: &Root,
    pids: &[u32],
    account: Option<&Account>,
    missing: &mut Vec<Missing>,
) -> BTreeMap<u32, Task> {
    let takers = account.iter().flat_map(|account| &account.tasks).filter(|task| task.took.total_ns > 0);
    let takers = takers.take(MOST_TASKS).map(|task| task.tid);
    let first = pids.first().copied();
    let (mut found, mut notes) = (BTreeMap::new(), Notes::new());
    for tid in first.into_iter().chain(takers) {
        match Task::read(root, tid, &mut notes) {
            Ok(task) => drop(found.insert(tid, task)),
            Err(e) if e.is_absent() => {}
            Err(e) => notes.missing(format_args!("how task {tid} competes"), e),
        }
    }
    // A server that is watched is looked at again and again.
    missing.retain(|known| !known.is(&FactId::Tasks));
    let notes = notes.into_vec();
    if let Some(first) = notes.first() {
        let why = format!("{}: {} ({} of them)", first.fact, first.why, notes.len());
        missing.push(Missing::new("some facts of how tasks compete", why).identified(FactId::Tasks));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_with_odd_files_are_named_once_however_often_they_are_read() {
        let tree = machine::Tree::new().file("/proc/7/stat", "7 (x) S no line of the kernel");
        let (root, mut missing) = (Root::from_tree(tree), Vec::new());
        for _ in 0..3 {
            assert!(tasks(&root, &[7], None, &mut missing).is_empty());
        }
        assert!(missing.len() == 1 && missing[0].why.contains("task 7"), "{missing:?}");
        assert!(tasks(&root, &[8], None, &mut missing).is_empty());
        assert_eq!(missing, [], "it has ended");
    }

    #[test]
    fn memory_limits_are_those_that_were_met_in_the_window() {
        let root = |hits: u32, peak: u32| {
            let tree = machine::Tree::new()
                .file("/proc/self/mountinfo", "1 0 0:1 / /cg rw - cgroup cgroup rw,memory\n")
                .file("/proc/7/cgroup", "3:memory:/a\n")
                .file("/cg/a/memory.limit_in_bytes", "200000\n")
                .file("/cg/a/memory.usage_in_bytes", "500\n")
                .file("/cg/a/memory.failcnt", format!("{hits}\n"))
                .file("/cg/a/memory.max_usage_in_bytes", format!("{peak}\n"));
            Root::from_tree(tree)
        };
        let memory = |before: &Root, after: &Root| {
            let surroundings = Surroundings::read(before, None, "x", &[7]);
            let situation = surroundings.close(after, Machine::default(), Observation::default(), None);
            let [memory] = &situation.memory[..] else { panic!("{:?}", situation.memory) };
            (memory.limit_hits, memory.peak_bytes)
        };
        assert_eq!(memory(&root(2, 900), &root(40, 200_000)), (Some(38), Some(200_000)));
        assert_eq!(memory(&root(40, 200_000), &root(40, 200_000)), (Some(0), None), "it met it before");
    }

    #[test]
    fn busy_processes_are_those_that_had_the_cpus_in_between() {
        let time = |comm: &str, start_time_ticks, ticks| CpuTime {
            comm: comm.into(),
            start_time_ticks,
            ticks,
            last_cpu: Some(1),
            of_kernel: false,
        };
        let before =
            BTreeMap::from([(7, time("old", 1, 5_000)), (8, time("hog", 1, 100)), (9, time("gone", 1, 7))]);
        let after = BTreeMap::from([
            (7, time("old", 1, 5_000)),
            (8, time("hog", 1, 1_100)),
            // The number was given to another process.
            (9, time("new", 50, 500)),
        ]);
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let found = busy(&before, &after, 1_000.0 / ticks_per_s);
        let found: Vec<(u32, &str, f64)> =
            found.iter().map(|busy| (busy.pid, busy.comm.as_str(), busy.cpus)).collect();
        assert_eq!(found, [(8, "hog", 1.0), (9, "new", 0.5)]);
        assert!(busy(&before, &after, 0.0).is_empty());
    }
}
