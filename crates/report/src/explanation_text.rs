//! What makes the difference between two arms, for people: the waterfall, the claims, what is left unexplained.

use advise::diagnosis::{Subject, abouts};
use advise::explanation::claim::Claim;
use advise::explanation::observing::Observing;
use advise::explanation::term::{Part, Term};
use advise::explanation::waterfall::{Change, Step, Waterfall};
use advise::explanation::{Basis, Explanation, MATTERS};
use probe::account::SleepReason;
use study::Proof;

use crate::number::grouped;
use crate::table::wrap::wrap;
use crate::visible::one_line;

/// Width of the text, characters.
const WIDTH: usize = 100;
/// Width of the bars, characters.
const BAR: usize = 24;
/// Of a step, parts that are named: those that make this share of its change, and so many.
const PART: f64 = 0.10;
const PARTS: usize = 3;
/// Claims that are shown.
const CLAIMS: usize = 5;

/// The whole explanation.
pub fn render(explanation: &Explanation) -> String {
    let mut lines = vec![heading(explanation)];
    lines.extend(self::waterfall(explanation));
    lines.extend(claims(explanation));
    lines.extend(load(explanation));
    lines.extend(closing(explanation));
    lines.join("\n") + "\n"
}

/// What observing cost, in one line an arm that differs, or one line for all.
pub fn observing(costs: &[Observing]) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let told: Vec<String> = costs
        .iter()
        .map(|cost| {
            let interval = cost.interval.map(|(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
            format!("{} {}{}", one_line(&cost.arm), percent(cost.ratio), interval.unwrap_or_default())
        })
        .collect();
    if told.is_empty() {
        return String::new();
    }
    let text = format!(
        "What observing changed of the figure (observed blocks decide nothing): {}.",
        told.join(", ")
    );
    wrap(&text, WIDTH).join("\n") + "\n"
}

fn heading(explanation: &Explanation) -> String {
    let what = match explanation.basis {
        Basis::Request => "Where the time of a request goes",
        Basis::RequestAtFixedRate => "What a request takes of the server's threads (fixed rate)",
        Basis::Window => "Where the time of the server's threads goes",
    };
    let blocks = match explanation.blocks {
        1 => "1 observed block".to_string(),
        n => format!("{n} observed blocks"),
    };
    format!("{what}: {} against {}, {blocks}", one_line(&explanation.arm), one_line(&explanation.against))
}

/// A value in the unit of the explanation.
fn value(basis: Basis, value: f64) -> String {
    match basis {
        Basis::Window => format!("{:.1} %", value * 100.0),
        _ => format!("{} us", grouped(value, digits(value))),
    }
}

fn signed(basis: Basis, by: f64) -> String {
    let sign = if by < 0.0 { "-" } else { "+" };
    format!("{sign}{}", value(basis, by.abs()))
}

/// As many digits as tell: two for what is below 10 us.
fn digits(value: f64) -> usize {
    match value.abs() {
        small if small < 10.0 => 2,
        middle if middle < 1000.0 => 1,
        _ => 0,
    }
}

fn interval(basis: Basis, change: &Change) -> String {
    let plain = |by: f64| match basis {
        Basis::Window => format!("{:+.1}", by * 100.0),
        _ => format!("{:+.*}", digits(by), by),
    };
    change.interval.map(|(low, high)| format!("[{}, {}]", plain(low), plain(high))).unwrap_or_default()
}

/// The terms that are told: without sleep at a fixed rate, where it is what the rate leaves.
fn told(explanation: &Explanation) -> (Vec<&Step>, f64, f64) {
    let leaves_out = explanation.basis == Basis::RequestAtFixedRate;
    let steps: Vec<&Step> =
        explanation.server.steps.iter().filter(|step| !(leaves_out && step.term == Term::Asleep)).collect();
    let sum = |of: fn(&Change) -> f64| steps.iter().map(|step| of(&step.change)).sum::<f64>();
    let (from, to) = (sum(|change| change.from), sum(|change| change.to));
    (steps, from, to)
}

fn waterfall(explanation: &Explanation) -> Vec<String> {
    let basis = explanation.basis;
    let (steps, from, to) = told(explanation);
    let (named, small): (Vec<&Step>, Vec<&Step>) = steps
        .into_iter()
        .partition(|step| step.change.may_be_there() && step.change.difference().abs() >= MATTERS * from);
    let scale = Scale::of(from, named.iter().map(|step| step.change.difference()));
    let mut lines = vec![row(&explanation.against, &value(basis, from), &scale.total(from), "", "")];
    let mut at = from;
    for step in named {
        let by = step.change.difference();
        let bar = scale.step(at, at + by);
        let parts = parts(basis, step);
        lines.push(row(
            &format!("  {}", words(step.term)),
            &signed(basis, by),
            &bar,
            &interval(basis, &step.change),
            &parts,
        ));
        at += by;
    }
    let (uncertain, small): (Vec<&Step>, Vec<&Step>) =
        small.into_iter().partition(|step| !step.change.may_be_there());
    for (name, steps) in [("  may be chance", uncertain), ("  below 1 %", small)] {
        let rest: f64 = steps.iter().map(|step| step.change.difference()).sum();
        if rest.abs() >= 0.001 * from {
            let parts: Vec<String> = steps
                .iter()
                .map(|step| format!("{} {}", words(step.term), signed(basis, step.change.difference())))
                .collect();
            lines.push(row(name, &signed(basis, rest), &scale.step(at, at + rest), "", &parts.join(", ")));
            at += rest;
        }
    }
    let share = if from > 0.0 { format!("{:+.1} %", (to / from - 1.0) * 100.0) } else { String::new() };
    let share = if basis == Basis::Window { String::new() } else { share };
    let total =
        if basis == Basis::Request { interval(basis, &explanation.server.total) } else { String::new() };
    lines.push(row(&explanation.arm, &value(basis, to), &scale.total(to), &total, &share));
    lines
}

fn row(name: &str, value: &str, bar: &str, interval: &str, parts: &str) -> String {
    let name: String = one_line(name).chars().take(24).collect();
    let line = format!("  {name:<24} {value:>12}  |{bar:<BAR$}|  {interval:<18} {}", one_line(parts));
    line.trim_end().to_string()
}

/// The parts that make most of a step.
fn parts(basis: Basis, step: &Step) -> String {
    let all = step.change.difference().abs();
    let tells = |part: &&advise::explanation::waterfall::PartStep| {
        part.part != Part::Rest && part.change.difference().abs() >= PART * all
    };
    let named = step.parts.iter().filter(tells).take(PARTS);
    let named: Vec<String> = named
        .map(|part| format!("{} {}", part_words(&part.part), signed(basis, part.change.difference())))
        .collect();
    named.join(", ")
}

/// Where bars begin and end. Totals that hardly differ are cut at the left, which `~` shows.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(from: f64, steps: impl Iterator<Item = f64>) -> Self {
        let (mut at, mut low, mut high) = (from, from, from);
        for by in steps {
            at += by;
            (low, high) = (low.min(at), high.max(at));
        }
        let room = (high - low).max(1e-9);
        // The changes take two thirds of the width.
        Self { low: (low - room / 2.0).max(0.0), high }
    }

    fn column(&self, value: f64) -> usize {
        let share = (value - self.low) / (self.high - self.low).max(1e-12);
        (share.clamp(0.0, 1.0) * BAR as f64).round() as usize
    }

    fn total(&self, value: f64) -> String {
        let length = self.column(value);
        match (self.low > 0.0, length) {
            (_, 0) => String::new(),
            (true, length) => format!("~{}", "#".repeat(length - 1)),
            (false, length) => "#".repeat(length),
        }
    }

    fn step(&self, from: f64, to: f64) -> String {
        let (start, end) = (self.column(from.min(to)), self.column(from.max(to)));
        let sign = if to < from { "-" } else { "+" };
        format!("{}{}", " ".repeat(start.min(BAR - 1)), sign.repeat((end - start).max(1)))
    }
}

