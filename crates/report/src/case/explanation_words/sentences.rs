//! The sentences of an explanation: its heading, claims, the load's side, what is not explained.

use advise::diagnosis::{Cause, CauseId, Remedy, Subject, about};
use advise::explanation::claim::{Claim, Evidence, Support};
use advise::explanation::functions::{FunctionChange, Where};
use advise::explanation::term::Term;
use advise::explanation::wakeups::Wakeups;
use advise::explanation::waterfall::Change;
use advise::explanation::{Basis, Explanation, MATTERS};
use machine::FactId;
use machine::wording::{counted, whole_percent};
use study::Proof;
use study::statistics::signed_rank::FEWEST_FOR_95;

use super::{signed, value};
use crate::visible::one_line;

/// Wake-ups a request below which they are not reported.
const RARE: f64 = 0.05;

/// What stands before the cost of observing by arm.
pub const OBSERVING: &str = "How observing changed the figure (observed blocks decide nothing)";

/// What is explained, of which arm against which, from how many blocks.
pub fn heading(explanation: &Explanation) -> String {
    let what = match explanation.basis {
        Basis::Request => "Where the time of a request goes",
        Basis::RequestAtFixedRate => "How much time of the server's threads a request takes (fixed rate)",
        Basis::Window => "Where the time of the server's threads goes (shares of the window)",
    };
    let blocks = counted(explanation.blocks, "observed block");
    format!("{what}: {} against {}, {blocks}", one_line(&explanation.arm), one_line(&explanation.against))
}

/// What has to be known of times that are not those of a request in a closed loop.
pub fn basis_note(basis: Basis) -> Option<&'static str> {
    match basis {
        Basis::Request => None,
        Basis::RequestAtFixedRate => Some(
            "The load keeps a fixed rate, which determines the time from one request to the next: sleep is left out, and these terms do not explain latency.",
        ),
        Basis::Window => Some(
            "The load does not report how many requests were answered: these are shares of the window, and do not explain throughput.",
        ),
    }
}

/// A claim of a rule, by its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWords {
    /// Title of the rule and what it is about: `other processes (program:hog)`.
    pub name: String,
    /// What it costs which arm.
    pub cost: String,
    /// How far it can be relied on.
    pub support: &'static str,
    /// Whether that is as far as observed blocks go, or further.
    pub is_supported: bool,
    /// How it was tried, and what came of it.
    pub proof: Option<String>,
    /// What can be done.
    pub remedy: Option<String>,
}

/// Title of the rule and what it is about: `other processes (program:hog)`.
pub fn cause_name(id: &CauseId) -> String {
    let title = about(&id.rule).map_or(id.rule.as_str(), |about| about.title);
    let name = match &id.subject {
        Subject::Server | Subject::Machine => title.into(),
        Subject::Load => format!("{title} (the load)"),
        other => format!("{title} ({other})"),
    };
    one_line(&name).into_owned()
}

/// What would help most, of a cause as it was found.
pub fn first_remedy(cause: &Cause) -> Option<String> {
    cause.remedies.first().map(remedy_words)
}

fn remedy_words(remedy: &Remedy) -> String {
    one_line(&remedy.words).into_owned()
}

/// The words of a claim.
pub fn claim(claim: &Claim, explanation: &Explanation) -> ClaimWords {
    let name = match claim.own_work {
        true => one_line(&format!("{} (the server's own work)", claim.words)).into_owned(),
        false => cause_name(&claim.id),
    };
    let (costlier, cheaper) = claim.costlier_first(&explanation.arm, &explanation.against);
    let mut cost = evidence(claim, explanation.basis, &one_line(costlier), &one_line(cheaper));
    if claim.outweighed {
        cost.push_str(&format!("; {} is faster all the same", one_line(costlier)));
    }
    ClaimWords {
        name,
        cost,
        support: claim.support.word(),
        is_supported: matches!(claim.support, Support::Proved | Support::Supported),
        proof: claim.proof.as_ref().map(proof),
        remedy: claim.remedy().map(remedy_words),
    }
}

