//! Clock speed and latency limits (Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst,
//! Documentation/power/pm_qos_interface.rst).

pub mod energy;
pub mod idle;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::topology::{CPUS, numbered};
use crate::{CpuSet, Notes, Root};
use energy::EnergyZone;

/// What sets the clock, and which latencies are asked of idle CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Power {
    /// Clock policies, equal ones as one; empty where the kernel does not scale frequencies (most guests).
    pub frequency: Vec<FrequencyPolicy>,
    /// Whether CPUs may run above their base frequency; `None` where no driver reports.
    pub turbo: Option<bool>,
    /// Mode of the driver: `active`, `passive`, `guided`, `off` (intel_pstate, amd_pstate).
    pub driver_mode: Option<String>,
    /// Exit latency that somebody asks all idle CPUs to keep below, us; `None` when nobody does, or see `missing`.
    pub latency_limit_us: Option<u64>,
    /// CPUs with a limit of their own, us (`power/pm_qos_resume_latency_us`); 0 lets them only poll.
    pub cpu_latency_limits_us: BTreeMap<u32, u64>,
    /// What the energy of is counted (RAPL); empty where nothing is, see `missing`.
    pub energy_zones: Vec<EnergyZone>,
}

/// How the clock of a set of CPUs is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequencyPolicy {
    /// Online CPUs that are set like this; each may have a clock of its own.
    pub cpus: CpuSet,
    /// `intel_pstate`, `acpi-cpufreq`, `amd-pstate-epp`.
    pub driver: Option<String>,
    /// `performance`, `powersave`, `schedutil`.
    pub governor: Option<String>,
    /// Hint to the hardware: `performance`, `balance_performance`, `power` (EPP).
    pub energy_performance_preference: Option<String>,
    /// Lowest that is allowed, kHz.
    pub min_khz: Option<u64>,
    /// Highest that is allowed, kHz.
    pub max_khz: Option<u64>,
    /// Lowest that the hardware can, kHz.
    pub hardware_min_khz: Option<u64>,
    /// Highest that the hardware can, kHz.
    pub hardware_max_khz: Option<u64>,
    /// Without turbo, kHz.
    pub base_khz: Option<u64>,
}

/// What /dev/cpu_dma_latency and the files of CPUs read when nobody asks for anything
/// (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, include/linux/pm_qos.h).
pub const NO_LATENCY_LIMIT_US: u32 = 2_000_000_000;

/// Reads everything about the clock and the limits.
pub(crate) fn read(root: &Root, online: &CpuSet, notes: &mut Notes) -> Power {
    Power {
        frequency: policies(root, online),
        turbo: turbo(root),
        driver_mode: ["intel_pstate", "amd_pstate"]
            .iter()
            .find_map(|driver| root.line(format!("{CPUS}/{driver}/status")).ok()),
        latency_limit_us: latency_limit(root, notes),
        cpu_latency_limits_us: cpu_limits(root, online),
        energy_zones: energy::read(root, notes),
    }
}

/// Policies since 4.2 lie in one folder; before, each CPU has its own. Guests mostly have none: nothing to note.
fn policies(root: &Root, online: &CpuSet) -> Vec<FrequencyPolicy> {
    let names = root.list(format!("{CPUS}/cpufreq")).unwrap_or_default();
    let folders = numbered(&names, "policy");
    let dirs: Vec<String> = match folders.is_empty() {
        false => folders.iter().map(|n| format!("{CPUS}/cpufreq/policy{n}")).collect(),
        true => {
            let has_policy = |cpu: &u32| root.exists(format!("{CPUS}/cpu{cpu}/cpufreq/scaling_driver"));
            // Where the first CPU has none, the others are not read: there is no frequency driver.
            let asked = online.first().filter(has_policy).map(|_| online.iter().filter(has_policy));
            asked.into_iter().flatten().map(|cpu| format!("{CPUS}/cpu{cpu}/cpufreq")).collect()
        }
    };
    let mut policies: Vec<(FrequencyPolicy, CpuSet)> = Vec::new();
    for (cpus, policy) in dirs.iter().filter_map(|dir| one(root, dir, online)) {
        match policies.iter_mut().find(|(known, _)| *known == policy) {
            Some((_, known)) => known.extend(cpus.iter()),
            None => policies.push((policy, cpus)),
        }
    }
    policies.into_iter().map(|(policy, cpus)| FrequencyPolicy { cpus, ..policy }).collect()
}

