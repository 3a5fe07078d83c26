//! The arms of a study: the placements that it compares, and its two controls.

use machine::{Class, CpuSet, Fault, Placement};
use serde::{Deserialize, Serialize};

/// What an arm is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The placement that all others are compared with. It stands in every block twice: the A/A control.
    Baseline,
    /// The server on one CPU.
    OneCpu,
    /// A deliberate mis-tuning: the positive control, which shows that a difference would be seen.
    MisTuning,
    /// The cause of a finding left as it was found, or moved: an arm of `explain --prove`.
    Intervention,
}

/// One arm: a name, a role and a placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in tables and in `trials.jsonl`: `unpinned A`, `cpu 3`, `crowded`.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// The CPU that it tries, for `Role::OneCpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Where things are to run.
    #[serde(default)]
    pub placement: Placement,
}

/// Arms for "each CPU in turn": the baseline twice, the server on each of `candidates`, and all crowded on one CPU.
///
/// `allowed` is where this process may run at all; the load runs on what the server leaves of it, or of `load_cpus`
/// when the user named some. Fails when a candidate is not allowed.
pub fn each_cpu_in_turn(
    candidates: &CpuSet,
    allowed: &CpuSet,
    load_cpus: Option<&CpuSet>,
) -> Result<Vec<Arm>, Fault> {
    for (name, cpus) in [("server CPUs", Some(candidates)), ("load CPUs", load_cpus)] {
        let outside = cpus.map(|c| c.difference(allowed)).unwrap_or_default();
        if !outside.is_empty() {
            return Err(Fault::new(
                Class::Usage,
                format!("{name} {outside}"),
                format!(
                    "pinwise may not run there: it does not exist, is offline, or the affinity or cpuset of this shell leaves it out (allowed: {allowed})"
                ),
                format!("choose from {allowed}"),
            ));
        }
    }
    let mut arms = baselines(load_cpus);
    for cpu in candidates.iter() {
        let server = CpuSet::single(cpu);
        let load = load_cpus.unwrap_or(allowed);
        let rest = load.difference(&server);
        arms.push(Arm {
            name: format!("cpu {cpu}"),
            role: Role::OneCpu,
            cpu: Some(cpu),
            placement: Placement {
                server_cpus: Some(server),
                // With a single CPU there is no other: server and load share it, and the report says so.
                load_cpus: Some(if rest.is_empty() { load.clone() } else { rest }),
                ..Placement::default()
            },
        });
    }
    if let Some(cpu) = candidates.first() {
        let one = Some(CpuSet::single(cpu));
        let placement = Placement { server_cpus: one.clone(), load_cpus: one, ..Placement::default() };
        arms.push(Arm { name: "crowded".into(), role: Role::MisTuning, cpu: None, placement });
    }
    Ok(arms)
}

/// Arms for an A/A study: `copies` further arms that are all placed as the baseline is, and the mis-tuning.
pub fn all_alike(copies: usize, allowed: &CpuSet) -> Vec<Arm> {
    let mut arms = baselines(None);
    arms.extend((1..=copies).map(|i| Arm {
        name: format!("same {i}"),
        role: Role::OneCpu,
        cpu: None,
        placement: Placement::default(),
    }));
    if let Some(cpu) = allowed.first() {
        let one = Some(CpuSet::single(cpu));
        let placement = Placement { server_cpus: one.clone(), load_cpus: one, ..Placement::default() };
        arms.push(Arm { name: "crowded".into(), role: Role::MisTuning, cpu: None, placement });
    }
    arms
}

fn baselines(load_cpus: Option<&CpuSet>) -> Vec<Arm> {
    ["unpinned A", "unpinned B"]
        .map(|name| Arm {
            name: name.into(),
            role: Role::Baseline,
            cpu: None,
            placement: Placement { load_cpus: load_cpus.cloned(), ..Placement::default() },
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn two_baselines_each_cpu_and_one_mistuning() {
        let arms = each_cpu_in_turn(&set("0-1"), &set("0-1"), None).unwrap();
        let names: Vec<&str> = arms.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["unpinned A", "unpinned B", "cpu 0", "cpu 1", "crowded"]);
        assert_eq!(arms[2].placement.load_cpus, Some(set("1")));
        assert_eq!(arms[4].placement.load_cpus, arms[4].placement.server_cpus);
    }

    #[test]
    fn the_load_keeps_off_the_servers_cpu_within_what_the_user_named() {
        let arms = each_cpu_in_turn(&set("0,5"), &set("0-7"), Some(&set("4-5"))).unwrap();
        assert_eq!(arms[2].placement.load_cpus, Some(set("4-5")));
        assert_eq!(arms[3].placement.load_cpus, Some(set("4")));
    }

    #[test]
    fn a_cpu_that_is_not_allowed_is_named() {
        let fault = each_cpu_in_turn(&set("0,9"), &set("0-1"), None).unwrap_err();
        assert_eq!(fault.class, Class::Usage);
        assert!(fault.to_string().contains("server CPUs 9") && fault.remedy.contains("0-1"), "{fault}");
    }

    #[test]
    fn one_cpu_alone_is_shared() {
        let arms = each_cpu_in_turn(&set("3"), &set("3"), None).unwrap();
        assert_eq!(arms[2].placement.load_cpus, Some(set("3")));
    }
}
