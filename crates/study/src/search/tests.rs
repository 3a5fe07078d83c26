//! The classes against what is known, and against counting every set of small machines.

use std::collections::BTreeMap;

use machine::topology::caches::{Cache, CacheType};
use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};

use super::*;

/// A machine of `packages` x `nodes` x `cores` x `threads`, siblings numbered after all cores.
fn machine(packages: u32, nodes: u32, cores: u32, threads: u32) -> Machine {
    let all = packages * nodes * cores;
    let cpu = |id: u32| {
        let core = id % all;
        Cpu {
            id,
            online: true,
            allowed: Some(true),
            package: Some(core / (nodes * cores)),
            core: Some(core),
            node: Some(core / cores),
            siblings: Some((0..threads).map(|t| core + t * all).collect()),
            ..Cpu::default()
        }
    };
    let cpus: Vec<Cpu> = (0..all * threads).map(cpu).collect();
    let sets = |of: fn(&Cpu) -> Option<u32>| -> Vec<CpuSet> {
        let mut sets: BTreeMap<u32, CpuSet> = BTreeMap::new();
        cpus.iter().for_each(|cpu| _ = sets.entry(of(cpu).unwrap()).or_default().insert(cpu.id));
        sets.into_values().collect()
    };
    let ids = packages * nodes;
    let node = |(id, cpus): (usize, CpuSet)| Node {
        id: id as u32,
        cpus,
        distances: (0..ids).map(|to| (to, if to == id as u32 { 10 } else { 20 })).collect(),
        ..Node::default()
    };
    Machine {
        packages: sets(|cpu| cpu.package),
        nodes: sets(|cpu| cpu.node).into_iter().enumerate().map(node).collect(),
        cpus,
        ..Machine::default()
    }
}

fn symmetry(machine: &Machine) -> Symmetry {
    Symmetry::of(machine, None).unwrap()
}

