//! Whole studies of two CPUs in situations that mislead: what they claim, and whether the reason that they give is the right one.

use load::Headroom;
use machine::CpuSet;
use pinwise_study::arm::each_cpu_in_turn;
use pinwise_study::evidence::{ArmStanding, ControlOutcome, Question, Trust, Unseen, Whose, weigh};
use pinwise_study::trial::Quota;
use pinwise_study::{Arm, AsRun, Demand, Direction, Evidence, Misplaced, Precision, Role, Trial, Verdict};

use crate::table::{Cell, Share, Table};
use crate::world::{Luck, METRIC, WORLDS, trials, with_what_was_taken};

const BLOCKS: usize = 14;
const PRECISION: Precision = Precision { margin: 0.03, alpha: 0.05 };

/// What is so, and what has to be said of it.
struct Situation {
    name: &'static str,
    /// True capacity of the arm as a share of that of a server on a CPU of its own, with the load on another; before the dose.
    truth: fn(&Arm) -> f64,
    /// Whether taking CPU time from the server costs anything.
    dose_shows: bool,
    /// What a trial says of its run, from the arm and the truth.
    seen: fn(&Arm, Trial) -> Trial,
    /// Whether the evidence gives the right reason.
    is_right: fn(&Evidence) -> bool,
    /// CPUs that may be called slow.
    slow: &'static [u32],
}

fn server(arm: &Arm) -> Option<u32> {
    arm.placement.server_cpus.as_ref().and_then(CpuSet::first)
}

fn load(arm: &Arm) -> Option<u32> {
    arm.placement.load_cpus.as_ref().and_then(CpuSet::first)
}

fn is_together(arm: &Arm) -> bool {
    server(arm).is_some() && server(arm) == load(arm)
}

/// A server that wants its CPU all the time, and a load that has room.
fn busy(trial: Trial, server: f64, client: f64) -> Trial {
    let demand = |share: f64| Some(Demand { on_cpu_share: share, waited_share: Some(0.0) });
    let as_run = AsRun { server_demand: demand(server), load_demand: demand(client), ..trial.as_run.clone() };
    let client_limits = Some(client > 0.9 && server < 0.9);
    let headroom = Some(Headroom {
        client_busy: Some(client),
        server_busy: Some(server),
        client_limits,
        note: String::new(),
    });
    Trial { as_run, headroom, ..trial }
}

fn best(evidence: &Evidence) -> Option<&str> {
    let better = evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better);
    better.max_by(|a, b| a.ratio.total_cmp(&b.ratio)).map(|contrast| contrast.arm.as_str())
}

