//! Trees of cgroups that isolate CPUs, and others that look so.

use super::*;
use crate::limits::mounts;
use crate::{Machine, Tree, cpu_choice};

const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const V1: &str = "31 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
const TOP: &str = "/sys/fs/cgroup";

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

fn of(tree: Tree, listed: &str, at_boot: &str) -> (Isolation, Vec<String>) {
    let root = Root::from_tree(tree);
    let mut notes = Notes::new();
    let isolation = read(&root, &mounts::read(&root), Some(&set(listed)), &set(at_boot), &mut notes);
    (isolation, notes.into_vec().into_iter().map(|missing| missing.fact).collect())
}

/// Cgroup v2 whose top hands cpusets down.
fn v2() -> Tree {
    Tree::new()
        .file("/proc/self/mountinfo", V2)
        .file(&format!("{TOP}/cgroup.subtree_control"), "cpuset cpu memory\n")
}

/// A cgroup below its top that hands nothing down.
fn cgroup(tree: Tree, path: &str, partition: &str, cpus: &str) -> Tree {
    let file = |name: &str| format!("{TOP}{path}/{name}");
    tree.file(&file("cpuset.cpus.partition"), format!("{partition}\n"))
        .file(&file("cpuset.cpus.effective"), format!("{cpus}\n"))
        .file(&file("cgroup.subtree_control"), "\n")
        .file(&file("cgroup.procs"), "")
}

fn partition(cgroup: &str, cpus: &str, residents: Residents) -> SetApart {
    let by = SetBy::Partition { cgroup: cgroup.into() };
    SetApart { by, cpus: set(cpus), residents: Some(residents) }
}

#[test]
fn an_isolated_partition_with_who_lives_there() {
    let stat = crate::processes::scan::tests::stat(700, "engine", 1, 0);
    let tree = cgroup(v2(), "/rt", "isolated", "2-3")
        .file("/sys/fs/cgroup/rt/cgroup.procs", "700\n701\n")
        .file("/proc/700/stat", stat);
    let (isolation, missing) = of(tree, "", "");
    let first = vec![Resident { pid: 700, comm: "engine".into() }];
    assert_eq!(isolation.sets, [partition("/rt", "2-3", Residents { count: 2, first })]);
    assert_eq!((isolation.domains, isolation.invalid, missing), (vec![], vec![], vec![]));
}