/// A term as it stands in the waterfall.
pub fn words(term: Term) -> &'static str {
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

fn claims(explanation: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, claim) in explanation.claims.iter().take(CLAIMS).enumerate() {
        lines.extend(self::claim(number + 1, claim, explanation));
    }
    if explanation.claims.len() > CLAIMS {
        let rest: Vec<String> =
            explanation.claims[CLAIMS..].iter().map(|claim| claim.id.to_string()).collect();
        lines.extend(wrapped("", &format!("And {} more: {}", rest.len(), one_line(&rest.join(", "))), "  "));
    }
    if explanation.claims.is_empty() && explanation.unexplained_share.is_some() {
        lines.push("No rule claims a part of the difference.".into());
    }
    lines
}

fn claim(number: usize, claim: &Claim, explanation: &Explanation) -> Vec<String> {
    let title =
        abouts().find(|about| about.id == claim.id.rule).map_or(claim.id.rule.as_str(), |about| about.title);
    let subject = match &claim.id.subject {
        Subject::Server | Subject::Machine => String::new(),
        Subject::Load => " (the load)".into(),
        other => format!(" ({other})"),
    };
    let (dear, cheap) = match claim.costs_more() {
        true => (&explanation.arm, &explanation.against),
        false => (&explanation.against, &explanation.arm),
    };
    let name = if claim.own_work { claim.words.clone() } else { format!("{title}{subject}") };
    let cost = match &claim.change {
        Some(change) => format!(
            "{} more in {} than in {}",
            value(explanation.basis, change.difference().abs()),
            one_line(dear),
            one_line(cheap)
        ),
        None => "found in one of the two only; its cost was not measured".into(),
    };
    let cost = format!("{cost} [{}]", claim.support.word());
    let own = if claim.own_work { ", its own work" } else { "" };
    let mut lines = wrapped(&format!("{number}. "), &format!("{}{own}: {cost}", one_line(&name)), "   ");
    lines.extend(claim.proof.iter().flat_map(|proof| wrapped("   ", &proof_words(proof), "   ")));
    let remedy = claim.example.iter().flat_map(|cause| &cause.remedies).next();
    lines.extend(remedy.into_iter().flat_map(|remedy| wrapped("   -> ", &one_line(&remedy.words), "      ")));
    lines
}

