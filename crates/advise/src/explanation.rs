//! What makes the difference between two arms: the difference of two accounts.
//!
//! For the threads of a server that worked, threads x window = own + interrupted + waiting + throttled + blocked + asleep, exactly.
//! Divided by threads and requests it is the time of a request, so that the difference of two arms *is* the sum of the differences of the
//! terms ([`waterfall`]). Rules say who took a term ([`claim`]); what none of them claims is reported as a number. Pure.

pub mod claim;
pub mod common_causes;
mod cross_cpu_wakeups;
mod diagnosed_trials;
mod dropped_blocks;
pub mod functions;
pub mod hardware_counters;
pub mod intervention;
pub mod latency;
mod load_waits;
pub mod observer_effect;
mod server_busy;
pub mod stalled;
pub mod term;
mod trial_pair;
pub mod wakeups;
pub mod waterfall;

use std::collections::BTreeMap;

use machine::{FactId, Missing};
use probe::account::SleepReason;
use serde::Serialize;
use study::{Arm, Facts, Observed, SeenObserved};

use crate::diagnosis::Subject;
use crate::diagnosis::rules::Costs;
use crate::diagnosis::rules::waits::lock;
use claim::{Claim, Scaled, Side, Support};
use common_causes::EveryArm;
use diagnosed_trials::{OfArm, diagnosed_trials};
use dropped_blocks::dropped_blocks;
use functions::FunctionChange;
use hardware_counters::Work;
use latency::Latency;
use observer_effect::ObserverEffect;
use stalled::Stalled;
use term::{Part, Term, Terms};
use trial_pair::TrialPair;
use wakeups::Wakeups;
pub use waterfall::MATTERS;
use waterfall::{Change, Pair, Waterfall, waterfall};

/// What times are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A request of a closed loop, us: the total is window / requests, so that terms explain throughput.
    Request,
    /// A request at a fixed rate, us: the total is given by the rate, and says nothing of latency. What a request takes of CPUs is compared.
    RequestAtFixedRate,
    /// The window, as shares: the load does not say how many requests were answered meanwhile.
    Window,
}

/// What makes the difference between two arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The arm.
    pub arm: String,
    /// The arm that it is held against.
    pub against: String,
    /// What times are divided by.
    pub basis: Basis,
    /// Observed blocks that have both.
    pub blocks: usize,
    /// Threads of the server that worked: median of the arm, and of the other. Times are per thread.
    pub threads: (usize, usize),
    /// The server's time.
    pub server: Waterfall,
    /// That of the load on this host, by counters; `None` where it was not seen.
    pub load: Option<Waterfall>,
    /// How long a request waited in the server's sockets, and how long its service took; `None` where the kernel does not report it.
    pub latency: Option<Latency>,
    /// What the server did by the counters of its CPUs; `None` where there are none.
    pub work: Option<Work>,
    /// Functions of the server whose CPU time a request differs; empty where they were not sampled.
    pub functions: Vec<FunctionChange>,
    /// How the server's threads were woken in the arm, and in the other; `None` where they were not, or it is not known.
    pub wakeups: Option<(Wakeups, Wakeups)>,
    /// Mechanisms that cost one arm more than the other, largest first.
    pub claims: Vec<Claim>,
    /// Of all that changed, the share of which it is not known who or what took it, 0 to 1; `None` where nothing changed.
    pub unexplained_share: Option<f64>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// A case explained: each of its observed trials is judged once for all of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Explained {
    /// Every arm that was observed, against the baseline. Arms that cannot be held against it are left out.
    pub explanations: Vec<Explanation>,
    /// What costs all of them.
    pub every_arm: EveryArm,
    /// What observing cost each of them.
    pub observing: Vec<ObserverEffect>,
    /// Arms, observed or not, in which work stalls at regular distances.
    pub stalled: Vec<Stalled>,
}

impl Explained {
    /// Explains all that was observed.
    pub fn of(facts: &Facts) -> Self {
        let by_arm = diagnosed_trials(facts, |_| true);
        Self {
            explanations: against_baseline(facts, &by_arm),
            every_arm: common_causes::every_arm(facts, &by_arm),
            observing: observer_effect::observer_effects(facts),
            stalled: stalled::stalled(facts),
        }
    }
}

