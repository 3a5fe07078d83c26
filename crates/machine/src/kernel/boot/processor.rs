//! What came of parameters that set the processor: clock, SMT, remedies for its weaknesses, how many CPUs.

use super::effect::Effect;
use crate::Machine;

pub(super) fn pstate(asked: &str, machine: &Machine) -> Effect {
    let driver = machine.power.frequency.first().and_then(|policy| policy.driver.clone());
    let now = match (&machine.power.driver_mode, driver) {
        (Some(mode), Some(driver)) => Some(format!("{driver}, {mode}")),
        (mode, driver) => mode.clone().or(driver),
    };
    let took = match asked {
        "disable" => machine
            .power
            .frequency
            .first()
            .map(|p| !p.driver.as_deref().unwrap_or_default().contains("pstate")),
        "active" | "passive" | "guided" => machine.power.driver_mode.as_deref().map(|mode| mode == asked),
        // Other words change how the driver works, not which one it is.
        _ => None,
    };
    Effect { now, took, source: "/sys/devices/system/cpu/*_pstate/status, cpufreq/policy*/scaling_driver" }
}

pub(super) fn governor(asked: &str, machine: &Machine) -> Effect {
    let governors: Vec<&str> =
        machine.power.frequency.iter().filter_map(|policy| policy.governor.as_deref()).collect();
    let took = (!governors.is_empty()).then(|| governors.iter().all(|governor| *governor == asked));
    let now = (!governors.is_empty()).then(|| governors.join(", "));
    Effect { now, took, source: "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor" }
}

pub(super) fn mitigations(asked: &str, machine: &Machine) -> Effect {
    let all = &machine.kernel.mitigations;
    let active = all.values().filter(|text| text.starts_with("Mitigation")).count();
    let open = all.values().filter(|text| text.starts_with("Vulnerable")).count();
    let now =
        (!all.is_empty()).then(|| format!("{active} mitigated, {open} vulnerable, {} in all", all.len()));
    // Some remedies are always there (inverted page-table entries); these three are what `off` switches.
    let switched = ["meltdown", "spectre_v2", "mds"].iter().filter_map(|name| all.get(*name));
    let affected: Vec<&String> = switched.filter(|told| !told.starts_with("Not affected")).collect();
    let took = (asked == "off" && !affected.is_empty())
        .then(|| affected.iter().all(|told| !told.starts_with("Mitigation")));
    Effect { now, took, source: "/sys/devices/system/cpu/vulnerabilities" }
}

pub(super) fn smt(asked: &str, machine: &Machine) -> Effect {
    let now = machine.kernel.smt.clone();
    let wanted: &[&str] = match asked {
        "force" => &["forceoff", "notsupported"],
        _ => &["off", "forceoff", "notsupported"],
    };
    let took = now.as_deref().map(|now| wanted.contains(&now));
    Effect { now, took, source: "/sys/devices/system/cpu/smt/control" }
}

pub(super) fn count(asked: &str, machine: &Machine) -> Effect {
    let online = machine.online().len();
    let limit = asked.parse::<usize>().ok();
    let took = limit.filter(|_| online > 0).map(|limit| online <= limit.max(1));
    Effect { now: Some(format!("{online} CPUs online")), took, source: "/sys/devices/system/cpu/online" }
}
