//! What sets the clock.

use std::collections::BTreeMap;

use machine::power::FrequencyPolicy;
use machine::{CpuSet, Machine};

use super::super::FeatureId;
use super::super::words;
use super::found::Facts;

pub(super) fn collect(machine: &Machine, online: &CpuSet, facts: &mut Facts<'_>) {
    let power = &machine.power;
    facts.known(FeatureId::Turbo, "", power.turbo.map(|on| if on { "on" } else { "off" }));
    facts.known(FeatureId::FrequencyMode, "", power.driver_mode.as_deref());
    if power.frequency.is_empty() {
        // Where the folder of idle states could be read, that of the clock is not there.
        facts.known(FeatureId::FrequencyDriver, "", machine.idle.driver.as_ref().map(|_| "none"));
        return;
    }
    let by_policy = |value: fn(&FrequencyPolicy) -> Option<String>| combined(&power.frequency, online, value);
    facts.known(FeatureId::FrequencyDriver, "", by_policy(|policy| policy.driver.clone()));
    facts.known(FeatureId::FrequencyGovernor, "", by_policy(|policy| policy.governor.clone()));
    let preference = by_policy(|policy| policy.energy_performance_preference.clone());
    facts.known(FeatureId::EnergyPreference, "", preference);
    // The highest clock is each core's own on some CPUs, by the luck of its silicon.
    let min = by_policy(|policy| limit(policy.min_khz, policy.hardware_min_khz));
    facts.known(FeatureId::FrequencyMin, "", min);
    let max = by_policy(|policy| limit(policy.max_khz, policy.hardware_max_khz));
    facts.known(FeatureId::FrequencyMax, "", max);
    let highest = power.frequency.iter().filter_map(|policy| policy.hardware_max_khz).max();
    facts.known(FeatureId::HardwareFrequency, "", highest.map(words::frequency));
}

/// A limit, by what the hardware can.
fn limit(khz: Option<u64>, hardware_khz: Option<u64>) -> Option<String> {
    let khz = khz?;
    let is_open = hardware_khz == Some(khz);
    Some(if is_open { "that of the hardware".into() } else { words::frequency(khz) })
}

/// The value of all policies, or each with its CPUs; `None` where one is not known.
fn combined(
    policies: &[FrequencyPolicy],
    online: &CpuSet,
    value: fn(&FrequencyPolicy) -> Option<String>,
) -> Option<String> {
    let mut values: BTreeMap<String, CpuSet> = BTreeMap::new();
    for policy in policies {
        values.entry(value(policy)?).or_default().extend(policy.cpus.iter());
    }
    let words: Vec<String> = match values.len() {
        1 => values.into_keys().collect(),
        _ => values.iter().map(|(value, cpus)| format!("{value} on {}", words::cpus(cpus, online))).collect(),
    };
    Some(words.join("; "))
}