#[test]
fn a_member_and_a_partition_of_kind_root_isolate_nothing() {
    let tree = cgroup(cgroup(v2(), "/web", "root", "0-1"), "/batch", "member", "2-3");
    let (isolation, missing) = of(tree, "", "");
    assert_eq!(isolation.cpus(), CpuSet::new());
    assert_eq!(isolation.domains, [Domain { cgroup: "/web".into(), cpus: set("0-1") }]);
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_partition_that_the_kernel_refused_isolates_nothing() {
    let tree = cgroup(v2(), "/rt", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "0-3");
    let (isolation, _) = of(tree, "", "");
    let why = Some("Cpu list in cpuset.cpus not exclusive".to_string());
    let invalid = InvalidPartition { cgroup: "/rt".into(), asked: PartitionKind::Isolated, why };
    assert_eq!((isolation.cpus(), isolation.invalid), (CpuSet::new(), vec![invalid]));
}

#[test]
fn partitions_are_looked_for_where_cpusets_are_handed_down_and_nowhere_else() {
    let deep = |tree: Tree| cgroup(cgroup(tree, "/a", "root", "0-3"), "/a/rt", "isolated", "3");
    let handed_down = deep(v2()).file("/sys/fs/cgroup/a/cgroup.subtree_control", "cpuset\n");
    assert_eq!(of(handed_down, "", "").0.cpus(), set("3"));
    // The file of a cgroup that has lost the controller would not be there.
    assert_eq!(of(deep(v2()), "", "").0.cpus(), CpuSet::new());
    let without = Tree::new()
        .file("/proc/self/mountinfo", V2)
        .file("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
    assert_eq!(of(without, "", ""), (Isolation::default(), vec![]));
}

#[test]
fn below_a_member_are_partitions_only_where_it_passes_exclusive_cpus_on() {
    let deep = cgroup(cgroup(v2(), "/a", "member", "0-3"), "/a/rt", "isolated", "3")
        .file("/sys/fs/cgroup/a/cgroup.subtree_control", "cpuset\n")
        .denied("/sys/fs/cgroup/a/b/cpuset.cpus.partition");
    let with = |exclusive: &str| {
        let tree = deep.clone().file("/sys/fs/cgroup/a/cpuset.cpus.exclusive.effective", exclusive);
        let (isolation, missing) = of(tree, "", "");
        (isolation.cpus().to_list(), missing)
    };
    assert_eq!(with("3\n"), ("3".to_string(), vec!["partition of cgroup /a/b".to_string()]));
    // Nothing below is read: what cannot be read there is not missing.
    assert_eq!(with("\n"), (String::new(), vec![]));
    let (before_6_7, missing) = of(deep.clone(), "", "");
    assert_eq!((before_6_7.cpus(), missing), (CpuSet::new(), vec![]));
    // What says so cannot be read itself.
    let tree = deep.clone().denied("/sys/fs/cgroup/a/cpuset.cpus.exclusive.effective");
    assert_eq!(of(tree, "", "").0.cpus(), set("3"));
    // A container that is a member.
    let inside = deep
        .file("/sys/fs/cgroup/cgroup.type", "domain\n")
        .file("/sys/fs/cgroup/cpuset.cpus.partition", "member\n");
    let (isolation, missing) = of(inside, "", "");
    assert_eq!((isolation.cpus(), missing.len()), (CpuSet::new(), 1));
}

#[test]
fn the_kernels_list_is_parted_into_the_command_line_partitions_and_what_cannot_be_seen() {
    // A newer kernel, whose list has the partition too, and CPU 7 from somewhere else.
    let tree = cgroup(v2(), "/rt", "isolated", "2-3").file("/sys/fs/cgroup/cpuset.cpus.isolated", "1-3\n");
    let (isolation, missing) = of(tree, "1-3,7", "1");
    let other = |by, cpus| SetApart { by, cpus: set(cpus), residents: None };
    assert_eq!(
        isolation.sets,
        [other(SetBy::Boot, "1"), partition("/rt", "2-3", Residents::default()), other(SetBy::Unseen, "7")]
    );
    assert_eq!(missing, Vec::<String>::new());
    // What the partition holds beyond its CPUs in force is offline, and no riddle.
    let tree = cgroup(v2(), "/rt", "isolated", "2")
        .file("/sys/fs/cgroup/rt/cpuset.cpus.exclusive.effective", "2-3\n")
        .file("/sys/fs/cgroup/cpuset.cpus.isolated", "2-3\n");
    assert_eq!(of(tree, "", "").0.sets, [partition("/rt", "2", Residents::default())]);
}

#[test]
fn a_container_says_that_it_sees_a_part_only() {
    let tree = cgroup(v2(), "", "isolated", "2-3").file("/sys/fs/cgroup/cgroup.type", "domain\n");
    let (isolation, missing) = of(tree, "", "");
    assert_eq!(isolation.sets, [partition("/", "2-3", Residents::default())]);
    assert_eq!(missing, ["CPUs that cpusets isolate outside of this container"]);
    // Its version 2 has no cpusets: they are not handed down to it, or of version 1, where no partitions are.
    let without = Tree::new()
        .file("/proc/self/mountinfo", V2)
        .file("/sys/fs/cgroup/cgroup.subtree_control", "memory\n")
        .file("/sys/fs/cgroup/cgroup.controllers", "memory\n")
        .file("/sys/fs/cgroup/cgroup.type", "domain\n");
    let (_, missing) = of(without.clone().file("/proc/self/cgroup", "0::/\n"), "", "");
    assert_eq!(missing, ["CPUs that cpusets isolate outside of this container"]);
    let hybrid = without.file("/proc/self/cgroup", "5:cpuset:/docker/ab\n0::/docker/ab\n");
    assert_eq!(of(hybrid, "", ""), (Isolation::default(), vec![]));
}

#[test]
fn whether_a_partition_may_be_there() {
    let may = |tree: Tree| {
        let root = Root::from_tree(tree);
        may_have_partitions(&root, &mounts::read(&root).unwrap_or_default())
    };
    assert!(!may(cgroup(v2(), "/a", "member", "0-3")));
    for partition in ["root", "isolated", "root invalid (Parent is not a partition root)", "perhaps"] {
        assert!(may(cgroup(v2(), "/a", partition, "2-3")), "{partition}");
    }
    assert!(may(v2().file("/sys/fs/cgroup/cgroup.type", "domain\n")), "a container");
    assert!(!may(v1("0", &[])), "version 1 has none");
    assert!(may(Tree::new().file("/proc/self/cgroup", "0::/a.slice\n")), "nothing is mounted");
    assert!(!may(Tree::new().file("/proc/self/cgroup", "3:cpuset:/a\n0::/a\n")));
    assert!(!may(Tree::new().file("/proc/self/cgroup", "0::/\n")));
}

#[test]
fn what_cannot_be_read_is_missing() {
    let (isolation, missing) = of(Tree::new().file("/proc/self/mountinfo", V2), "", "");
    assert_eq!((isolation, missing), (Isolation::default(), vec![FACT.to_string()]));
    let (_, missing) = of(Tree::new(), "", "");
    assert_eq!(missing, [FACT]);
    let nowhere = Tree::new().file("/proc/self/mountinfo", "").file("/proc/self/cgroup", "0::/a.slice\n");
    assert_eq!(of(nowhere, "", "").1, [FACT]);
    let none = Tree::new().file("/proc/self/mountinfo", "").file("/proc/self/cgroup", "0::/\n");
    assert_eq!(of(none, "", "").1, Vec::<String>::new());
    let denied = v2().denied("/sys/fs/cgroup/rt/cpuset.cpus.partition");
    assert_eq!(of(denied, "", "").1[0], "partition of cgroup /rt");
    let odd = cgroup(v2(), "/rt", "perhaps", "2-3");
    assert_eq!(of(odd, "", "").1, ["partition of cgroup /rt"]);
    let odd = cgroup(v2(), "/rt", "isolated", "2-");
    assert_eq!(of(odd, "", "").1, ["CPUs of the partition /rt"]);
}

/// Cgroup v1 of four CPUs: the top balances or does not, and these cpusets below do or do not.
fn v1(top: &str, below: &[(&str, &str, &str)]) -> Tree {
    let mut tree = Tree::new()
        .file("/proc/self/mountinfo", V1)
        .file("/sys/fs/cgroup/cpuset/release_agent", "\n")
        .file("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", format!("{top}\n"))
        .file("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
    for (path, balances, cpus) in below {
        let file = |name: &str| format!("/sys/fs/cgroup/cpuset{path}/{name}");
        tree = tree
            .file(&file("cpuset.sched_load_balance"), format!("{balances}\n"))
            .file(&file("cpuset.effective_cpus"), format!("{cpus}\n"))
            .file(&file("cpuset.cpu_exclusive"), "1\n")
            .file(&file("cgroup.procs"), "");
    }
    tree
}

fn off(cgroup: &str, cpus: &str) -> SetApart {
    let residents = (cgroup != "/").then(Residents::default);
    SetApart { by: SetBy::LoadBalanceOff { cgroup: cgroup.into() }, cpus: set(cpus), residents }
}

#[test]
fn cpusets_of_version_1_isolate_what_none_of_them_balances() {
    let (isolation, missing) = of(v1("0", &[("/system", "1", "0-1"), ("/rt", "0", "2")]), "", "");
    assert_eq!(isolation.sets, [off("/", "3"), off("/rt", "2")]);
    assert_eq!(missing, Vec::<String>::new());
    // A smaller one that balances takes its CPU out of the larger one.
    let (isolation, _) =
        of(v1("0", &[("/system", "1", "0-1"), ("/rt", "0", "2-3"), ("/rt/in", "1", "3")]), "", "");
    assert_eq!(isolation.sets, [off("/rt", "2")]);
    // Those of the command line are named once.
    let (isolation, _) = of(v1("0", &[("/system", "1", "0-1")]), "3", "3");
    assert_eq!(isolation.sets[1..], [off("/", "2")]);
}

#[test]
fn exclusive_cpusets_below_a_top_that_balances_isolate_nothing() {
    let (isolation, missing) = of(v1("1", &[("/rt", "0", "2-3")]), "", "");
    assert_eq!((isolation, missing), (Isolation::default(), vec![]));
}

#[test]
fn cpusets_of_version_1_that_cannot_be_seen_whole_are_missing() {
    let root = Root::from_tree(v1("0", &[]).denied("/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance"));
    let mut notes = Notes::new();
    let isolation = read(&root, &mounts::read(&root), None, &CpuSet::new(), &mut notes);
    assert_eq!((isolation, notes.into_vec().len()), (Isolation::default(), 1));
    for tree in [
        Tree::new().file("/proc/self/mountinfo", V1),
        v1("2", &[]),
        // Without release_agent it is not the top.
        Tree::new()
            .file("/proc/self/mountinfo", V1)
            .file("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0\n")
            .file("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"),
    ] {
        assert_eq!(of(tree, "", ""), (Isolation::default(), vec![FACT.to_string()]));
    }
}

#[test]
fn a_partition_counts_wherever_isolated_cpus_are_asked_for() {
    let tree = cgroup(v2(), "/rt", "isolated", "2-3")
        .file("/sys/devices/system/cpu/possible", "0-3\n")
        .file("/sys/devices/system/cpu/present", "0-3\n")
        .file("/sys/devices/system/cpu/online", "0-3\n")
        .file("/sys/devices/system/cpu/isolated", "1\n")
        .file("/proc/cmdline", "isolcpus=1\n");
    let tree = (0..4).fold(tree, |tree, cpu| tree.dir(&format!("/sys/devices/system/cpu/cpu{cpu}")));
    let machine = Machine::read(&Root::from_tree(tree));
    assert_eq!((machine.kernel.isolated.clone(), machine.isolated()), (Some(set("1")), Some(set("1-3"))));
    assert_eq!(machine.isolation.sets[0].by, SetBy::Boot);
    assert_eq!(cpu_choice::resolve("isolated", &machine).unwrap(), set("1-3"));
    assert_eq!(Machine::default().isolated(), None);
}

#[test]
fn a_partition_that_the_kernel_lists_is_none_of_the_command_lines() {
    let sets = |cmdline: &str, listed: &str| {
        let tree = cgroup(v2(), "/rt", "isolated", "2-3")
            .file("/sys/devices/system/cpu/possible", "0-3\n")
            .file("/sys/devices/system/cpu/isolated", format!("{listed}\n"))
            .file("/proc/cmdline", format!("{cmdline}\n"));
        let sets = Machine::read(&Root::from_tree(tree)).isolation.sets;
        sets.into_iter().map(|set| (set.by, set.cpus.to_list())).collect::<Vec<_>>()
    };
    let partition = || (SetBy::Partition { cgroup: "/rt".into() }, "2-3".to_string());
    for cmdline in ["isolcpus=all", "isolcpus=what", "isolcpus=domain,N", "quiet"] {
        assert_eq!(sets(cmdline, "2-3"), [partition()], "{cmdline}");
    }
    assert_eq!(sets("isolcpus=1", "1-3"), [(SetBy::Boot, "1".to_string()), partition()]);
    assert_eq!(sets("isolcpus=all", "0,2-3"), [partition(), (SetBy::Unseen, "0".to_string())]);
}

proptest::proptest! {
    #[test]
    fn no_tree_makes_it_panic(
        partition in "(member|root|isolated)( invalid)?.{0,12}", cpus in "[0-9,-]{0,8}", control in "(cpuset)?.{0,8}",
        balance in "[01x]", path in "(/[a-z.]{1,4}){0,3}",
    ) {
        let tree = cgroup(v2(), &path, &partition, &cpus)
            .file(&format!("{TOP}{path}/cgroup.subtree_control"), control.as_bytes());
        let _ = of(tree, "", "");
        let _ = of(v1(&balance, &[(path.as_str(), balance.as_str(), cpus.as_str())]), "0", "");
    }
}
