//! What is around: hypervisor, programs that set affinities, and limits of whoever took the capture.

use machine::processes::{Owner, OwnerId};
use machine::{CpuSet, Machine};

use super::super::FeatureId;
use super::super::words;
use super::found::{Facts, MOST};

pub(super) fn collect(machine: &Machine, online: &CpuSet, facts: &mut Facts<'_>) {
    facts.known(FeatureId::Hypervisor, "", machine.virtualization.name());
    let inside = machine.containers.inside.as_ref();
    let inside = inside.map(|inside| if inside.container { "inside of one" } else { "outside of any" });
    facts.known(FeatureId::Container, "", inside);
    owners(machine, facts);
    limits(machine, online, facts);
}

fn owners(machine: &Machine, facts: &mut Facts<'_>) {
    for owner in machine.owners.iter().take(MOST).filter(|owner| runs(owner)) {
        facts.text(FeatureId::Owner, &owner.name, "runs");
        for setting in owner.settings.iter().filter(|setting| is_compared(owner.id, &setting.key)).take(MOST)
        {
            let subject = format!("{} {}", owner.name, setting.key);
            facts.text(FeatureId::OwnerSetting, &subject, without_irqs(&setting.value));
        }
    }
}

/// A scheduler that is loaded as a program has no process.
fn runs(owner: &Owner) -> bool {
    owner.pid.is_some() || owner.id == Some(OwnerId::SchedExt)
}

/// Most of kubelet's are what it gave to the containers of the hour.
fn is_compared(owner: Option<OwnerId>, key: &str) -> bool {
    owner != Some(OwnerId::Kubelet) || key == "CPU manager policy"
}

/// Interrupts have other numbers on every host.
fn without_irqs(value: &str) -> String {
    let words = value.split_whitespace().filter(|word| !word.contains("banirq"));
    words.collect::<Vec<_>>().join(" ")
}

fn limits(machine: &Machine, online: &CpuSet, facts: &mut Facts<'_>) {
    let limits = &machine.limits;
    let allowed = limits.allowed().map(|cpus| cpus.intersection(online));
    facts.cpus(FeatureId::AllowedCpus, "", allowed.as_ref());
    facts.cpus(FeatureId::AllowedNodes, "", limits.memory_nodes.as_ref());
    if limits.cgroups.is_empty() {
        return;
    }
    let quota = limits.cpu_quota.as_ref().map(|quota| format!("{:.2} CPUs", quota.cpus));
    facts.text(FeatureId::CpuQuota, "", quota.as_deref().unwrap_or("none"));
    let memory = limits.memory_limit.as_ref().map(|limit| words::bytes(limit.bytes));
    facts.text(FeatureId::MemoryLimit, "", memory.as_deref().unwrap_or("none"));
}