/// Explains the difference between two arms of a case by its observed blocks.
///
/// # Errors
/// There is no such arm, or no observed block has both: why.
pub fn explain(facts: &Facts, arm: &str, against: &str) -> Result<Explanation, Missing> {
    let (arm, against) = (named(facts, arm)?, named(facts, against)?);
    let by_arm = diagnosed_trials(facts, |name| name == arm.name || name == against.name);
    explanation(facts, &by_arm, arm, against)
}

/// Every arm that was observed, against the baseline. Arms that cannot be held against it are left out.
pub fn explain_all(facts: &Facts) -> Vec<Explanation> {
    against_baseline(facts, &diagnosed_trials(facts, |_| true))
}

fn against_baseline(facts: &Facts, by_arm: &BTreeMap<&str, OfArm<'_>>) -> Vec<Explanation> {
    let arms = facts.study.arms.iter().filter(|arm| by_arm.contains_key(arm.name.as_str()));
    let Some(baseline) = arms.clone().find(|arm| arm.role == study::Role::Baseline) else {
        return Vec::new();
    };
    let others = arms.filter(|arm| arm.name != baseline.name);
    others.filter_map(|arm| explanation(facts, by_arm, arm, baseline).ok()).collect()
}

/// Whether a lock of the server costs the same arm more: whoever releases it wakes a waiter, on whatever CPU that one was.
fn follows_from_a_lock(crossing: &Claim, claims: &[Claim]) -> bool {
    let is_lock =
        |claim: &Claim| lock::is_of(&claim.id) && claim.evidence.costlier() == crossing.evidence.costlier();
    crossing.id.subject == Subject::Server && claims.iter().any(is_lock)
}

