//! Idle states, what a latency limit leaves of them, and the clock.

use machine::power::FrequencyPolicy;
use machine::power::idle::{IdleState, UnderLimit};
use machine::{CpuSet, Machine};

use super::lines::facts;
use super::quantities::cpus;
use crate::grid::{self, Side};
use crate::visible::one_line;

/// Idle states and clock in a few lines.
pub(super) fn section(machine: &Machine) -> String {
    let power = &machine.power;
    let limit = power
        .latency_limit_us
        .map(|us| format!("something limits the exit latency of idle CPUs to {us} us (PM QoS)"));
    let clock = power.frequency.iter().map(policy_words).collect::<Vec<_>>().join("; ");
    let turbo = power.turbo.map(|on| if on { "on" } else { "off" }.to_string());
    let facts_told = [
        ("idle driver", machine.idle.driver.clone()),
        ("idle governor", machine.idle.governor.clone()),
        ("latency limit", limit),
        ("limits of CPUs", cpu_limits(machine)),
        ("clock", Some(clock).filter(|text| !text.is_empty())),
        ("turbo", turbo),
        ("energy of", energy(machine)),
    ];
    let mut text = facts("Power", &facts_told);
    if !machine.idle.states.is_empty() {
        if text.is_empty() {
            text.push_str("Power\n");
        }
        text.push_str(&states(machine));
    }
    text
}

/// All of it: with what each limit would leave, and each clock policy.
pub fn in_full(machine: &Machine) -> String {
    let mut text = section(machine);
    if !machine.idle.states.is_empty() {
        text.push_str("\nWhat a limit on the exit latency (PM QoS) leaves\n");
        text.push_str(&limits_table("IDLE CPUS MAY USE", &machine.idle.under_limits()));
        for other in &machine.idle.other_kinds {
            let head = format!("IDLE CPUS OF {} MAY USE", other.kind);
            text.push_str(&limits_table(&head, &other.under_limits()));
        }
        text.push_str(
            "  pinwise holds a limit for a study or a plan; other programs do so by keeping /dev/cpu_dma_latency open\n",
        );
    }
    if !machine.power.frequency.is_empty() {
        text.push_str("\nClock\n");
        let head = ["CPUS", "DRIVER", "GOVERNOR", "EPP", "ALLOWED", "HARDWARE", "BASE"];
        let mut table = vec![head.map(String::from).to_vec()];
        table.extend(machine.power.frequency.iter().map(policy_row));
        text.push_str(&grid::lines(&[Side::Left; 7], &table, 2));
    }
    text
}

fn limits_table(head: &str, rows: &[UnderLimit]) -> String {
    let mut table = vec![["LIMIT", head].map(String::from).to_vec()];
    for row in rows {
        table.push(vec![format!("{} us", row.limit_us), row.allowed.join(" ")]);
    }
    grid::lines(&[Side::Right, Side::Left], &table, 2)
}

/// Where the kinds of cores sleep alike, one table; else one for each.
fn states(machine: &Machine) -> String {
    let idle = &machine.idle;
    if idle.other_kinds.is_empty() {
        return table_of(machine, &idle.states);
    }
    let is_other = |name: &str| idle.other_kinds.iter().any(|other| other.kind == name);
    let others = idle.other_kinds.iter().map(|other| (vec![other.kind.as_str()], &other.states));
    let first = machine.core_kinds.iter().map(|kind| kind.name.as_str()).filter(|name| !is_other(name));
    let kinds = [(first.collect(), &idle.states)].into_iter().chain(others);
    kinds
        .map(|(names, states)| {
            format!("  {}\n{}", one_line(&kinds_in_words(machine, &names)), table_of(machine, states))
        })
        .collect()
}

/// `idle states of cpu_atom (CPUs 8-15)`
fn kinds_in_words(machine: &Machine, names: &[&str]) -> String {
    let mut set = CpuSet::new();
    machine
        .core_kinds
        .iter()
        .filter(|kind| names.contains(&kind.name.as_str()))
        .for_each(|kind| set.extend(kind.cpus.iter()));
    format!("idle states of {} ({})", names.join(", "), cpus(&set))
}

fn table_of(machine: &Machine, states: &[IdleState]) -> String {
    let us = |time: Option<u64>| time.map_or("-".into(), |us| format!("{us} us"));
    let mut rows = vec![["STATE", "EXIT LATENCY", "PAYS FROM", ""].map(String::from).to_vec()];
    rows.extend(states.iter().map(|state| {
        let off = off_words(machine, state);
        vec![state.name.clone(), us(state.exit_latency_us), us(state.target_residency_us), off]
    }));
    grid::lines(&[Side::Left, Side::Right, Side::Right, Side::Left], &rows, 2)
}

/// `off`, `off on CPUs 2-3`, nothing.
fn off_words(machine: &Machine, state: &IdleState) -> String {
    let online = machine.online();
    match &state.disabled_on {
        set if set.is_empty() && state.disabled == Some(true) => "off".into(),
        set if set.is_empty() => String::new(),
        set if *set == online => "off".into(),
        set => format!("off on {}", cpus(set)),
    }
}

