//! Interventions: the small studies that move a cause, or imitate it, and what must come out.
//!
//! The arms are the study's own placements of the server on CPU k and on CPU g, with the cause as it was found or moved.

use std::collections::BTreeSet;

use machine::{CpuSet, Neighbour, Placement, Setting};
use study::statistics::summary::Summary;
use study::{Arm, Facts, Intervention, Prediction, Role, Verdict};

use crate::siblings::Siblings;

/// The kernel's timers of the storm command lie between these rates, 1/s.
const STORM_RATES_PER_S: (f64, f64) = (100.0, 20_000.0);

/// How long an imitated storm may last at most, s: longer than any trial, so that it ends by itself if nobody ends it.
const STORM_LASTS_S: u32 = 600;

/// How arms are distinguished by name.
const IMITATED: &str = "imitated";

/// The fastest CPU that was tried, other than `slow` ones, `from` and its siblings; `first_choice` is tried before the
/// rest. `None` when no other CPU was tried.
pub fn good_cpu(
    facts: &Facts,
    from: u32,
    siblings: &Siblings,
    first_choice: impl Fn(u32) -> bool,
) -> Option<u32> {
    let slow: BTreeSet<u32> = facts.evidence.cpus_to_explain().iter().filter_map(|c| c.cpu).collect();
    let shared = siblings.of(from);
    let fastest = |fits: &dyn Fn(u32) -> bool| {
        let gain = |figure: &Summary| facts.evidence.better.gain(figure.median);
        let tried = facts.evidence.arms.iter().filter(|a| a.role == Role::Candidate);
        tried
            .filter_map(|a| Some((a.cpu?, gain(&a.figure))))
            .filter(|(cpu, _)| *cpu != from && fits(*cpu))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(cpu, _)| cpu)
    };
    let sound = |cpu: u32| !slow.contains(&cpu) && !shared.contains(cpu);
    fastest(&|cpu| sound(cpu) && first_choice(cpu))
        .or_else(|| fastest(&sound))
        .or_else(|| fastest(&|cpu| !slow.contains(&cpu)))
        .or_else(|| fastest(&|_| true))
}

/// The placement with which the study pinned the server to `cpu`.
pub fn studied_placement(facts: &Facts, cpu: u32) -> Option<&Placement> {
    let arm = facts.study.arms.iter().find(|a| a.role == Role::Candidate && a.cpu == Some(cpu))?;
    Some(&arm.placement)
}

/// A cause that settings steer: the same settings as they were found, and moved from the slow CPU to the good one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsMoved {
    /// The slow CPU.
    pub slow: u32,
    /// The good CPU.
    pub good: u32,
    /// What is moved, in words.
    pub what: String,
    /// Settings that hold the cause where it was found.
    pub as_found: Vec<Setting>,
    /// Settings that move it.
    pub moved: Vec<Setting>,
}

impl SettingsMoved {
    /// The intervention; `None` when one of the two CPUs was not tried in the study.
    pub fn intervention(self, facts: &Facts) -> Option<Intervention> {
        let Self { slow, good, what, as_found, moved } = self;
        four_arms(facts, slow, good, what, |placement, state| {
            let settings = match state {
                State::AsFound => &as_found,
                State::Moved => &moved,
            };
            placement.set(settings);
        })
    }
}

/// Moves every neighbour that the study ran on `slow` (and not everywhere) to `good`; `None` when there is none.
pub fn neighbours_moved(facts: &Facts, slow: u32, good: u32) -> Option<Intervention> {
    let everywhere: CpuSet = facts.study.arms.iter().filter_map(|a| a.cpu).collect();
    let on_slow = |n: &Neighbour| n.cpus.contains(slow) && !everywhere.is_subset(&n.cpus);
    let there: Vec<String> = studied_placement(facts, slow)?
        .neighbours
        .iter()
        .filter(|n| on_slow(n))
        .map(|n| format!("`{}`", n.command))
        .collect();
    if there.is_empty() {
        return None;
    }
    let what = format!("{} is moved from CPU {slow} to CPU {good}", there.join(" and "));
    four_arms(facts, slow, good, what, |placement, state| {
        if state == State::Moved {
            for neighbour in placement.neighbours.iter_mut().filter(|n| on_slow(n)) {
                neighbour.cpus = replaced(&neighbour.cpus, slow, good);
            }
        }
    })
}

/// A storm of timer interrupts at `rate_per_s` on the good CPU: does that many cost as much as the slow CPU lost? `None` if the storm command
/// cannot make as many: more or fewer show nothing.
pub fn timer_imitated(facts: &Facts, slow: u32, good: u32, rate_per_s: f64) -> Option<Intervention> {
    let rate = rate_per_s.round();
    if !(STORM_RATES_PER_S.0..=STORM_RATES_PER_S.1).contains(&rate) {
        return None;
    }
    let (as_found, imitated) = (format!("cpu {good}, as found"), format!("cpu {good}, {IMITATED}"));
    let on_good = studied_placement(facts, good)?;
    let mut stormed = on_good.clone();
    stormed.neighbours.push(Neighbour {
        command: format!("{{exe}} storm --cpu {{cpu}} --rate {rate} --for {STORM_LASTS_S}"),
        cpus: CpuSet::single(good),
    });
    Some(Intervention {
        what: format!(
            "what arms the timer on CPU {slow} is not known, so it is imitated: {rate} timer interrupts a second are made on CPU {good}"
        ),
        arms: vec![
            arm(as_found.clone(), good, on_good.clone()),
            arm(imitated.clone(), good, stormed),
            arm(format!("cpu {slow}, as found"), slow, studied_placement(facts, slow)?.clone()),
        ],
        predictions: vec![Prediction {
            arm: imitated,
            reference: as_found,
            expect: Verdict::Worse,
            words: format!("CPU {good} becomes slower when as many timer interrupts are made there"),
        }],
    })
}