fn explanation(
    facts: &Facts,
    by_arm: &BTreeMap<&str, OfArm<'_>>,
    arm: &Arm,
    against: &Arm,
) -> Result<Explanation, Missing> {
    let pairs = pairs(by_arm, arm, against);
    let basis = basis(facts, arm, against, &pairs);
    let unit = |observed: &Observed, terms: &Terms| match basis {
        Basis::Window => terms.total_ns(),
        _ => terms.threads as f64 * observed.requests.unwrap_or(1.0) * 1e3,
    };
    let mut of_server = Vec::new();
    let mut of_load = Vec::new();
    let mut found = Vec::new();
    for (a, b) in &pairs {
        let (Some(arm), Some(against)) = (&a.server, &b.server) else { continue };
        let (arm_unit, against_unit) = (unit(a.observed, arm), unit(b.observed, against));
        of_server.push(Pair { arm: arm.divided(arm_unit), against: against.divided(against_unit) });
        found.push((
            Scaled { found: &a.found, active: a.active_ns / arm_unit, wall: a.wall_ns / arm_unit },
            Scaled { found: &b.found, active: b.active_ns / against_unit, wall: b.wall_ns / against_unit },
        ));
        if let (Some(arm), Some(against)) = (&a.load, &b.load) {
            let (arm_unit, against_unit) = (unit(a.observed, arm), unit(b.observed, against));
            of_load.push(Pair { arm: arm.divided(arm_unit), against: against.divided(against_unit) });
        }
    }
    if of_server.is_empty() {
        return Err(nothing_observed(facts));
    }
    let server = waterfall(&of_server);
    let slower = slower(facts, basis, &server.total, arm, against);
    let mut claims = claim::claims(&found, server.total.larger(), slower);
    for crossing in cross_cpu_wakeups::claims(&pairs, slower, &server) {
        // How often it happens is better evidence than whether the rule found it.
        claims.retain(|claim| claim.id != crossing.id);
        if !follows_from_a_lock(&crossing, &claims) {
            claims.push(crossing);
        }
    }
    claims.sort_by_key(|claim| claim.outweighed);
    let claims: Vec<Claim> = claims.into_iter().map(|claim| provable(facts, claim, arm, against)).collect();
    let unexplained_share = unexplained(&server, &claims);
    let threads = |of: fn(&Pair) -> usize| {
        let mut all: Vec<usize> = of_server.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    Ok(Explanation {
        arm: arm.name.clone(),
        against: against.name.clone(),
        basis,
        blocks: of_server.len(),
        threads: (threads(|pair| pair.arm.threads), threads(|pair| pair.against.threads)),
        load: (of_load.len() == of_server.len()).then(|| waterfall(&of_load)),
        wakeups: wakeups(&pairs),
        latency: latency::latency(&pairs),
        work: hardware_counters::work(&pairs),
        functions: functions::functions(&pairs),
        server,
        claims,
        unexplained_share,
        missing: dropped_blocks(facts, arm, against).into_iter().chain(missing(&pairs)).collect(),
    })
}

/// The arm in which a request takes longer, by the observed blocks or else by the deciding ones, of which there are more; `None` where neither
/// shows it, or where the load says how long it takes.
fn slower(facts: &Facts, basis: Basis, total: &Change, arm: &Arm, against: &Arm) -> Option<Side> {
    match basis == Basis::Request {
        true if total.is_there() => Some(claim::side(total.difference() > 0.0)),
        true => decided_slower(facts, arm, against),
        false => None,
    }
}

/// The slower one of an arm and the baseline by the study's verdict, if that is about a rate.
fn decided_slower(facts: &Facts, arm: &Arm, against: &Arm) -> Option<Side> {
    let evidence = &facts.evidence;
    let (judged, its_side) = match (arm.role, against.role) {
        _ if evidence.better != study::Direction::Higher => return None,
        (_, study::Role::Baseline) => (arm, Side::Arm),
        (study::Role::Baseline, _) => (against, Side::Against),
        _ => return None,
    };
    let contrast = evidence.against_baseline.iter().find(|contrast| contrast.arm == judged.name)?;
    match contrast.verdict {
        study::Verdict::Worse => Some(its_side),
        study::Verdict::Better => Some(its_side.other()),
        _ => None,
    }
}

/// The claim with the intervention that would prove it, and the latest proof of it.
fn provable(facts: &Facts, claim: Claim, arm: &Arm, against: &Arm) -> Claim {
    let (costlier, cheaper) = claim.costlier_first(arm, against);
    let intervention = intervention::intervention(&claim, costlier, cheaper);
    let id = proof_id(&claim, &arm.name, &against.name);
    let proof = facts.proofs.iter().rev().find(|proof| proof.finding == id);
    Claim { intervention, ..claim }.judged(proof)
}

/// What a proof of a claim about these two arms is known by, whichever is held against the other.
pub fn proof_id(claim: &Claim, arm: &str, against: &str) -> String {
    let (costlier, cheaper) = claim.costlier_first(arm, against);
    format!("{} costs {costlier} more than {cheaper}", claim.id)
}

/// The arm of this name; for the baseline, which is in each block twice, its first copy.
fn named<'a>(facts: &'a Facts, name: &str) -> Result<&'a Arm, Missing> {
    let arms = &facts.study.arms;
    let is_baseline = |arm: &&Arm| arm.role == study::Role::Baseline && arm.title() == name;
    arms.iter().find(|arm| arm.name == name).or_else(|| arms.iter().find(is_baseline)).ok_or_else(|| {
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        Missing::new(
            format!("arm '{name}'"),
            format!("the case has no arm of that name; its arms are: {}", names.join(", ")),
        )
    })
}

/// The trials of both arms in the same block.
fn pairs<'t, 'a>(by_arm: &'t BTreeMap<&str, OfArm<'a>>, arm: &Arm, against: &Arm) -> Vec<TrialPair<'t, 'a>> {
    let of = |arm: &Arm| by_arm.get(arm.name.as_str());
    let Some((arm, against)) = of(arm).zip(of(against)) else { return Vec::new() };
    arm.iter().filter_map(|(block, judged)| Some((judged, against.get(block)?))).collect()
}

fn wakeups(pairs: &[TrialPair<'_, '_>]) -> Option<(Wakeups, Wakeups)> {
    let arm = Wakeups::of(pairs.iter().map(|(arm, _)| arm.observed));
    arm.zip(Wakeups::of(pairs.iter().map(|(_, against)| against.observed)))
}