fn cpu_limits(machine: &Machine) -> Option<String> {
    let limits = &machine.power.cpu_latency_limits_us;
    let mut values: Vec<u64> = limits.values().copied().collect();
    values.sort_unstable();
    values.dedup();
    let words = values.iter().map(|us| {
        let set: CpuSet = limits.iter().filter(|(_, limit)| *limit == us).map(|(cpu, _)| *cpu).collect();
        format!("{us} us on {}", cpus(&set))
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// `package-0 (core, dram), package-1 (dram), psys`
fn energy(machine: &Machine) -> Option<String> {
    let zones = &machine.power.energy_zones;
    let words = zones.iter().filter(|zone| zone.within.is_none()).map(|zone| {
        let below = zones.iter().filter(|other| other.within.as_deref() == Some(&zone.id));
        match below.map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ") {
            parts if parts.is_empty() => zone.name.clone(),
            parts => format!("{} ({parts})", zone.name),
        }
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

fn ghz(khz: Option<u64>) -> Option<String> {
    khz.map(|khz| format!("{:.2}", khz as f64 / 1e6))
}

/// `0.80-3.60 GHz`, from what is known of both ends.
fn range(min: Option<u64>, max: Option<u64>) -> Option<String> {
    match (ghz(min), ghz(max)) {
        (Some(min), Some(max)) => Some(format!("{min}-{max} GHz")),
        (None, Some(max)) => Some(format!("up to {max} GHz")),
        (Some(min), None) => Some(format!("from {min} GHz")),
        (None, None) => None,
    }
}

fn policy_words(policy: &FrequencyPolicy) -> String {
    let words = [
        Some(cpus(&policy.cpus)),
        policy.governor.clone(),
        policy.energy_performance_preference.clone(),
        range(policy.min_khz, policy.max_khz),
        policy.driver.as_ref().map(|driver| format!("by {driver}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn policy_row(policy: &FrequencyPolicy) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        cpus(&policy.cpus),
        or_dash(policy.driver.clone()),
        or_dash(policy.governor.clone()),
        or_dash(policy.energy_performance_preference.clone()),
        or_dash(range(policy.min_khz, policy.max_khz)),
        or_dash(range(policy.hardware_min_khz, policy.hardware_max_khz)),
        or_dash(ghz(policy.base_khz).map(|ghz| format!("{ghz} GHz"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::power::energy::EnergyZone;
    use machine::power::idle::KindStates;
    use machine::topology::cpus::Cpu;
    use machine::topology::kinds::CoreKind;

    fn machine() -> Machine {
        let state = |name: &str, us, off: &str| IdleState {
            name: name.into(),
            exit_latency_us: us,
            target_residency_us: None,
            disabled: None,
            disabled_on: CpuSet::from_list(off).unwrap(),
        };
        let mut machine = Machine {
            cpus: (0..4).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect(),
            ..Machine::default()
        };
        machine.idle.states =
            vec![state("POLL", Some(0), ""), state("C1", Some(2), "1"), state("C6", None, "0-3")];
        machine.power.frequency = vec![FrequencyPolicy {
            cpus: (0..4).collect(),
            governor: Some("powersave".into()),
            min_khz: Some(800_000),
            max_khz: Some(3_600_000),
            ..FrequencyPolicy::default()
        }];
        machine.power.cpu_latency_limits_us = [(2, 0), (3, 0)].into();
        let zone = |id: &str, name: &str, within: Option<&str>| EnergyZone {
            id: id.into(),
            name: name.into(),
            within: within.map(String::from),
            ..EnergyZone::default()
        };
        let package = "intel-rapl:0";
        machine.power.energy_zones = vec![
            zone(package, "package-0", None),
            zone("intel-rapl:0:0", "core", Some(package)),
            zone("intel-rapl:0:1", "dram", Some(package)),
            zone("intel-rapl:1", "psys", None),
        ];
        machine
    }

    #[test]
    fn states_limits_and_clock() {
        let text = in_full(&machine());
        for line in [
            "  limits of CPUs  0 us on CPUs 2-3",
            "  energy of       package-0 (core, dram), psys",
            "  clock           CPUs 0-3 powersave 0.80-3.60 GHz",
            "  C1             2 us          -  off on CPU 1",
            "  C6                -          -  off",
            "   0 us  POLL",
            "   2 us  POLL C1",
            "  CPUs 0-3  -       powersave  -    0.80-3.60 GHz  -         -",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
        }
        assert_eq!(in_full(&Machine::default()), "");
    }

    #[test]
    fn kinds_of_cores_that_sleep_otherwise_have_a_table_each() {
        let mut machine = machine();
        let kind = |name: &str, cpus: &str| CoreKind { name: name.into(), cpus: cpus.parse().unwrap() };
        machine.core_kinds = vec![kind("cpu_core", "0-1"), kind("cpu_atom", "2-3")];
        let mut states = machine.idle.states.clone();
        states[1].exit_latency_us = Some(7);
        machine.idle.other_kinds = vec![KindStates { kind: "cpu_atom".into(), of_cpu: 2, states }];
        let text = in_full(&machine);
        for line in [
            "  idle states of cpu_core (CPUs 0-1)",
            "  idle states of cpu_atom (CPUs 2-3)",
            "  C1             2 us          -  off on CPU 1",
            "  C1             7 us          -  off on CPU 1",
            "   7 us  POLL C1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
        }
        assert!(text.contains("IDLE CPUS OF cpu_atom MAY USE"), "{text}");
    }
}
