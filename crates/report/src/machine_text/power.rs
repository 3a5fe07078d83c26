//! Idle states, what a latency limit leaves of them, and the clock.

use machine::idle::IdleState;
use machine::power::FrequencyPolicy;
use machine::{CpuSet, Machine};

use super::grid::{self, Side};
use super::{cpus, facts};

/// Idle states and clock in a few lines.
pub(super) fn section(machine: &Machine) -> String {
    let power = &machine.power;
    let limit =
        power.latency_limit_us.map(|us| format!("idle CPUs are held to {us} us by somebody (PM QoS)"));
    let clock = power.frequency.iter().map(policy_words).collect::<Vec<_>>().join("; ");
    let turbo = power.turbo.map(|on| if on { "on" } else { "off" }.to_string());
    let facts_told = [
        ("idle driver", machine.idle.driver.clone()),
        ("idle governor", machine.idle.governor.clone()),
        ("latency limit", limit),
        ("limits of CPUs", cpu_limits(machine)),
        ("clock", Some(clock).filter(|text| !text.is_empty())),
        ("turbo", turbo),
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
    let rows = machine.idle.under_limits();
    if !machine.idle.states.is_empty() {
        text.push_str("\nWhat a limit on the exit latency (PM QoS) leaves\n");
        let mut table = vec![["LIMIT", "IDLE CPUS MAY USE"].map(String::from).to_vec()];
        for row in &rows {
            table.push(vec![format!("{} us", row.limit_us), row.allowed.join(" ")]);
        }
        text.push_str(&grid::lines(&[Side::Right, Side::Left], &table, 2));
        text.push_str(
            "  pinwise holds a limit for a study or a plan; others do by holding /dev/cpu_dma_latency open\n",
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

fn states(machine: &Machine) -> String {
    let us = |time: Option<u64>| time.map_or("-".into(), |us| format!("{us} us"));
    let mut rows = vec![["STATE", "EXIT LATENCY", "PAYS FROM", ""].map(String::from).to_vec()];
    rows.extend(machine.idle.states.iter().map(|state| {
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
    use machine::topology::cpus::Cpu;

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
        machine
    }

    #[test]
    fn states_limits_and_clock() {
        let text = in_full(&machine());
        for line in [
            "  limits of CPUs  0 us on CPUs 2-3",
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
}
