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

/// The highest that the hardware can is no answer where turbo reaches it now and then: nobody knows what it ran at.
fn without_turbo_khz(policy: &FrequencyPolicy, turbo: Option<bool>) -> Result<u64, String> {
    let own = policy.base_khz.or(policy.hardware_max_khz.filter(|_| turbo == Some(false)));
    match own {
        Some(khz) => Ok(khz.min(policy.max_khz.unwrap_or(khz))),
        None => Err("the map has no clock without turbo, nor that turbo is off".into()),
    }
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
        assert_eq!(of(&machine(Some(2_200_000), Some(true)), "0-1"), Ok(2.2));
        assert_eq!(of(&machine(None, Some(false)), "0-1"), Ok(3.6));
        assert!(of(&machine(None, None), "0-1").unwrap_err().contains("turbo"));
        assert!(of(&machine(Some(2_200_000), None), "3-4").unwrap_err().contains("CPU 4"));
        assert!(of(&Machine::default(), "0").unwrap_err().contains("no clock"));
        let mut limited = machine(Some(2_200_000), None);
        limited.power.frequency[0].max_khz = Some(1_200_000);
        assert_eq!(of(&limited, "0"), Ok(1.2));
        let slow =
            FrequencyPolicy { cpus: "4".parse().unwrap(), base_khz: Some(1), ..FrequencyPolicy::default() };
        limited.power.frequency.push(slow);
        assert!(of(&limited, "0,4").unwrap_err().contains("differ"));
    }
}
