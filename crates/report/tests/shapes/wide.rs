//! Machines with many CPUs in two packages, four nodes and caches: the bars are banded, the picture of the machine stays readable.

use machine::topology::caches::{Cache, CacheType};
use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};
use study::{Facts, Role};

use crate::build::{self, Shape, deviate};
use crate::html::{check_nesting, of, section};
use crate::others;

/// Cores that share a cache of the last level.
const PER_CACHE: u32 = 8;

/// The CPUs of so many cores from `first` on: the second threads of the cores have the upper numbers.
fn threads(count: u32, first: u32, cores: u32) -> CpuSet {
    (first..first + cores).flat_map(|core| [core, core + count / 2]).collect()
}

fn machine(count: u32) -> Machine {
    let cores = count / 2;
    let cpu = |id: u32| {
        let core = id % cores;
        let (package, node) = (Some(core / (cores / 2)), Some(core / (cores / 4)));
        Cpu {
            id,
            online: true,
            allowed: Some(true),
            package,
            node,
            siblings: Some(threads(count, core, 1)),
            ..Cpu::default()
        }
    };
    let cache = |first| Cache {
        level: 3,
        kind: CacheType::Unified,
        bytes: Some(32 << 20),
        cpus: threads(count, first, PER_CACHE),
    };
    let node = |id: u32| Node { id, cpus: threads(count, id * cores / 4, cores / 4), ..Node::default() };
    Machine {
        cpus: (0..count).map(cpu).collect(),
        packages: (0..2).map(|package| threads(count, package * cores / 2, cores / 2)).collect(),
        nodes: (0..4).map(node).collect(),
        caches: (0..cores / PER_CACHE).map(|cache_of| cache(cache_of * PER_CACHE)).collect(),
        ..Machine::default()
    }
}

/// A study of each CPU of such a machine, of which CPU 37 is slow and busy with interrupts.
pub fn facts(count: u32, blocks: usize) -> Facts {
    let mut facts = build::facts(&Shape {
        title: "A wide machine",
        cpus: (0..count).collect(),
        blocks,
        figure: &|arm, index, block| {
            let mean = match (arm.role, arm.cpu) {
                (Role::Dose, _) => 0.8 * 10_200.0,
                (_, Some(37)) => 7_800.0,
                _ => 10_200.0,
            };
            mean * (1.0 + 0.004 * deviate(index, block))
        },
        counters: &|_| {
            let busy = |cpu: u32| if cpu == 37 { 240_000.0 } else { 1_000.0 };
            vec![("stat", "softirq", "", "us", (0..count).map(|cpu| (cpu, busy(cpu))).collect())]
        },
        used: &others::own_cpu,
        missing: Vec::new(),
    });
    facts.machine = machine(count);
    facts
}

#[test]
fn bars_of_64_cpus_are_banded_by_package_node_and_cache_with_labels() {
    let html = of(&facts(64, 15));
    check_nesting(&html);
    let bars = section(&html, "bars");
    let count = |part: &str| bars.matches(part).count();
    // Two packages, four nodes of eight cores, of which each has a cache: the caches part the CPUs as the nodes do.
    assert_eq!(count("class=\"part"), 2 + 4 + 1, "and one line between the packages");
    assert_eq!(count("class=\"part-edge\""), 1);
    for label in [">package 1<", ">node 3<", "node 2: CPUs 16-23,48-55"] {
        assert!(bars.contains(label), "{label}");
    }
    assert!(bars.contains("class=\"bar slow\""));
}

#[test]
fn the_picture_of_64_cpus_has_the_numbers_and_the_interrupts_in_its_cells() {
    let facts = facts(64, 15);
    let html = of(&facts);
    let places = section(&html, "places");
    let slow = facts.evidence.against_other_cpus.iter().find(|contrast| contrast.cpu == Some(37)).unwrap();
    let change = format!(">{}<", report::number::change(slow.ratio));
    for part in
        ["class=\"cell down\"", ">irq 24 %<", ">irq 0.1 %<", &change, "load h7", ">package 1<", ">node 3<"]
    {
        assert!(places.contains(part), "{part} in {places}");
    }
    assert_eq!(places.matches("class=\"track\"").count(), 64 + 1, "one a CPU, and one in the legend");
}

#[test]
fn a_thousand_cpus_have_bands_signs_and_bars_and_their_numbers_in_a_table() {
    let html = of(&facts(1024, 3));
    check_nesting(&html);
    let (bars, places) = (section(&html, "bars"), section(&html, "places"));
    // Two packages, four nodes, 64 caches; between packages one line.
    assert_eq!(bars.matches("class=\"part").count(), 2 + 4 + 64 + 1);
    assert_eq!(places.matches("class=\"track\"").count(), 1024 + 1);
    let (picture, table) = places.rsplit_once("<table>").unwrap();
    assert!(!picture.contains(">irq "), "no room for text in the cells");
    assert_eq!(table.matches("<tr>").count(), 1 + 1024);
    assert!(html.len() < 8_000_000, "{} bytes", html.len());
}
