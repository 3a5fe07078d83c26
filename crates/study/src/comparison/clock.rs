//! The clock that figures of different machines are divided by.

use machine::power::FrequencyPolicy;
use machine::{CpuSet, Machine};

/// Clock of `cpus`, GHz: without turbo, or the limit that is set where that is lower. The error says why it is not known.
pub(super) fn ghz(machine: &Machine, cpus: &CpuSet) -> Result<f64, String> {
    let power = &machine.power;
    if power.frequency.is_empty() {
        return Err("the map has no clock: the kernel sets none there".into());
    }
    let mut found: Option<u64> = None;
    for cpu in cpus.iter() {
        let policy = power.frequency.iter().find(|policy| policy.cpus.contains(cpu));
        let khz = match policy {
            Some(policy) => without_turbo_khz(policy, power.turbo)?,
            None => return Err(format!("the map has no clock of CPU {cpu}")),
        };
        if found.is_some_and(|found| found != khz) {
            return Err("the server's CPUs differ in their clock".into());
        }
        found = Some(khz);
    }
    found.map(|khz| khz as f64 / 1e6).ok_or_else(|| "the case names no CPUs".into())
}

/// Where turbo may have raised the clock there is no answer: nobody knows what it ran at.
fn without_turbo_khz(policy: &FrequencyPolicy, turbo: Option<bool>) -> Result<u64, String> {
    let own = policy.base_khz.or(policy.hardware_max_khz.filter(|_| turbo == Some(false)));
    let Some(own_khz) = own else {
        return Err("the map has no clock without turbo, nor that turbo is off".into());
    };
    let khz = own_khz.min(policy.max_khz.unwrap_or(own_khz));
    match may_be_raised(policy, turbo, khz) {
        false => Ok(khz),
        true => Err(format!(
            "turbo may have raised the clock above {:.2} GHz; switch it off before the study to have them",
            khz as f64 / 1e6
        )),
    }
}

/// Whether turbo may take the clock above this. A driver whose highest clock is the base has turbo beyond its limits.
fn may_be_raised(policy: &FrequencyPolicy, turbo: Option<bool>, khz: u64) -> bool {
    let limit = policy.max_khz.or(policy.hardware_max_khz);
    let is_beyond_limits = turbo == Some(true) && limit == policy.hardware_max_khz;
    turbo != Some(false) && (is_beyond_limits || limit.is_some_and(|limit| limit > khz))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(base_khz: Option<u64>, turbo: Option<bool>) -> Machine {
        let cpus: CpuSet = "0-3".parse().unwrap();
        let policy = FrequencyPolicy {
            cpus,
            base_khz,
            hardware_max_khz: Some(3_600_000),
            ..FrequencyPolicy::default()
        };
        let mut machine = Machine::default();
        machine.power.frequency = vec![policy];
        machine.power.turbo = turbo;
        machine
    }

    #[test]
    fn the_clock_is_the_one_without_turbo_or_none() {
        let of = |machine: &Machine, cpus: &str| ghz(machine, &cpus.parse().unwrap());
        assert_eq!(of(&machine(Some(2_200_000), Some(false)), "0-1"), Ok(2.2));
        assert_eq!(of(&machine(None, Some(false)), "0-1"), Ok(3.6));
        assert!(of(&machine(None, None), "0-1").unwrap_err().contains("turbo"));
        assert!(of(&machine(Some(2_200_000), Some(false)), "3-4").unwrap_err().contains("CPU 4"));
        assert!(of(&Machine::default(), "0").unwrap_err().contains("no clock"));
        let mut limited = machine(Some(2_200_000), None);
        limited.power.frequency[0].max_khz = Some(1_200_000);
        assert_eq!(of(&limited, "0"), Ok(1.2));
        let slow =
            FrequencyPolicy { cpus: "4".parse().unwrap(), base_khz: Some(1), ..FrequencyPolicy::default() };
        limited.power.frequency.push(slow);
        assert!(of(&limited, "0,4").unwrap_err().contains("differ"));
    }

    #[test]
    fn a_clock_that_turbo_may_have_raised_is_none_to_divide_by() {
        let of = |machine: &Machine| ghz(machine, &"0-1".parse().unwrap());
        for turbo in [Some(true), None] {
            let why = of(&machine(Some(2_200_000), turbo)).unwrap_err();
            assert!(why.contains("above 2.20 GHz") && why.contains("switch it off"), "{why}");
        }
        let mut limited = machine(Some(2_200_000), Some(true));
        limited.power.frequency[0].max_khz = Some(2_200_000);
        assert_eq!(of(&limited), Ok(2.2), "the limit is below turbo");
        limited.power.frequency[0].hardware_max_khz = Some(2_200_000);
        assert!(of(&limited).is_err(), "acpi-cpufreq has turbo beyond its highest clock");
    }
}
