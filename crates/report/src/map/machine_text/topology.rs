//! CPUs, caches, nodes and packages, the smaller within the larger.

use std::collections::BTreeMap;

use machine::topology::caches::{Cache, CacheType};
use machine::wording::counted;
use machine::{CpuSet, Machine};

use super::lines::wrapped;
use super::memory;
use super::quantities::{cpus, size};
use crate::display_width::{padded, width};
use crate::grid::{self, Side};
use crate::map::distances_text;
use crate::visible::one_line;

pub(super) fn section(machine: &Machine) -> String {
    let mut text = headline(machine);
    text.push_str(&exceptions(machine));
    text.push_str(&tree(machine));
    text.push_str(&caches(machine));
    text.push_str(&distances(machine));
    text.extend(machine.measured_distances.as_ref().map(distances_text::within_a_map));
    text.push_str(&memory::section(machine));
    text
}

fn headline(machine: &Machine) -> String {
    let online = machine.online();
    if online.is_empty() {
        return "CPUs  not known\n".into();
    }
    let mut words = vec![counted(online.len(), "CPU") + " online"];
    let cores = machine.cores();
    if !cores.is_empty() {
        let widest = cores.iter().map(CpuSet::len).max().unwrap_or(1);
        let threads = if widest > 1 { format!(" of up to {widest} threads") } else { String::new() };
        words.push(counted(cores.len(), "core") + &threads);
    }
    if !machine.packages.is_empty() {
        words.push(counted(machine.packages.len(), "package"));
    }
    if !machine.nodes.is_empty() {
        words.push(counted(machine.nodes.len(), "NUMA node"));
    }
    words.extend(machine.memory_bytes.map(|bytes| size(bytes) + " of memory"));
    format!("{}\n", words.join(", "))
}

/// CPUs that a server cannot simply be put on.
fn exceptions(machine: &Machine) -> String {
    let of = |wanted: fn(&machine::topology::cpus::Cpu) -> bool| -> CpuSet {
        machine.cpus.iter().filter(|cpu| wanted(cpu)).map(|cpu| cpu.id).collect()
    };
    let isolated = machine.isolated().unwrap_or_default();
    let nohz_full = machine.kernel.nohz_full.clone().unwrap_or_default();
    let kinds = [
        ("offline", of(|cpu| !cpu.online)),
        ("not allowed to this process", of(|cpu| cpu.online && cpu.allowed == Some(false))),
        ("isolated from the scheduler", isolated),
        ("without tick while one task runs (nohz_full)", nohz_full),
    ];
    let present = kinds.iter().filter(|(_, set)| !set.is_empty());
    let mut text: String = present.map(|(kind, set)| format!("  {kind}: {}\n", cpus(set))).collect();
    match machine.core_kinds.is_empty() {
        true => text.push_str(&speeds(machine)),
        false => {
            let kinds = machine.core_kinds.iter();
            text.extend(
                kinds.map(|kind| format!("  cores of kind {}: {}\n", one_line(&kind.name), cpus(&kind.cpus))),
            );
        }
    }
    text
}

/// The CPUs of each highest frequency, where there are several: hybrid machines, favoured cores.
fn speeds(machine: &Machine) -> String {
    let mut of_speed: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for cpu in &machine.cpus {
        if let Some(khz) = cpu.max_frequency_khz {
            of_speed.entry(khz).or_default().insert(cpu.id);
        }
    }
    if of_speed.len() < 2 {
        return String::new();
    }
    let lines = of_speed.iter().rev();
    lines.map(|(khz, set)| format!("  up to {:.2} GHz: {}\n", *khz as f64 / 1e6, cpus(set))).collect()
}

/// One thing that has CPUs. The kinds are in the order in which one contains the other when both have the same CPUs.
struct Part {
    rank: u8,
    label: String,
    cpus: CpuSet,
    /// Whether it shares CPUs with another of its kind (wrong firmware tables): then nothing can be said to be in it.
    contested: bool,
}

/// Packages, nodes and last-level caches; which of them contains which differs between machines.
fn parts(machine: &Machine) -> Vec<Part> {
    let package = |cpus: &CpuSet| {
        let id = cpus.first().and_then(|cpu| machine.cpu(cpu)?.package);
        Part {
            rank: 0,
            label: id.map_or("package".into(), |id| format!("package {id}")),
            cpus: cpus.clone(),
            contested: false,
        }
    };
    let mut parts: Vec<Part> = machine.packages.iter().map(package).collect();
    for node in &machine.nodes {
        let memory = node
            .memory_bytes
            .map_or("memory not known".into(), |b| if b == 0 { "no memory".into() } else { size(b) });
        let others = machine.nodes.iter().filter(|other| other.id != node.id);
        let contested = others.into_iter().any(|other| !other.cpus.intersection(&node.cpus).is_empty());
        let label = format!("node {}  {memory}{}", node.id, if contested { ", contested" } else { "" });
        parts.push(Part { rank: 1, label, cpus: node.cpus.clone(), contested });
    }
    for cache in last_level(machine) {
        let bytes = cache.bytes.map_or("size not known".into(), size);
        parts.push(Part {
            rank: 2,
            label: format!("L{}  {bytes}", cache.level),
            cpus: cache.cpus.clone(),
            contested: false,
        });
    }
    parts.sort_by(|a, b| {
        let larger_first = b.cpus.len().cmp(&a.cpus.len());
        larger_first.then_with(|| (a.rank, a.cpus.first()).cmp(&(b.rank, b.cpus.first())))
    });
    parts
}

