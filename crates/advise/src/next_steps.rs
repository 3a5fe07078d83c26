//! What to do next, by the answer of a study: typed, so that terminal, page and JSON say the same.

mod more_blocks;
mod program_names;

use machine::CpuSet;
use machine::knobs::guest::is_of_server;
use serde::Serialize;
use study::evidence::{ControlOutcome, Unseen};
use study::{Facts, Trust, Verdict};

use crate::caveats::{self, Caveat};
use crate::finding::Finding;
use crate::plan::{best_placement, plan};
use more_blocks::more_blocks;
pub use program_names::{LoadOptions, Server, own_name};
use program_names::{load_options, server};

/// From this share of the trials on in which the load was the limit, it is what hides differences.
const LOAD_LIMITED: f64 = 0.5;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Go on with the study, which is not finished.
    Resume,
    /// Move each cause that was not moved yet, and measure again.
    Prove,
    /// Write the plan and put it in force.
    Apply {
        /// Whether the plan takes causes that are supported and not proved.
        supported: bool,
        /// The server that the plan places; `None` where it places none.
        server: Option<Server>,
        /// What has to be known before it is kept.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        caveats: Vec<Caveat>,
    },
    /// See the better placement before it is applied: no knob sets what is better, or another figure is worse with it.
    SeePlan {
        /// What speaks against it; none where no knob sets it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        caveats: Vec<Caveat>,
    },
    /// Run more blocks.
    AddBlocks {
        /// How many.
        blocks: usize,
    },
    /// Make the study more sensitive first: so many blocks would be needed that running them is not worth it.
    TooManyBlocks {
        /// About how many decide the first of the comparisons that are open; `None` where no number is likely to.
        blocks: Option<usize>,
        /// About how long they would take, s; `None` where that is not known.
        about_s: Option<u64>,
    },
    /// Give the server more to do: this load does not show the positive control, or was the limit itself.
    MoreLoad {
        /// How.
        options: LoadOptions,
    },
    /// See what disturbs the machine.
    SeeDisturbance,
    /// See what takes time on CPUs that are slow for a reason that is not known.
    WatchCpus {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Study a server of one's own: the built-in one is a stand-in, and a plan for it is of no use.
    StudyOwnServer,
    /// Keep the placement, which no other is shown to be better than, and see what takes time from the server.
    Keep {
        /// The server; `None` where it was the built-in one.
        server: Option<Server>,
    },
}

/// What to do next, the most useful first; at least one step.
pub fn next_steps(facts: &Facts, findings: &[Finding]) -> Vec<Step> {
    if !facts.is_finished() {
        return vec![Step::Resume];
    }
    let mut steps = Vec::new();
    match facts.evidence.trust {
        Trust::Sound => {}
        Trust::Untrustworthy { .. } => steps.push(Step::SeeDisturbance),
        Trust::TooFew { .. } => {}
    }
    if is_unseen(facts) || is_hidden_by_the_load(facts) {
        steps.push(Step::MoreLoad { options: load_options(facts) });
    }
    if findings.iter().any(Finding::can_be_proved) {
        steps.push(Step::Prove);
    }
    steps.extend(apply(facts, findings));
    steps.extend(more_blocks(facts));
    if steps.is_empty() {
        steps.push(nothing_to_change(facts));
    }
    steps
}

/// The plan, where there is something in it.
fn apply(facts: &Facts, findings: &[Finding]) -> Option<Step> {
    let settings = |supported: bool| plan(facts, findings, supported).plan.settings;
    let (proved, also_supported) = (settings(false), settings(true));
    let supported = proved.is_empty();
    let planned = if supported { also_supported } else { proved };
    let places_server = planned.iter().any(|planned| is_of_server(&planned.target));
    let caveats = best_placement(facts).map_or_else(Vec::new, |(_, arm)| caveats::of(facts, arm));
    let is_mixed = caveats.iter().any(Caveat::is_worse);
    match (planned.is_empty(), places_server, server(facts)) {
        (true, ..) => is_claimed(facts, Verdict::Better).then_some(Step::SeePlan { caveats }),
        (false, true, None) => Some(Step::StudyOwnServer),
        _ if is_mixed => Some(Step::SeePlan { caveats }),
        (false, false, _) => Some(Step::Apply { supported, server: None, caveats }),
        (false, true, server) => Some(Step::Apply { supported, server, caveats }),
    }
}

