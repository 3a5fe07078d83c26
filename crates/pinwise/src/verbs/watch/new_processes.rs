//! Processes that join the target while it is watched.

use std::time::{Duration, Instant};

use machine::{Missing, Root};

use super::target::Watched;

/// How often to look for processes that were moved into a unit or cgroup rather than started there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Looks for new processes now and then, and has them added.
#[derive(Debug)]
pub struct NewProcesses {
    looked: Instant,
    refused: Option<Missing>,
}

impl NewProcesses {
    /// The target has just been found.
    pub fn begin() -> Self {
        Self { looked: Instant::now(), refused: None }
    }

    /// Looks, unless it did so a moment ago, and hands all that are there to `add`. Returns whether there are any; `None` where it did
    /// not look, or where all CPUs are watched, or a thread that is alive.
    pub fn look(
        &mut self,
        watched: &Watched,
        root: &Root,
        add: impl FnOnce(&[u32]) -> Result<(), Missing>,
    ) -> Option<bool> {
        if self.looked.elapsed() < LOOK_AGAIN {
            return None;
        }
        self.looked = Instant::now();
        let numbers = watched.look_again(root)?;
        self.refused = add(&numbers).err().or(self.refused.take());
        Some(!numbers.is_empty())
    }

    /// Why the kernel did not accept processes: the last refusal.
    pub fn refused(&self) -> Option<&Missing> {
        self.refused.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn later(mut new_processes: NewProcesses) -> NewProcesses {
        new_processes.looked = new_processes.looked.checked_sub(LOOK_AGAIN).unwrap();
        new_processes
    }

    #[test]
    fn it_looks_once_a_second_and_keeps_what_was_refused() {
        let there = Root::from_tree(
            Tree::new()
                .file("/proc/7/status", "Name:\tx\nTgid:\t7\nPid:\t7\n")
                .file("/proc/7/stat", "7 (x) S 1"),
        );
        let watched = Watched::find(&there, Some("7"), &[]).unwrap();
        let mut new_processes = NewProcesses::begin();
        assert_eq!(new_processes.look(&watched, &there, |_| panic!("too early")), None);
        new_processes = later(new_processes);
        let refuse = |numbers: &[u32]| {
            assert_eq!(numbers, [7]);
            Err(Missing::new("kernel events", "full"))
        };
        assert_eq!(new_processes.look(&watched, &there, refuse), Some(true));
        assert_eq!(new_processes.look(&watched, &there, |_| panic!("a moment ago")), None);
        new_processes = later(new_processes);
        assert_eq!(new_processes.look(&watched, &Root::from_tree(Tree::new()), |_| Ok(())), Some(false));
        assert_eq!(new_processes.refused().map(|missing| missing.why.as_str()), Some("full"));
    }

    #[test]
    fn all_cpus_are_there_without_a_look() {
        let root = Root::from_tree(Tree::new());
        let everything = Watched::find(&root, None, &[]).unwrap();
        let mut new_processes = later(NewProcesses::begin());
        assert_eq!(new_processes.look(&everything, &root, |_| panic!("nobody can join")), None);
    }
}
