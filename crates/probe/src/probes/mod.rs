//! The probes: one file each, listed in [`ALL`]. To add one, write its file here and put it into the list.

pub(crate) mod cpufreq;
mod cpuidle;
mod disks;
mod energy;
mod interrupts;
mod memory;
mod network;
mod pressure;
mod quota;
mod softirqs;
mod stat;
mod threads;

use machine::{Missing, Root};

use crate::rows::{Rows, because};

/// What a probe is, for `pinwise list probes` and the manual.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name in rows and findings: lower case, stays for ever.
    pub id: &'static str,
    /// What it tells, in one line.
    pub title: &'static str,
    /// What it reads, what the rows mean, and how they mislead.
    pub docs: &'static str,
    /// Files that it reads, with `*` and `PID` in place of numbers.
    pub files: &'static [&'static str],
    /// Whether it reads several files a CPU: left out where that takes too long to be done ten times a second.
    pub dear: bool,
}

/// Reads counters of one kind, from any root.
pub trait Probe: Sync {
    /// What it is.
    fn about(&self) -> &About;

    /// What this root lacks for it, with the remedy; nothing if all is there.
    fn needs(&self, root: &Root) -> Vec<Missing>;

    /// Reads once, into the frame that is open. A fact that is missing among others goes to [`Rows::missing`].
    ///
    /// # Errors
    /// When nothing could be read: what, and why.
    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing>;
}

/// All probes, in the order in which they are read.
pub static ALL: &[&dyn Probe] = &[
    &interrupts::Interrupts,
    &softirqs::Softirqs,
    &stat::Stat,
    &pressure::Pressure,
    &memory::Memory,
    &network::Network,
    &disks::Disks,
    &threads::Threads,
    &quota::Quota,
    &cpuidle::Cpuidle,
    &cpufreq::Cpufreq,
    &energy::Energy,
];

/// Notes the files among `paths` that cannot be read.
fn unreadable(root: &Root, paths: &[&str]) -> Vec<Missing> {
    paths.iter().filter_map(|path| root.read_bytes(path).err().map(|e| because(path, &e))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use machine::Tree;

    use super::*;

    #[test]
    fn every_probe_keeps_the_promises_of_the_list() {
        let ids: BTreeSet<&str> = ALL.iter().map(|probe| probe.about().id).collect();
        assert_eq!(ids.len(), ALL.len(), "ids are unique");
        for about in ALL.iter().map(|probe| probe.about()) {
            assert!(
                !about.title.is_empty() && !about.docs.is_empty() && !about.files.is_empty(),
                "{}",
                about.id
            );
            assert!(about.id.bytes().all(|b| b.is_ascii_lowercase()), "{}", about.id);
        }
    }

    #[test]
    fn the_folder_and_the_list_are_the_same() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/probes");
        let mut files: BTreeSet<String> = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            files.insert(path.file_stem().unwrap().to_str().unwrap().to_string());
        }
        files.remove("mod");
        assert_eq!(files, ALL.iter().map(|probe| probe.about().id.to_string()).collect());
    }

    #[test]
    fn on_an_empty_machine_every_probe_says_what_it_needs_and_none_panics() {
        let root = Root::from_tree(Tree::new());
        for probe in ALL {
            let id = probe.about().id;
            let mut rows = Rows::new(&root, Some(machine::ProcessRef { pid: 1, start_time_ticks: 1 }));
            rows.begin_frame(1, 1, 0, true);
            rows.begin_probe(id);
            assert!(probe.read(&root, &mut rows).is_err(), "{id}");
            assert!(!probe.needs(&root).is_empty(), "{id}");
        }
    }
}