const SITUATIONS: [Situation; 8] = [
    Situation {
        name: "server and load together are best",
        truth: |arm| match (arm.role, is_together(arm)) {
            (Role::Baseline, _) => 1.1,
            (_, true) => 1.4,
            _ => 1.0,
        },
        dose_shows: true,
        seen: |_, trial| busy(trial, 0.98, 0.5),
        is_right: |evidence| best(evidence).is_some_and(|arm| arm.starts_with("both on")),
        slow: &[],
    },
    Situation {
        name: "apart is best",
        truth: |arm| match (arm.role, is_together(arm)) {
            (Role::Baseline, _) => 0.85,
            (_, true) => 0.6,
            _ => 1.0,
        },
        dose_shows: true,
        seen: |_, trial| busy(trial, 0.98, 0.5),
        is_right: |evidence| best(evidence).is_some_and(|arm| arm.starts_with("cpu")),
        slow: &[],
    },
    Situation {
        name: "the load is the limit",
        truth: |_| 1.0,
        dose_shows: false,
        seen: |_, trial| busy(trial, 0.6, 0.98),
        is_right: |evidence| {
            let outcome = evidence.control.as_ref().map(|control| control.outcome);
            evidence.load_limited_share.is_some_and(|share| share > 0.5)
                && matches!(outcome, Some(ControlOutcome::Unseen(Unseen::LoadLimits { .. })))
        },
        slow: &[],
    },
    Situation {
        name: "the server pins itself to CPU 0",
        // The load of the arm of CPU 1 runs beside it; so it does in half of the unpinned trials.
        truth: |arm| match (arm.role, load(arm)) {
            (Role::Baseline, _) => 0.8,
            (_, Some(0)) => 0.6,
            _ => 1.0,
        },
        dose_shows: true,
        seen: |arm, trial| {
            let own = CpuSet::single(0);
            let misplaced = match server(arm) {
                Some(0) => None,
                Some(asked) => Some(Misplaced::Elsewhere { asked: CpuSet::single(asked), ran_on: own }),
                None => Some(Misplaced::Narrower { given: (0..2).collect(), allowed: own }),
            };
            let trial = busy(trial, 0.98, 0.5);
            Trial { as_run: AsRun { misplaced, ..trial.as_run.clone() }, ..trial }
        },
        is_right: |evidence| {
            let is_misplaced =
                |arm: &str| matches!(evidence.standings.get(arm), Some(ArmStanding::Misplaced { .. }));
            is_misplaced("cpu 1") && is_misplaced("unpinned A")
        },
        slow: &[],
    },
    Situation {
        name: "a quota of 0.4 CPUs",
        truth: |_| 0.4,
        dose_shows: false,
        seen: |_, trial| {
            let trial = busy(trial, 0.4, 0.2);
            let quota = Quota {
                cgroup: "/limited".into(),
                cpus: 0.4,
                periods: 10,
                throttled_periods: 10,
                throttled_us: 600_000,
            };
            Trial {
                window_s: 1.0,
                as_run: AsRun { server_quotas: vec![quota], ..trial.as_run.clone() },
                ..trial
            }
        },
        is_right: |evidence| evidence.quota.as_ref().is_some_and(|quota| quota.cgroup == "/limited"),
        slow: &[],
    },
    Situation {
        name: "CPU 1 is slow for the server",
        truth: |arm| match (arm.role, server(arm), is_together(arm)) {
            (Role::Baseline, ..) => 0.9,
            (_, Some(1), false) => 0.78,
            (_, Some(1), true) => 0.5,
            (_, _, true) => 0.65,
            _ => 1.0,
        },
        dose_shows: true,
        // A server that never sleeps: what it lost shows in its time on the CPU, a request at a time.
        seen: |_, trial| busy(trial, 0.98, 0.5),
        is_right: |evidence| {
            let slow = evidence.slow_cpus();
            matches!(slow[..], [worst] if worst.cpu == Some(1) && worst.whose == Some(Whose::Server))
        },
        slow: &[1],
    },
    Situation {
        name: "the load starves on CPU 1",
        truth: |arm| match (arm.role, load(arm), is_together(arm)) {
            (Role::Baseline, ..) => 0.8,
            (_, Some(1), true) => 0.4,
            (_, Some(1), false) => 0.55,
            (_, _, true) => 0.7,
            _ => 1.0,
        },
        dose_shows: false,
        seen: |arm, trial| match load(arm) {
            Some(1) => busy(trial, 0.1, 0.99),
            _ => busy(trial, 0.18, 0.7),
        },
        is_right: |evidence| {
            let of_load = |contrast: &&pinwise_study::Contrast| contrast.whose == Some(Whose::Load);
            evidence.not_the_servers().iter().any(of_load)
        },
        slow: &[],
    },
    Situation {
        name: "nothing",
        truth: |arm| if is_together(arm) { 0.6 } else { 1.0 },
        dose_shows: true,
        seen: |_, trial| busy(trial, 0.98, 0.5),
        is_right: |evidence| {
            evidence.against_other_cpus.iter().all(|contrast| {
                matches!(contrast.verdict, Verdict::Equal | Verdict::Undecided | Verdict::CannotTell)
            })
        },
        slow: &[],
    },
];

