//! For each known parameter, the fact that shows what came of it.

use super::{idle_states, misspelt};
use crate::kernel::tunables::chosen;
use crate::processes::Kind;
use crate::{CpuSet, Machine};

/// What came of a parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) now: Option<String>,
    pub(super) took: Option<bool>,
    pub(super) source: &'static str,
}

/// The effect of a parameter (`-` in its name written as `_`); `None` for one that has no bearing on placement.
pub(super) fn of(name: &str, asked: Option<&str>, machine: &Machine) -> Option<Effect> {
    let value = asked.unwrap_or_default();
    let effect = match name {
        "isolcpus" => cpus(
            isolated_part(value),
            machine.kernel.isolated.as_ref(),
            machine,
            "/sys/devices/system/cpu/isolated",
        ),
        "nohz_full" => {
            cpus(Some(value), machine.kernel.nohz_full.as_ref(), machine, "/sys/devices/system/cpu/nohz_full")
        }
        "rcu_nocbs" => offloaded(value, machine),
        "irqaffinity" => mask(value, "irq.default_smp_affinity", machine, "/proc/irq/default_smp_affinity"),
        "workqueue.unbound_cpus" => {
            mask(value, "workqueue.cpumask", machine, "/sys/devices/virtual/workqueue/cpumask")
        }
        "intel_idle.max_cstate" | "processor.max_cstate" => idle_states::limit(name, value, machine),
        "idle" | "cpuidle.off" | "haltpoll.force" => idle_states::now(machine, None, None),
        "nohz" => {
            flag(value, machine.kernel.tick_stops, "the tick stops on idle CPUs", "the tick never stops")
        }
        "highres" => {
            flag(value, machine.kernel.high_resolution_timers, "timers are exact", "timers wait for the tick")
        }
        "cpuidle.governor" => {
            text(value, machine.idle.governor.as_deref(), "/sys/devices/system/cpu/cpuidle/current_governor")
        }
        "intel_pstate" | "amd_pstate" => pstate(value, machine),
        "cpufreq.default_governor" => governor(value, machine),
        "mitigations" => mitigations(value, machine),
        "nosmt" => smt(value, machine),
        "maxcpus" | "nr_cpus" => count(value, machine),
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
        | "acpi_irq_nobalance" => unseen("no file of the running kernel tells it"),
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

/// The CPUs of `isolcpus=[flag,...,]CPUS` that are taken from the scheduler: all without flags, else with `domain`.
fn isolated_part(value: &str) -> Option<&str> {
    let mut rest = value;
    let (mut flags, mut domain) = (false, false);
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (flag, tail) = rest.split_once(',')?;
        // `all` and `N` are words of the list itself.
        if matches!(flag, "domain" | "nohz" | "managed_irq") {
            (flags, domain) = (true, domain || flag == "domain");
            rest = tail;
        } else {
            break;
        }
    }
    (!flags || domain).then_some(rest)
}

/// A list of CPUs that was asked for against one that is in force. Words like `N` and `all`, strides and groups
/// (lib/bitmap.c, bitmap_parselist) that only the kernel resolves leave the question open.
fn cpus(asked: Option<&str>, now: Option<&CpuSet>, machine: &Machine, source: &'static str) -> Effect {
    let asked = asked.and_then(|text| CpuSet::from_list(text).ok());
    let possible = machine.possible.clone();
    let took = asked.zip(now).map(|(asked, now)| {
        let asked = possible.map_or(asked.clone(), |possible| asked.intersection(&possible));
        // Partitions of cpusets are added to what was asked at boot.
        !asked.is_empty() && asked.is_subset(now)
    });
    let words = |set: &CpuSet| if set.is_empty() { "none".to_string() } else { set.to_list() };
    Effect { now: now.map(words), took, source }
}

/// The kernel adds the CPU that it booted on, which is CPU 0 nearly everywhere (kernel/irq/irqdesc.c).
fn mask(asked: &str, tunable: &str, machine: &Machine, source: &'static str) -> Effect {
    let now = machine.kernel.tunables.get(tunable).and_then(|mask| CpuSet::from_mask(mask).ok());
    let effect = cpus(Some(asked), now.as_ref(), machine, source);
    let exact = CpuSet::from_list(asked)
        .ok()
        .zip(now)
        .map(|(asked, now)| asked == now || asked.union(&CpuSet::single(0)) == now);
    Effect { took: exact, ..effect }
}

/// RCU callbacks that left their CPU show by threads (`rcuop/N`). From 6.1 on, once any CPU is asked, every CPU gets such
/// a thread (kernel/rcu/tree_nocb.h): that there are some tells that the kernel took the parameter, not for which CPUs.
fn offloaded(asked: &str, machine: &Machine) -> Effect {
    let source = "the kernel's rcuo threads";
    if machine.kernel_threads.is_empty() {
        return Effect { now: None, took: None, source };
    }
    let of_kind = machine.kernel_threads.iter().filter(|threads| threads.kind == Kind::RcuOffloaded);
    let count: usize = of_kind.map(|threads| threads.count).sum();
    // Threads are made for CPUs that were brought up only; old kernels have several for each CPU.
    let online = machine.online();
    let asked = match asked {
        "all" => Some(online.len()),
        list => CpuSet::from_list(list).ok().map(|set| set.intersection(&online).len()),
    };
    let took = asked.filter(|asked| *asked > 0).and_then(|asked| match count {
        0 => Some(false),
        count if count >= asked => Some(true),
        _ => None,
    });
    Effect { now: Some(format!("{count} threads run callbacks of others")), took, source }
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

/// A parameter that looks like a slip of the pen: the kernel hands what it does not know to the first process, save names
/// with a dot, which it takes for those of modules that may come later and drops without a word (init/main.c,
/// unknown_bootoption).
pub(super) fn unknown(name: &str, machine: &Machine) -> Option<Effect> {
    let meant = misspelt::meant(&name.replace('-', "_"))?;
    if name.contains('.') {
        let now = Some(format!("perhaps {meant} was meant"));
        return Some(Effect {
            now,
            took: None,
            source: "the kernel drops unknown names of modules silently",
        });
    }
    let handed =
        machine.kernel.unknown_parameters.as_ref().map(|names| names.iter().any(|known| known == name));
    let now = match handed {
        Some(true) => format!("the kernel does not know it; {meant} was probably meant"),
        // The kernel took it: it knows more than pinwise does.
        Some(false) => return None,
        None => format!("perhaps {meant} was meant"),
    };
    Some(Effect { now: Some(now), took: handed.map(|_| false), source: "/proc/1/environ (root)" })
}

fn pstate(asked: &str, machine: &Machine) -> Effect {
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

fn governor(asked: &str, machine: &Machine) -> Effect {
    let governors: Vec<&str> =
        machine.power.frequency.iter().filter_map(|policy| policy.governor.as_deref()).collect();
    let took = (!governors.is_empty()).then(|| governors.iter().all(|governor| *governor == asked));
    let now = (!governors.is_empty()).then(|| governors.join(", "));
    Effect { now, took, source: "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor" }
}

fn mitigations(asked: &str, machine: &Machine) -> Effect {
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

fn smt(asked: &str, machine: &Machine) -> Effect {
    let now = machine.kernel.smt.clone();
    let wanted: &[&str] = match asked {
        "force" => &["forceoff", "notsupported"],
        _ => &["off", "forceoff", "notsupported"],
    };
    let took = now.as_deref().map(|now| wanted.contains(&now));
    Effect { now, took, source: "/sys/devices/system/cpu/smt/control" }
}

fn count(asked: &str, machine: &Machine) -> Effect {
    let online = machine.online().len();
    let limit = asked.parse::<usize>().ok();
    let took = limit.filter(|_| online > 0).map(|limit| online <= limit.max(1));
    Effect { now: Some(format!("{online} CPUs online")), took, source: "/sys/devices/system/cpu/online" }
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
    // Of which size is told by the word before: with several sizes it is left open.
    let met = asked.parse::<u64>().ok().filter(|_| sizes < 2).map(|asked| {
        machine.memory.huge_pages.iter().any(|pool| pool.total.is_some_and(|total| total >= asked))
    });
    let now = (!pools.is_empty()).then(|| pools.join(", "));
    Effect { took: met.filter(|_| now.is_some()), now, source: "/sys/kernel/mm/hugepages" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::boot::decode;
    use crate::processes::KernelThreads;

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
    fn a_slip_of_the_pen_is_told_by_what_the_first_process_got() {
        let mut machine = machine("nohz_ful=2-3 quiet");
        let first =
            |machine: &Machine| decode(machine).first().map(|p| (p.took_effect, p.now.clone().unwrap()));
        assert_eq!(first(&machine), Some((None, "perhaps nohz_full was meant".into())));
        machine.kernel.unknown_parameters = Some(vec!["nohz_ful".into()]);
        assert_eq!(first(&machine).unwrap().0, Some(false));
        machine.kernel.unknown_parameters = Some(Vec::new());
        assert_eq!(first(&machine), None);
    }

    #[test]
    fn a_slip_in_the_name_of_a_module_is_never_told_by_the_kernel() {
        let mut machine = machine("processor.max_cstates=1");
        machine.kernel.unknown_parameters = Some(Vec::new());
        let told = decode(&machine);
        assert_eq!(told[0].took_effect, None);
        assert_eq!(told[0].now.as_deref(), Some("perhaps processor.max_cstate was meant"));
    }

    #[test]
    fn flags_of_isolcpus_and_what_only_the_kernel_resolves() {
        assert_eq!(isolated_part("managed_irq,domain,2-3"), Some("2-3"));
        assert_eq!(isolated_part("nohz,2-3"), None);
        assert_eq!(isolated_part("2,3"), Some("2,3"));
        assert_eq!(took("isolcpus=managed_irq,2-3"), [None]);
        assert_eq!(took("isolcpus=2-N"), [None]);
        // More CPUs than are possible are dropped by the kernel.
        assert_eq!(took("isolcpus=2-3,90"), [Some(true)]);
    }

    #[test]
    fn offloaded_callbacks_show_by_their_threads() {
        let mut machine = machine("rcu_nocbs=2-3");
        let threads = |kind, count| KernelThreads {
            kind,
            count,
            cpus: None,
            pinned: 0,
            immovable: 0,
            policies: Default::default(),
            cpu_us: None,
            irqs: Vec::new(),
        };
        let cpu = |id| crate::topology::cpus::Cpu { id, online: true, ..Default::default() };
        machine.cpus = (0..4).map(cpu).collect();
        machine.kernel_threads = vec![threads(Kind::Rcu, 5)];
        assert_eq!(decode(&machine)[0].took_effect, Some(false));
        machine.kernel_threads.push(threads(Kind::RcuOffloaded, 2));
        assert_eq!(decode(&machine)[0].took_effect, Some(true));
    }

    #[test]
    fn unknown_facts_leave_it_open() {
        let mut unknown = Machine::default();
        unknown.kernel.cmdline =
            Some("isolcpus=1 nosmt mitigations=off intel_pstate=disable hugepages=4 preempt=full".into());
        assert!(decode(&unknown).iter().all(|p| p.took_effect.is_none()), "{:?}", decode(&unknown));
    }
}
