//! A running server: one process with its children (a guest among them), or all processes of a unit, a cgroup or a container.

use serde::{Deserialize, Serialize};

use super::numa_memory::NumaMemory;
use super::process::{Process, Thread};
use super::target;
use crate::limits::mounts;
use crate::{Class, CpuSet, Fault, Missing, Notes, Root};

/// A running server: where its threads may run and its memory lies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// What was asked for: a process number, a unit, a cgroup, a container, a guest, a pod.
    pub target: String,
    /// The systemd unit, if one was asked for.
    pub unit: Option<String>,
    /// Directory of the cgroup, if a unit, cgroup, container or pod was asked for.
    pub cgroup: Option<String>,
    /// Its processes, by number; one that was asked for itself comes first.
    pub processes: Vec<Process>,
    /// Memory of all processes together by node; what they share counts once (see [`NumaMemory::together`]).
    pub memory: Option<NumaMemory>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

impl Server {
    /// Reads the server `asked` for: a process number (with all its descendants), a systemd unit (`nginx.service`,
    /// `nginx`; found by its folder among the cgroups, without talking to systemd), the path of a cgroup, the id of a
    /// container, the name of a guest, the UID or name of a pod (see [`super::find`]).
    ///
    /// Neither arguments nor environment are read. Reading memory by node makes the kernel walk over the page tables
    /// of each process (see [`NumaMemory::read`]).
    ///
    /// Faults: no such process, unit, cgroup, container, guest or pod, with near names; several of the name; refused files.
    pub fn read(root: &Root, asked: &str) -> Result<Self, Fault> {
        let found = target::find(root, asked)?;
        let mut notes = Notes::new();
        let mut processes = Vec::new();
        let mut refused = None;
        let mounts = mounts::read(root);
        for pid in &found.pids {
            match Process::read(root, &mounts, *pid, &mut notes) {
                Ok(process) => processes.push(process),
                Err(e) if e.is_absent() => {}
                Err(e) => {
                    notes.missing(format!("process {pid}"), &e);
                    refused = Some(e);
                }
            }
        }
        if processes.is_empty() {
            return Err(match refused {
                Some(e) => e.into(),
                None => {
                    Fault::new(Class::MachineLacks, asked, "it has ended in the meantime", "start it again")
                }
            });
        }
        let known: Vec<&NumaMemory> =
            processes.iter().filter_map(|process| process.memory.as_ref()).collect();
        let memory = (!known.is_empty()).then(|| NumaMemory::together(&known));
        Ok(Self {
            target: asked.trim().to_string(),
            unit: found.unit,
            cgroup: found.cgroup,
            memory,
            processes,
            missing: notes.into_vec(),
        })
    }

