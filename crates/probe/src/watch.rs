//! Which processes belong to the server: the one that was named and all its descendants.

use std::collections::{BTreeMap, BTreeSet};

use machine::procfs::pid_stat;
use machine::{Missing, ProcessRef, Root};

use crate::clock;

/// The family is looked for again after this many times the time that the last look took: at most 1 % of one CPU.
const REST: u64 = 100;

/// A process and its descendants, found again as they fork. A descendant stays in the family when its parent ends
/// (a server that puts itself into the background), and leaves it when it ends itself.
#[derive(Debug)]
pub(crate) struct Watch {
    root: ProcessRef,
    family: BTreeSet<ProcessRef>,
    due_ns: u64,
}

impl Watch {
    pub(crate) fn new(root: ProcessRef) -> Self {
        Self { root, family: BTreeSet::from([root]), due_ns: 0 }
    }

    /// The family as it was last seen.
    pub(crate) fn family(&self) -> impl Iterator<Item = ProcessRef> + '_ {
        self.family.iter().copied()
    }

    /// A process turned out to have ended (or its number now belongs to another).
    pub(crate) fn ended(&mut self, process: ProcessRef) {
        self.family.remove(&process);
    }

    /// Looks for new descendants, if it is time or `now`.
    ///
    /// # Errors
    /// When nobody of the family lives any more.
    pub(crate) fn refresh(&mut self, root: &Root, now: bool) -> Result<(), Missing> {
        let began_ns = clock::monotonic_ns();
        if !now && began_ns < self.due_ns && !self.family.is_empty() {
            return Ok(());
        }
        let living: Vec<ProcessRef> = self.family().filter(|p| identify(root, p.pid) == Some(*p)).collect();
        if living.is_empty() {
            self.family.clear();
            let why = "it has ended (or its number now belongs to another), and so have its children";
            return Err(Missing::new(format_args!("process {}", self.root.pid), why));
        }
        self.family = match descend(root, &living) {
            Some(family) => family,
            None => descend_by_parent(root, &living),
        };
        let ended_ns = clock::monotonic_ns();
        self.due_ns = ended_ns + REST * (ended_ns - began_ns);
        Ok(())
    }
}

/// The process that has this number now and has not ended.
pub fn identify(root: &Root, pid: u32) -> Option<ProcessRef> {
    let (_, start_time_ticks) = parent_and_start(root, pid)?;
    Some(ProcessRef { pid, start_time_ticks })
}

fn parent_and_start(root: &Root, pid: u32) -> Option<(u32, u64)> {
    let bytes = root.read_bytes(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let stat = pid_stat::parse(&text).ok().filter(|stat| !stat.ended())?;
    Some((stat.ppid, stat.start_time_ticks))
}

/// All descendants by /proc/PID/task/TID/children; `None` where the kernel has no such file (CONFIG_PROC_CHILDREN).
fn descend(root: &Root, living: &[ProcessRef]) -> Option<BTreeSet<ProcessRef>> {
    let mut family: BTreeSet<ProcessRef> = BTreeSet::new();
    let mut todo = living.to_vec();
    let mut offered = false;
    while let Some(process) = todo.pop() {
        if !family.insert(process) {
            continue;
        }
        let tasks = format!("/proc/{}/task", process.pid);
        for tid in root.list(&tasks).unwrap_or_default() {
            let Ok(children) = root.read(format!("{tasks}/{tid}/children")) else { continue };
            offered = true;
            let pids = children.split_ascii_whitespace().filter_map(|word| word.parse().ok());
            todo.extend(pids.filter_map(|pid| identify(root, pid)));
        }
    }
    offered.then_some(family)
}

/// The same by the parent that each process of the system names.
fn descend_by_parent(root: &Root, living: &[ProcessRef]) -> BTreeSet<ProcessRef> {
    let pids = root.list("/proc").unwrap_or_default();
    let mut children: BTreeMap<u32, Vec<ProcessRef>> = BTreeMap::new();
    for pid in pids.iter().filter_map(|name| name.parse().ok()) {
        if let Some((parent, start_time_ticks)) = parent_and_start(root, pid) {
            children.entry(parent).or_default().push(ProcessRef { pid, start_time_ticks });
        }
    }
    let mut family = BTreeSet::new();
    let mut todo = living.to_vec();
    while let Some(process) = todo.pop() {
        if family.insert(process) {
            todo.extend(children.get(&process.pid).into_iter().flatten());
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn stat(pid: u32, parent: u32, start: u64) -> String {
        format!("{pid} (s) S {parent} 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 {start} 0 0 0")
    }

    /// Processes as (pid, parent, start); `children` files where they are wanted.
    fn tree(processes: &[(u32, u32, u64)], with_children: bool) -> Root {
        let mut tree = Tree::new();
        for (pid, parent, start) in processes {
            tree = tree.file(&format!("/proc/{pid}/stat"), stat(*pid, *parent, *start));
            tree = tree.dir(&format!("/proc/{pid}/task/{pid}"));
            if with_children {
                let children = processes.iter().filter(|(_, p, _)| p == pid).map(|(c, _, _)| format!("{c} "));
                tree = tree.file(&format!("/proc/{pid}/task/{pid}/children"), children.collect::<String>());
            }
        }
        Root::from_tree(tree)
    }

    fn pids(watch: &Watch) -> Vec<u32> {
        watch.family().map(|p| p.pid).collect()
    }

    const NGINX: ProcessRef = ProcessRef { pid: 10, start_time_ticks: 100 };

    #[test]
    fn descendants_are_found_with_and_without_the_children_files() {
        let processes = [(10, 1, 100), (11, 10, 101), (12, 11, 102), (20, 1, 50)];
        for with_children in [true, false] {
            let mut watch = Watch::new(NGINX);
            watch.refresh(&tree(&processes, with_children), true).unwrap();
            assert_eq!(pids(&watch), [10, 11, 12], "{with_children}");
        }
    }

    #[test]
    fn a_child_stays_when_its_parent_ends() {
        let mut watch = Watch::new(NGINX);
        watch.refresh(&tree(&[(10, 1, 100), (11, 10, 101)], true), true).unwrap();
        watch.refresh(&tree(&[(11, 1, 101), (12, 11, 130)], true), true).unwrap();
        assert_eq!(pids(&watch), [11, 12]);
    }

    #[test]
    fn a_process_that_waits_to_be_reaped_has_ended() {
        let zombie = Tree::new().file("/proc/10/stat", stat(10, 1, 100).replace(" S ", " Z "));
        let missing = Watch::new(NGINX).refresh(&Root::from_tree(zombie), true).unwrap_err();
        assert!(missing.why.contains("ended"));
    }

    #[test]
    fn a_number_that_was_given_away_is_not_watched() {
        let mut watch = Watch::new(NGINX);
        let missing = watch.refresh(&tree(&[(10, 1, 999), (11, 10, 1000)], true), true).unwrap_err();
        assert_eq!(missing.fact, "process 10");
        assert_eq!(pids(&watch), [0u32; 0]);
    }
}
