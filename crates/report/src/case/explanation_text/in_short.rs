//! What makes the difference between arms, in a line each.

use advise::explanation::claim::{Claim, Support};
use advise::explanation::term::{Part, Term};
use advise::explanation::waterfall::PartStep;
use advise::explanation::{Basis, Explanation};
use probe::account::SleepReason;
use study::{Facts, Verdict};

use super::wrapped;
use crate::case::explanation_words::{self as words, ShownStep, ShownTerms, Sureness};
use crate::visible::one_line;

/// Arms that have a line.
const SHOWN: usize = 8;

/// What the time of a request is.
const REQUEST_TIME: &str = "The server's time per request is the window divided by the requests that it answered, not their latency.";

/// A line for each of these explanations in which a request is shown to take another time: what differs most, who takes it, and what is
/// claimed. Arms whose load does other work than the baseline's are left out, which is said. Nothing where nothing differs.
pub fn summary(explanations: &[Explanation], facts: &Facts) -> String {
    let alike =
        explanations.iter().filter(|explanation| words::differing_load_keys(explanation, facts).is_empty());
    let of_arm = |explanation: &Explanation| {
        let line = line(explanation, is_decided(explanation, facts))?;
        let cpu_time = words::server_cpu_us(explanation, facts).map(|(arm, against)| {
            let of = |us| words::value(Basis::Request, us);
            format!("; CPU time of the server {} -> {}", of(against), of(arm))
        });
        Some((explanation.basis, format!("{line}{}", cpu_time.unwrap_or_default())))
    };
    let lines: Vec<(Basis, String)> = alike.filter_map(of_arm).take(SHOWN).collect();
    let is_of_requests = lines.iter().any(|(basis, _)| *basis == Basis::Request);
    let note = is_of_requests.then(|| REQUEST_TIME.to_string());
    let sentences = lines.into_iter().map(|(_, line)| line);
    let sentences = sentences.chain(note).chain(words::other_work(explanations, facts));
    let text: Vec<String> = sentences.flat_map(|sentence| wrapped("  ", &sentence, "    ")).collect();
    if text.is_empty() { String::new() } else { format!("What makes the difference\n{}\n", text.join("\n")) }
}

/// Whether the deciding trials show that the arm is better or worse than the baseline.
fn is_decided(explanation: &Explanation, facts: &Facts) -> bool {
    let contrast = facts.evidence.against_baseline.iter().find(|contrast| contrast.arm == explanation.arm);
    contrast.is_some_and(|contrast| matches!(contrast.verdict, Verdict::Better | Verdict::Worse))
}

/// One explanation; `None` where no term is shown to differ, or the time of a request is not and no verdict says so either.
fn line(explanation: &Explanation, is_decided: bool) -> Option<String> {
    let basis = explanation.basis;
    if basis == Basis::Request && !is_decided && !explanation.server.total.is_there() {
        return None;
    }
    let shown = words::shown_terms(explanation);
    let mut differing = shown.steps.iter().filter(|step| step.sureness == Sureness::Shown).peekable();
    differing.peek()?;
    let most = differing.find(|step| !is_a_consequence(step, explanation)).map(|step| {
        let parts = words::parts(basis, step.step);
        let parts = if parts.is_empty() { parts } else { format!(" ({parts})") };
        format!("{} {}{parts}", words::term(step.step.term), words::signed(basis, step.by()))
    });
    let said: Vec<String> = change(basis, &shown).into_iter().chain(most).collect();
    let arms = format!("{} against {}", one_line(&explanation.arm), one_line(&explanation.against));
    let said = if said.is_empty() { "no cause among the terms".into() } else { said.join(": ") };
    Some(format!("{arms}: {said}; {}", claim(explanation)))
}

/// `a request takes 36.4 % longer (6.13 us -> 8.36 us of the server's time)`; `None` of shares of the window.
fn change(basis: Basis, shown: &ShownTerms<'_>) -> Option<String> {
    let is_more = shown.to >= shown.from;
    let (word, of) = match basis {
        Basis::Request => (if is_more { "longer" } else { "less" }, "the server's time"),
        Basis::RequestAtFixedRate => {
            (if is_more { "more" } else { "less" }, "its threads' time without sleep")
        }
        Basis::Window => return None,
    };
    let size = shown.change.trim_start_matches(['+', '-']);
    let (from, to) = (words::value(basis, shown.from), words::value(basis, shown.to));
    (!size.is_empty()).then(|| format!("a request takes {size} {word} ({from} -> {to} of {of})"))
}