/// The table: one row a situation.
pub fn measure(seed: u64, studies: u64) -> Table {
    let rows = SITUATIONS.iter().map(|situation| row(situation, seed, studies)).collect();
    Table {
        title: "Situations that mislead".into(),
        remark: format!(
            "{studies} studies a row, of two CPUs with the default arms and {BLOCKS} blocks, margin 3 %, error 0.05; 3 % noise, slow runs and drift together; \
             seed {seed}. A wrong claim: better, worse or equal against the truth beyond the margin, a slow CPU that is none, or a claim about an arm that was \
             not as asked. In brackets: 95 % interval (Wilson)."
        ),
        columns: vec![
            "what is so",
            "any wrong claim",
            "right reason",
            "no claim: A/A differed",
            "control better, and silent about it",
        ],
        rows,
    }
}

fn row(situation: &Situation, seed: u64, studies: u64) -> Vec<Cell> {
    let arms = each_cpu_in_turn(&(0..2).collect(), &(0..2).collect(), None).expect("two CPUs");
    let [mut wrong, mut right, mut untrusted, mut silent] = [Share::default(); 4];
    let is_capacity = true;
    let question = Question { metric: METRIC, better: Direction::Higher, precision: PRECISION, is_capacity };
    for study in 0..studies {
        let mut luck = Luck::new(seed, study);
        let truth = |arm: &Arm| {
            let back = if arm.role == Role::Dose && !situation.dose_shows { -(0.8f64.ln()) } else { 0.0 };
            (situation.truth)(arm).ln() + back
        };
        let made = trials(&arms, BLOCKS, WORLDS[3], &mut luck, truth);
        let made: Vec<Trial> = made.into_iter().map(|trial| seen(situation, &arms, trial)).collect();
        let evidence = weigh(&arms, &made, &question);
        let is_untrusted = matches!(evidence.trust, Trust::Untrustworthy { .. });
        untrusted.count(is_untrusted);
        wrong.count(is_wrong(situation, &arms, &evidence));
        if !is_untrusted {
            right.count((situation.is_right)(&evidence));
        }
        silent.count(is_silent_about_its_control(&evidence));
    }
    let mut cells = vec![situation.name.into()];
    cells.extend([wrong, right, untrusted, silent].map(Cell::Full));
    cells
}

fn seen(situation: &Situation, arms: &[Arm], trial: Trial) -> Trial {
    let arm = arms.iter().find(|arm| arm.name == trial.arm).expect("an arm of the study");
    with_what_was_taken(arms, (situation.seen)(arm, trial))
}

/// Whether any claim is against the truth.
fn is_wrong(situation: &Situation, arms: &[Arm], evidence: &Evidence) -> bool {
    let truth = |name: &str| {
        let arm = arms.iter().find(|arm| arm.name == name).expect("an arm of the study");
        (situation.truth)(arm).ln()
    };
    let margin = (1.0 + PRECISION.margin).ln();
    let baseline = truth("unpinned A");
    let is_false = |contrast: &pinwise_study::Contrast| {
        let gain = truth(&contrast.arm) - baseline;
        match contrast.verdict {
            // Beyond the margin is what these words say.
            Verdict::Better => gain <= margin,
            Verdict::Worse => gain >= -margin,
            Verdict::Equal => gain.abs() >= margin,
            _ => false,
        }
    };
    let not_as_asked = |contrast: &&pinwise_study::Contrast| {
        evidence.standings.contains_key(&contrast.arm)
            && !matches!(contrast.verdict, Verdict::NotAsAsked | Verdict::Untrustworthy)
    };
    evidence.against_baseline.iter().any(|contrast| is_false(contrast) || not_as_asked(&contrast))
        || evidence.slow_cpus().iter().any(|slow| slow.cpu.is_none_or(|cpu| !situation.slow.contains(&cpu)))
}

/// Whether the control came out better than all that is claimed, and the evidence does not have it.
fn is_silent_about_its_control(evidence: &Evidence) -> bool {
    let Some(control) = &evidence.control else { return false };
    let is_to_be_said = control.outcome == ControlOutcome::Helped || best(evidence).is_some();
    is_to_be_said && evidence.control_against_baseline.is_none()
}