fn nothing_to_change(facts: &Facts) -> Step {
    let slow: CpuSet = facts.evidence.slow_cpus().iter().filter_map(|contrast| contrast.cpu).collect();
    match slow.is_empty() {
        true => Step::Keep { server: server(facts) },
        false => Step::WatchCpus { cpus: slow },
    }
}

fn is_claimed(facts: &Facts, verdict: Verdict) -> bool {
    facts.evidence.against_baseline.iter().any(|contrast| contrast.verdict == verdict)
}

/// Whether the positive control was not seen because of the load.
fn is_unseen(facts: &Facts) -> bool {
    let outcome = facts.evidence.control.as_ref().map(|control| control.outcome);
    let of_load = |why| matches!(why, Unseen::Slack { .. } | Unseen::LoadLimits { .. });
    facts.evidence.trust == Trust::Sound
        && matches!(outcome, Some(ControlOutcome::Unseen(why)) if of_load(why))
}

/// Whether the load was the limit in most trials, and something is not shown to differ: more blocks of the same load do not show it either.
fn is_hidden_by_the_load(facts: &Facts) -> bool {
    let evidence = &facts.evidence;
    let mut contrasts = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    evidence.trust == Trust::Sound
        && evidence.load_limited_share.is_some_and(|share| share > LOAD_LIMITED)
        && contrasts.any(|contrast| !contrast.verdict.is_difference())
}

#[cfg(test)]
mod tests {
    use load::{CommandLoad, LoadSpec};
    use machine::topology::cpus::Cpu;
    use study::evidence::AlsoCompared;
    use study::{Contrast, Direction};

    use super::*;
    use crate::case_builder::{CaseBuilder, steered};
    use crate::examine;

    fn steps(facts: &Facts) -> Vec<Step> {
        next_steps(facts, &examine(facts))
    }

    fn of_program(mut facts: Facts) -> Facts {
        facts.study.recipe.server.command = "/usr/bin/redis-server --port {port}".parse().unwrap();
        facts
    }

    #[test]
    fn a_slow_cpu_is_proved_and_planned() {
        let facts = of_program(steered());
        let found = steps(&facts);
        assert_eq!(found[0], Step::Prove, "{found:?}");
        let apply = found.iter().find(|step| matches!(step, Step::Apply { .. }));
        // Whatever is offered has something in it.
        if let Some(Step::Apply { supported, .. }) = apply {
            assert!(!plan(&facts, &examine(&facts), *supported).plan.settings.is_empty());
        }
    }

    #[test]
    fn a_better_placement_is_applied_to_the_server_by_its_name() {
        let mut facts = of_program(CaseBuilder::of_cpus(2).build());
        let better = &mut facts.evidence.against_baseline[0];
        (better.verdict, better.ratio) = (Verdict::Better, 1.2);
        let server = Some(Server::Program("redis-server".into()));
        assert_eq!(steps(&facts), [Step::Apply { supported: false, server, caveats: Vec::new() }]);
        facts.study.recipe.server.running = Some("nginx.service".into());
        let server = Some(Server::Running("nginx.service".into()));
        assert_eq!(steps(&facts), [Step::Apply { supported: false, server, caveats: Vec::new() }]);
        facts.study.recipe.server = Default::default();
        assert_eq!(steps(&facts), [Step::StudyOwnServer]);
    }

    #[test]
    fn where_all_are_equal_nothing_has_to_change() {
        let facts = of_program(CaseBuilder::of_cpus(2).build());
        assert_eq!(facts.evidence.trust, Trust::Sound);
        let server = Some(Server::Program("redis-server".into()));
        assert_eq!(steps(&facts), [Step::Keep { server }]);
    }