/// The last-level caches that more than one core shares; a private one says nothing about neighbours.
fn last_level(machine: &Machine) -> Vec<&Cache> {
    let mut caches: Vec<&Cache> = Vec::new();
    for cpu in machine.online().iter() {
        let Some(cache) = machine.last_level_cache(cpu) else { continue };
        let core = machine.cpu(cpu).and_then(|c| c.siblings.as_ref());
        let private =
            core.is_some_and(|core| cache.cpus.is_subset(core)) && machine.online().len() > core_len(core);
        if !private && !caches.iter().any(|known| std::ptr::eq(*known, cache)) {
            caches.push(cache);
        }
    }
    caches
}

fn core_len(core: Option<&CpuSet>) -> usize {
    core.map_or(1, CpuSet::len)
}

fn tree(machine: &Machine) -> String {
    let parts = parts(machine);
    // The parent is the last (so the smallest) part before it that contains it.
    let parent_of = |index: usize| {
        let inner = &parts[index];
        let holds = |outer: &Part| !outer.contested && inner.cpus.is_subset(&outer.cpus);
        (0..index).rev().find(|i| !inner.cpus.is_empty() && !inner.contested && holds(&parts[*i]))
    };
    let parents: Vec<Option<usize>> = (0..parts.len()).map(parent_of).collect();
    let mut rows = Vec::new();
    let mut todo: Vec<(usize, usize)> =
        children(&parts, &parents, None).into_iter().rev().map(|i| (i, 1)).collect();
    while let Some((index, depth)) = todo.pop() {
        let part = &parts[index];
        let inner = children(&parts, &parents, Some(index));
        let cores =
            if inner.is_empty() && !part.contested { threads(machine, &part.cpus) } else { String::new() };
        rows.push(vec![format!("{}{}", "  ".repeat(depth), part.label), cpus(&part.cpus), cores]);
        todo.extend(inner.into_iter().rev().map(|i| (i, depth + 1)));
    }
    broken(rows)
}

/// Parts right below another, in order of their CPUs; parts without CPUs and contested ones last.
fn children(parts: &[Part], parents: &[Option<usize>], parent: Option<usize>) -> Vec<usize> {
    let mut inner: Vec<usize> = (0..parts.len()).filter(|i| parents[*i] == parent).collect();
    let apart = |part: &Part| part.cpus.is_empty() || part.contested;
    inner.sort_by_key(|i| (apart(&parts[*i]), parts[*i].cpus.first(), parts[*i].rank));
    inner
}

/// The cores within a set, `0+64 1+65`; nothing when each has one CPU only.
fn threads(machine: &Machine, within: &CpuSet) -> String {
    let cores: Vec<CpuSet> = machine.cores().into_iter().filter(|core| core.is_subset(within)).collect();
    if cores.iter().all(|core| core.len() <= 1) {
        return String::new();
    }
    let plus = |core: &CpuSet| core.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join("+");
    format!("cores {}", cores.iter().map(plus).collect::<Vec<_>>().join(" "))
}

/// Rows below each other, with long lists of cores broken into several lines.
fn broken(rows: Vec<Vec<String>>) -> String {
    let plain: Vec<Vec<String>> = rows.iter().map(|row| row[..2].to_vec()).collect();
    let plain = grid::lines(&[Side::Left, Side::Left], &plain, 0);
    let start = plain.lines().map(width).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (line, row) in plain.lines().zip(&rows) {
        let start = start.min(60);
        match (row[2].is_empty(), width(line) < start) {
            (true, _) => text.push_str(&format!("{line}\n")),
            (false, true) => text.push_str(&wrapped(&padded(line, start), &row[2], start + 6)),
            (false, false) => text.push_str(&format!("{line}\n{}", wrapped(&" ".repeat(12), &row[2], 18))),
        }
    }
    text
}

