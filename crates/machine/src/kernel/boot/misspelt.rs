//! Parameters that no kernel knows and that are nearly the name of one that it does.

use super::Taker;
use super::effect::Effect;
use crate::Machine;

/// Names that are worth a guess: those that people set manually for placement and latency.
const NAMES: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "nohz",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "mitigations",
    "transparent_hugepage",
    "numa_balancing",
    "hugepages",
    "default_hugepagesz",
    "nowatchdog",
    "nmi_watchdog",
    "nosoftlockup",
    "skew_tick",
    "threadirqs",
    "clocksource",
    "maxcpus",
    "workqueue.unbound_cpus",
    "kthread_cpus",
    "cpuidle.governor",
    "cpufreq.default_governor",
    "rcutree.kthread_prio",
    "iommu.passthrough",
    "preempt",
    "nosmt",
];

/// Shorter words are near to too much.
const SHORTEST: usize = 4;

/// A parameter that looks like a typo: the kernel hands what it does not know to the first process, save names
/// with a dot, which it takes for those of modules that may come later and drops without a word (init/main.c,
/// unknown_bootoption).
pub(super) fn unknown(name: &str, machine: &Machine) -> Option<Effect> {
    let meant = meant(&name.replace('-', "_"))?;
    if let Some((module, _)) = name.split_once('.') {
        return of_module(name, module, meant, machine);
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

/// A typo in the name of a module, or of its parameter.
fn of_module(name: &str, module: &str, meant: &str, machine: &Machine) -> Option<Effect> {
    let taker = machine.kernel.module_parameters.as_ref().and_then(|takers| takers.get(name));
    let (now, took, source) = match taker {
        // It is the name of something else.
        Some(Taker::Module) => return None,
        Some(Taker::NoModule | Taker::NoModuleSoCalled) => (
            format!("this kernel has no module {module}; {meant} was probably meant"),
            Some(false),
            "/sys/module, /lib/modules",
        ),
        Some(Taker::NoParameter) => (
            format!("module {module} has no such parameter; {meant} was probably meant"),
            Some(false),
            "modules.builtin.modinfo in /lib/modules",
        ),
        Some(Taker::NotTold) | None => {
            (format!("perhaps {meant} was meant"), None, "the kernel drops unknown names of modules silently")
        }
    };
    Some(Effect { now: Some(now), took, source })
}

/// The name that was probably meant by one that is not known. Two letters may differ, one in short names.
fn meant(name: &str) -> Option<&'static str> {
    if name.len() < SHORTEST {
        return None;
    }
    let allowed = if name.len() < 8 { 1 } else { 2 };
    let letters: Vec<char> = name.chars().collect();
    // Most words of a command line are of another length than most names: comparing with all took half a millisecond.
    let near = NAMES.iter().filter(|known| known.len().abs_diff(letters.len()) <= allowed);
    let near = near.map(|known| (distance(&letters, known), *known));
    near.filter(|(far, _)| (1..=allowed).contains(far)).min().map(|(_, known)| known)
}

/// Letters that must be added, taken or changed, or swapped with their neighbour, to get from one word to the other, which
/// is ASCII (optimal string alignment; Damerau 1964).
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i);
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::boot::decode;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        assert_eq!(meant("nohz_ful"), Some("nohz_full"));
        assert_eq!(meant("isolcpu"), Some("isolcpus"));
        assert_eq!(meant("nomst"), Some("nosmt"));
        assert_eq!(meant("rcu_nocps"), Some("rcu_nocbs"));
        assert_eq!(meant("processor.max_cstates"), Some("processor.max_cstate"));
        for word in ["root", "quiet", "isolcpus", "BOOT_IMAGE", "console", "splash", "nhz"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }

    #[test]
    fn each_name_is_one_that_is_decoded() {
        for name in NAMES {
            let known = super::super::effects::of(name, Some("1"), &crate::Machine::default());
            assert!(known.is_some(), "{name}");
        }
    }

    fn machine(cmdline: &str) -> Machine {
        let mut machine = Machine::default();
        machine.kernel.cmdline = Some(cmdline.into());
        machine
    }

    #[test]
    fn a_typo_shows_by_what_the_first_process_got() {
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
    fn a_typo_in_the_name_of_a_module_shows_by_what_modules_there_are() {
        let told = |word: &str, taker: Option<Taker>| {
            let mut machine = machine(&format!("{word}=1"));
            machine.kernel.unknown_parameters = Some(Vec::new());
            machine.kernel.module_parameters = taker.map(|taker| [(word.to_string(), taker)].into());
            let first = decode(&machine).into_iter().next();
            first.map(|parameter| (parameter.took_effect, parameter.now.unwrap()))
        };
        let (misspelt, module) = ("processor.max_cstates", "procesor.max_cstate");
        let perhaps = Some((None, "perhaps processor.max_cstate was meant".to_string()));
        assert_eq!(told(misspelt, None), perhaps);
        assert_eq!(told(misspelt, Some(Taker::NotTold)), perhaps);
        assert_eq!(told(misspelt, Some(Taker::Module)), None);
        for (word, taker, says) in [
            (misspelt, Taker::NoParameter, "module processor has no such parameter"),
            (module, Taker::NoModule, "this kernel has no module procesor"),
            (module, Taker::NoModuleSoCalled, "this kernel has no module procesor"),
        ] {
            let now = format!("{says}; processor.max_cstate was probably meant");
            assert_eq!(told(word, Some(taker)), Some((Some(false), now)));
        }
        assert_eq!(told("frobnicate.x", Some(Taker::NoModule)), None, "a program may read it");
    }
}