fn basis(facts: &Facts, arm: &Arm, against: &Arm, pairs: &[TrialPair<'_, '_>]) -> Basis {
    let is_known = |observed: &Observed| observed.requests.is_some_and(|requests| requests >= 1.0);
    if !pairs.iter().all(|(a, b)| is_known(a.observed) && is_known(b.observed)) {
        return Basis::Window;
    }
    let has_rate = |arm: &Arm| {
        let recipe = facts.study.recipe.with_keys(&arm.keys);
        recipe.is_ok_and(|recipe| recipe.load.has_rate())
    };
    if has_rate(arm) || has_rate(against) { Basis::RequestAtFixedRate } else { Basis::Request }
}

/// Why there is nothing to explain from.
fn nothing_observed(facts: &Facts) -> Missing {
    let fact = "where the time of the server's threads went";
    // Other facts that are missing from a trial are about counters.
    let is_of_account =
        |missing: &&Missing| missing.is(&FactId::ServerThreads) || missing.is(&FactId::KernelEvents);
    let said = |seen: &SeenObserved| {
        let (failed, missing) = (&seen.trial.failed, &seen.trial.missing);
        let why = || missing.iter().find(is_of_account).or(missing.first()).map(|missing| &missing.why);
        failed.as_ref().or_else(why).cloned()
    };
    if let Some(why) = facts.observed.iter().find_map(said) {
        return Missing::new(fact, why);
    }
    let kernel = facts.missing.iter().find(|missing| missing.is(&FactId::KernelEvents));
    match (kernel, facts.study.boots.is_some()) {
        (Some(missing), _) => Missing::new(fact, &missing.why),
        (None, true) => Missing::new(fact, "studies across boots have no observed blocks"),
        (None, false) => Missing::new(
            fact,
            "the arms were not observed together: a study that pinwise runs as root has observed blocks (budget.observed_blocks)",
        ),
    }
}

/// What is not known of the server's time in any of these trials, once.
fn missing(pairs: &[TrialPair<'_, '_>]) -> Vec<Missing> {
    let mut all: Vec<Missing> = Vec::new();
    let situations = pairs.iter().flat_map(|(a, b)| [a, b]).map(|judged| &judged.observed.situation);
    Missing::add_new(&mut all, situations.flat_map(|situation| &situation.missing));
    all
}

/// Of all that changed, the share of which it is not known who or what took it: the server's own time, as far as no claim explains it, and
/// what is left of the other terms. Changes that may be chance do not count, unless there are too few blocks to tell.
fn unexplained(server: &Waterfall, claims: &[Claim]) -> Option<f64> {
    let is_own = |term: Term| matches!(term, Term::User | Term::Kernel | Term::Own);
    let others = server.steps.iter().filter(|step| !is_own(step.term)).flat_map(|step| &step.parts);
    let (mut all, mut nameless) = (0.0, 0.0);
    for part in others.filter(|part| part.change.may_be_there()) {
        let by = part.change.difference().abs();
        all += by;
        nameless += if is_named(&part.part) { 0.0 } else { by };
    }
    if server.own.may_be_there() {
        let by = server.own.difference();
        let claims = claims.iter().filter(|claim| {
            claim.costs == Costs::OwnTime && matches!(claim.support, Support::Proved | Support::Supported)
        });
        let claimed: f64 = claims.filter_map(|claim| claim.evidence.cost()).map(Change::difference).sum();
        // A claim in the other direction explains nothing of this change, and a larger one explains no more than all of it.
        all += by.abs();
        nameless += by.abs() - (claimed * by.signum()).clamp(0.0, by.abs());
    }
    (all >= MATTERS * server.total.from.abs()).then(|| nameless / all)
}

/// Whether it is known who took it, or what it waited for.
fn is_named(part: &Part) -> bool {
    !matches!(part, Part::Rest | Part::Sleep { reason: SleepReason::Other | SleepReason::Unknown })
}

#[cfg(test)]
mod tests;
