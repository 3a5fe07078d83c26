//! Whether a plan took effect, from what the kernel told before, with and after it. Pure.

use machine::diff::{self, Difference};
use machine::{CpuSet, Machine};
use serde::{Deserialize, Serialize};

use super::Plan;

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
    /// The kernel says that it is not so.
    NoEffect,
    /// Nothing that the kernel shows tells.
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
    /// The file, or the trial, that tells.
    pub source: String,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether everything that can be told took effect, something can, and all is as before after it.
    pub holds: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// Facts that are not as before once the plan is taken back.
    pub left_over: Vec<Difference>,
    /// Facts that the plan changed, beside the command line itself.
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
    /// Without it again.
    pub after: &'a Machine,
    /// Ticks of CPUs in nohz_full under a spinning task.
    pub without_tick: Vec<Ticks>,
    /// Ticks of an ordinary CPU under a spinning task.
    pub control: Option<Ticks>,
}

/// Judges a plan.
///
/// # Errors
/// In words, when a machine cannot be compared, which is a fault of pinwise.
pub fn judge(plan: &Plan, seen: &Seen<'_>) -> Result<Verdict, String> {
    let mut checks = parameters(plan, seen.with);
    checks.extend(ticks(seen));
    checks.extend(interrupts(plan, seen.with));
    let left_over = steady(diff::between(seen.before, seen.after)?);
    let mut changed = steady(diff::between(seen.before, seen.with)?);
    changed.retain(|difference| {
        !difference.fact.starts_with("kernel.boot") && difference.fact != "kernel.cmdline"
    });
    let told = checks.iter().filter(|check| check.effect != Effect::NotTold);
    let holds = left_over.is_empty()
        && told.clone().count() > 0
        && told.clone().all(|check| check.effect == Effect::TookEffect);
    Ok(Verdict { holds, checks, left_over, changed })
}

/// Each parameter as the running kernel shows it.
fn parameters(plan: &Plan, with: &Machine) -> Vec<Check> {
    let words = machine::kernel::boot::words(&plan.parameters());
    words.iter().map(|word| parameter(word, with)).collect()
}

fn parameter(word: &str, with: &Machine) -> Check {
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
        Some(known) => {
            let effect = match known.took_effect {
                Some(true) => Effect::TookEffect,
                Some(false) => Effect::NoEffect,
                None => Effect::NotTold,
            };
            check(effect, known.now.clone().unwrap_or_else(|| "nothing shows it".into()), &known.source)
        }
        None => check(Effect::NotTold, "pinwise knows no file that shows it".into(), "none"),
    }
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

/// With `irqaffinity=`, lines that were asked to stay on these CPUs and run elsewhere.
fn interrupts(plan: &Plan, with: &Machine) -> Vec<Check> {
    let words = machine::kernel::boot::words(&plan.parameters());
    let Some(asked) = words.iter().rev().find_map(|word| word.strip_prefix("irqaffinity=")) else {
        return Vec::new();
    };
    let Ok(wanted) = CpuSet::from_list(asked) else { return Vec::new() };
    let obeys =
        |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| !set.is_empty() && set.is_subset(&wanted));
    let bound: Vec<_> = with.irqs.iter().filter(|irq| obeys(&irq.affinity)).collect();
    let stray: Vec<_> =
        bound.iter().filter(|irq| irq.effective.is_some() && !obeys(&irq.effective)).collect();
    let others: Vec<String> =
        with.irqs.iter().filter(|irq| !obeys(&irq.affinity)).map(|irq| irq.irq.to_string()).collect();
    let effect = match (bound.is_empty(), stray.is_empty()) {
        (true, _) => Effect::NoEffect,
        (false, true) => Effect::TookEffect,
        (false, false) => Effect::NoEffect,
    };
    let mut evidence = format!("{} of {} lines run there alone", bound.len() - stray.len(), with.irqs.len());
    if !others.is_empty() {
        // Timers of the firmware, and lines that the kernel or their driver spreads, have an affinity of their own.
        evidence += &format!("; with an affinity of their own: IRQ {}", others.join(", "));
    }
    vec![Check {
        asked: format!("interrupts on CPUs {asked}"),
        effect,
        evidence,
        source: "/proc/irq/*/effective_affinity_list".into(),
    }]
}

/// Differences that do not come and go from boot to boot by themselves, as do memory that firmware and kernel take,
/// kernel threads that happen to be there, and links that are about to come up.
fn steady(differences: Vec<Difference>) -> Vec<Difference> {
    let moves = |fact: &str| {
        ["memory", "kernel_threads", "missing", "virtualization"].iter().any(|part| fact.starts_with(part))
            || fact.ends_with("memory_bytes")
            || fact.ends_with(".state")
            || fact.contains("min_free_kbytes")
    };
    differences.into_iter().filter(|difference| !moves(&difference.fact)).collect()
}

#[cfg(test)]
mod tests {
    use machine::kernel::boot::BootParameter;

    use super::super::Planned;
    use super::*;

    fn plan(value: &str) -> Plan {
        let setting =
            Planned { knob: super::super::BOOT_PARAMETERS.into(), value: value.into(), ..Planned::default() };
        Plan { settings: vec![setting] }
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
    fn lines_that_stray_are_told() {
        let line = |irq, asked: &str, effective: &str| machine::irqs::Irq {
            irq,
            affinity: CpuSet::from_list(asked).ok(),
            effective: CpuSet::from_list(effective).ok(),
            ..Default::default()
        };
        let mut machine = with("irqaffinity", "0-1", Some(true));
        machine.irqs = vec![line(4, "0-1", "1"), line(9, "0-7", "3")];
        let verdict = judged("irqaffinity=0-1", &machine, Vec::new(), None);
        assert_eq!(verdict.checks[1].effect, Effect::TookEffect);
        assert!(
            verdict.checks[1].evidence.contains("1 of 2 lines")
                && verdict.checks[1].evidence.ends_with("IRQ 9")
        );
        machine.irqs.push(line(5, "0-1", "6"));
        assert_eq!(judged("irqaffinity=0-1", &machine, Vec::new(), None).checks[1].effect, Effect::NoEffect);
    }

    #[test]
    fn what_is_left_over_is_told() {
        let with = with("nohz_full", "2", Some(true));
        let mut after = Machine::default();
        after.kernel.nohz_full = Some(CpuSet::single(2));
        after.memory_bytes = Some(1);
        let before = Machine::default();
        let seen =
            Seen { before: &before, with: &with, after: &after, without_tick: Vec::new(), control: None };
        let verdict = judge(&plan("nohz_full=2"), &seen).unwrap();
        assert!(!verdict.holds);
        assert_eq!(verdict.left_over.len(), 1, "{:?}", verdict.left_over);
    }
}
