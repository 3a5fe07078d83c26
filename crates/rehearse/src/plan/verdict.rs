//! Whether a plan took effect, from what the kernel reported before, with and after it. Pure.

use machine::diff::Difference;
use machine::kernel::boot::{self, BootParameter, Taker};
use machine::{CpuSet, Machine};
use serde::{Deserialize, Serialize};

use super::BootParameters;
use super::facts::{self, Facts};

/// Fewest ticks a second that show on a busy ordinary CPU, and most that a CPU without a tick may have. Published: 1005
/// against 4 at 1000 Hz; Debian's kernels have 250, and guests under emulation lose some.
pub const SEEN_TICKS_PER_S: f64 = 50.0;
/// See [`SEEN_TICKS_PER_S`].
pub const FEW_TICKS_PER_S: f64 = 10.0;

/// What became of one thing that the plan asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The kernel says that it is so.
    TookEffect,
    /// The boot without the plan shows the same already: it proves nothing about the parameter.
    WasSoBefore,
    /// The kernel says that it is not so.
    NoEffect,
    /// The kernel shows nothing by which to decide.
    NotTold,
    /// The control was not seen either: the trial proves nothing.
    Insensitive,
}

/// One check with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What the plan asks for.
    pub asked: String,
    /// What became of it.
    pub effect: Effect,
    /// What was seen.
    pub evidence: String,
    /// The file, or the trial, that shows it.
    pub source: String,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether something took effect, nothing is known to have had none, no trial proved nothing, and nothing is left
    /// over.
    pub holds: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// Facts that are as with the plan, and not as before it, in the second boot without it.
    pub left_over: Vec<Difference>,
    /// Facts that differ between the two boots without the plan, and so say nothing about it.
    pub moves_by_itself: Vec<Difference>,
    /// Facts that the plan changed, beside the command line itself and what moves by itself.
    pub changed: Vec<Difference>,
}

/// Ticks of a busy CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticks {
    /// The CPU.
    pub cpu: u32,
    /// Ticks a second, where they could be counted.
    pub per_s: Option<f64>,
    /// Share of the window in which it was busy.
    pub busy: Option<f64>,
}

/// What was seen in the three boots.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Without the plan.
    pub before: &'a Machine,
    /// With it.
    pub with: &'a Machine,
    /// Without it again: it has the inputs of the first, and shows which facts move from boot to boot by themselves.
    pub after: &'a Machine,
    /// Ticks of CPUs in nohz_full under a spinning task.
    pub without_tick: Vec<Ticks>,
    /// Ticks of an ordinary CPU under a spinning task.
    pub control: Option<Ticks>,
}

/// Judges a plan.
///
/// # Errors
/// In words, when a machine cannot be compared, which is a bug in pinwise.
pub fn judge(plan: &BootParameters, seen: &Seen<'_>) -> Result<Verdict, String> {
    let mut checks = parameters(plan, seen);
    checks.extend(ticks(seen));
    checks.extend(interrupts(plan, seen));
    let Facts { left_over, moves_by_itself, changed } = facts::compare(seen)?;
    let any = |effect| checks.iter().any(|check| check.effect == effect);
    let against = any(Effect::NoEffect) || any(Effect::Insensitive) || !left_over.is_empty();
    let holds = any(Effect::TookEffect) && !against;
    Ok(Verdict { holds, checks, left_over, moves_by_itself, changed })
}

/// Each parameter as the running kernel shows it.
fn parameters(plan: &BootParameters, seen: &Seen<'_>) -> Vec<Check> {
    let words = boot::words(&plan.words);
    words.iter().map(|word| parameter(word, seen)).collect()
}

