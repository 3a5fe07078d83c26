//! What makes the difference between two arms, in words: the terminal and the page say the same, and only lay it out.
//!
//! Names from outside are escaped here already ([`one_line`]); escaping them once more changes nothing.

mod of_case;
mod sentences;
mod shown_terms;

pub use of_case::{differing_load_keys, other_work, server_cpu_time, server_cpu_us};
pub use sentences::{OBSERVING, basis_note, cause_name, claim, first_remedy, heading, no_claim};
pub use shown_terms::{ShownStep, ShownTerms, Sureness, shown_terms};

use advise::explanation::term::{Part, Term};
use advise::explanation::waterfall::{Change, Step};
use advise::explanation::{Basis, Explanation};
use probe::account::SleepReason;

use crate::number::grouped;
use crate::visible::one_line;

/// Of a step, parts that are named: those that make this share of its change, and so many.
const PART: f64 = 0.10;
const PARTS: usize = 3;

/// What the numbers of an explanation are in.
pub fn unit(basis: Basis) -> &'static str {
    match basis {
        Basis::Window => "%",
        Basis::Request | Basis::RequestAtFixedRate => "us",
    }
}

/// A value as the number that stands before its [`unit`]: shares are percentages.
pub fn in_unit(basis: Basis, value: f64) -> f64 {
    match basis {
        Basis::Window => value * 100.0,
        Basis::Request | Basis::RequestAtFixedRate => value,
    }
}

/// As many digits as mean something: one of a percentage, two of what is below 10 us.
fn digits(basis: Basis, value: f64) -> usize {
    match value.abs() {
        _ if basis == Basis::Window => 1,
        small if small < 10.0 => 2,
        middle if middle < 1000.0 => 1,
        _ => 0,
    }
}

/// What stands below the claims, a sentence each. `cpu_time` is what the case says of the server's CPU time.
pub fn below_claims(explanation: &Explanation, cpu_time: Option<String>) -> Vec<String> {
    let known = [
        cpu_time,
        sentences::latency(explanation),
        sentences::work(explanation),
        sentences::functions(explanation),
        sentences::wakeups(explanation),
        sentences::load(explanation),
    ];
    known.into_iter().flatten().chain(sentences::closing(explanation)).collect()
}

/// A value with its unit: `78.3 us`, `12.5 %`.
pub fn value(basis: Basis, value: f64) -> String {
    let value = in_unit(basis, value);
    format!("{} {}", grouped(value, digits(basis, value)), unit(basis))
}

/// A difference without its unit: `+6.06`.
fn plain(basis: Basis, by: f64) -> String {
    let by = in_unit(basis, by);
    let sign = if by < 0.0 { "-" } else { "+" };
    format!("{sign}{}", grouped(by.abs(), digits(basis, by)))
}

/// A difference with its unit: `+6.06 us`.
pub fn signed(basis: Basis, by: f64) -> String {
    format!("{} {}", plain(basis, by), unit(basis))
}

/// The interval of a difference: `[+0.98, +10.8]`; nothing with too few blocks.
pub fn interval(basis: Basis, change: &Change) -> String {
    let words = |(low, high)| format!("[{}, {}]", plain(basis, low), plain(basis, high));
    change.interval.map(words).unwrap_or_default()
}

/// The parts that make most of a step, and what they leave where that is more than a tenth of it too:
/// `softirq NET_RX +6.22 us, the load -1.10 us, the rest +0.90 us`.
pub fn parts(basis: Basis, step: &Step) -> String {
    let all = step.change.difference();
    let matters = |by: f64| by != 0.0 && by.abs() >= PART * all.abs();
    let named = step.parts.iter().filter(|part| part.part != Part::Rest && matters(part.change.difference()));
    let named: Vec<(String, f64)> =
        named.take(PARTS).map(|part| (part_words(&part.part), part.change.difference())).collect();
    let rest = all - named.iter().map(|(_, by)| by).sum::<f64>();
    let has_rest = !named.is_empty() && rest.abs() > PART * all.abs();
    let rest = has_rest.then(|| (part_words(&Part::Rest), rest));
    let words = named.into_iter().chain(rest).map(|(name, by)| format!("{name} {}", signed(basis, by)));
    words.collect::<Vec<_>>().join(", ")
}

/// A term as it stands in the waterfall.
pub fn term(term: Term) -> &'static str {
    match term {
        Term::User => "user mode",
        Term::Kernel => "kernel",
        Term::Own => "on a CPU",
        Term::Interrupted => "interrupted",
        Term::Waiting => "waiting for a CPU",
        Term::Throttled => "held back by a quota",
        Term::Blocked => "blocked",
        Term::Asleep => "asleep",
    }
}

fn part_words(part: &Part) -> String {
    match part {
        Part::Interrupt { source } => source.words().into(),
        Part::Load => "the load".into(),
        Part::OwnThreads => "its own threads".into(),
        Part::Program { name } => one_line(name).into_owned(),
        Part::KernelThread { name } => format!("kernel thread {}", one_line(name)),
        Part::IdleCpu => "an idle CPU waking up".into(),
        Part::Sleep { reason } => sleep_words(*reason).into(),
        Part::Rest => "the rest".into(),
    }
}

fn sleep_words(reason: SleepReason) -> &'static str {
    match reason {
        SleepReason::Unknown => "reason not known",
        SleepReason::Futex => "for another thread (futex)",
        SleepReason::Input => "for requests or other input",
        SleepReason::Timer => "for a time (nanosleep)",
        SleepReason::Output => "for room to write",
        SleepReason::Sync => "for storage (fsync)",
        SleepReason::Child => "for a child",
        SleepReason::Stopped => "stopped",
        SleepReason::Other => "in another call",
    }
}

#[cfg(test)]
pub(crate) mod examples;
#[cfg(test)]
mod tests;
