//! How a task competes for CPUs: policy, nice value, session, cgroup, and where it may run.

use serde::{Deserialize, Serialize};

use super::process::{policy_name, realtime_priority};
use crate::limits::cgroups;
use crate::procfs::{pid_stat, pid_status};
use crate::{CpuSet, Notes, ReadError, Root};

/// A session that competes with other sessions as one (sched(7), "The autogroup feature").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autogroup {
    /// Number of the session's group, as /proc/PID/autogroup has it.
    pub id: u64,
    /// Nice value of the session.
    pub nice: i32,
}

impl Autogroup {
    /// Out of the line of /proc/PID/autogroup: `/autogroup-123 nice 0`. `None` of another text; the file is empty where there is no group.
    pub fn parse(line: &str) -> Option<Self> {
        let (id, nice) = line.strip_prefix("/autogroup-")?.split_once(" nice ")?;
        Some(Self { id: id.parse().ok()?, nice: nice.trim().parse().ok()? })
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Number of the thread.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Start, clock ticks after boot: detects a reused number.
    pub start_time_ticks: u64,
    /// Whether it is a thread of the kernel.
    pub of_kernel: bool,
    /// Scheduling policy: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext` (sched(7)).
    pub policy: Option<String>,
    /// Real-time priority, 1 to 99; `None` for the other policies.
    pub realtime_priority: Option<u32>,
    /// Nice value, -20 to 19.
    pub nice: Option<i32>,
    /// CPUs on which it may run.
    pub cpus: Option<CpuSet>,
    /// Its session's group; `None` where it is in none.
    pub autogroup: Option<Autogroup>,
    /// Path of its cgroup: in version 2, and where all are at the top of that, in version 1.
    pub cgroup: Option<String>,
}

impl Task {
    /// Reads a task by its number. What other files than `stat` do not report is `None`; what is odd in any is noted.
    ///
    /// # Errors
    /// It has ended, or its `stat` cannot be read.
    pub fn read(root: &Root, tid: u32, notes: &mut Notes) -> Result<Self, ReadError> {
        let path = format!("/proc/{tid}/stat");
        let line = root.read(&path)?;
        let stat = pid_stat::parse(&line).map_err(|why| ReadError::malformed(&path, why))?;
        notes.odd(&path, &stat.odd);
        let cgroup = root.read(format!("/proc/{tid}/cgroup")).unwrap_or_default();
        Ok(Self {
            tid,
            comm: stat.comm.to_string(),
            start_time_ticks: stat.start_time_ticks,
            of_kernel: stat.is_kernel_thread(),
            policy: stat.policy.map(policy_name),
            realtime_priority: realtime_priority(stat.realtime_priority),
            nice: stat.nice,
            cpus: allowed(root, tid, notes),
            autogroup: autogroup(root, tid, notes),
            cgroup: cgroups::path_of_process(&cgroup),
        })
    }

    /// Whether it comes before all tasks of the ordinary policies.
    pub fn is_realtime(&self) -> bool {
        self.policy.as_deref().is_some_and(|policy| ["fifo", "rr", "deadline"].contains(&policy))
    }
}

/// CPUs on which a task may run.
fn allowed(root: &Root, tid: u32, notes: &mut Notes) -> Option<CpuSet> {
    let path = format!("/proc/{tid}/status");
    let text = match root.read(&path) {
        Err(e) if e.is_absent() => return None,
        text => notes.keep(format_args!("affinity of task {tid}"), text)?,
    };
    let status = pid_status::parse(&text).map_err(|why| ReadError::malformed(&path, why));
    let status = notes.keep(format_args!("affinity of task {tid}"), status)?;
    notes.odd(&path, &status.odd);
    let list = CpuSet::from_list(status.cpus_allowed_list?);
    notes.keep(format_args!("{path} Cpus_allowed_list"), list.map_err(|why| ReadError::malformed(&path, why)))
}

/// The session's group of a task; kernels without autogroups have no such file.
fn autogroup(root: &Root, tid: u32, notes: &mut Notes) -> Option<Autogroup> {
    let path = format!("/proc/{tid}/autogroup");
    let line = root.line(&path).ok().filter(|line| !line.is_empty())?;
    let parsed = Autogroup::parse(&line).ok_or_else(|| ReadError::malformed(&path, "it names no autogroup"));
    notes.keep(format_args!("autogroup of task {tid}"), parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::processes::scan::tests::stat;

    #[test]
    fn what_the_kernel_says_of_a_task() {
        let tree = Tree::new()
            .file("/proc/8/stat", stat(8, "hog", 1, 0))
            .file("/proc/8/status", "Name:\thog\nCpus_allowed_list:\t1\n")
            .file("/proc/8/autogroup", "/autogroup-44 nice 5\n")
            .file("/proc/8/cgroup", "0::/user.slice/a\n");
        let task = Task::read(&Root::from_tree(tree), 8, &mut Notes::new()).unwrap();
        assert_eq!((task.comm.as_str(), task.cgroup.as_deref()), ("hog", Some("/user.slice/a")));
        assert_eq!(task.autogroup, Some(Autogroup { id: 44, nice: 5 }));
        assert_eq!(task.cpus.unwrap().to_list(), "1");
    }

    #[test]
    fn what_is_not_reported_is_not_made_up() {
        let root = Root::from_tree(Tree::new().file("/proc/8/stat", stat(8, "hog", 1, 0)));
        let mut notes = Notes::new();
        let task = Task::read(&root, 8, &mut notes).unwrap();
        assert_eq!((task.autogroup, task.cgroup, task.cpus), (None, None, None));
        assert!(Task::read(&root, 9, &mut notes).unwrap_err().is_absent());
        assert_eq!(notes.into_vec(), [], "files that are not there");
        for line in ["", "/autogroup-x nice 0", "/autogroup-1", "/autogroup-1 nice"] {
            assert_eq!(Autogroup::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn what_is_odd_is_noted_and_the_rest_is_read() {
        let tree = Tree::new()
            .file("/proc/8/stat", stat(8, "hog", 1, 0).replace(" 20 0 1 0 ", " 20 x 1 0 "))
            .file("/proc/8/status", "Name:\thog\nThreads:\t1\nCpus_allowed_list:\t1-\n")
            .file("/proc/8/autogroup", "/autogroup-x nice 5\n");
        let mut notes = Notes::new();
        let task = Task::read(&Root::from_tree(tree), 8, &mut notes).unwrap();
        assert_eq!((task.comm.as_str(), task.nice, task.cpus, task.autogroup), ("hog", None, None, None));
        let facts: Vec<String> = notes.into_vec().into_iter().map(|missing| missing.fact).collect();
        assert_eq!(facts.len(), 3, "{facts:?}");
        assert!(facts[0].starts_with("/proc/8/stat ") && facts[1].contains("Cpus_allowed_list"), "{facts:?}");
        assert_eq!(facts[2], "autogroup of task 8");
    }
}
