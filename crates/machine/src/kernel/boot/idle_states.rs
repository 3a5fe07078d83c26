//! What came of a limit on the depth of idle states.

use super::effect::Effect;
use crate::Machine;
use crate::power::idle::IdleState;

const SOURCE: &str = "/sys/devices/system/cpu/cpuidle, /sys/devices/system/cpu/cpu*/cpuidle";

/// `processor.max_cstate=N` is heeded by acpi_idle alone, and 0 is taken as 1 (drivers/acpi/processor_idle.c).
/// `intel_idle.max_cstate=0` switches intel_idle off, so that acpi_idle takes over; N leaves N states beside polling
/// (drivers/idle/intel_idle.c).
pub(super) fn limit(name: &str, asked: &str, machine: &Machine) -> Effect {
    let Ok(most) = asked.parse::<usize>() else { return now(machine, None, None) };
    let driver = machine.idle.driver.as_deref();
    let beside_polling = |states: &[IdleState]| states.iter().filter(|state| state.name != "POLL").count();
    let beside_polling = machine.idle.sets().map(beside_polling).max().unwrap_or(0);
    let known = !machine.idle.states.is_empty();
    match (name, driver) {
        ("processor.max_cstate", Some("acpi_idle")) => {
            let word = (most == 0).then_some("0 is taken as 1");
            now(machine, known.then_some(beside_polling <= most.max(1)), word)
        }
        ("processor.max_cstate", Some("none") | None) => {
            now(machine, None, Some("without a driver there is nothing to limit"))
        }
        ("processor.max_cstate", Some(_)) => now(machine, Some(false), Some("only acpi_idle heeds it")),
        ("intel_idle.max_cstate", Some(driver)) if most == 0 => {
            now(machine, Some(driver != "intel_idle"), None)
        }
        ("intel_idle.max_cstate", Some("intel_idle")) => {
            now(machine, known.then_some(beside_polling <= most), None)
        }
        ("intel_idle.max_cstate", Some(_)) => now(machine, Some(false), Some("only intel_idle heeds it")),
        _ => now(machine, None, None),
    }
}

/// What the driver and its deepest state are, with a limit that is held at run time beside it: the stricter of the two
/// counts.
pub(super) fn now(machine: &Machine, took: Option<bool>, word: Option<&str>) -> Effect {
    let driver = match machine.idle.driver.as_deref() {
        Some("none") | None => "no driver",
        Some(driver) => driver,
    };
    let deepest = machine.idle.states.last().map_or("no idle states", |state| state.name.as_str());
    let mut text = format!("{driver}, deepest state {deepest}");
    if let Some(word) = word {
        text += &format!("; {word}");
    }
    if let Some(us) = machine.power.latency_limit_us {
        text += &format!("; and somebody holds the exit latency below {us} us");
    }
    Effect { now: Some(text), took, source: SOURCE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::idle::IdleState;

    fn machine(driver: &str, states: &[&str]) -> Machine {
        let mut machine = Machine::default();
        machine.idle.driver = Some(driver.into());
        let state = |name: &&str| IdleState {
            name: name.to_string(),
            exit_latency_us: None,
            target_residency_us: None,
            disabled: None,
            disabled_on: Default::default(),
        };
        machine.idle.states = states.iter().map(state).collect();
        machine
    }

    fn took(name: &str, asked: &str, machine: &Machine) -> Option<bool> {
        limit(name, asked, machine).took
    }

    #[test]
    fn each_driver_heeds_its_own_parameter() {
        let acpi = machine("acpi_idle", &["POLL", "C1"]);
        assert_eq!(took("processor.max_cstate", "1", &acpi), Some(true));
        assert!(limit("processor.max_cstate", "0", &acpi).now.unwrap().contains("0 is taken as 1"));
        assert_eq!(took("intel_idle.max_cstate", "0", &acpi), Some(true));
        assert_eq!(took("intel_idle.max_cstate", "1", &acpi), Some(false));
        let deep = machine("intel_idle", &["POLL", "C1", "C6"]);
        assert_eq!(took("processor.max_cstate", "1", &deep), Some(false));
        assert_eq!(took("intel_idle.max_cstate", "1", &deep), Some(false));
        assert_eq!(took("intel_idle.max_cstate", "2", &deep), Some(true));
        assert_eq!(
            took("processor.max_cstate", "1", &machine("acpi_idle", &["POLL", "C1", "C2"])),
            Some(false)
        );
    }

    #[test]
    fn a_limit_that_is_held_is_reported_beside() {
        let mut held = machine("acpi_idle", &["POLL", "C1", "C2"]);
        held.power.latency_limit_us = Some(5);
        assert!(limit("processor.max_cstate", "2", &held).now.unwrap().contains("below 5 us"));
    }

    #[test]
    fn without_a_driver_nothing_is_claimed() {
        assert_eq!(took("processor.max_cstate", "1", &machine("none", &[])), None);
        assert_eq!(took("processor.max_cstate", "1", &Machine::default()), None);
        assert_eq!(took("processor.max_cstate", "deep", &machine("acpi_idle", &["POLL"])), None);
    }
}
