//! What differs between two machines, or between one machine before and after: fact by fact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CpuSet, Machine};

/// One fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Which fact: `cpus[3].online`, `devices[net eth0].queues[rx-0].rps_cpus`.
    pub fact: String,
    /// What it was; `None` when it was not there.
    pub before: Option<String>,
    /// What it is; `None` when it is not there any more.
    pub after: Option<String>,
}

/// Facts that change all the time and say nothing about the machine's shape or settings.
const MOVING: [&str; 15] = [
    "counts",
    "effective",
    "free",
    "free_bytes",
    "available_bytes",
    "swap_free_bytes",
    "cpu_us",
    "last_cpu",
    "steal_share",
    // Of kernel threads: workers come and go.
    "count",
    "pinned",
    "immovable",
    "policies",
    // Processes of a cgroup come and go.
    "residents",
    // Measured anew, every figure is another one.
    "measured_distances",
];

/// Compares two machines; counters and free memory are left out.
///
/// Errors, in words: one of them cannot be written as JSON, which is a bug in pinwise.
pub fn between(before: &Machine, after: &Machine) -> Result<Vec<Difference>, String> {
    let [before, after] = [before, after].map(|machine| {
        let value = serde_json::to_value(machine).map_err(|e| e.to_string())?;
        let mut facts = BTreeMap::new();
        flatten("", &value, &mut facts);
        Ok::<_, String>(facts)
    });
    let (before, after) = (before?, after?);
    let mut facts: Vec<&String> = before.keys().chain(after.keys()).collect();
    facts.sort();
    facts.dedup();
    let differing = facts.into_iter().filter(|fact| before.get(*fact) != after.get(*fact));
    Ok(differing
        .map(|fact| Difference {
            fact: fact.clone(),
            before: before.get(fact).cloned(),
            after: after.get(fact).cloned(),
        })
        .collect())
}

/// Writes every leaf of a document under its path. Lists of things are keyed by what names each, so that one that
/// came or went moves nothing else.
fn flatten(path: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| !MOVING.contains(&name.as_str())) {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&below, member, facts);
            }
        }
        Value::Array(items) if items.iter().all(Value::is_u64) => {
            let numbers: Option<CpuSet> =
                items.iter().map(|n| n.as_u64().and_then(|n| u32::try_from(n).ok())).collect();
            if let Some(set) = numbers {
                facts.insert(path.to_string(), if set.is_empty() { "none".into() } else { set.to_list() });
            }
        }
        Value::Array(items) => {
            let mut seen: BTreeMap<String, u32> = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                let key = key(item).unwrap_or_else(|| index.to_string());
                let times = seen.entry(key.clone()).or_default();
                *times += 1;
                let place =
                    if *times > 1 { format!("{path}[{key} #{times}]") } else { format!("{path}[{key}]") };
                flatten(&place, item, facts);
            }
        }
        Value::String(text) => drop(facts.insert(path.to_string(), text.clone())),
        other => drop(facts.insert(path.to_string(), other.to_string())),
    }
}

/// What names an element among its like.
fn key(item: &Value) -> Option<String> {
    let text = |name: &str| match item.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let set = |name: &str| {
        let numbers: Option<CpuSet> = item
            .get(name)?
            .as_array()?
            .iter()
            .map(|n| n.as_u64().and_then(|n| u32::try_from(n).ok()))
            .collect();
        Some(numbers?.to_list())
    };
    let of_cache = || Some(format!("L{} {} {}", text("level")?, text("type")?, set("cpus")?));
    let of_device = || Some(format!("{} {}", text("kind")?, text("name")?));
    let of_cgroup = || Some(format!("v{} {}", text("version")?, item.get("controllers")?));
    let single = ["fact", "id", "irq", "tid", "class", "name", "size_bytes", "pid", "kind"]
        .iter()
        .find_map(|name| text(name));
    of_cache().or_else(of_device).or_else(of_cgroup).or(single).or_else(|| set("cpus"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{Device, Queue};
    use crate::irqs::Irq;
    use crate::topology::cpus::Cpu;

    fn told(before: &Machine, after: &Machine) -> Vec<String> {
        let words = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let all = between(before, after).unwrap().into_iter();
        all.map(|d| format!("{}: {} -> {}", d.fact, words(d.before), words(d.after))).collect()
    }

    #[test]
    fn what_came_went_and_changed_and_no_counters() {
        let cpu = |id, online| Cpu { id, online, ..Cpu::default() };
        let irq = |affinity: &str, count| Irq {
            irq: 38,
            affinity: CpuSet::from_list(affinity).ok(),
            counts: Some([(0, count)].into()),
            ..Irq::default()
        };
        let queue = |cpus| Queue { name: "rx-0".into(), rps_cpus: Some(cpus), ..Queue::default() };
        let device = |cpus| Device { name: "eth0".into(), queues: vec![queue(cpus)], ..Device::default() };
        let before = Machine {
            cpus: vec![cpu(0, true), cpu(1, true)],
            irqs: vec![irq("0-1", 5)],
            devices: vec![device(CpuSet::new())],
            ..Machine::default()
        };
        let after = Machine {
            cpus: vec![cpu(0, true), cpu(1, false)],
            irqs: vec![irq("1", 99)],
            devices: vec![device(CpuSet::single(1))],
            ..Machine::default()
        };
        assert_eq!(
            told(&before, &after),
            [
                "cpus[1].online: true -> false",
                "devices[net eth0].queues[rx-0].rps_cpus: none -> 1",
                "irqs[38].affinity: 0-1 -> 1",
            ]
        );
        assert_eq!(told(&before, &before), Vec::<String>::new());
        let gone = Machine { cpus: vec![cpu(0, true)], ..before.clone() };
        assert!(told(&before, &gone).contains(&"cpus[1].online: true -> -".to_string()));
    }
}