fn parameter(word: &String, seen: &Seen<'_>) -> Check {
    let with = seen.with;
    let name = word.split('=').next().unwrap_or(word);
    let value = word.split_once('=').map(|(_, value)| value);
    let decoded =
        with.kernel.boot.iter().rev().find(|known| known.name == name && known.asked.as_deref() == value);
    let handed =
        with.kernel.unknown_parameters.as_ref().is_some_and(|names| names.iter().any(|known| known == name));
    let check = |effect, evidence: String, source: &str| Check {
        asked: word.to_string(),
        effect,
        evidence,
        source: source.to_string(),
    };
    match decoded {
        _ if handed => {
            let now = decoded.and_then(|known| known.now.clone());
            let evidence = now
                .unwrap_or_else(|| "the kernel does not know it and handed it to the first process".into());
            check(Effect::NoEffect, evidence, "/proc/1/environ")
        }
        None if no_module(name, with) => {
            let evidence = "this kernel has no module of that name, loaded, built in or installed";
            check(Effect::NoEffect, evidence.into(), "/sys/module, /lib/modules")
        }
        Some(known) => {
            let effect = match known.took_effect {
                Some(true) if was_so(word, known, seen.before) => Effect::WasSoBefore,
                Some(true) => Effect::TookEffect,
                Some(false) => Effect::NoEffect,
                None => Effect::NotTold,
            };
            check(effect, known.now.clone().unwrap_or_else(|| "nothing shows it".into()), &known.source)
        }
        None => check(Effect::NotTold, "pinwise knows no file that shows it".into(), "none"),
    }
}

/// Whether a name with a dot is that of a module that the kernel does not have. A program may read such a word itself;
/// those that are known to do so are not counted among the parameters of modules.
fn no_module(name: &str, machine: &Machine) -> bool {
    let takers = machine.kernel.module_parameters.as_ref();
    takers.and_then(|takers| takers.get(name)) == Some(&Taker::NoModule)
}

/// Whether a boot without the parameter shows what the boot with it does.
fn was_so(word: &String, with: &BootParameter, before: &Machine) -> bool {
    let before = boot::decode_words(std::slice::from_ref(word), before);
    before.iter().any(|before| before.took_effect == Some(true) && before.now == with.now)
}

/// The tick of each CPU that was tried, beside the control.
fn ticks(seen: &Seen<'_>) -> Vec<Check> {
    let Some(control) = seen.control else { return Vec::new() };
    let rate = |ticks: &Ticks| ticks.per_s.map_or("not counted".to_string(), |n| format!("{n:.1} ticks/s"));
    let is_seen = control.per_s.is_some_and(|n| n > SEEN_TICKS_PER_S);
    let check = |ticks: &Ticks| {
        let effect = match ticks.per_s {
            None => Effect::NotTold,
            Some(_) if !is_seen || ticks.busy.is_some_and(|share| share < 0.5) => Effect::Insensitive,
            Some(n) if n < FEW_TICKS_PER_S => Effect::TookEffect,
            Some(_) => Effect::NoEffect,
        };
        Check {
            asked: format!("no tick on CPU {} while one task spins there", ticks.cpu),
            effect,
            evidence: format!("{}; CPU {}, an ordinary one: {}", rate(ticks), control.cpu, rate(&control)),
            source: "/proc/interrupts, LOC".into(),
        }
    };
    seen.without_tick.iter().map(check).collect()
}

/// With `irqaffinity=`, lines that run elsewhere than on the CPUs that the kernel derived from it: it adds the CPU that it
/// booted on (kernel/irq/irqdesc.c, init_irq_default_affinity).
fn interrupts(plan: &BootParameters, seen: &Seen<'_>) -> Vec<Check> {
    let with = seen.with;
    let words = boot::words(&plan.words);
    let Some(asked) = words.iter().rev().find_map(|word| word.strip_prefix("irqaffinity=")) else {
        return Vec::new();
    };
    let check = |wanted: String, effect, evidence| {
        vec![Check {
            asked: format!("interrupts on CPUs {wanted}"),
            effect,
            evidence,
            source: "/proc/irq/*/effective_affinity_list".into(),
        }]
    };
    let Some(wanted) = default_affinity(with) else {
        return check(asked.to_string(), Effect::NotTold, "which CPUs the kernel took is not known".into());
    };
    let obeys =
        |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| !set.is_empty() && set.is_subset(&wanted));
    let bound: Vec<_> = with.irqs.iter().filter(|irq| obeys(&irq.affinity)).collect();
    let stray: Vec<_> =
        bound.iter().filter(|irq| irq.effective.is_some() && !obeys(&irq.effective)).collect();
    let others: Vec<String> =
        with.irqs.iter().filter(|irq| !obeys(&irq.affinity)).map(|irq| irq.irq.to_string()).collect();
    let effect = match (bound.is_empty(), stray.is_empty()) {
        (true, _) => Effect::NoEffect,
        (false, true) if default_affinity(seen.before).as_ref() == Some(&wanted) => Effect::WasSoBefore,
        (false, true) => Effect::TookEffect,
        (false, false) => Effect::NoEffect,
    };
    let mut evidence = format!("{} of {} lines run there alone", bound.len() - stray.len(), with.irqs.len());
    if !others.is_empty() {
        // Timers of the firmware, and lines that the kernel or their driver spreads, have an affinity of their own.
        evidence += &format!("; with an affinity of their own: IRQ {}", others.join(", "));
    }
    check(wanted.to_list(), effect, evidence)
}

