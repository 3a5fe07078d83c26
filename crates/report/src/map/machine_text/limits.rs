//! What this process may use.

use machine::{CpuSet, Machine};

use super::lines::facts;
use super::quantities::{cpus, size};

pub(super) fn section(machine: &Machine) -> String {
    let limits = &machine.limits;
    let nodes = |set: &CpuSet| format!("memory nodes {set}");
    let quota = limits.cpu_quota.as_ref().map(|quota| format!("{:.2} CPUs ({})", quota.cpus, quota.file));
    let memory = limits.memory_limit.as_ref().map(|limit| format!("{} ({})", size(limit.bytes), limit.file));
    let places = limits.cgroups.iter().filter(|group| group.path != "/");
    let places: Vec<String> = places
        .map(|group| match group.version {
            2 => format!("v2:{}", group.path),
            _ => format!("{}:{}", group.controllers.join(","), group.path),
        })
        .collect();
    let join = |one: &Option<CpuSet>, other: &Option<CpuSet>| {
        let words = [one.as_ref().map(cpus), other.as_ref().map(nodes)];
        Some(words.into_iter().flatten().collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    };
    let rows = [
        ("affinity", join(&limits.affinity, &limits.memory_nodes)),
        ("cpuset", join(&limits.cpuset_cpus, &limits.cpuset_nodes)),
        ("CPU quota", quota),
        ("memory limit", memory),
        ("cgroups", Some(places.join(" ")).filter(|text| !text.is_empty())),
    ];
    facts("Limits of this process", &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_told() {
        assert_eq!(section(&Machine::default()), "");
        let mut machine = Machine::default();
        machine.limits.affinity = Some(CpuSet::single(1));
        assert_eq!(section(&machine), "Limits of this process\n  affinity  CPU 1\n");
    }
}