/// `proved by ...: cpu 0 turns fast when the cause is taken away (1.25 times)`.
fn proof_words(proof: &Proof) -> String {
    let outcomes = proof.outcomes.iter().map(|outcome| {
        let found = outcome
            .contrast
            .as_ref()
            .map_or("too few blocks".to_string(), |c| format!("{:.2} times", c.ratio));
        let held = if outcome.held { "held" } else { "did not hold" };
        format!("{}: {held} ({found})", one_line(&outcome.prediction.words))
    });
    format!("tried: {}; {}", one_line(&proof.intervention.what), outcomes.collect::<Vec<_>>().join("; "))
}

/// The load's side: a loss by wake-ups shows as its sleep.
fn load(explanation: &Explanation) -> Vec<String> {
    let Some(load) = &explanation.load else { return Vec::new() };
    let basis = explanation.basis;
    let of = |load: &Waterfall, term: Term| {
        load.steps.iter().find(|step| step.term == term).map(|step| step.change.clone())
    };
    let parts = [(Term::Own, "on a CPU"), (Term::Waiting, "waiting for one"), (Term::Asleep, "neither")];
    let told: Vec<String> = parts
        .iter()
        .filter_map(|(term, words)| {
            let change = of(load, *term)?;
            Some(format!("{words} {} ({})", value(basis, change.to), signed(basis, change.difference())))
        })
        .collect();
    wrapped("", &format!("The load meanwhile, by counters: {}.", told.join(", ")), "  ")
}

fn closing(explanation: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    match explanation.unexplained_share {
        None => lines.push("No term differs by more than chance: there is nothing to explain.".into()),
        Some(share) => {
            let text =
                format!("Not explained: {:.0} % of what changed{}.", share * 100.0, own_time(explanation));
            lines.extend(wrapped("", &text, "  "));
        }
    }
    if explanation.threads.0 != explanation.threads.1 {
        let (arm, against) = explanation.threads;
        let text = format!(
            "Other threads worked ({arm} against {against}): times are per thread, and compare only as far as the threads do the same."
        );
        lines.extend(wrapped("", &text, "  "));
    }
    if explanation.server.total.interval.is_none() {
        lines.push("Fewer than 6 observed blocks give no 95 % interval: no claim is supported.".into());
    }
    lines
}

/// Where the server's own time is what changed.
fn own_time(explanation: &Explanation) -> String {
    let own = &explanation.server.own;
    match own.is_there() && own.difference().abs() >= MATTERS * explanation.server.total.from {
        true => format!(
            ", where the server's own time on CPUs counts ({}: its code, caches, memory, sibling, clock or the host)",
            signed(explanation.basis, own.difference())
        ),
        false => String::new(),
    }
}

/// Text that begins with `start` and goes on below with `indent`.
fn wrapped(start: &str, text: &str, indent: &str) -> Vec<String> {
    let width = WIDTH - start.len().max(indent.len());
    let lines = wrap(text, width).into_iter().enumerate();
    lines.map(|(n, line)| format!("{}{line}", if n == 0 { start } else { indent })).collect()
}