/// CPUs of interrupts that nobody gave an affinity (/proc/irq/default_smp_affinity).
fn default_affinity(machine: &Machine) -> Option<CpuSet> {
    let mask = machine.kernel.tunables.get("irq.default_smp_affinity")?;
    CpuSet::from_mask(mask).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(value: &str) -> BootParameters {
        BootParameters { words: value.into(), settings: Vec::new() }
    }

    fn with(name: &str, asked: &str, took_effect: Option<bool>) -> Machine {
        let mut machine = Machine::default();
        let parameter = BootParameter {
            name: name.into(),
            asked: Some(asked.into()),
            now: Some("2-3".into()),
            took_effect,
            source: "/sys".into(),
        };
        machine.kernel.boot = vec![parameter];
        machine
    }

    fn judged(value: &str, with: &Machine, without_tick: Vec<Ticks>, control: Option<Ticks>) -> Verdict {
        let before = Machine::default();
        judge(&plan(value), &Seen { before: &before, with, after: &before, without_tick, control }).unwrap()
    }

    fn ticks(cpu: u32, per_s: f64, busy: f64) -> Ticks {
        Ticks { cpu, per_s: Some(per_s), busy: Some(busy) }
    }

    #[test]
    fn the_kernels_word_decides() {
        let effects = |took| judged("nohz_full=2-3", &with("nohz_full", "2-3", took), Vec::new(), None);
        assert!(effects(Some(true)).holds);
        assert!(!effects(Some(false)).holds);
        let untold = effects(None);
        assert_eq!((untold.holds, untold.checks[0].effect), (false, Effect::NotTold));
    }

    #[test]
    fn what_the_first_process_got_had_no_effect() {
        let mut machine = Machine::default();
        machine.kernel.unknown_parameters = Some(vec!["frobnicate".into()]);
        let verdict = judged("frobnicate=1", &machine, Vec::new(), None);
        assert_eq!(verdict.checks[0].effect, Effect::NoEffect);
        assert_eq!(judged("other=1", &machine, Vec::new(), None).checks[0].effect, Effect::NotTold);
    }

    #[test]
    fn what_no_module_takes_counts_against_the_plan() {
        let mut machine = with("isolcpus", "2-3", Some(true));
        machine.kernel.cmdline =
            Some("isolcpus=2-3 procesor.max_cstate=1 frob.x=1 nvme.poll_queues=4".into());
        let takers = [
            ("procesor.max_cstate", Taker::NoModuleSoCalled),
            ("frob.x", Taker::NoModule),
            ("nvme.poll_queues", Taker::NotTold),
        ];
        machine.kernel.module_parameters =
            Some(takers.into_iter().map(|(name, taker)| (name.to_string(), taker)).collect());
        let slip = boot::decode_words(&["procesor.max_cstate=1".into()], &machine);
        machine.kernel.boot.extend(slip);
        let effect = |value: &str| {
            let verdict = judged(&format!("isolcpus=2-3 {value}"), &machine, Vec::new(), None);
            (verdict.holds, verdict.checks[1].effect)
        };
        assert_eq!(effect("procesor.max_cstate=1"), (false, Effect::NoEffect));
        assert_eq!(effect("frob.x=1"), (false, Effect::NoEffect));
        assert_eq!(effect("nvme.poll_queues=4"), (true, Effect::NotTold));
        assert_eq!(effect("systemd.show_status=1"), (true, Effect::NotTold));
    }

    #[test]
    fn few_ticks_count_only_beside_a_control_that_has_many() {
        let machine = with("nohz_full", "2", Some(true));
        let effect =
            |cpu, control| judged("nohz_full=2", &machine, vec![cpu], Some(control)).checks[1].effect;
        assert_eq!(effect(ticks(2, 0.3, 1.0), ticks(0, 128.0, 1.0)), Effect::TookEffect);
        assert_eq!(effect(ticks(2, 120.0, 1.0), ticks(0, 128.0, 1.0)), Effect::NoEffect);
        assert_eq!(effect(ticks(2, 0.3, 1.0), ticks(0, 4.0, 1.0)), Effect::Insensitive);
        assert_eq!(effect(ticks(2, 0.3, 0.1), ticks(0, 128.0, 1.0)), Effect::Insensitive);
        assert!(
            !judged("nohz_full=2", &machine, vec![ticks(2, 120.0, 1.0)], Some(ticks(0, 128.0, 1.0))).holds
        );
    }

    #[test]
    fn lines_that_stray_are_reported() {
        let line = |irq, asked: &str, effective: &str| machine::irqs::Irq {
            irq,
            affinity: CpuSet::from_list(asked).ok(),
            effective: CpuSet::from_list(effective).ok(),
            ..Default::default()
        };
        let mut machine = with("irqaffinity", "1", Some(true));
        // CPU 1 alone was requested; the kernel added the CPU that it booted on.
        machine.kernel.tunables.insert("irq.default_smp_affinity".into(), "3".into());
        machine.irqs = vec![line(4, "0-1", "1"), line(9, "0-7", "3")];
        let verdict = judged("irqaffinity=1", &machine, Vec::new(), None);
        assert_eq!(verdict.checks[1].effect, Effect::TookEffect);
        assert!(
            verdict.checks[1].evidence.contains("1 of 2 lines")
                && verdict.checks[1].evidence.ends_with("IRQ 9")
        );
        machine.irqs.push(line(5, "0-1", "6"));
        assert_eq!(judged("irqaffinity=1", &machine, Vec::new(), None).checks[1].effect, Effect::NoEffect);
    }

    #[test]
    fn interrupts_without_the_kernels_own_mask_are_not_judged() {
        let verdict = judged("irqaffinity=2", &with("irqaffinity", "2", None), Vec::new(), None);
        assert_eq!(verdict.checks[1].effect, Effect::NotTold);
    }

    #[test]
    fn what_was_so_before_proves_nothing() {
        let mut before = Machine::default();
        before.kernel.smt = Some("notsupported".into());
        let mut with = before.clone();
        with.kernel.boot = boot::decode_words(&["nosmt".into()], &with);
        let judged = |value: &str, with: &Machine| {
            let seen =
                Seen { before: &before, with, after: &before, without_tick: Vec::new(), control: None };
            judge(&plan(value), &seen).unwrap()
        };
        let alone = judged("nosmt", &with);
        assert_eq!((alone.holds, alone.checks[0].effect), (false, Effect::WasSoBefore));
        let isolated = BootParameter {
            name: "isolcpus".into(),
            asked: Some("2".into()),
            now: Some("2".into()),
            took_effect: Some(true),
            source: "/sys".into(),
        };
        with.kernel.boot.push(isolated);
        let both = judged("nosmt isolcpus=2", &with);
        assert_eq!((both.holds, both.checks[1].effect), (true, Effect::TookEffect));
    }

    #[test]
    fn a_default_affinity_that_was_so_before_proves_nothing() {
        let mut machine = with("irqaffinity", "0-1", None);
        machine.kernel.tunables.insert("irq.default_smp_affinity".into(), "3".into());
        let line = machine::irqs::Irq {
            irq: 4,
            affinity: CpuSet::from_list("0-1").ok(),
            effective: CpuSet::from_list("1").ok(),
            ..Default::default()
        };
        machine.irqs = vec![line];
        let seen = Seen {
            before: &machine,
            with: &machine,
            after: &machine,
            without_tick: Vec::new(),
            control: None,
        };
        let verdict = judge(&plan("irqaffinity=0-1"), &seen).unwrap();
        assert_eq!(verdict.checks[1].effect, Effect::WasSoBefore);
    }
}