    #[test]
    fn what_is_undecided_gets_blocks() {
        let mut facts = CaseBuilder::of_cpus(2).build();
        facts.evidence.against_baseline[0].verdict = Verdict::Undecided;
        facts.evidence.against_baseline[0].interval = None;
        let found = steps(&facts);
        assert!(matches!(found[..], [Step::AddBlocks { .. }]), "{found:?}");
    }

    #[test]
    fn a_load_that_was_the_limit_comes_before_more_blocks() {
        let mut facts = of_program(CaseBuilder::of_cpus(2).build());
        facts.evidence.against_baseline[0].verdict = Verdict::Undecided;
        facts.evidence.load_limited_share = Some(0.57);
        facts.study.recipe.load = LoadSpec::Command(CommandLoad::new("wrk -t1".parse().unwrap()));
        let more = Step::MoreLoad { options: LoadOptions::OfProgram("wrk".into()) };
        assert_eq!(steps(&facts)[0], more);
        facts.evidence.load_limited_share = Some(0.01);
        assert!(!steps(&facts).contains(&more));
        facts.evidence.load_limited_share = Some(0.57);
        let contrasts =
            facts.evidence.against_baseline.iter_mut().chain(&mut facts.evidence.against_other_cpus);
        contrasts.for_each(|contrast| contrast.verdict = Verdict::Worse);
        assert!(!steps(&facts).contains(&more), "all differ in spite of it");
    }

    #[test]
    fn what_is_worse_by_another_figure_is_to_be_seen_before_it_is_applied() {
        let mut facts = of_program(CaseBuilder::of_cpus(2).build());
        let better = &mut facts.evidence.against_baseline[0];
        (better.verdict, better.ratio) = (Verdict::Better, 1.2);
        let worse = Contrast { ratio: 1.25, verdict: Verdict::Worse, ..better.clone() };
        let also = |contrast| AlsoCompared {
            metric: "latency_p99_us".into(),
            unit: "us".into(),
            better: Direction::Lower,
            blocks: 8,
            against_baseline: vec![contrast],
        };
        facts.evidence.also = vec![also(Contrast { verdict: Verdict::Undecided, ..worse.clone() })];
        assert!(matches!(steps(&facts)[..], [Step::Apply { .. }]), "{:?}", steps(&facts));
        facts.evidence.also = vec![also(worse)];
        let found = steps(&facts);
        let [Step::SeePlan { caveats }] = &found[..] else { panic!("{found:?}") };
        assert!(caveats.iter().any(Caveat::is_worse), "{caveats:?}");
        // Beside the load of this host it has one CPU, where it had two.
        facts.evidence.also.clear();
        facts.machine.cpus = [0, 1].map(|id| Cpu { id, online: true, ..Cpu::default() }).into();
        let found = steps(&facts);
        let [Step::Apply { caveats, .. }] = &found[..] else { panic!("{found:?}") };
        assert!(matches!(caveats[..], [Caveat::LoadBeside { had: 2, .. }]), "{caveats:?}");
    }

    #[test]
    fn every_trust_leads_on() {
        let mut facts = CaseBuilder::of_cpus(2).in_latency().build();
        assert_eq!(facts.evidence.better, Direction::Lower);
        facts.evidence.trust = Trust::Untrustworthy { ratio: 1.2 };
        assert_eq!(steps(&facts)[0], Step::SeeDisturbance);
        let slack = ControlOutcome::Unseen(Unseen::Slack { server_wanted: 0.4 });
        let mut unseen = facts.clone();
        unseen.evidence.trust = Trust::Sound;
        unseen.evidence.control.as_mut().unwrap().outcome = slack;
        assert_eq!(steps(&unseen)[0], Step::MoreLoad { options: LoadOptions::Flags });
        facts.evidence.trust = Trust::TooFew { blocks: 3, needed: 6 };
        assert!(matches!(steps(&facts)[..], [Step::AddBlocks { .. }]), "{:?}", steps(&facts));
        facts.study.order = vec![vec![0]; 99];
        assert_eq!(steps(&facts), [Step::Resume]);
    }
}
