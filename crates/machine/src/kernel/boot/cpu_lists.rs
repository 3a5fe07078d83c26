//! What came of parameters that name CPUs.

use super::command_line::words;
use super::effect::Effect;
use super::kernel_list;
use crate::processes::Kind;
use crate::{CpuSet, Machine};

/// The CPUs of `isolcpus=[flag,...,]CPUS` that are taken from the scheduler: all without flags, else with `domain`. Flags that it does not
/// know the kernel passes over (housekeeping_isolcpus_setup of kernel/sched/isolation.c, since 5.7; before it took none of such a value).
pub(super) fn isolated_part(value: &str) -> Option<&str> {
    let mut rest = value;
    let (mut flags, mut domain) = (false, false);
    while let Some((flag, tail)) = rest.split_once(',')
        && begins_with_letter(flag)
        && flag.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    {
        flags |= matches!(flag, "domain" | "nohz" | "managed_irq");
        domain |= flag == "domain";
        rest = tail;
    }
    (!flags || domain).then_some(rest)
}

/// Whether `isolcpus=` takes it for a flag: a list that begins with a letter (`all`, `N`) names no CPUs there.
fn begins_with_letter(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// What came of `isolcpus=`.
pub(super) fn isolated(value: &str, machine: &Machine) -> Effect {
    let (asked, now) = (isolated_part(value), machine.kernel.isolated.as_ref());
    let effect = cpus(asked, now, machine, "/sys/devices/system/cpu/isolated");
    let is_flag = asked.is_some_and(begins_with_letter);
    if !is_flag || effect.took != Some(false) {
        return effect;
    }
    let now =
        now.map(|now| format!("{}; isolcpus= takes a list that begins with a letter for a flag", list(now)));
    Effect { now, ..effect }
}

/// What came of `nohz_full=`.
pub(super) fn tickless(value: &str, machine: &Machine) -> Effect {
    let now = machine.kernel.nohz_full.as_ref();
    let effect = cpus(Some(value), now, machine, "/sys/devices/system/cpu/nohz_full");
    // Where the machine can be suspended, the CPU that it booted on keeps its tick (kernel/time/tick-sched.c, tick_nohz_init).
    let asked = kernel_list::resolve(value, machine.possible.as_ref());
    let others = asked.map(|asked| asked.difference(&CpuSet::single(0))).filter(|others| !others.is_empty());
    match others.zip(now).is_some_and(|(others, now)| others.is_subset(now)) {
        true => Effect { now: now.map(list), took: Some(true), ..effect },
        false => effect,
    }
}

/// The CPUs that the kernel lists as isolated because `isolcpus=` on its command line asks for them. Others that it lists need another
/// reason: newer kernels list partitions of cpusets as well.
pub(crate) fn isolated_at_boot(machine: &Machine) -> CpuSet {
    let listed = machine.kernel.isolated.clone().unwrap_or_default();
    let words = words(machine.kernel.cmdline.as_deref().unwrap_or_default());
    let lists = words.iter().filter_map(|word| isolated_part(word.strip_prefix("isolcpus=")?));
    let lists = lists.filter(|list| !begins_with_letter(list));
    let asked = lists.filter_map(|list| kernel_list::resolve(list, machine.possible.as_ref()));
    asked.fold(CpuSet::new(), |set, cpus| set.union(&cpus)).intersection(&listed)
}

/// A list of CPUs that was asked for against one that is in force.
pub(super) fn cpus(
    asked: Option<&str>,
    now: Option<&CpuSet>,
    machine: &Machine,
    source: &'static str,
) -> Effect {
    let possible = machine.possible.as_ref();
    let cpus = asked.and_then(|text| kernel_list::resolve(text, possible));
    let took = cpus.as_ref().zip(now).map(|(asked, now)| {
        // Where that would leave no CPU that is present, the kernel keeps the one that it booted on (housekeeping_setup of
        // kernel/sched/isolation.c).
        let present = machine.present.as_ref().or(possible);
        let leaves_none = present.is_some_and(|present| present.is_subset(asked));
        let kept = if leaves_none { CpuSet::single(0) } else { CpuSet::new() };
        // Partitions of cpusets are added to what was requested at boot.
        !asked.is_empty() && !now.is_empty() && asked.difference(&kept).is_subset(now)
    });
    let by_words = asked.zip(cpus).filter(|(text, _)| took == Some(false) && kernel_list::has_words(text));
    let hint = by_words.map(|(_, cpus)| {
        format!("; {} was asked for, and an older kernel may not know N or all", list(&cpus))
    });
    Effect { now: now.map(|now| list(now) + hint.as_deref().unwrap_or_default()), took, source }
}

fn list(set: &CpuSet) -> String {
    if set.is_empty() { "none".to_string() } else { set.to_list() }
}

/// The kernel adds the CPU that it booted on, which is CPU 0 nearly everywhere (kernel/irq/irqdesc.c).
pub(super) fn mask(asked: &str, tunable: &str, machine: &Machine, source: &'static str) -> Effect {
    let now = machine.kernel.tunables.get(tunable).and_then(|mask| CpuSet::from_mask(mask).ok());
    let effect = cpus(Some(asked), now.as_ref(), machine, source);
    let exact = kernel_list::resolve(asked, machine.possible.as_ref())
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
    let asked = match kernel_list::resolve(asked, machine.possible.as_ref()) {
        Some(cpus) => Some(cpus.intersection(&online).len()),
        None => (asked == "all").then_some(online.len()),
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
    fn flags_of_isolcpus_and_cpus_that_are_not_there() {
        assert_eq!(isolated_part("managed_irq,domain,2-3"), Some("2-3"));
        assert_eq!(isolated_part("nohz,2-3"), None);
        assert_eq!(isolated_part("2,3"), Some("2,3"));
        assert_eq!([isolated_part("all"), isolated_part("domain,all")], [Some("all"), Some("all")]);
        assert_eq!([isolated_part("later,2-3"), isolated_part("later_on,nohz,2-3")], [Some("2-3"), None]);
        assert_eq!([isolated_part("2-N,nohz"), isolated_part("no1,3")], [Some("2-N,nohz"), Some("no1,3")]);
        assert_eq!(took("isolcpus=managed_irq,2-3"), [None]);
        // More CPUs than are possible are dropped by the kernel.
        assert_eq!(took("isolcpus=2-3,90"), [Some(true)]);
    }

    /// 16 CPUs that are possible, and these that are isolated and without tick.
    fn of_16(cmdline: &str, in_force: &str) -> Vec<(Option<bool>, String)> {
        let mut machine = machine(cmdline);
        machine.possible = Some((0..16).collect());
        machine.kernel.isolated = CpuSet::from_list(in_force).ok();
        machine.kernel.nohz_full = CpuSet::from_list(in_force).ok();
        machine.kernel.tunables.insert("irq.default_smp_affinity".into(), "000f".into());
        decode(&machine).into_iter().map(|p| (p.took_effect, p.now.unwrap_or_default())).collect()
    }

    #[test]
    fn words_of_the_list_are_decided_by_the_size_of_the_machine() {
        let asked = "isolcpus=nohz,domain,managed_irq,4-N nohz_full=4-N";
        let yes = (Some(true), "4-15".to_string());
        assert_eq!(of_16(asked, "4-15"), [yes.clone(), yes]);
        let no = "none; 4-15 was asked for, and an older kernel may not know N or all".to_string();
        assert_eq!(of_16(asked, ""), [(Some(false), no.clone()), (Some(false), no)]);
        // Nothing but numbers: there is no word that a kernel might not know.
        assert_eq!(of_16("nohz_full=4-15", ""), [(Some(false), "none".to_string())]);
        assert_eq!(of_16("isolcpus=0-15:1/2", "0,2,4,6,8,10,12,14")[0].0, Some(true));
        assert_eq!(of_16("isolcpus=0-15:1/2", "0,4,8,12")[0].0, Some(false));
        // The CPU that the machine booted on keeps its tick.
        assert_eq!(of_16("nohz_full=all", "1-15"), [(Some(true), "1-15".to_string())]);
        assert_eq!(
            [of_16("nohz_full=0-3", "1-3")[0].0, of_16("nohz_full=0-3", "1-2")[0].0],
            [Some(true), Some(false)]
        );
        // It is isolated if asked for, unless none that is present would be left.
        assert_eq!(
            [of_16("isolcpus=0-15", "1-15")[0].0, of_16("isolcpus=0-3", "1-3")[0].0],
            [Some(true), Some(false)]
        );
        assert_eq!(
            of_16("isolcpus=domain,all", ""),
            [(Some(false), "none; isolcpus= takes a list that begins with a letter for a flag".to_string())]
        );
        assert_eq!(of_16("irqaffinity=0-3", "")[0].0, Some(true));
        assert_eq!(of_16("irqaffinity=12-N", "")[0].0, Some(false));
    }

    #[test]
    fn one_cpu_that_is_present_is_left_where_more_are_possible() {
        let mut machine = machine("isolcpus=0-3");
        (machine.present, machine.kernel.isolated) = (Some((0..4).collect()), CpuSet::from_list("1-3").ok());
        assert_eq!(decode(&machine)[0].took_effect, Some(true));
        machine.present = Some((0..5).collect());
        assert_eq!(decode(&machine)[0].took_effect, Some(false));
    }

    #[test]
    fn words_of_the_list_stay_open_on_a_machine_of_unknown_size() {
        let mut machine = machine("isolcpus=2-N nohz_full=all");
        machine.possible = None;
        machine.kernel.nohz_full = Some(CpuSet::new());
        assert!(decode(&machine).iter().all(|parameter| parameter.took_effect.is_none()));
    }

    #[test]
    fn isolated_at_boot_are_those_that_the_command_line_asks_for() {
        let of = |cmdline: &str| isolated_at_boot(&machine(cmdline)).to_list();
        assert_eq!([of("isolcpus=3"), of("isolcpus=domain,2-N"), of("quiet")], ["3", "2-3", ""]);
        assert_eq!([of("isolcpus=nohz,2-3"), of("isolcpus=later,2"), of("isolcpus=2,9")], ["", "2", "2"]);
        // No list: what the kernel lists as isolated has another reason.
        for none in
            ["isolcpus=all", "isolcpus=what", "isolcpus=domain,all", "isolcpus=N", "isolcpus=2-", "isolcpus="]
        {
            assert_eq!(of(none), "", "{none}");
        }
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
