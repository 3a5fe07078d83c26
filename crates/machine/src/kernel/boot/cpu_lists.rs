//! What came of parameters that name CPUs.

use super::effect::Effect;
use crate::processes::Kind;
use crate::{CpuSet, Machine};

/// The CPUs of `isolcpus=[flag,...,]CPUS` that are taken from the scheduler: all without flags, else with `domain`.
pub(super) fn isolated_part(value: &str) -> Option<&str> {
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
pub(super) fn cpus(
    asked: Option<&str>,
    now: Option<&CpuSet>,
    machine: &Machine,
    source: &'static str,
) -> Effect {
    let asked = asked.and_then(|text| CpuSet::from_list(text).ok());
    let possible = machine.possible.clone();
    let took = asked.zip(now).map(|(asked, now)| {
        let asked = possible.map_or(asked.clone(), |possible| asked.intersection(&possible));
        // Partitions of cpusets are added to what was requested at boot.
        !asked.is_empty() && asked.is_subset(now)
    });
    let words = |set: &CpuSet| if set.is_empty() { "none".to_string() } else { set.to_list() };
    Effect { now: now.map(words), took, source }
}

/// The kernel adds the CPU that it booted on, which is CPU 0 nearly everywhere (kernel/irq/irqdesc.c).
pub(super) fn mask(asked: &str, tunable: &str, machine: &Machine, source: &'static str) -> Effect {
    let now = machine.kernel.tunables.get(tunable).and_then(|mask| CpuSet::from_mask(mask).ok());
    let effect = cpus(Some(asked), now.as_ref(), machine, source);
    let exact = CpuSet::from_list(asked)
        .ok()
        .zip(now)
        .map(|(asked, now)| asked == now || asked.union(&CpuSet::single(0)) == now);
    Effect { took: exact, ..effect }
}

/// RCU callbacks that left their CPU show by threads (`rcuop/N`). From 6.1 on, once any CPU is named, every CPU gets such
/// a thread (kernel/rcu/tree_nocb.h): that there are some shows that the kernel took the parameter, not for which CPUs.
pub(super) fn offloaded(asked: &str, machine: &Machine) -> Effect {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::boot::decode;
    use crate::processes::KernelThreads;

    fn machine(cmdline: &str) -> Machine {
        let mut machine = Machine { possible: Some((0..8).collect()), ..Machine::default() };
        machine.kernel.cmdline = Some(cmdline.into());
        machine.kernel.isolated = Some([2, 3].into_iter().collect());
        machine
    }

    fn took(cmdline: &str) -> Vec<Option<bool>> {
        decode(&machine(cmdline)).iter().map(|parameter| parameter.took_effect).collect()
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
}
