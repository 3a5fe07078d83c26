//! CPUs, nodes, memory: what firmware shows of the hardware, and what of it is in use.

use std::collections::BTreeSet;

use machine::topology::caches::CacheType;
use machine::{CpuSet, FactId, Machine};

use super::super::FeatureId;
use super::super::layout::{Layout, is_unread};
use super::super::words;
use super::found::{Facts, MOST};

pub(super) fn collect(machine: &Machine, layout: &Layout, facts: &mut Facts<'_>) {
    cpus(machine, layout, facts);
    nodes(machine, facts);
    memory(machine, facts);
    unreadable(machine, facts);
}

fn cpus(machine: &Machine, layout: &Layout, facts: &mut Facts<'_>) {
    if machine.cpus.is_empty() {
        return;
    }
    facts.text(FeatureId::CpusPresent, "", machine.cpus.len().to_string());
    let offline: CpuSet = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    // Where SMT is switched off, every core still has its first thread.
    let switched_off = matches!(machine.kernel.smt.as_deref(), Some("off" | "forceoff"));
    let offline = if switched_off && layout.is_whole() { CpuSet::new() } else { offline };
    facts.cpus(FeatureId::CpusOffline, "", Some(&offline));
    facts.known(FeatureId::Smt, "", smt(machine, layout));
    let mut packages: Vec<&CpuSet> = machine.packages.iter().collect();
    packages.sort();
    for (number, package) in packages.iter().copied().take(MOST).enumerate().filter(|_| packages.len() > 1) {
        facts.cpus(FeatureId::PackageCpus, &format!("package {number}"), Some(package));
    }
    facts.known(FeatureId::CacheSharing, "", cache_sharing(machine, layout));
}

/// What the kernel says; on kernels before 4.19, which say nothing, what the cores show.
fn smt(machine: &Machine, layout: &Layout) -> Option<String> {
    let state = match machine.kernel.smt.as_deref() {
        Some("off") => "off",
        Some("forceoff") => "off for good",
        Some("notsupported") => "none",
        Some(other) => other,
        None if layout.online.iter().any(|core| core.len() > 1) => "on",
        None => return None,
    };
    Some(state.to_string())
}

/// How many cores each last-level cache has: `level 3 of 3 cores`.
fn cache_sharing(machine: &Machine, layout: &Layout) -> Option<String> {
    if is_unread(machine, &FactId::Caches) || !layout.is_whole() {
        return None;
    }
    let firsts: CpuSet = layout.online.iter().filter_map(CpuSet::first).collect();
    let shared = machine.caches.iter().filter(|cache| cache.kind != CacheType::Instruction);
    let level = shared.clone().map(|cache| cache.level).max()?;
    let last = shared.filter(|cache| cache.level == level);
    let cores: BTreeSet<usize> =
        last.map(|cache| cache.cpus.iter().filter(|cpu| firsts.contains(*cpu)).count()).collect();
    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
    Some(format!("level {level} of {} cores", cores.join(" or ")))
}

fn nodes(machine: &Machine, facts: &mut Facts<'_>) {
    if machine.nodes.is_empty() {
        return;
    }
    let ids: CpuSet = machine.nodes.iter().map(|node| node.id).collect();
    facts.cpus(FeatureId::Nodes, "", Some(&ids));
    for node in machine.nodes.iter().take(MOST) {
        let subject = format!("node {}", node.id);
        let unread = is_unread(machine, &FactId::CpusOfNode(node.id));
        facts.cpus(FeatureId::NodeCpus, &subject, Some(&node.cpus).filter(|_| !unread));
        facts.bytes(FeatureId::NodeMemory, &subject, node.memory_bytes);
        let distances: Vec<String> = node.distances.values().map(u32::to_string).collect();
        let distances = (!distances.is_empty()).then(|| distances.join(" "));
        facts.known(FeatureId::NodeDistances, &subject, distances);
    }
}

fn memory(machine: &Machine, facts: &mut Facts<'_>) {
    facts.bytes(FeatureId::Memory, "", machine.memory_bytes);
    facts.bytes(FeatureId::Swap, "", machine.memory.swap_total_bytes);
    for pool in machine.memory.huge_pages.iter().take(MOST) {
        let total = pool.total.map(|total| if total == 0 { "none".into() } else { total.to_string() });
        facts.known(FeatureId::HugePages, &words::bytes(pool.size_bytes), total);
    }
}

/// Facts that decide on kind and layout: of others it is enough that they are not compared.
fn unreadable(machine: &Machine, facts: &mut Facts<'_>) {
    let basic = [
        (FactId::Cpus, "CPUs"),
        (FactId::Siblings, "cores"),
        (FactId::Package, "packages"),
        (FactId::Caches, "caches"),
        (FactId::Nodes, "nodes"),
        (FactId::NodeOfCpus, "nodes of CPUs"),
    ];
    for (id, subject) in basic {
        let missing = machine.missing.iter().find(|missing| missing.is(&id));
        facts.text(FeatureId::Unreadable, subject, missing.map_or("known", |missing| missing.why.as_str()));
    }
}