/// What shows a claim: what it takes, or why it is only possible.
fn evidence(claim: &Claim, basis: Basis, costlier: &str, cheaper: &str) -> String {
    match &claim.evidence {
        Evidence::Cost { change } => {
            format!("{} more in {costlier} than in {cheaper}", value(basis, change.difference().abs()))
        }
        Evidence::Presence { .. } => {
            format!("found in most blocks of {costlier} and in few of {cheaper}; its cost was not measured")
        }
        Evidence::AtMost { change } => format!(
            "up to {} in {costlier}, up to {} in {cheaper}; its cost was not measured",
            value(basis, change.larger()),
            value(basis, change.smaller())
        ),
        Evidence::Frequency { change } => format!(
            "{:.1} a request in {costlier}, {:.1} in {cheaper}; their cost was not measured",
            change.larger(),
            change.smaller()
        ),
    }
}

/// How the intervention of a claim came out: what was set, and each prediction.
fn proof(proof: &Proof) -> String {
    let outcomes = proof.outcomes.iter().map(|outcome| {
        let ratio = outcome.contrast.as_ref().map(|contrast| format!("{:.2} times as good", contrast.ratio));
        let found = ratio.unwrap_or_else(|| "too few blocks".into());
        let held = if outcome.held { "held" } else { "did not hold" };
        format!("{}: {held} ({found})", one_line(&outcome.prediction.words))
    });
    let outcomes: Vec<String> = outcomes.collect();
    format!("Tried: {}; {}", one_line(&proof.intervention.what), outcomes.join("; "))
}

/// `in cpu 0 (in unpinned A)`: what stands in brackets after it is of the other arm.
fn sides(explanation: &Explanation) -> String {
    format!("in {} (in {})", one_line(&explanation.arm), one_line(&explanation.against))
}

/// How long a request waited in the server's sockets, and how long its service took.
pub(super) fn latency(explanation: &Explanation) -> Option<String> {
    let latency = explanation.latency.as_ref()?;
    let part = |change: &Change| {
        let differs = if change.is_there() { "" } else { ", not shown to differ" };
        format!("{:.1} us ({:.1} us{differs})", change.to, change.from)
    };
    Some(format!(
        "A request {} waited {} in the server's socket until it was read, and was answered {} after that.",
        sides(explanation),
        part(&latency.waited),
        part(&latency.served)
    ))
}

/// What the server did by the counters of its CPUs: more work, or the same work more slowly.
pub(super) fn work(explanation: &Explanation) -> Option<String> {
    let work = explanation.work.as_ref()?;
    let part = |change: &Change, digits: usize| {
        let differs = if change.is_there() { "" } else { ", not shown to differ" };
        format!("{:.digits$} ({:.digits$}{differs})", change.to, change.from)
    };
    let misses = work
        .cache_misses
        .as_ref()
        .map(|misses| format!(", and missed the last-level cache {} times", part(misses, 1)));
    Some(format!(
        "A request {} took {} instructions of the server, at {} per cycle{}.",
        sides(explanation),
        part(&work.instructions, 0),
        part(&work.per_cycle, 2),
        misses.unwrap_or_default()
    ))
}

/// Which functions take the CPU time that differs.
pub(super) fn functions(explanation: &Explanation) -> Option<String> {
    let function = |changed: &FunctionChange| {
        let name = one_line(&changed.name);
        let what = match changed.place {
            Where::User => format!("{name} (user)"),
            Where::Kernel => format!("{name} (kernel)"),
            Where::SystemCall => format!("system call {name}"),
        };
        format!("{what} {:.1} us ({:.1} us)", changed.cpu_us.to, changed.cpu_us.from)
    };
    let functions: Vec<String> = explanation.functions.iter().map(function).collect();
    (!functions.is_empty()).then(|| {
        format!(
            "CPU time by function of a request {}, from samples: {}.",
            sides(explanation),
            functions.join(", ")
        )
    })
}

