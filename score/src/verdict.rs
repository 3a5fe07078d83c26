//! Whether a diagnosis says what is true.

use advise::diagnosis::{Certainty, Diagnosis, Limit};

use crate::scenario::Scenario;

/// Causes that somebody reads.
const READ: usize = 2;

/// What a machine may do by itself, whatever the scenario: the kernel's own threads run (DAMON's kdamond takes 3 % here), and hypervisors steal.
const TRUE_ANYWHERE: [&str; 2] = ["kernel-thread", "steal"];

/// How a diagnosis did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The cause stands first.
    First,
    /// It stands second.
    Second,
    /// It is not among the first two.
    Missed,
    /// There is no cause, and none was claimed.
    RightlySilent,
}

/// A verdict, and what was claimed beside the truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// How it did.
    pub verdict: Verdict,
    /// Rules among the first two whose claim is not true here, and rules that must not be named at all.
    pub wrong: Vec<String>,
    /// The limit that was named instead of the true one.
    pub wrong_limit: Option<Limit>,
}

/// Holds a diagnosis against the truth.
pub fn judge(scenario: &Scenario, diagnosis: &Diagnosis) -> Judged {
    let seen = diagnosis.causes.iter().filter(|cause| cause.certainty == Certainty::Seen);
    let seen: Vec<&str> = seen.map(|cause| cause.id.rule.as_str()).collect();
    let all: Vec<&str> = diagnosis.causes.iter().map(|cause| cause.id.rule.as_str()).collect();
    let named = serde_json::to_value(diagnosis.limit).ok().and_then(|limit| limit.as_str().map(String::from));
    let wrong_limit = scenario
        .limit
        .as_ref()
        .filter(|limit| Some(limit.as_str()) != named.as_deref())
        .map(|_| diagnosis.limit);
    Judged { wrong_limit, ..judge_rules(scenario, &all, &seen) }
}

/// Holds rules that were named, the most important first, against the truth; `seen` are those whose claim is certain.
pub fn judge_rules(scenario: &Scenario, all: &[&str], seen: &[&str]) -> Judged {
    let never = all.iter().filter(|rule| scenario.never.iter().any(|never| never == *rule));
    let never: Vec<&str> = never.copied().collect();
    let all = &all[..all.len().min(READ)];
    let verdict = match &scenario.truth {
        None => Verdict::RightlySilent,
        Some(truth) => match all.iter().position(|rule| *rule == truth) {
            Some(0) => Verdict::First,
            Some(_) => Verdict::Second,
            None => Verdict::Missed,
        },
    };
    let is_true = |rule: &str| {
        (scenario.simulated.is_none() && TRUE_ANYWHERE.contains(&rule))
            || scenario.truth.as_deref() == Some(rule)
            || scenario.also.iter().any(|also| also == rule)
    };
    let read = seen.iter().take(READ).filter(|rule| !is_true(rule) && !never.contains(rule));
    let wrong = read.chain(&never).map(|rule| (*rule).to_string());
    Judged { verdict, wrong: wrong.collect(), wrong_limit: None }
}