    /// All threads of all processes.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.processes.iter().flat_map(|process| &process.threads)
    }

    /// CPUs on which any of its threads may run; empty when none is known.
    pub fn cpus(&self) -> CpuSet {
        self.threads().filter_map(|thread| thread.cpus.as_ref()).flat_map(CpuSet::iter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::tests::stat;
    use super::*;
    use crate::Tree;

    fn process(tree: Tree, pid: u32, ppid: u32, cpus: &str) -> Tree {
        let dir = format!("/proc/{pid}");
        let status = format!(
            "Name:\tworker\nTgid:\t{pid}\nVmRSS:\t 400 kB\nVmSwap:\t 8 kB\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n\
             voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"
        );
        let mut tree = tree
            .file(&format!("{dir}/stat"), stat(pid, "worker", ppid, 0))
            .file(&format!("{dir}/status"), status.as_str())
            .file(&format!("{dir}/cgroup"), "0::/system.slice/w.service\n")
            .file(&format!("{dir}/oom_score_adj"), "-500\n")
            .file(
                &format!("{dir}/numa_maps"),
                "1000 default heap anon=90 dirty=90 N0=90 kernelpagesize_kB=4\n2000 bind:1 anon=10 N1=10 kernelpagesize_kB=4\n",
            );
        for tid in [pid, pid + 1] {
            let task = format!("{dir}/task/{tid}");
            tree = tree
                .file(&format!("{task}/stat"), stat(tid, "worker", ppid, 0))
                .file(&format!("{task}/status"), status.as_str())
                .file(&format!("{task}/schedstat"), "5000000 7000 9\n");
        }
        tree
    }

    fn tree() -> Tree {
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/sys/fs/cgroup/system.slice/w.service/cgroup.procs", "700\n710\n")
            .file("/sys/fs/cgroup/system.slice/w.service/cpuset.cpus.effective", "0-3\n")
            .file("/sys/fs/cgroup/system.slice/w.service/cpuset.mems.effective", "0-1\n")
            .file("/sys/fs/cgroup/system.slice/w.service/cpu.max", "200000 100000\n");
        process(process(tree, 700, 1, "0-3"), 710, 700, "2")
    }

    #[test]
    fn a_unit_with_two_processes() {
        let server = Server::read(&Root::from_tree(tree()), "w").unwrap();
        assert_eq!(server.unit.as_deref(), Some("w.service"));
        assert_eq!(server.processes.iter().map(|p| p.pid).collect::<Vec<_>>(), [700, 710]);
        assert_eq!((server.threads().count(), server.cpus().to_list().as_str()), (4, "0-3"));
        let process = &server.processes[1];
        assert_eq!((process.resident_bytes, process.swap_bytes), (Some(400 << 10), Some(8 << 10)));
        assert_eq!((process.oom_score_adj, process.cpu_quota.as_ref().unwrap().cpus), (Some(-500), 2.0));
        assert_eq!(process.cpuset_cpus.as_ref().unwrap().to_list(), "0-3");
        assert_eq!(process.memory_nodes.as_ref().unwrap().to_list(), "0-1");
        let thread = &process.threads[0];
        assert_eq!(thread.cpus, Some(CpuSet::single(2)));
        assert_eq!(
            (thread.policy.as_deref(), thread.nice, thread.realtime_priority),
            (Some("other"), Some(0), None)
        );
        assert_eq!((thread.waited_us, thread.voluntary_switches), (Some(7), Some(5)));
        assert_eq!((thread.last_cpu, thread.no_setaffinity), (Some(1), Some(false)));
        let memory = server.memory.unwrap();
        assert_eq!(memory.nodes.into_iter().collect::<Vec<_>>(), [(0, 180 * 4096), (1, 20 * 4096)]);
        // A tree in memory does not know the unit of time, and CPU time is not made up.
        assert_eq!(thread.user_us, None);
        let facts: Vec<&str> = server.missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(
            facts,
            ["CPU time of a thread of process 700 (worker)", "CPU time of a thread of process 710 (worker)"]
        );
    }

    #[test]
    fn what_is_denied_absent_or_malformed_is_missing_and_the_rest_is_reported() {
        let tree = tree()
            .denied("/proc/700/numa_maps")
            .file("/proc/700/task/701/schedstat", "what\n")
            .file("/proc/700/task/700/status", "nothing\n")
            .file("/proc/700/oom_score_adj", "x\n");
        let server = Server::read(&Root::from_tree(tree), "700").unwrap();
        let process = &server.processes[0];
        assert_eq!((process.threads[0].cpus.as_ref(), process.threads[1].waited_us), (None, None));
        assert_eq!((process.oom_score_adj, &process.memory), (None, &None));
        // One process whose memory is known does not stand for both without saying so.
        let facts: Vec<&str> = server.missing.iter().map(|m| m.fact.as_str()).collect();
        for fact in ["memory by node", "affinity and context switches", "waiting for a CPU", "OOM adjustment"]
        {
            assert!(facts.iter().any(|f| f.contains(fact)), "{fact} in {facts:?}");
        }
        assert!(server.missing.iter().any(|m| m.why.contains("permission denied")));
    }

    #[test]
    fn a_server_that_has_ended_is_a_fault() {
        let tree =
            Tree::new().file("/proc/700/status", "Tgid:\t700\n").file("/proc/1/stat", stat(1, "init", 0, 0));
        let fault = Server::read(&Root::from_tree(tree), "700").unwrap_err();
        assert_eq!(
            (fault.class, fault.cause.as_str()),
            (Class::MachineLacks, "it has ended in the meantime")
        );
    }
}
