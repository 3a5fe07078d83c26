//! What differs between the machines of cases beside what was studied: another kernel, governor or limit may be the whole difference.

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;
use serde::Serialize;

/// A fact of the machine that is known of two cases at least, and not the same in all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The fact: `kernel`, `tunable transparent_hugepage.enabled`.
    pub fact: String,
    /// Its value in each case; `None` where it is not known.
    pub values: Vec<Option<String>>,
}

/// All of them, by name. What is not known of a machine is no difference.
pub(super) fn differences(machines: &[&Machine]) -> Vec<Difference> {
    let all: Vec<BTreeMap<String, String>> = machines.iter().map(|machine| facts(machine)).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let difference = |fact: &String| {
        let values: Vec<Option<String>> = all.iter().map(|facts| facts.get(fact).cloned()).collect();
        let known: BTreeSet<&String> = values.iter().flatten().collect();
        (known.len() > 1).then(|| Difference { fact: fact.clone(), values })
    };
    names.into_iter().filter_map(difference).collect()
}

/// What is compared, by name. Facts that are not known are not in it.
fn facts(machine: &Machine) -> BTreeMap<String, String> {
    let (kernel, power) = (&machine.kernel, &machine.power);
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |fact: &str, value: Option<String>| {
        facts.extend(value.map(|value| (fact.to_string(), value)));
    };
    let is_known = !machine.cpus.is_empty();
    add("CPUs online", is_known.then(|| machine.online().len().to_string()));
    add("NUMA nodes", (!machine.nodes.is_empty()).then(|| machine.nodes.len().to_string()));
    add("memory, GiB", machine.memory_bytes.map(|bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 30))));
    add("architecture", kernel.architecture.clone());
    add("kernel", kernel.release.clone());
    add("preemption", kernel.preempt.clone());
    add("command line of the kernel", kernel.cmdline.clone());
    add("timer frequency, Hz", kernel.hz.map(|hz| hz.to_string()));
    add("clock source", kernel.clocksource.clone());
    add("SMT", kernel.smt.clone());
    add("isolated CPUs", machine.isolated().map(|cpus| or_none(&cpus.to_list())));
    add("CPUs without tick", kernel.nohz_full.as_ref().map(|cpus| or_none(&cpus.to_list())));
    add("hypervisor", hypervisor(machine));
    add("turbo", power.turbo.map(|on| if on { "on" } else { "off" }.to_string()));
    add("frequency driver", each(power.frequency.iter().map(|policy| policy.driver.clone())));
    add("frequency governor", each(power.frequency.iter().map(|policy| policy.governor.clone())));
    add(
        "highest frequency, kHz",
        each(power.frequency.iter().map(|policy| Some(policy.max_khz?.to_string()))),
    );
    add("latency limit, us", power.latency_limit_us.map(|us| us.to_string()));
    for (name, value) in &kernel.tunables {
        add(&format!("tunable {name}"), Some(value.clone()));
    }
    for (name, value) in &kernel.mitigations {
        add(&format!("mitigation {name}"), Some(value.clone()));
    }
    facts
}

fn or_none(list: &str) -> String {
    if list.is_empty() { "none".into() } else { list.into() }
}

fn hypervisor(machine: &Machine) -> Option<String> {
    match machine.virtualization.guest? {
        true => Some(machine.virtualization.name().unwrap_or("not known which").to_string()),
        false => Some("none".into()),
    }
}

/// The values that CPUs have, each once; `None` where there is none, or one is not known.
fn each(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let values: Option<BTreeSet<String>> = values.collect();
    let values: Vec<String> = values?.into_iter().collect();
    (!values.is_empty()).then(|| values.join(", "))
}

#[cfg(test)]
mod tests {
    use machine::power::FrequencyPolicy;
    use machine::topology::cpus::Cpu;

    use super::*;

    fn machine(release: &str, governor: Option<&str>) -> Machine {
        let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
        let mut machine = Machine { cpus: vec![cpu(0), cpu(1)], ..Machine::default() };
        machine.kernel.release = Some(release.into());
        machine.kernel.tunables.insert("numa_balancing".into(), "1".into());
        let policy = |governor: &str| FrequencyPolicy {
            governor: Some(governor.into()),
            ..FrequencyPolicy::default()
        };
        machine.power.frequency = governor.into_iter().map(policy).collect();
        machine
    }

    /// The names of what differs between machines.
    fn differing(machines: &[&Machine]) -> Vec<String> {
        differences(machines).into_iter().map(|difference| difference.fact).collect()
    }

    #[test]
    fn another_kernel_and_governor_are_named_and_what_is_alike_is_not() {
        let (before, after) = (machine("6.1", Some("powersave")), machine("6.18", Some("performance")));
        assert_eq!(differing(&[&before, &after]), ["frequency governor", "kernel"]);
        assert!(differing(&[&before, &before]).is_empty());
    }

    #[test]
    fn what_is_not_known_of_one_is_no_difference() {
        let (guest, host) = (machine("6.1", None), machine("6.1", Some("performance")));
        assert!(differing(&[&guest, &host]).is_empty());
        let mut other = host.clone();
        other.power.frequency[0].governor = Some("powersave".into());
        assert_eq!(differing(&[&guest, &host, &other]), ["frequency governor"], "two of three know it");
        assert!(differing(&[&Machine::default(), &guest]).is_empty());
    }
}
