//! How idle CPUs sleep.

use std::collections::BTreeMap;

use machine::power::idle::IdleState;
use machine::{CpuSet, Machine};

use super::super::FeatureId;
use super::found::{Facts, MOST};

pub(super) fn collect(machine: &Machine, online: &CpuSet, facts: &mut Facts<'_>) {
    let idle = &machine.idle;
    facts.known(FeatureId::IdleDriver, "", idle.driver.as_deref());
    facts.known(FeatureId::IdleGovernor, "", idle.governor.as_deref());
    states(&idle.states, "", online, facts);
    for kind in idle.other_kinds.iter().take(MOST) {
        states(&kind.states, &kind.kind, &CpuSet::new(), facts);
    }
    // Without idle states nobody holds CPUs off them.
    if !idle.states.is_empty() {
        facts.text(FeatureId::LatencyLimit, "", limits(machine));
    }
}

/// The states of all cores, or of those of a kind; `online` are the CPUs that have them, where they are known.
fn states(states: &[IdleState], kind: &str, online: &CpuSet, facts: &mut Facts<'_>) {
    if states.is_empty() {
        return;
    }
    let names: Vec<&str> = states.iter().take(MOST).map(|state| state.name.as_str()).collect();
    facts.text(FeatureId::IdleStates, kind, names.join(", "));
    for state in states.iter().take(MOST) {
        let subject = match kind {
            "" => state.name.clone(),
            kind => format!("{} of {kind}", state.name),
        };
        let latency = state.exit_latency_us.map(|us| format!("{us} us"));
        facts.known(FeatureId::IdleExitLatency, &subject, latency);
        facts.known(FeatureId::IdleState, &subject, switch(state, online));
    }
}

/// Where it is switched off.
fn switch(state: &IdleState, online: &CpuSet) -> Option<String> {
    match (state.disabled, state.disabled_on.is_empty()) {
        (Some(false), true) => Some("on".into()),
        (Some(true), true) => Some("off".into()),
        (None, true) => None,
        _ if !online.is_empty() && online.is_subset(&state.disabled_on) => Some("off".into()),
        _ => Some(format!("off on CPUs {}", state.disabled_on)),
    }
}

/// Limits of all CPUs and of single ones.
fn limits(machine: &Machine) -> String {
    let mut of_cpus: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for (cpu, limit_us) in &machine.power.cpu_latency_limits_us {
        of_cpus.entry(*limit_us).or_default().insert(*cpu);
    }
    let of_all = machine.power.latency_limit_us.map(|us| format!("{us} us"));
    let of_cpus = of_cpus.iter().take(MOST).map(|(us, cpus)| format!("{us} us on CPUs {cpus}"));
    let limits: Vec<String> = of_all.into_iter().chain(of_cpus).collect();
    if limits.is_empty() { "none".into() } else { limits.join("; ") }
}