/// Whether an intervention only imitates the cause; then it cannot prove that the cause is the reason.
pub fn is_imitation(intervention: &Intervention) -> bool {
    intervention.arms.iter().any(|a| a.name.ends_with(IMITATED))
}

/// `cpus` with `from` replaced by `to`.
pub fn replaced(cpus: &CpuSet, from: u32, to: u32) -> CpuSet {
    cpus.difference(&CpuSet::single(from)).union(&CpuSet::single(to))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    AsFound,
    Moved,
}

/// Server on the slow and on the good CPU, cause as found and moved: the slow one must become faster, the good one slower.
fn four_arms(
    facts: &Facts,
    slow: u32,
    good: u32,
    what: String,
    set: impl Fn(&mut Placement, State),
) -> Option<Intervention> {
    let name = |cpu: u32, state: State| match state {
        State::AsFound => format!("cpu {cpu}, as found"),
        State::Moved => format!("cpu {cpu}, moved"),
    };
    let mut arms = Vec::new();
    for (cpu, state) in [slow, good].into_iter().flat_map(|c| [(c, State::AsFound), (c, State::Moved)]) {
        let mut placement = studied_placement(facts, cpu)?.clone();
        set(&mut placement, state);
        arms.push(arm(name(cpu, state), cpu, placement));
    }
    let prediction = |cpu, expect, words| Prediction {
        arm: name(cpu, State::Moved),
        reference: name(cpu, State::AsFound),
        expect,
        words,
    };
    Some(Intervention {
        what,
        arms,
        predictions: vec![
            prediction(
                slow,
                Verdict::Better,
                format!("CPU {slow} becomes faster when the cause is taken away from it"),
            ),
            prediction(
                good,
                Verdict::Worse,
                format!("CPU {good} becomes slower when the cause is moved to it"),
            ),
        ],
    })
}

fn arm(name: String, cpu: u32, placement: Placement) -> Arm {
    Arm { cpu: Some(cpu), ..Arm::new(name, Role::Intervention, placement) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case_builder::CaseBuilder;

    fn rps(value: &str) -> Vec<Setting> {
        vec![Setting { knob: "rps-cpus".into(), target: "eth0/rx-0".into(), value: value.into() }]
    }

    #[test]
    fn the_cause_is_held_or_moved_on_both_cpus() {
        let facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        let moved = SettingsMoved { slow: 0, good: 1, what: "x".into(), as_found: rps("0"), moved: rps("1") };
        let intervention = moved.intervention(&facts).unwrap();
        let names: Vec<&str> = intervention.arms.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["cpu 0, as found", "cpu 0, moved", "cpu 1, as found", "cpu 1, moved"]);
        for (arm, value) in intervention.arms.iter().zip(["0", "1", "0", "1"]) {
            assert_eq!(arm.placement.settings, rps(value));
            assert_eq!(arm.placement.server_cpus, arm.cpu.map(CpuSet::single));
        }
        let expected: Vec<(&str, &str, Verdict)> = intervention
            .predictions
            .iter()
            .map(|p| (p.arm.as_str(), p.reference.as_str(), p.expect))
            .collect();
        let worse = ("cpu 1, moved", "cpu 1, as found", Verdict::Worse);
        assert_eq!(expected, [("cpu 0, moved", "cpu 0, as found", Verdict::Better), worse]);
        assert!(!is_imitation(&intervention));
    }

    #[test]
    fn a_setting_of_the_study_gives_way_to_the_same_one_of_the_intervention() {
        let mut facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        for arm in &mut facts.study.arms {
            arm.placement.settings = rps("0-1");
        }
        let moved = SettingsMoved { slow: 0, good: 1, what: "x".into(), as_found: rps("0"), moved: rps("1") };
        assert_eq!(moved.intervention(&facts).unwrap().arms[1].placement.settings, rps("1"));
    }

    #[test]
    fn the_good_cpu_is_neither_slow_nor_a_sibling_while_there_is_another() {
        let facts = CaseBuilder::of_cpus(4).slow(0, 0.5).slow(1, 0.6).build();
        let cores = [CpuSet::from_list("0,2").unwrap(), CpuSet::from_list("1,3").unwrap()];
        assert_eq!(good_cpu(&facts, 0, &Siblings::from_cores(&cores), |_| true), Some(3));
        assert_eq!(good_cpu(&facts, 0, &Siblings::unknown(), |c| c == 2), Some(2));
        let pair = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        let one_core = [CpuSet::from_list("0-1").unwrap()];
        assert_eq!(good_cpu(&pair, 0, &Siblings::from_cores(&one_core), |_| true), Some(1));
    }

    #[test]
    fn a_storm_is_imitated_if_as_many_interrupts_can_be_made() {
        let facts = CaseBuilder::of_cpus(2).slow(0, 0.5).build();
        let intervention = timer_imitated(&facts, 0, 1, 10_000.4).unwrap();
        assert!(is_imitation(&intervention));
        let storm = &intervention.arms[1].placement.neighbours[0];
        assert!(storm.command.contains("--rate 10000 ") && storm.cpus == CpuSet::single(1), "{storm:?}");
        for other in [1e9, 20_001.0, 3.0, f64::NAN] {
            assert_eq!(timer_imitated(&facts, 0, 1, other), None, "{other}");
        }
    }
}
