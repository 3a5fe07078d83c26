//! What to do next, by the answer of a study: typed, so that terminal, page and JSON say the same.

use machine::CpuSet;
use machine::knobs::guest::OF_SERVER;
use machine::plan::SERVER;
use serde::Serialize;
use study::evidence::{ControlOutcome, Unseen};
use study::statistics::signed_rank::MOST_BLOCKS;
use study::{Contrast, Facts, Trust, Verdict, design, looks};

use crate::finding::Finding;
use crate::plan::plan;

/// Most blocks that one step proposes, as a multiple of those that the study was planned with.
const MOST_TIMES_PLANNED: usize = 2;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    },
    /// See what of the better placement no knob sets.
    SeePlan,
    /// Run more blocks.
    AddBlocks {
        /// How many.
        blocks: usize,
    },
    /// Give the server more to do, since this load does not show the positive control.
    MoreLoad,
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

/// How a server is named in a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// A process number, a systemd unit or a cgroup, as the study named it.
    Running(String),
    /// A program that the study started by itself.
    Program(String),
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
    if is_unseen(facts) {
        steps.push(Step::MoreLoad);
    }
    if findings.iter().any(|finding| finding.intervention.is_some() && finding.proof.is_none()) {
        steps.push(Step::Prove);
    }
    steps.extend(apply(facts, findings));
    steps.extend(more_blocks(facts).map(|blocks| Step::AddBlocks { blocks }));
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
    let of_server = |target: &str| target == SERVER || target.starts_with(OF_SERVER);
    let places_server = planned.iter().any(|planned| of_server(&planned.target));
    match (planned.is_empty(), places_server, server(facts)) {
        (true, ..) => is_claimed(facts, Verdict::Better).then_some(Step::SeePlan),
        (false, false, _) => Some(Step::Apply { supported, server: None }),
        (false, true, None) => Some(Step::StudyOwnServer),
        (false, true, server) => Some(Step::Apply { supported, server }),
    }
}

fn nothing_to_change(facts: &Facts) -> Step {
    let slow: CpuSet = facts.evidence.slow_cpus().iter().filter_map(|contrast| contrast.cpu).collect();
    match slow.is_empty() {
        true => Step::Keep { server: server(facts) },
        false => Step::WatchCpus { cpus: slow },
    }
}

/// The server of the study; `None` where it is the built-in one.
fn server(facts: &Facts) -> Option<Server> {
    let spec = &facts.study.recipe.server;
    if let Some(running) = &spec.running {
        return Some(Server::Running(running.clone()));
    }
    let program = spec.command.words().first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    (!name.is_empty() && !name.contains('{')).then(|| Server::Program(name.to_string()))
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

/// How many more blocks are worth running; `None` where everything is decided, and where blocks cannot be added.
fn more_blocks(facts: &Facts) -> Option<usize> {
    let (study, evidence) = (&facts.study, &facts.evidence);
    let is_open = match evidence.trust {
        Trust::Sound => looks::undecided(evidence) > 0,
        Trust::TooFew { .. } | Trust::Untrustworthy { .. } => true,
    };
    let claims = evidence.against_baseline.len().max(evidence.against_other_cpus.len());
    // They are judged by themselves, at the level that is set aside for them.
    let level = looks::set_aside(study.recipe.precision.alpha, study.added.len() as u32);
    let fewest = design::fewest_blocks(claims, level) + 1;
    let most = (MOST_TIMES_PLANNED * study.planned_blocks()).max(fewest);
    let open = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    let wanted = open
        .filter(|contrast| contrast.verdict == Verdict::Undecided)
        .map(|contrast| blocks_to_decide(contrast, evidence.precision.margin).unwrap_or(most))
        .max();
    let blocks = wanted.unwrap_or(fewest).clamp(fewest, most);
    let can = is_open && study.may_have_more(blocks).is_ok() && study.order.len() + blocks <= MOST_BLOCKS;
    can.then_some(blocks)
}

/// About how many blocks an undecided comparison needs by themselves, if its ratio is what was estimated: an interval shrinks with the
/// root of the blocks, until it lies on one side of the margin. `None` where there is no interval, or the ratio lies on the margin.
fn blocks_to_decide(contrast: &Contrast, margin: f64) -> Option<usize> {
    let (low, high) = contrast.interval?;
    let half = (high.ln() - low.ln()) / 2.0;
    let distance = (contrast.ratio.ln().abs() - margin.ln_1p()).abs();
    let blocks = (contrast.blocks as f64 * (half / distance).powi(2)).ceil();
    (blocks.is_finite() && blocks <= MOST_BLOCKS as f64).then_some(blocks as usize)
}

#[cfg(test)]
mod tests {
    use study::{Direction, case::added_blocks::Added};

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
        assert_eq!(steps(&facts), [Step::Apply { supported: false, server }]);
        facts.study.recipe.server.running = Some("nginx.service".into());
        let server = Some(Server::Running("nginx.service".into()));
        assert_eq!(steps(&facts), [Step::Apply { supported: false, server }]);
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
    fn what_is_undecided_gets_blocks_until_there_are_too_many() {
        let mut facts = CaseBuilder::of_cpus(2).build();
        let open = &mut facts.evidence.against_baseline[0];
        // Half the width of the interval is as far as the ratio is from the margin: as many blocks again.
        open.verdict = Verdict::Undecided;
        (open.ratio, open.interval, open.blocks) = (1.0, Some((1.0 / 1.06, 1.06)), 10);
        let found = steps(&facts);
        let [Step::AddBlocks { blocks }] = found[..] else { panic!("{found:?}") };
        assert!(blocks >= design::fewest_blocks(2, 0.05), "{blocks}");
        facts.study.order = vec![Vec::new(); MOST_BLOCKS];
        facts.study.added = vec![Added { first_block: 0, blocks: MOST_BLOCKS, made_unix_s: 0 }];
        assert!(!steps(&facts).iter().any(|step| matches!(step, Step::AddBlocks { .. })));
    }

    #[test]
    fn blocks_that_decide_go_with_the_square_of_the_width() {
        let contrast = |ratio: f64, interval| {
            let facts = CaseBuilder::of_cpus(2).build();
            Contrast { ratio, interval, blocks: 10, ..facts.evidence.against_baseline[0].clone() }
        };
        let of =
            |ratio, half: f64| blocks_to_decide(&contrast(ratio, Some(((-half).exp(), half.exp()))), 0.03);
        let distance = 0.03f64.ln_1p();
        assert_eq!(of(1.0, distance * 0.999), Some(10));
        assert_eq!(of(1.0, distance * 1.999), Some(40));
        assert_eq!(of(1.03, distance), None, "on the margin no number of blocks decides");
        assert_eq!(blocks_to_decide(&contrast(1.0, None), 0.03), None);
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
        assert_eq!(steps(&unseen)[0], Step::MoreLoad);
        facts.evidence.trust = Trust::TooFew { blocks: 3, needed: 6 };
        assert!(matches!(steps(&facts)[..], [Step::AddBlocks { .. }]), "{:?}", steps(&facts));
        facts.study.order = vec![vec![0]; 99];
        assert_eq!(steps(&facts), [Step::Resume]);
    }
}