/// Idle threads wait for the others the longer, the longer a request takes: unless a lock is found, that sleep follows from the difference.
fn is_a_consequence(step: &ShownStep<'_>, explanation: &Explanation) -> bool {
    let is_for_threads = |part: &PartStep| part.part == Part::Sleep { reason: SleepReason::Futex };
    let has_lock = explanation.claims.iter().any(|claim| claim.id.rule == "lock");
    step.step.term == Term::Asleep && !has_lock && step.step.parts.first().is_some_and(is_for_threads)
}

/// The first claim that may be a reason, what it costs and how sure it is.
fn claim(explanation: &Explanation) -> String {
    let is_reason = |claim: &&Claim| !claim.outweighed && claim.support != Support::Refuted;
    let Some(claim) = explanation.claims.iter().find(is_reason) else {
        return "no rule claims it".into();
    };
    let named = words::claim(claim, explanation);
    let cost = claim.evidence.cost().map(|change| words::signed(explanation.basis, change.difference()));
    let cost = cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    format!("{}{cost} ({})", named.name, named.support)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::explanation_words::examples;

    fn line(explanation: &Explanation) -> Option<String> {
        super::line(explanation, false)
    }

    #[test]
    fn the_line_says_by_how_much_what_and_who() {
        assert_eq!(
            line(&examples::explanation()).as_deref(),
            Some(
                "cpu 0 against unpinned A: a request takes 25.0 % longer (100.0 us -> 125.0 us of the server's time): waiting for a CPU +30.0 us \
                 (hog +29.0 us); other processes (program:hog) +29.0 us (supported)"
            )
        );
        let mut faster = examples::explanation();
        faster.server.steps[0].change = examples::change(40.0, 10.0, Some((-32.0, -28.0)));
        let words = line(&faster).unwrap();
        assert!(words.contains("% less (130.0 us -> 95.0 us"), "{words}");
    }

    #[test]
    fn what_is_not_shown_to_differ_has_no_line_unless_the_verdict_says_so() {
        let mut explanation = examples::explanation();
        explanation.server.total = examples::change(100.0, 99.0, Some((-3.0, 2.0)));
        assert_eq!(line(&explanation), None);
        assert!(super::line(&explanation, true).is_some());
        assert_eq!(line(&examples::of_five_blocks()), None, "no interval");
        explanation.basis = Basis::Window;
        let words = line(&explanation).unwrap();
        assert!(
            words.starts_with("cpu 0 against unpinned A: waiting for a CPU +"),
            "shares have no total: {words}"
        );
    }

    #[test]
    fn sleep_for_other_threads_is_no_cause_unless_a_lock_is_found() {
        let mut explanation = examples::explanation();
        let part = Part::Sleep { reason: SleepReason::Futex };
        let change = examples::change(100.0, 150.0, Some((45.0, 55.0)));
        let asleep = &mut explanation.server.steps[3];
        (asleep.change, asleep.parts) = (change.clone(), vec![PartStep { part, change }]);
        explanation.server.steps[..4].rotate_right(1);
        let words = line(&explanation).unwrap();
        assert!(words.contains("): waiting for a CPU +30.0 us") && !words.contains("asleep"), "{words}");
        explanation.claims[0].id.rule = "lock".into();
        let words = line(&explanation).unwrap();
        assert!(words.contains("): asleep +50.0 us (for another thread (futex) +50.0 us)"), "{words}");
    }

    #[test]
    fn a_claim_that_is_no_reason_is_not_named() {
        let mut explanation = examples::explanation();
        explanation.claims[0].outweighed = true;
        assert!(line(&explanation).unwrap().ends_with("; no rule claims it"));
        explanation.claims[0].outweighed = false;
        explanation.claims[0].support = Support::Refuted;
        assert!(line(&explanation).unwrap().ends_with("; no rule claims it"));
    }

    #[test]
    fn hostile_names_drive_nothing() {
        let words = line(&examples::hostile()).unwrap();
        assert!(!words.contains(['\x1b', '\u{202e}', '\n']), "{words:?}");
    }
}