/// One line for each kind of cache: how large, how many, shared by how many CPUs.
fn caches(machine: &Machine) -> String {
    let mut kinds: BTreeMap<(u32, CacheType, Option<u64>, usize), usize> = BTreeMap::new();
    for cache in &machine.caches {
        *kinds.entry((cache.level, cache.kind, cache.bytes, cache.cpus.len())).or_default() += 1;
    }
    if kinds.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = kinds
        .into_iter()
        .map(|((level, kind, bytes, shared), count)| {
            let kind = match kind {
                CacheType::Data => "data",
                CacheType::Instruction => "instruction",
                CacheType::Unified => "unified",
            };
            let share =
                if shared == 1 { "of one CPU each".into() } else { format!("shared by {shared} CPUs each") };
            vec![
                format!("L{level} {kind}"),
                count.to_string(),
                format!("x {}", bytes.map_or("unknown size".into(), size)),
                if count == 1 { share.trim_end_matches(" each").to_string() } else { share },
            ]
        })
        .collect();
    format!("\nCaches\n{}", grid::lines(&[Side::Left, Side::Right, Side::Left, Side::Left], &rows, 2))
}

/// The table of distances, from row to column; nothing with one node.
fn distances(machine: &Machine) -> String {
    let with_distances: Vec<_> = machine.nodes.iter().filter(|node| !node.distances.is_empty()).collect();
    if machine.nodes.len() < 2 || with_distances.is_empty() {
        return String::new();
    }
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(machine.nodes.iter().map(|node| node.id.to_string()));
    for node in with_distances {
        let mut row = vec![format!("node {}", node.id)];
        let to = |other: &machine::topology::nodes::Node| node.distances.get(&other.id);
        row.extend(machine.nodes.iter().map(|other| to(other).map_or("-".into(), u32::to_string)));
        rows.push(row);
    }
    let sides = vec![Side::Right; machine.nodes.len() + 1];
    format!(
        "\nDistances between nodes, as the firmware reports them (10 is local)\n{}",
        grid::lines(&sides, &rows, 2)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::topology::cpus::Cpu;
    use machine::topology::nodes::Node;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// Cores of two threads, `cpu` and `cpu + cores`, two packages of one node each, and a node of memory only.
    fn two_packages() -> Machine {
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            package: Some(id % 4 / 2),
            siblings: Some([id % 4, id % 4 + 4].into_iter().collect()),
            ..Cpu::default()
        };
        let node = |id, cpus, bytes| Node {
            id,
            cpus: set(cpus),
            memory_bytes: Some(bytes),
            distances: [(0, 10), (1, 21), (8, 30)].into(),
            ..Node::default()
        };
        let l3 = |cpus| Cache { level: 3, kind: CacheType::Unified, bytes: Some(16 << 20), cpus: set(cpus) };
        Machine {
            cpus: (0..8).map(cpu).collect(),
            packages: vec![set("0-1,4-5"), set("2-3,6-7")],
            nodes: vec![node(0, "0-1,4-5", 1 << 30), node(1, "2-3,6-7", 0), node(8, "", 1 << 29)],
            caches: vec![l3("0-1,4-5"), l3("2-3,6-7")],
            ..Machine::default()
        }
    }

    #[test]
    fn the_smaller_stands_within_the_larger() {
        let text = section(&two_packages());
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines[0], "8 CPUs online, 4 cores of up to 2 threads, 2 packages, 3 NUMA nodes");
        assert_eq!(
            lines[1..8],
            [
                "  package 0            CPUs 0-1,4-5",
                "    node 0  1 GiB      CPUs 0-1,4-5",
                "      L3  16 MiB       CPUs 0-1,4-5  cores 0+4 1+5",
                "  package 1            CPUs 2-3,6-7",
                "    node 1  no memory  CPUs 2-3,6-7",
                "      L3  16 MiB       CPUs 2-3,6-7  cores 2+6 3+7",
                "  node 8  512 MiB      no CPUs",
            ],
            "{text}"
        );
        assert!(text.contains("L3 unified  2  x 16 MiB  shared by 4 CPUs each"), "{text}");
        assert!(text.contains("  node 1  10  21  30"), "{text}");
    }

    #[test]
    fn nodes_that_claim_the_same_cpus_hold_nothing() {
        let mut machine = two_packages();
        machine.nodes[1].cpus = set("0-7");
        let text = section(&machine);
        assert!(text.contains("\n  node 0  1 GiB, contested"), "{text}");
        assert!(text.contains("\n  node 1  no memory, contested"), "{text}");
        assert!(text.contains("\n  package 0"), "{text}");
    }

    #[test]
    fn cpus_that_cannot_simply_be_used_are_named() {
        let mut machine = two_packages();
        machine.cpus[7] = Cpu { id: 7, ..Cpu::default() };
        machine.cpus[6].allowed = Some(false);
        machine.cpus[0].max_frequency_khz = Some(5_000_000);
        machine.cpus[1].max_frequency_khz = Some(3_500_000);
        machine.kernel.isolated = Some(set("2-3"));
        let text = section(&machine);
        for line in [
            "  offline: CPU 7",
            "  not allowed to this process: CPU 6",
            "  isolated from the scheduler: CPUs 2-3",
            "  up to 5.00 GHz: CPU 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
    }
}
