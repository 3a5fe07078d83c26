use super::*;
use crate::Missing;
use crate::topology::caches::Cache;
use crate::topology::cpus::Cpu;
use crate::topology::nodes::Node;

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

fn cache(level: u32, kind: CacheType, cpus: &str) -> Cache {
    Cache { level, kind, bytes: None, cpus: set(cpus) }
}

/// Two packages whose dies and clusters have the same numbers in both; CPU n and n + 8 are of one core.
fn two_packages() -> Machine {
    let cpu = |id: u32| Cpu {
        id,
        online: true,
        die: Some(id % 8 / 2 % 2),
        cluster: Some(64),
        siblings: Some([id % 8, id % 8 + 8].into_iter().collect()),
        ..Cpu::default()
    };
    let node = |id, cpus: &str| Node { id, cpus: set(cpus), ..Node::default() };
    Machine {
        cpus: (0..16).map(cpu).collect(),
        packages: vec![set("0-3,8-11"), set("4-7,12-15")],
        nodes: vec![node(0, "0-3,8-11"), node(8, "4-7,12-15"), node(250, "")],
        caches: vec![
            cache(1, CacheType::Instruction, "0,8"),
            cache(2, CacheType::Unified, "1,9"),
            cache(2, CacheType::Unified, "0,8"),
            cache(3, CacheType::Unified, "4-7,12-15"),
            cache(3, CacheType::Unified, "0-3,8-11"),
        ],
        ..Machine::default()
    }
}

fn named(kind: GroupKind, machine: &Machine) -> Vec<String> {
    of_kind(kind, machine).into_iter().map(|group| format!("{} {}", group.name, group.cpus)).collect()
}

#[test]
fn groups_are_numbered_by_their_smallest_cpu_and_nodes_as_the_kernel_does() {
    let machine = two_packages();
    assert_eq!(named(GroupKind::Node, &machine), ["node:0 0-3,8-11", "node:8 4-7,12-15", "node:250 "]);
    assert_eq!(named(GroupKind::L3, &machine), ["l3:0 0-3,8-11", "l3:1 4-7,12-15"]);
    assert_eq!(named(GroupKind::L2, &machine), ["l2:0 0,8", "l2:1 1,9"]);
    assert_eq!(named(GroupKind::Smt, &machine), ["smt:0 0-7", "smt:1 8-15"]);
    assert_eq!(of_kind(GroupKind::Core, &machine).len(), 8);
    assert_eq!(named(GroupKind::Core, &machine)[7], "core:7 7,15");
    assert_eq!(named(GroupKind::Package, &machine)[1], "package:1 4-7,12-15");
}

#[test]
fn dies_and_clusters_of_one_number_in_two_packages_are_two() {
    let machine = two_packages();
    assert_eq!(
        named(GroupKind::Die, &machine),
        ["die:0 0-1,8-9", "die:1 2-3,10-11", "die:2 4-5,12-13", "die:3 6-7,14-15"]
    );
    assert_eq!(named(GroupKind::Cluster, &machine), ["cluster:0 0-3,8-11", "cluster:1 4-7,12-15"]);
    let unplaced = Machine { packages: Vec::new(), ..machine };
    assert_eq!(named(GroupKind::Die, &unplaced), [""; 0], "of which package a die is, is not known");
}

#[test]
fn the_last_level_is_that_of_each_cpu() {
    let mut machine = two_packages();
    machine.caches.pop();
    assert_eq!(named(GroupKind::Llc, &machine), ["llc:0 0,8", "llc:1 1,9", "llc:2 4-7,12-15"]);
    assert_eq!(named(GroupKind::L3, &machine), ["l3:0 4-7,12-15"]);
}

#[test]
fn an_offline_thread_moves_the_others_up() {
    let mut machine = two_packages();
    machine.cpus[0].online = false;
    machine.cpus[0].siblings = None;
    machine.cpus[8].siblings = Some(set("8"));
    assert_eq!(named(GroupKind::Smt, &machine), ["smt:0 1-8", "smt:1 9-15"]);
    assert_eq!(named(GroupKind::Core, &machine)[7], "core:7 8");
}

#[test]
fn kinds_have_words_where_their_order_is_known() {
    let kinds = |names: [&str; 2]| {
        let of = |(name, cpus): (&str, &str)| CoreKind { name: name.into(), cpus: set(cpus) };
        vec![of((names[0], "0-1")), of((names[1], "2-3"))]
    };
    let cpus = |capacities: [u32; 4]| {
        let with = |(id, capacity)| Cpu { id, online: true, capacity: Some(capacity), ..Cpu::default() };
        (0..4).zip(capacities).map(with).collect::<Vec<_>>()
    };
    let words = |names, capacities| {
        let machine = Machine { cpus: cpus(capacities), core_kinds: kinds(names), ..Machine::default() };
        of_kind(GroupKind::Kind, &machine).into_iter().flat_map(|group| group.also).collect::<Vec<_>>()
    };
    assert_eq!(
        words(["cpu_core", "cpu_atom"], [1024; 4]),
        ["kind:performance", "kind:cpu_core", "kind:efficiency", "kind:cpu_atom"]
    );
    assert_eq!(
        words(["capacity 1024", "capacity 446"], [1024, 1024, 446, 446]),
        ["kind:performance", "kind:efficiency"]
    );
    // Favoured cores run faster and are no other kind; of mixed capacities nothing is known.
    assert_eq!(words(["base 3.50 GHz", "base 2.50 GHz"], [1024; 4]), [""; 0]);
    assert_eq!(words(["x", "y"], [1024, 1000, 446, 446]), [""; 0]);
}

#[test]
fn names_for_messages_are_short() {
    let machine = two_packages();
    let spans = |kind| span(&of_kind(kind, &machine));
    assert_eq!(spans(GroupKind::Core), "core:0 .. core:7");
    assert_eq!(spans(GroupKind::Node), "node:0, node:8, node:250");
    assert_eq!(spans(GroupKind::Kind), "");
    assert!(overview(&machine).contains("l3:0 .. l3:1; l2:0 .. l2:1"), "{}", overview(&machine));
}

#[test]
fn what_is_absent_has_its_reason() {
    let mut machine = Machine::default();
    assert_eq!(absence(GroupKind::Cluster, &machine), "its kernel reports no clusters (topology/cluster_id)");
    machine.missing.push(Missing::new("caches of CPUs 0-1", "permission denied").identified(FactId::Caches));
    assert_eq!(absence(GroupKind::L3, &machine), "caches of CPUs 0-1 could not be read: permission denied");
    assert_eq!(absence(GroupKind::Kind, &machine), "its kernel does not report several kinds of cores");
}
