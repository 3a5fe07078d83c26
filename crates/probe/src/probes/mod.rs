//! The probes: one file each, listed in [`ALL`]. To add one, write its file here and put it into the list.

pub(crate) mod cpufreq;
mod cpuidle;
mod disks;
mod energy;
mod interrupts;
mod memory;
mod network;
mod pressure;
mod probe;
mod quota;
mod softirqs;
mod stat;
mod threads;

use probe::unreadable;
pub use probe::{About, Probe};

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use machine::{Root, Tree};

    use super::*;
    use crate::rows::Rows;

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
        // The list, and the trait.
        for file in ["mod", "probe"] {
            assert!(files.remove(file), "{file}");
        }
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
