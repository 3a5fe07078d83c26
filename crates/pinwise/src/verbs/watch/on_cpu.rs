//! Samples of what the target's threads do while they have a CPU.

use std::collections::BTreeSet;

use machine::{Missing, Root};
use probe::account::Target;
use probe::stacks::{Profiling, TimeByStack};

use super::target::Watched;

/// What is missing where nothing can be sampled.
const FACT: &str = "stacks of time on a CPU";

/// Samples beside the sums of the kernel; without them time on a CPU has no stacks, and all else is there.
pub(super) struct OnCpu<'a> {
    watched: &'a Watched,
    root: &'a Root,
    profiling: Result<Profiling, Missing>,
    /// Names in these processes that threads have which are not watched.
    others: BTreeSet<(u32, String)>,
}

impl<'a> OnCpu<'a> {
    /// Loads and attaches the programs.
    pub(super) fn prepare(watched: &'a Watched, root: &'a Root) -> Self {
        let profiling = Profiling::prepare(&processes(watched).into_iter().collect::<Vec<_>>());
        Self { watched, root, profiling, others: others(watched, root) }
    }

    /// Samples from now on.
    pub(super) fn start(&mut self) {
        if let Ok(profiling) = &mut self.profiling {
            profiling.start();
        }
    }

    /// Takes in processes that came to the target.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn add(&mut self, pids: &[u32]) -> Result<(), Missing> {
        self.profiling.as_mut().map_or(Ok(()), |profiling| profiling.add(pids))
    }

    /// Samples no longer.
    pub(super) fn stop(&mut self) {
        if let Ok(profiling) = &mut self.profiling {
            profiling.stop();
        }
    }

    /// Splits what was seen by the samples; how many were of use.
    pub(super) fn split(self, seen: &mut TimeByStack) -> u64 {
        let Self { watched, root, profiling, mut others } = self;
        let sampled = match profiling {
            Ok(profiling) => profiling.stacks(),
            Err(missing) => {
                seen.missing.push(Missing::new(FACT, missing.why));
                return 0;
            }
        };
        others.extend(self::others(watched, root));
        let samples = seen.split_on_cpu(&sampled, |pid, name| !others.contains(&(pid, name.to_string())));
        // Functions without names are often the same ones as in the sums.
        Missing::add_new(&mut seen.missing, &sampled.missing);
        samples
    }
}

/// The processes: each once, also where several of its threads are watched.
fn processes(watched: &Watched) -> BTreeSet<u32> {
    watched.pids().iter().copied().collect()
}

/// Names of threads that are not watched, in processes of which some threads are: samples know a thread by no more than these.
fn others(watched: &Watched, root: &Root) -> BTreeSet<(u32, String)> {
    let Target::Threads(tids) = watched.target() else { return BTreeSet::new() };
    let mut others = BTreeSet::new();
    for pid in processes(watched) {
        let folder = format!("/proc/{pid}/task");
        let threads = root.list(&folder).unwrap_or_default();
        let is_other = |tid: &&String| !tid.parse::<u32>().is_ok_and(|tid| tids.contains(&tid));
        for tid in threads.iter().filter(is_other) {
            if let Ok(name) = root.read(format!("{folder}/{tid}/comm")) {
                others.insert((pid, name.strip_suffix('\n').unwrap_or(&name).to_string()));
            }
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn names_of_threads_that_are_not_watched_are_known() {
        let thread = |tree: Tree, tid: u32, name: &str| {
            tree.file(&format!("/proc/{tid}/status"), format!("Name:\t{name}\nTgid:\t7\nPid:\t{tid}\n"))
                .file(&format!("/proc/7/task/{tid}/comm"), format!("{name}\n"))
        };
        let tree = thread(thread(thread(Tree::new(), 7, "main"), 8, "worker"), 9, "worker ");
        let root = Root::from_tree(tree);
        let watched = Watched::find(&root, None, &[8]).unwrap();
        let expected = [(7, "main".to_string()), (7, "worker ".to_string())];
        assert_eq!(others(&watched, &root), BTreeSet::from(expected));
        let all = Watched::find(&root, None, &[7, 8, 9]).unwrap();
        assert!(others(&all, &root).is_empty());
        let gone = Root::from_tree(Tree::new());
        assert!(others(&watched, &gone).is_empty());
    }
}