/// How the server's threads were woken, where that differs or takes time.
pub(super) fn wakeups(explanation: &Explanation) -> Option<String> {
    let (arm, against) = explanation.wakeups?;
    // A server that never has to be woken has none to speak of.
    let rare = |wakeups: &Wakeups| wakeups.per_request.is_some_and(|per_request| per_request < RARE);
    if rare(&arm) && rare(&against) {
        return None;
    }
    let both = |words: &str, of: fn(&Wakeups) -> f64, digits: usize, unit: &str| {
        format!("{words} {:.digits$}{unit} ({:.digits$}{unit})", of(&arm), of(&against))
    };
    let mut parts = Vec::new();
    if let Some((of_arm, of_against)) = arm.per_request.zip(against.per_request) {
        parts.push(format!("{of_arm:.2} per request ({of_against:.2})"));
    }
    parts.push(both("until it ran", |wakeups| wakeups.until_running_us, 1, " us"));
    parts.push(format!(
        "on a CPU other than the last one {} ({})",
        whole_percent(arm.elsewhere_share),
        whole_percent(against.elsewhere_share)
    ));
    if let Some((of_arm, of_against)) = arm.from_other_cpu_share.zip(against.from_other_cpu_share) {
        parts.push(format!("by another CPU {} ({})", whole_percent(of_arm), whole_percent(of_against)));
    }
    parts.push(format!(
        "onto an idle CPU {} ({})",
        whole_percent(arm.onto_idle_share),
        whole_percent(against.onto_idle_share)
    ));
    let (arm, against) = (one_line(&explanation.arm), one_line(&explanation.against));
    Some(format!("Wake-ups in {arm} (in {against}): {}.", parts.join(", ")))
}

/// That no claim says why the slower arm is slower, where something changed.
pub fn no_claim(explanation: &Explanation) -> Option<&'static str> {
    let has_reason = explanation.claims.iter().any(|claim| !claim.outweighed);
    if has_reason || explanation.unexplained_share.is_none() {
        return None;
    }
    Some(match explanation.claims.is_empty() {
        true => "No rule claims any part of the difference.",
        false => "No rule claims any part of what makes the slower one slower.",
    })
}

/// The load's side: a loss by wake-ups shows as its sleep.
pub(super) fn load(explanation: &Explanation) -> Option<String> {
    let load = explanation.load.as_ref()?;
    let basis = explanation.basis;
    let words = |(term, words): (Term, &str)| {
        let change = &load.steps.iter().find(|step| step.term == term)?.change;
        Some(format!("{words} {} ({})", value(basis, change.to), signed(basis, change.difference())))
    };
    let parts = [(Term::Own, "on a CPU"), (Term::Waiting, "waiting for one"), (Term::Asleep, "neither")];
    let words: Vec<String> = parts.into_iter().filter_map(words).collect();
    Some(format!("The load meanwhile, by counters: {}.", words.join(", ")))
}

/// What is not explained, and what limits all that was said.
pub(super) fn closing(explanation: &Explanation) -> Vec<String> {
    let mut sentences = vec![match explanation.unexplained_share {
        None => "No term differs by more than chance: there is nothing to explain.".into(),
        Some(share) => {
            format!("Not explained: {} of what changed{}.", whole_percent(share), own_time(explanation))
        }
    }];
    let (arm, against) = explanation.threads;
    if arm != against {
        sentences.push(format!(
            "Different numbers of threads worked ({arm} against {against}): times are per thread, and comparable only if the threads do the same."
        ));
    }
    if explanation.server.total.interval.is_none() {
        sentences.push(format!(
            "Fewer than {FEWEST_FOR_95} observed blocks give no 95 % interval: nothing here is shown to differ."
        ));
    }
    let dropped = explanation.missing.iter().filter(|missing| missing.is(&FactId::ServerThreads));
    sentences.extend(dropped.map(|missing| format!("Without {}: {}.", missing.fact, one_line(&missing.why))));
    sentences
}

/// Where the server's own time is what changed.
fn own_time(explanation: &Explanation) -> String {
    let own = &explanation.server.own;
    match own.is_there() && own.difference().abs() >= MATTERS * explanation.server.total.from {
        true => format!(
            ", the server's own time on CPUs included ({}: its code, caches, memory, sibling, clock or the host)",
            signed(explanation.basis, own.difference())
        ),
        false => String::new(),
    }
}