fn fixture(name: &str) -> Machine {
    let path = format!("{}/../../fixtures/machines/{name}/expected.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn eight_of_two_by_two_by_sixteen_cores_are_29_classes() {
    // Two packages of two nodes of sixteen cores.
    let symmetry = symmetry(&machine(2, 2, 16, 1));
    let listed = symmetry.list(&[Sizes::server(8)], 1000);
    assert_eq!(listed.sets, Count::Exact(4_426_165_368));
    assert_eq!((listed.classes.len(), listed.of, listed.grain), (29, Count::Exact(29), Grain::Every));
    let sum = listed.classes.iter().map(|class| class.sets).fold(Count::ZERO, Count::plus);
    assert_eq!(sum, listed.sets, "every set is in exactly one class");
    assert_eq!(listed.classes[0].name, "8 cores of node 0");
    assert_eq!(listed.classes[0].server.to_list(), "0-7");
    let names: std::collections::BTreeSet<_> = listed.classes.iter().map(|class| &class.name).collect();
    assert_eq!(names.len(), 29);
}

#[test]
fn a_network_card_and_a_busy_cpu_break_the_symmetry() {
    let mut of = machine(1, 4, 6, 1);
    assert_eq!(
        symmetry(&of).count(&[Sizes::server(6)]),
        Count::Exact(9),
        "partitions of 6 into at most 4 parts"
    );
    of.devices.push(machine::devices::Device {
        name: "eth1".into(),
        node: Some(0),
        ..machine::devices::Device::default()
    });
    let with_card = symmetry(&of);
    // 0 to 6 CPUs of node 0, the others in partitions of the rest into at most 3 parts: 7+5+4+3+2+1+1.
    assert_eq!(with_card.count(&[Sizes::server(6)]), Count::Exact(23));
    assert!(with_card.differences[0].contains("eth1"), "{:?}", with_card.differences);
    let rates: BTreeMap<u32, f64> = [(7, 90_000.0)].into();
    let busy = Symmetry::of(&of, Some(&rates)).unwrap();
    assert!(busy.count(&[Sizes::server(6)]) > Count::Exact(23));
}

#[test]
fn counts_without_bound_are_added_up() {
    let mut of = machine(1, 1, 4, 1);
    let line = |irq| machine::irqs::Irq { irq, counts: Some([(2, u64::MAX)].into()), ..Default::default() };
    of.irqs = vec![line(1), line(2)];
    assert_eq!(symmetry(&of).count(&[Sizes::server(1)]), Count::Exact(2), "CPU 2, or one of the others");
}

#[test]
fn uneven_distances_leave_fewer_moves() {
    let mut of = machine(1, 4, 2, 1);
    for node in &mut of.nodes {
        let steps = |to: u32| (node.id.abs_diff(to)).min(4 - node.id.abs_diff(to));
        node.distances = (0..4).map(|to| (to, 10 + 6 * steps(to))).collect();
    }
    let ring = symmetry(&of);
    // Two CPUs: on one node, on neighbours, on opposite ones; without distances the last two are one.
    assert_eq!(ring.count(&[Sizes::server(2)]), Count::Exact(3));
    assert_eq!(symmetry(&machine(1, 4, 2, 1)).count(&[Sizes::server(2)]), Count::Exact(2));
    let listed = ring.list(&[Sizes { server: 2, load: 2 }], 1000);
    let sum = listed.classes.iter().map(|class| class.sets).fold(Count::ZERO, Count::plus);
    assert_eq!((sum, Count::Exact(listed.classes.len() as u128)), (listed.sets, listed.of));
}

#[test]
fn names_say_where_and_whether_siblings_are_used() {
    let symmetry = symmetry(&machine(2, 1, 4, 2));
    let name = |list: &str| symmetry.class_of(&CpuSet::from_list(list).unwrap(), &CpuSet::new()).name;
    assert_eq!(name("0-1,4"), "2 cores of node 0 + 1 core of node 1, siblings unused");
    assert_eq!(name("0-1,8-9"), "2 cores of node 0 with siblings");
    assert_eq!(name("0-1,8"), "2 cores of node 0 (1 with siblings)");
    let pair = symmetry.class_of(&CpuSet::single(0), &CpuSet::single(8));
    assert_eq!(pair.name, "server 1 core of node 0, siblings unused; load 1 core of node 0, siblings unused");
}

#[test]
fn too_many_classes_are_listed_coarser_and_that_is_said() {
    let symmetry = symmetry(&machine(2, 2, 16, 2));
    let sizes = [Sizes { server: 32, load: 32 }];
    let listed = symmetry.list(&sizes, 500);
    assert!(listed.of > Count::Exact(500) && listed.grain != Grain::Every);
    assert!(!listed.classes.is_empty() && listed.classes.len() <= 500, "{}", listed.classes.len());
    assert!(listed.left_out.as_ref().unwrap().contains(&listed.of.to_string()), "{:?}", listed.left_out);
    for class in &listed.classes {
        assert_eq!((class.server.len(), class.load.len()), (32, 32), "{}", class.name);
        assert!(class.server.intersection(&class.load).is_empty());
        assert_eq!(symmetry.key_of(&class.server, &class.load), class.key, "{}", class.name);
    }
}

#[test]
fn captured_machines_have_the_symmetry_that_their_facts_allow() {
    let artemis = symmetry(&fixture("artemis"));
    assert_eq!(artemis.count(&[Sizes::server(1)]), Count::Exact(3), "{:?}", artemis.differences);
    // Node 0 has the card, node 1 shares its package, nodes 2 and 3 are alike.
    let corsair = symmetry(&fixture("corsair"));
    let classes = corsair.list(&[Sizes::server(1)], 100).classes;
    let names: Vec<String> = classes.iter().map(|class| class.server.to_list()).collect();
    assert_eq!(classes.len(), 5, "CPUs 5 and 6, their siblings, the others: {names:?}");
    // Two nodes with CPUs that are not equally far from the third, which has memory alone.
    assert_eq!(symmetry(&fixture("memory-only-node")).count(&[Sizes::server(1)]), Count::Exact(2));
    assert_eq!(symmetry(&fixture("two-node-smt")).count(&[Sizes::server(1)]), Count::Exact(2));
}

/// A small machine out of numbers: nested groups, marks and a ring of nodes or none.
fn small(shape: &[u32], marked: &[u32], ring: bool) -> Machine {
    let mut of = machine(shape[0], shape[1], shape[2], shape[3]);
    let n = of.cpus.len() as u32;
    of.core_kinds = marked
        .iter()
        .map(|cpu| machine::topology::kinds::CoreKind { name: "odd".into(), cpus: CpuSet::single(cpu % n) })
        .collect();
    let nodes = of.nodes.len() as u32;
    if ring {
        for node in &mut of.nodes {
            let steps = |to: u32| (node.id.abs_diff(to)).min(nodes - node.id.abs_diff(to));
            node.distances = (0..nodes).map(|to| (to, 10 + 6 * steps(to))).collect();
        }
    }
    let half = of.cores().into_iter().take(2).flat_map(|core| core.iter().collect::<Vec<_>>()).collect();
    of.caches.push(Cache { level: 3, kind: CacheType::Unified, bytes: Some(1), cpus: half });
    of
}

/// All permutations of the CPUs that keep every pair's relation and every CPU's own facts: the symmetry by its meaning.
fn by_meaning(of: &Machine) -> Vec<Vec<usize>> {
    let n = of.cpus.len();
    let own = |c: usize| {
        let cpu = &of.cpus[c];
        let kinds: Vec<&str> =
            of.core_kinds.iter().filter(|k| k.cpus.contains(cpu.id)).map(|k| k.name.as_str()).collect();
        (kinds.join(","), of.caches.iter().any(|cache| cache.cpus.contains(cpu.id)))
    };
    let far = |a: usize, b: usize| {
        let (a, b) = (&of.cpus[a], &of.cpus[b]);
        let cached = of.caches.iter().any(|c| c.cpus.contains(a.id) && c.cpus.contains(b.id));
        let node = of.nodes.iter().find(|node| Some(node.id) == a.node).unwrap();
        (
            a.siblings == b.siblings,
            a.node == b.node,
            a.package == b.package,
            cached,
            node.distances[&b.node.unwrap()],
        )
    };
    let mut found = Vec::new();
    let mut stack: Vec<Vec<usize>> = vec![Vec::new()];
    while let Some(partial) = stack.pop() {
        let i = partial.len();
        if i == n {
            found.push(partial);
            continue;
        }
        for to in (0..n).filter(|to| !partial.contains(to)) {
            let fits = own(i) == own(to)
                && partial
                    .iter()
                    .enumerate()
                    .all(|(j, t)| far(i, j) == far(to, *t) && far(j, i) == far(*t, to));
            if fits {
                stack.push([partial.clone(), vec![to]].concat());
            }
        }
    }
    found
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]
    #[test]
    fn classes_are_the_orbits_of_all_sets(
        shape in proptest::sample::select(vec![
            [1u32, 1, 3, 2], [2, 1, 2, 1], [1, 3, 2, 1], [2, 2, 2, 1], [1, 4, 1, 2], [1, 2, 2, 2], [2, 2, 1, 1],
        ]),
        marked in proptest::collection::vec(0u32..8, 0..3),
        ring: bool,
        with_load: bool,
    ) {
        let of = small(&shape, &marked, ring);
        let symmetry = symmetry(&of);
        let moves = by_meaning(&of);
        let n = of.cpus.len();
        // Every state of every CPU; the canonical image under the listed permutations names the orbit.
        let states = if with_load { 3usize } else { 2 };
        let mut orbits: BTreeMap<(usize, usize), BTreeMap<Vec<usize>, u128>> = BTreeMap::new();
        for number in 0..states.pow(n as u32) {
            let state: Vec<usize> = (0..n).map(|c| number / states.pow(c as u32) % states).collect();
            let image = moves.iter().map(|p| p.iter().map(|to| state[*to]).collect::<Vec<_>>()).max().unwrap();
            let of_state = |s: usize| state.iter().filter(|x| **x == s).count();
            *orbits.entry((of_state(1), of_state(2))).or_default().entry(image).or_default() += 1;
        }
        for ((server, load), expected) in orbits {
            let sizes = Sizes { server, load };
            let listed = symmetry.list(&[sizes], usize::MAX);
            proptest::prop_assert_eq!(listed.of, Count::Exact(expected.len() as u128), "{:?} {:?}", sizes, &of.nodes);
            let mut found: Vec<Count> = listed.classes.iter().map(|class| class.sets).collect();
            let mut wanted: Vec<Count> = expected.values().map(|sets| Count::Exact(*sets)).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            proptest::prop_assert_eq!(found, wanted);
            for class in &listed.classes {
                proptest::prop_assert_eq!(&symmetry.key_of(&class.server, &class.load), &class.key);
            }
        }
    }
}
