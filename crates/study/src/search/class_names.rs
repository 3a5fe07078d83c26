//! What a class is called in tables.

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::wording::counted;

use super::classes::CpuClass;
use super::symmetry::Symmetry;
use super::tree::Level;

/// The name of a placement: the server's part, and the load's where it is placed.
pub(crate) fn of_pair(symmetry: &Symmetry, server: &CpuSet, load: &CpuSet) -> String {
    match load.is_empty() {
        true => of_set(symmetry, server),
        false => format!("server {}; load {}", of_set(symmetry, server), of_set(symmetry, load)),
    }
}

/// Gives classes of equal names their CPUs as well.
pub(crate) fn make_unique(classes: &mut [CpuClass]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    classes.iter().for_each(|class| *seen.entry(class.name.clone()).or_default() += 1);
    for class in classes.iter_mut().filter(|class| seen.get(&class.name).is_some_and(|times| *times > 1)) {
        class.name = match class.load.is_empty() {
            true => format!("{} (CPUs {})", class.name, class.server),
            false => format!("{} (CPUs {}; {})", class.name, class.server, class.load),
        };
    }
}

/// `4 cores of node 0 + 4 cores of node 1, siblings unused`.
fn of_set(symmetry: &Symmetry, cpus: &CpuSet) -> String {
    if cpus.is_empty() {
        return "nowhere".into();
    }
    let cores = cores(symmetry);
    let smt = cores.iter().any(|core| core.len() > 1);
    let places = places(symmetry);
    let mut marked = CpuSet::new();
    marked.extend(marked_of(symmetry, cpus));
    let ordinary = cpus.difference(&marked);
    let mut words: Vec<String> = Vec::new();
    for (place, whole) in &places {
        let here = whole.intersection(&ordinary);
        if !here.is_empty() {
            let number = cores.iter().filter(|core| !core.intersection(&here).is_empty()).count();
            let with = with_siblings(&cores, &here).filter(|_| smt);
            let with = with.map(|both| {
                if both == number { " with siblings".into() } else { format!(" ({both} with siblings)") }
            });
            words.push(format!("{}{place}{}", counted(number, "core"), with.unwrap_or_default()));
        }
    }
    words.extend(marked.iter().map(|cpu| format!("CPU {cpu}")));
    let unused = smt && with_siblings(&cores, cpus).is_none();
    format!("{}{}", words.join(" + "), if unused { ", siblings unused" } else { "" })
}

/// How many cores have more than one of their CPUs in the set; `None` for none.
fn with_siblings(cores: &[CpuSet], cpus: &CpuSet) -> Option<usize> {
    let number = cores.iter().filter(|core| core.intersection(cpus).len() > 1).count();
    (number > 0).then_some(number)
}

fn cores(symmetry: &Symmetry) -> Vec<CpuSet> {
    let tree = &symmetry.tree;
    let mut cores: Vec<CpuSet> =
        tree.at_level(Level::Core).into_iter().map(|core| tree.vertices[core].cpus.clone()).collect();
    // CPUs whose core is not known stand for themselves.
    let known: CpuSet = cores.iter().flat_map(|core| core.iter()).collect();
    let all = &tree.vertices[tree.root].cpus;
    cores.extend(all.difference(&known).iter().map(CpuSet::single));
    cores
}

/// Nodes where there are several, else caches, else packages, else the machine.
fn places(symmetry: &Symmetry) -> Vec<(String, CpuSet)> {
    let tree = &symmetry.tree;
    if symmetry.nodes.len() > 1 {
        return symmetry
            .nodes
            .iter()
            .map(|node| (format!(" of node {}", node.id), node.cpus.clone()))
            .collect();
    }
    for (level, word) in [(Level::LastCache, "cache"), (Level::Package, "package")] {
        let groups = tree.at_level(level);
        if groups.len() > 1 {
            let numbered = groups.into_iter().enumerate();
            return numbered
                .map(|(n, v)| (format!(" of {word} {n}"), tree.vertices[v].cpus.clone()))
                .collect();
        }
    }
    vec![(String::new(), tree.vertices[tree.root].cpus.clone())]
}

/// Marked CPUs are named one by one, where they are few.
fn marked_of(symmetry: &Symmetry, cpus: &CpuSet) -> Vec<u32> {
    let tree = &symmetry.tree;
    let leaves = tree.vertices.iter().filter(|v| v.children.is_empty());
    let marked: Vec<u32> = leaves.filter(|v| tree.kinds[v.kind].marked).flat_map(|v| v.cpus.iter()).collect();
    match marked.len() * 4 <= tree.vertices[tree.root].leaves.len() {
        true => marked.into_iter().filter(|cpu| cpus.contains(*cpu)).collect(),
        false => Vec::new(),
    }
}
