//! Names of CPUs on machines that exist: the fixtures, and the trees of shared/snapshots where they are there.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::{Path, PathBuf};

use pinwise_machine::cpu_groups::{self, GroupKind};
use pinwise_machine::{Class, CpuChoice, CpuSet, Machine, Root};

fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    let mut paths: Vec<PathBuf> = entries.unwrap_or_default();
    paths.sort();
    paths
}

fn fixtures() -> Vec<(String, Machine)> {
    let folders = entries("../../fixtures/machines").into_iter().filter(|path| path.is_dir());
    let machines = folders.map(|folder| {
        let archive = folder.join("capture.tar.zst");
        let root = Root::at(if archive.exists() { &archive } else { &folder }).unwrap();
        (folder.file_name().unwrap().to_string_lossy().into_owned(), Machine::read(&root))
    });
    machines.collect()
}

fn snapshots() -> Vec<(String, Machine)> {
    let mut trees = entries("../../../shared/snapshots/hwloc");
    trees.retain(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    if trees.is_empty() {
        eprintln!("skipped: ../shared/snapshots is absent, and with it the trees of real machines");
    }
    trees
        .into_iter()
        .map(|tree| (tree.display().to_string(), Machine::read_topology(&Root::at(&tree).unwrap())))
        .collect()
}

fn seen(words: &str, machine: &Machine) -> CpuSet {
    words.parse::<CpuChoice>().unwrap().of_online(machine).unwrap_or_default()
}

#[test]
fn every_name_of_every_machine_means_its_cpus() {
    for (name, machine) in fixtures().into_iter().chain(snapshots()) {
        let groups = cpu_groups::all(&machine);
        for group in &groups {
            for word in group.also.iter().chain([&group.name]) {
                assert_eq!(seen(word, &machine), group.cpus, "{name}: {word}");
            }
            assert!(group.cpus.is_subset(&machine.online()), "{name}: {}", group.name);
        }
        let names: std::collections::BTreeSet<&String> = groups.iter().map(|group| &group.name).collect();
        assert_eq!(names.len(), groups.len(), "{name}: a name that means two groups");
    }
}

#[test]
fn the_first_threads_are_one_of_each_core_and_no_group_of_a_kind_shares_a_cpu() {
    let machines = fixtures();
    assert!(machines.len() >= 10);
    for (name, machine) in machines {
        let groups = |kind| cpu_groups::of_kind(kind, &machine);
        assert_eq!(seen("smt:0", &machine).len(), groups(GroupKind::Core).len(), "{name}");
        assert_eq!(seen("smt:0-N", &machine), seen("all", &machine), "{name}");
        for kind in [GroupKind::L3, GroupKind::Llc, GroupKind::L2, GroupKind::Die, GroupKind::Package] {
            let of_kind = groups(kind);
            let all = of_kind.iter().fold(CpuSet::new(), |all, group| all.union(&group.cpus));
            let together: usize = of_kind.iter().map(|group| group.cpus.len()).sum();
            assert_eq!(all.len(), together, "{name}: {kind}");
        }
    }
}

#[test]
fn a_machine_of_one_kind_of_cores_has_no_kind_and_says_what_it_has() {
    let machines = fixtures();
    let (_, machine) = machines.iter().find(|(name, _)| name == "two-node-smt").unwrap();
    let fault = "kind:performance".parse::<CpuChoice>().unwrap().on(machine).unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks);
    assert!(fault.remedy.contains("node:0 .. node:1") && fault.remedy.contains("smt:0 .. smt:1"), "{fault}");
    assert_eq!(seen("node:1 & smt:0", machine).to_list(), "2-3");
}
