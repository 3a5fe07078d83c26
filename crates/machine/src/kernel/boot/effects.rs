//! For each known parameter, the fact that shows what came of it.

use super::effect::Effect;
use super::{cpu_lists, idle_states, processor};
use crate::Machine;
use crate::kernel::tunables::chosen;

/// The effect of a parameter (`-` in its name written as `_`); `None` for one that has no bearing on placement.
pub(super) fn of(name: &str, asked: Option<&str>, machine: &Machine) -> Option<Effect> {
    let value = asked.unwrap_or_default();
    let effect = match name {
        "isolcpus" => cpu_lists::isolated(value, machine),
        "nohz_full" => cpu_lists::tickless(value, machine),
        "rcu_nocbs" => cpu_lists::offloaded(value, machine),
        "irqaffinity" => {
            cpu_lists::mask(value, "irq.default_smp_affinity", machine, "/proc/irq/default_smp_affinity")
        }
        "workqueue.unbound_cpus" => {
            cpu_lists::mask(value, "workqueue.cpumask", machine, "/sys/devices/virtual/workqueue/cpumask")
        }
        "intel_idle.max_cstate" | "processor.max_cstate" => idle_states::limit(name, value, machine),
        "idle" | "cpuidle.off" | "haltpoll.force" | "cpuidle_haltpoll.force" => {
            idle_states::now(machine, None, None)
        }
        "nohz" => {
            flag(value, machine.kernel.tick_stops, "the tick stops on idle CPUs", "the tick never stops")
        }
        "highres" => {
            flag(value, machine.kernel.high_resolution_timers, "timers are exact", "timers wait for the tick")
        }
        "cpuidle.governor" => {
            text(value, machine.idle.governor.as_deref(), "/sys/devices/system/cpu/cpuidle/current_governor")
        }
        "intel_pstate" | "amd_pstate" => processor::pstate(value, machine),
        "cpufreq.default_governor" => processor::governor(value, machine),
        "mitigations" => processor::mitigations(value, machine),
        "nosmt" => processor::smt(value, machine),
        "maxcpus" | "nr_cpus" => processor::count(value, machine),
        // Without debugfs the model is known from this very word: nothing is left to compare.
        "preempt" => told(machine.kernel.preempt.clone(), "/sys/kernel/debug/sched/preempt, or the build"),
        "clocksource" => text(
            value,
            machine.kernel.clocksource.as_deref(),
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        "tsc" => told(
            machine.kernel.clocksource.clone(),
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        "transparent_hugepage" => tunable(value, "transparent_hugepage.enabled", machine),
        "numa_balancing" => switch(value, "kernel.numa_balancing", machine),
        "schedstats" => switch(value, "kernel.sched_schedstats", machine),
        "noautogroup" => switch("disable", "kernel.sched_autogroup_enabled", machine),
        "nowatchdog" => switch("disable", "kernel.watchdog", machine),
        "nmi_watchdog" => switch(value, "kernel.nmi_watchdog", machine),
        "nosoftlockup" => switch("disable", "kernel.soft_watchdog", machine),
        "hugepages" => huge_pages(value, machine),
        "psi" => told(
            machine.kernel.pressure.map(|on| if on { "on" } else { "off" }.to_string()),
            "/proc/pressure",
        ),
        "numa" => {
            told(Some(format!("{} nodes online", machine.nodes.len())), "/sys/devices/system/node/online")
        }
        "cgroup_no_v1" | "systemd.unified_cgroup_hierarchy" => {
            told(machine.kernel.cgroups.clone(), "/proc/self/mountinfo")
        }
        "isolcpus_managed"
        | "threadirqs"
        | "skew_tick"
        | "rcu_nocb_poll"
        | "nosched_clock"
        | "kthread_cpus"
        | "intel_iommu"
        | "amd_iommu"
        | "iommu"
        | "iommu.passthrough"
        | "pcie_aspm"
        | "audit"
        | "hugepagesz"
        | "default_hugepagesz"
        | "mce"
        | "rcutree.kthread_prio"
        | "acpi_irq_nobalance" => unseen("no file of the running kernel shows it"),
        _ => return None,
    };
    Some(effect)
}

fn told(now: Option<String>, source: &'static str) -> Effect {
    Effect { now, took: None, source }
}

fn unseen(why: &'static str) -> Effect {
    Effect { now: None, took: None, source: why }
}

fn text(asked: &str, now: Option<&str>, source: &'static str) -> Effect {
    Effect { now: now.map(String::from), took: now.map(|now| now == asked), source }
}

fn tunable(asked: &str, name: &'static str, machine: &Machine) -> Effect {
    text(asked, machine.kernel.tunables.get(name).map(|value| chosen(value)), name)
}

/// `enable`, `on`, `1` against a sysctl that is 0 or not.
fn switch(asked: &str, name: &'static str, machine: &Machine) -> Effect {
    let now = machine.kernel.tunables.get(name).and_then(|value| value.parse::<i64>().ok());
    let asked = match asked {
        "1" | "on" | "enable" | "y" => Some(true),
        "0" | "off" | "disable" | "n" => Some(false),
        _ => None,
    };
    let took = now.zip(asked).map(|(now, asked)| (now != 0) == asked);
    Effect { now: now.map(|now| now.to_string()), took, source: name }
}

/// A switch of the timer code, whose state only root can read.
fn flag(asked: &str, now: Option<bool>, on: &str, off: &str) -> Effect {
    let asked = match asked {
        "on" | "y" | "1" => Some(true),
        "off" | "n" | "0" => Some(false),
        _ => None,
    };
    let took = now.zip(asked).map(|(now, asked)| now == asked);
    Effect {
        now: now.map(|now| if now { on } else { off }.to_string()),
        took,
        source: "/proc/timer_list (root)",
    }
}

/// The count holds for the size named by the `hugepagesz=` before it, which is left open here.
fn huge_pages(asked: &str, machine: &Machine) -> Effect {
    let pools: Vec<String> = machine
        .memory
        .huge_pages
        .iter()
        .filter_map(|pool| Some(format!("{} of {} KiB", pool.total?, pool.size_bytes >> 10)))
        .collect();
    let words = machine.kernel.cmdline.as_deref().unwrap_or_default();
    let sizes = words.matches("hugepagesz=").count();
    // The word before gives the size: with several sizes it is left open.
    let met = asked.parse::<u64>().ok().filter(|_| sizes < 2).map(|asked| {
        machine.memory.huge_pages.iter().any(|pool| pool.total.is_some_and(|total| total >= asked))
    });
    let now = (!pools.is_empty()).then(|| pools.join(", "));
    Effect { took: met.filter(|_| now.is_some()), now, source: "/sys/kernel/mm/hugepages" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuSet;
    use crate::kernel::boot::decode;

    fn machine(cmdline: &str) -> Machine {
        let mut machine = Machine { possible: Some((0..8).collect()), ..Machine::default() };
        machine.kernel.cmdline = Some(cmdline.into());
        machine.kernel.isolated = Some([2, 3].into_iter().collect());
        machine.kernel.nohz_full = Some(CpuSet::new());
        machine.kernel.smt = Some("on".into());
        machine.kernel.tunables.insert("irq.default_smp_affinity".into(), "00000003".into());
        machine
            .kernel
            .tunables
            .insert("transparent_hugepage.enabled".into(), "always madvise [never]".into());
        machine.kernel.tunables.insert("kernel.numa_balancing".into(), "1".into());
        machine
    }

    fn took(cmdline: &str) -> Vec<Option<bool>> {
        decode(&machine(cmdline)).iter().map(|parameter| parameter.took_effect).collect()
    }

    #[test]
    fn asked_and_in_force_are_compared() {
        let told = decode(&machine("quiet isolcpus=2-3 nohz_full=2-3 irqaffinity=0-1 root=/dev/vda"));
        let rows: Vec<_> = told.iter().map(|p| (p.name.as_str(), p.took_effect, p.now.as_deref())).collect();
        assert_eq!(
            rows,
            [
                ("isolcpus", Some(true), Some("2-3")),
                // A kernel without NO_HZ_FULL takes the word and does nothing.
                ("nohz_full", Some(false), Some("none")),
                ("irqaffinity", Some(true), Some("0-1")),
            ]
        );
        assert_eq!(
            took("transparent_hugepage=never numa-balancing=disable nosmt"),
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(took("rcu_nocbs=2-3 threadirqs"), [None, None]);
    }

    #[test]
    fn the_tick_and_exact_timers() {
        let mut machine = machine("nohz=off highres=off");
        assert!(decode(&machine).iter().all(|parameter| parameter.took_effect.is_none()));
        machine.kernel.tick_stops = Some(false);
        machine.kernel.high_resolution_timers = Some(true);
        let told = decode(&machine);
        assert_eq!((told[0].took_effect, told[0].now.as_deref()), (Some(true), Some("the tick never stops")));
        assert_eq!(told[1].took_effect, Some(false));
    }

    #[test]
    fn unknown_facts_leave_it_open() {
        let mut unknown = Machine::default();
        unknown.kernel.cmdline =
            Some("isolcpus=1 nosmt mitigations=off intel_pstate=disable hugepages=4 preempt=full".into());
        assert!(decode(&unknown).iter().all(|p| p.took_effect.is_none()), "{:?}", decode(&unknown));
    }
}
