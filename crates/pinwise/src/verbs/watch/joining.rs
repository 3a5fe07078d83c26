//! Processes that come to the target while it is watched.

use std::time::{Duration, Instant};

use machine::{Missing, Root};

use super::target::Watched;

/// How often processes that came to a unit or cgroup by another way than being started there are looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Looks for them now and then, and has them taken in.
#[derive(Debug)]
pub struct Joining {
    looked: Instant,
    refused: Option<Missing>,
}

impl Joining {
    /// The target has just been found.
    pub fn begin() -> Self {
        Self { looked: Instant::now(), refused: None }
    }

    /// Looks, unless it did so a moment ago, and has `add` take in all that are there. Whether any is there; `None` where it was not
    /// looked, or all CPUs are watched or a thread that lives.
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

    /// Why the kernel did not take in processes; of several refusals the last one.
    pub fn refused(&self) -> Option<&Missing> {
        self.refused.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn later(mut joining: Joining) -> Joining {
        joining.looked = joining.looked.checked_sub(LOOK_AGAIN).unwrap();
        joining
    }

    #[test]
    fn it_looks_once_a_second_and_keeps_what_was_refused() {
        let there = Root::from_tree(
            Tree::new()
                .file("/proc/7/status", "Name:\tx\nTgid:\t7\nPid:\t7\n")
                .file("/proc/7/stat", "7 (x) S 1"),
        );
        let watched = Watched::find(&there, Some("7"), &[]).unwrap();
        let mut joining = Joining::begin();
        assert_eq!(joining.look(&watched, &there, |_| panic!("too early")), None);
        joining = later(joining);
        let refuse = |numbers: &[u32]| {
            assert_eq!(numbers, [7]);
            Err(Missing::new("kernel events", "full"))
        };
        assert_eq!(joining.look(&watched, &there, refuse), Some(true));
        assert_eq!(joining.look(&watched, &there, |_| panic!("a moment ago")), None);
        joining = later(joining);
        assert_eq!(joining.look(&watched, &Root::from_tree(Tree::new()), |_| Ok(())), Some(false));
        assert_eq!(joining.refused().map(|missing| missing.why.as_str()), Some("full"));
    }

    #[test]
    fn all_cpus_are_there_without_a_look() {
        let root = Root::from_tree(Tree::new());
        let everything = Watched::find(&root, None, &[]).unwrap();
        let mut joining = later(Joining::begin());
        assert_eq!(joining.look(&everything, &root, |_| panic!("nobody can join")), None);
    }
}
