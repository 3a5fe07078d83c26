//! The kernel and its settings.

use machine::kernel::tunables::chosen;
use machine::{CpuSet, Machine};

use super::super::FeatureId;
use super::super::processor::Processor;
use super::super::words;
use super::found::{Facts, MOST};

/// Settings that the kernel works out for itself, or that are read elsewhere.
const LEFT_OUT: [&str; 3] = ["kernel.perf_event_max_sample_rate", "vm.min_free_kbytes", "vm.nr_hugepages"];

pub(super) fn collect(machine: &Machine, processor: &Processor, online: &CpuSet, facts: &mut Facts<'_>) {
    let kernel = &machine.kernel;
    facts.known(FeatureId::Kernel, "", kernel.release.as_deref());
    facts.known(FeatureId::KernelBuild, "", kernel.version.as_deref());
    facts.known(FeatureId::Preemption, "", kernel.preempt.as_deref());
    facts.known(FeatureId::TickRate, "", kernel.hz.map(|hz| format!("{hz}/s")));
    facts.known(FeatureId::PageSize, "", kernel.page_size_bytes.map(words::bytes));
    facts.known(FeatureId::Cgroups, "", kernel.cgroups.as_deref());
    facts.known(FeatureId::Microcode, "", processor.microcode.as_deref());
    facts.known(FeatureId::ClockSource, "", kernel.clocksource.as_deref());
    for (weakness, remedy) in kernel.mitigations.iter().take(MOST) {
        facts.text(FeatureId::Mitigation, weakness, without_smt(remedy));
    }
    facts.cpus(FeatureId::IsolatedCpus, "", machine.isolated().as_ref());
    facts.cpus(FeatureId::TicklessCpus, "", kernel.nohz_full.as_ref());
    // Where no cgroups are mounted, partitions cannot be seen.
    facts.known(FeatureId::Partitions, "", kernel.cgroups.as_ref().map(|_| partitions(machine)));
    for (name, value) in &kernel.tunables {
        setting(name, value, online, facts);
    }
}

/// What is said of SMT there follows from SMT.
fn without_smt(remedy: &str) -> String {
    let parts = remedy.split(';').map(str::trim);
    let parts = parts.filter(|part| !part.starts_with("SMT ") && !part.starts_with("STIBP"));
    parts.collect::<Vec<_>>().join("; ")
}

/// By their CPUs: names of cgroups are those of services.
fn partitions(machine: &Machine) -> String {
    let mut partitions: Vec<String> =
        machine.isolation.domains.iter().take(MOST).map(|domain| domain.cpus.to_list()).collect();
    partitions.sort();
    let invalid = machine.isolation.invalid.len();
    partitions.extend((invalid > 0).then(|| format!("{invalid} not in force")));
    partitions.join("; ")
}

fn setting(name: &str, value: &str, online: &CpuSet, facts: &mut Facts<'_>) {
    let among_online = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.intersection(online));
    match name {
        name if LEFT_OUT.contains(&name) => {}
        "kernel.numa_balancing" => {
            let words = match value {
                "0" => "off",
                "1" => "on",
                other => other,
            };
            facts.text(FeatureId::NumaBalancing, "", words);
        }
        "transparent_hugepage.enabled" => facts.text(FeatureId::TransparentHugePages, "", chosen(value)),
        "kernel.watchdog_cpumask" => {
            let cpus = among_online(CpuSet::from_list(value).ok());
            facts.cpus(FeatureId::SettingCpus, name, cpus.as_ref());
        }
        name if name == "irq.default_smp_affinity" || name.contains(".cpumask") => {
            let cpus = among_online(CpuSet::from_mask(value).ok());
            facts.cpus(FeatureId::SettingCpus, name, cpus.as_ref());
        }
        _ => facts.text(FeatureId::Setting, name, chosen(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_smt_is_left_out_of_a_mitigation() {
        let remedy = "Mitigation: Retpolines; STIBP: disabled; RSB filling";
        assert_eq!(without_smt(remedy), "Mitigation: Retpolines; RSB filling");
        assert_eq!(
            without_smt("Mitigation: Clear CPU buffers; SMT vulnerable"),
            "Mitigation: Clear CPU buffers"
        );
        assert_eq!(without_smt("Not affected"), "Not affected");
    }
}
