//! Kernel, idle states and limits.

use machine::{CpuSet, Machine};

use super::grid::{self, Side};
use super::{cpus, wrapped};

pub(super) fn kernel(machine: &Machine) -> String {
    let kernel = &machine.kernel;
    let release = [kernel.release.as_deref(), kernel.architecture.as_deref(), kernel.version.as_deref()];
    let isolation =
        |set: &Option<CpuSet>| set.as_ref().map(|set| if set.is_empty() { "none".into() } else { cpus(set) });
    let accounting = kernel.irq_time_accounting.map(|apart| match apart {
        true => "accounted apart from tasks".to_string(),
        false => "charged to the interrupted task: its CPU time does not tell it".to_string(),
    });
    let guest = machine.virtualization.guest.map(|guest| match (guest, &machine.virtualization.hypervisor) {
        (true, Some(name)) => format!("yes, of {name}"),
        (true, None) => "yes".into(),
        (false, _) => "no".into(),
    });
    let facts = [
        (
            "release",
            Some(release.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|r| !r.is_empty()),
        ),
        ("guest", guest),
        ("tick", kernel.hz.map(|hz| format!("{hz} Hz"))),
        ("preemption", kernel.preempt.clone()),
        ("clock source", kernel.clocksource.clone()),
        ("SMT control", kernel.smt.clone()),
        ("isolated", isolation(&kernel.isolated)),
        ("nohz_full", isolation(&kernel.nohz_full)),
        ("interrupt time", accounting),
        ("command line", kernel.cmdline.clone()),
    ];
    section("Kernel", &facts)
}

pub(super) fn idle(machine: &Machine) -> String {
    let idle = &machine.idle;
    let mut text = section("Idle", &[("driver", idle.driver.clone()), ("governor", idle.governor.clone())]);
    if idle.states.is_empty() {
        return text;
    }
    let us = |time: Option<u64>| time.map_or("-".into(), |us| format!("{us} us"));
    let mut rows = vec![["STATE", "EXIT LATENCY", "PAYS FROM", ""].map(String::from).to_vec()];
    rows.extend(idle.states.iter().map(|state| {
        let off = if state.disabled == Some(true) { "off" } else { "" };
        vec![state.name.clone(), us(state.exit_latency_us), us(state.target_residency_us), off.to_string()]
    }));
    if text.is_empty() {
        text.push_str("Idle\n");
    }
    text + &grid::lines(&[Side::Left, Side::Right, Side::Right, Side::Left], &rows, 2)
}

pub(super) fn limits(machine: &Machine) -> String {
    let limits = &machine.limits;
    let nodes = |set: &CpuSet| format!("memory nodes {set}");
    let quota = limits.cpu_quota.as_ref().map(|quota| format!("{:.2} CPUs ({})", quota.cpus, quota.file));
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
    let facts = [
        ("affinity", join(&limits.affinity, &limits.memory_nodes)),
        ("cpuset", join(&limits.cpuset_cpus, &limits.cpuset_nodes)),
        ("CPU quota", quota),
        ("cgroups", Some(places.join(" ")).filter(|text| !text.is_empty())),
    ];
    section("Limits of this process", &facts)
}

/// A headline and a line for each fact that is known; nothing when none is.
fn section(title: &str, facts: &[(&str, Option<String>)]) -> String {
    let width =
        facts.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: String = facts
        .iter()
        .filter_map(|(name, value)| Some(wrapped(&format!("  {name:width$}  "), value.as_ref()?, width + 4)))
        .collect();
    if lines.is_empty() { lines } else { format!("{title}\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::idle::IdleState;

    #[test]
    fn only_what_is_known_is_told() {
        assert_eq!(
            kernel(&Machine::default()) + &idle(&Machine::default()) + &limits(&Machine::default()),
            ""
        );
        let mut machine = Machine::default();
        machine.kernel.hz = Some(250);
        machine.kernel.nohz_full = Some(CpuSet::new());
        machine.limits.affinity = Some(CpuSet::single(1));
        let state = |name: &str, us| IdleState {
            name: name.into(),
            exit_latency_us: us,
            target_residency_us: None,
            disabled: Some(us.is_none()),
        };
        machine.idle.states = vec![state("POLL", Some(0)), state("C6", None)];
        assert_eq!(kernel(&machine), "Kernel\n  tick       250 Hz\n  nohz_full  none\n");
        assert_eq!(limits(&machine), "Limits of this process\n  affinity  CPU 1\n");
        let idle = idle(&machine);
        assert!(idle.starts_with("Idle\n  STATE  EXIT LATENCY  PAYS FROM\n"), "{idle}");
        assert!(idle.ends_with("C6                -          -  off\n"), "{idle}");
    }
}
