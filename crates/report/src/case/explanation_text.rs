//! What makes the difference between two arms, as text: the waterfall, the claims, what is left unexplained.

mod in_short;

pub use in_short::summary;

use advise::explanation::observer_effect::ObserverEffect;
use advise::explanation::{Basis, Explanation};
use study::Facts;

use crate::case::explanation_words::{self as words, ShownStep, Sureness};
use crate::case::table::wrap::hanging;
use crate::number;
use crate::visible::one_line;

/// Width of the text, characters.
const WIDTH: usize = 100;
/// Width of the bars, characters.
const BAR: usize = 24;
/// Claims that are shown.
const CLAIMS: usize = 5;

/// The whole explanation, of two arms of this case.
pub fn render(explanation: &Explanation, facts: &Facts) -> String {
    text(explanation, words::server_cpu_time(explanation, facts))
}

/// The same, with what the case says of the server's CPU time.
pub(crate) fn text(explanation: &Explanation, cpu_time: Option<String>) -> String {
    let mut lines = vec![words::heading(explanation)];
    lines.extend(waterfall(explanation));
    let note = words::basis_note(explanation.basis);
    lines.extend(note.into_iter().flat_map(|note| wrapped("", note, "  ")));
    lines.extend(claims(explanation));
    let below = words::below_claims(explanation, cpu_time).into_iter();
    lines.extend(below.flat_map(|sentence| wrapped("", &sentence, "  ")));
    lines.join("\n") + "\n"
}

/// What observing cost each arm, in one sentence; nothing where nothing was observed.
pub fn observing(costs: &[ObserverEffect]) -> String {
    let of = |cost: &ObserverEffect| {
        format!("{} {}", one_line(&cost.arm), number::change_with_interval(cost.ratio, cost.interval))
    };
    let arms: Vec<String> = costs.iter().map(of).collect();
    if arms.is_empty() {
        return String::new();
    }
    wrapped("", &format!("{}: {}.", words::OBSERVING, arms.join(", ")), "  ").join("\n") + "\n"
}

fn waterfall(explanation: &Explanation) -> Vec<String> {
    let basis = explanation.basis;
    let shown = words::shown_terms(explanation);
    let (named, others): (Vec<&ShownStep>, Vec<&ShownStep>) =
        shown.steps.iter().partition(|step| step.sureness.is_named());
    let scale = Scale::of(shown.from, named.iter().map(|step| step.by()));
    let mut lines =
        vec![row(&explanation.against, &words::value(basis, shown.from), &scale.total(shown.from), "", "")];
    let mut at = shown.from;
    for step in named {
        lines.push(row(
            &format!("  {}", words::term(step.step.term)),
            &words::signed(basis, step.by()),
            &scale.step(at, at + step.by()),
            &words::interval(basis, &step.step.change),
            &words::parts(basis, step.step),
        ));
        at += step.by();
    }
    for sureness in [Sureness::MayBeChance, Sureness::Small] {
        let bundle: Vec<&&ShownStep> = others.iter().filter(|step| step.sureness == sureness).collect();
        let rest: f64 = bundle.iter().map(|step| step.by()).sum();
        if !bundle.is_empty() {
            let name = format!("  {}", sureness.words());
            lines.push(row(
                &name,
                &words::signed(basis, rest),
                &scale.step(at, at + rest),
                "",
                &members(basis, &bundle),
            ));
        }
        at += rest;
    }
    let interval = shown.total.map(|change| words::interval(basis, change)).unwrap_or_default();
    lines.push(row(
        &explanation.arm,
        &words::value(basis, shown.to),
        &scale.total(shown.to),
        &interval,
        &shown.change,
    ));
    lines
}

/// The terms that share a line.
fn members(basis: Basis, bundle: &[&&ShownStep]) -> String {
    let members = bundle
        .iter()
        .map(|step| format!("{} {}", words::term(step.step.term), words::signed(basis, step.by())));
    members.collect::<Vec<_>>().join(", ")
}

fn row(name: &str, value: &str, bar: &str, interval: &str, parts: &str) -> String {
    let name: String = one_line(name).chars().take(24).collect();
    let line = format!("  {name:<24} {value:>12}  |{bar:<BAR$}|  {interval:<18} {}", one_line(parts));
    line.trim_end().to_string()
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

fn claims(explanation: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, claim) in explanation.claims.iter().take(CLAIMS).enumerate() {
        let claim = words::claim(claim, explanation);
        let text = format!("{}: {} [{}]", claim.name, claim.cost, claim.support);
        lines.extend(wrapped(&format!("{}. ", number + 1), &text, "   "));
        lines.extend(claim.proof.into_iter().flat_map(|proof| wrapped("   ", &proof, "   ")));
        lines.extend(claim.remedy.into_iter().flat_map(|remedy| wrapped("   -> ", &remedy, "      ")));
    }
    if explanation.claims.len() > CLAIMS {
        let rest: Vec<String> =
            explanation.claims[CLAIMS..].iter().map(|claim| claim.id.to_string()).collect();
        lines.extend(wrapped("", &format!("And {} more: {}", rest.len(), one_line(&rest.join(", "))), "  "));
    }
    lines.extend(words::no_claim(explanation).map(String::from));
    lines
}

fn wrapped(start: &str, text: &str, indent: &str) -> Vec<String> {
    hanging(start, text, indent, WIDTH)
}

#[cfg(test)]
mod tests;