/// One folder; `None` when it holds no online CPU. The policy comes without its CPUs, to be compared.
fn one(root: &Root, dir: &str, online: &CpuSet) -> Option<(CpuSet, FrequencyPolicy)> {
    let cpus = ["affected_cpus", "related_cpus"].iter().find_map(|file| {
        // These are separated by blanks: `0 1 2`.
        let text = root.line(format!("{dir}/{file}")).ok()?;
        CpuSet::from_list(&text.split_whitespace().collect::<Vec<_>>().join(",")).ok()
    })?;
    let cpus = cpus.intersection(online);
    let line = |file: &str| root.line(format!("{dir}/{file}")).ok().filter(|text| !text.is_empty());
    let khz = |file: &str| root.number::<u64>(format!("{dir}/{file}")).ok();
    let policy = FrequencyPolicy {
        cpus: CpuSet::new(),
        driver: line("scaling_driver"),
        governor: line("scaling_governor"),
        energy_performance_preference: line("energy_performance_preference"),
        min_khz: khz("scaling_min_freq"),
        max_khz: khz("scaling_max_freq"),
        hardware_min_khz: khz("cpuinfo_min_freq"),
        hardware_max_khz: khz("cpuinfo_max_freq"),
        base_khz: khz("base_frequency"),
    };
    (!cpus.is_empty()).then_some((cpus, policy))
}

fn turbo(root: &Root) -> Option<bool> {
    let flag = |file: &str| root.number::<u32>(format!("{CPUS}/{file}")).ok().map(|n| n != 0);
    flag("intel_pstate/no_turbo").map(|off| !off).or_else(|| flag("cpufreq/boost"))
}

fn latency_limit(root: &Root, notes: &mut Notes) -> Option<u64> {
    let told = match root.fact("pm_qos_cpu_latency_us") {
        // A tree that another tool made cannot have it.
        Err(e) if e.is_absent() => return None,
        other => other,
    };
    let number = told
        .map_err(|e| e.to_string())
        .and_then(|text| text.parse::<u64>().map_err(|e| format!("/dev/cpu_dma_latency: '{text}': {e}")));
    notes.keep("latency that idle CPUs are held to", number).filter(|us| *us < u64::from(NO_LATENCY_LIMIT_US))
}

/// `0` means no limit and `n/a` a limit of 0 (drivers/base/power/sysfs.c).
fn cpu_limits(root: &Root, online: &CpuSet) -> BTreeMap<u32, u64> {
    let mut limits = BTreeMap::new();
    for cpu in online.iter() {
        let told = root.line(format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"));
        let limit = match told.as_deref() {
            // A kernel has the file for every CPU or for none (register_cpu in drivers/base/cpu.c).
            Err(e) if e.is_absent() => break,
            Err(_) | Ok("0") => None,
            Ok("n/a") => Some(0),
            Ok(number) => number.parse().ok().filter(|us| *us < u64::from(NO_LATENCY_LIMIT_US)),
        };
        limits.extend(limit.map(|us| (cpu, us)));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn of(tree: Tree, cpus: u32) -> Power {
        read(&Root::from_tree(tree), &(0..cpus).collect(), &mut Notes::new())
    }

    #[test]
    fn equal_policies_are_one_and_cpus_offline_are_left_out() {
        let mut tree = Tree::new().file(&format!("{CPUS}/intel_pstate/no_turbo"), "1\n");
        for (cpu, governor) in [(0, "powersave"), (1, "powersave"), (2, "performance"), (9, "powersave")] {
            let dir = format!("{CPUS}/cpufreq/policy{cpu}");
            tree = tree
                .file(&format!("{dir}/affected_cpus"), format!("{cpu}\n"))
                .file(&format!("{dir}/scaling_governor"), governor)
                .file(&format!("{dir}/scaling_max_freq"), "3600000\n")
                .file(&format!("{dir}/base_frequency"), "fast\n");
        }
        let power = of(tree, 3);
        let told: Vec<_> =
            power.frequency.iter().map(|p| (p.cpus.to_list(), p.governor.clone().unwrap())).collect();
        assert_eq!(told, [("0-1".into(), "powersave".into()), ("2".into(), "performance".to_string())]);
        assert_eq!((power.frequency[0].max_khz, power.frequency[0].base_khz), (Some(3_600_000), None));
        assert_eq!(power.turbo, Some(false));
    }

    #[test]
    fn folders_of_old_kernels_and_sets_with_blanks() {
        let dir = format!("{CPUS}/cpu0/cpufreq");
        let tree = Tree::new()
            .file(&format!("{dir}/scaling_driver"), "acpi-cpufreq\n")
            .file(&format!("{dir}/related_cpus"), "0 1\n")
            .file(&format!("{CPUS}/cpufreq/boost"), "1\n");
        let power = of(tree, 2);
        assert_eq!(power.frequency[0].cpus.to_list(), "0-1");
        assert_eq!(power.turbo, Some(true));
        assert_eq!(of(Tree::new(), 2), Power::default());
    }

    #[test]
    fn limits_of_single_cpus() {
        let file = |cpu: u32| format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us");
        let tree = Tree::new()
            .file(&file(0), "0\n")
            .file(&file(1), "n/a\n")
            .file(&file(2), "20\n")
            .file(&file(3), "?\n");
        assert_eq!(of(tree, 4).cpu_latency_limits_us, BTreeMap::from([(1, 0), (2, 20)]));
    }
}
