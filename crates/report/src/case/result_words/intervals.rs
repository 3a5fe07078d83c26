//! What intervals are beside verdicts: an interval is of one comparison, a verdict of all of its kind.

use study::evidence::Effect;
use study::{Contrast, Evidence, Trust, Verdict};

use super::{effect, level};
use crate::number;

/// Comparisons that are named at most.
const NAMED: usize = 3;

/// What intervals and verdicts are, in one sentence. `surprising` are the comparisons of which the two seem to disagree
/// ([`surprising_contrasts`], [`surprising_effects`]).
pub fn intervals(evidence: &Evidence, surprising: &[String]) -> String {
    let what = format!(
        "Intervals are of each comparison by itself ({}); verdicts are of all together, and beyond {}",
        level(evidence),
        number::share(evidence.precision.margin)
    );
    let (named, rest) = surprising.split_at(surprising.len().min(NAMED));
    let more = if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
    match named {
        [] => format!("{what}."),
        named => format!(
            "{what}: so an interval may leave out 0 where no difference is shown ({}{more}).",
            named.join("; ")
        ),
    }
}

/// The same sentence where it is needed; `None` where no interval seems to say more than its verdict.
pub fn surprising_intervals(evidence: &Evidence, surprising: &[String]) -> Option<String> {
    (!surprising.is_empty()).then(|| intervals(evidence, surprising))
}

/// `cpu 3 against unpinned` of each of these whose interval leaves out 0, though no difference is shown. Empty where no claim is made:
/// then that is why none is shown.
pub fn surprising_contrasts<'a>(
    evidence: &Evidence,
    contrasts: impl IntoIterator<Item = &'a Contrast>,
) -> Vec<String> {
    let of = |contrast: &&Contrast| is_surprising(evidence, contrast.interval, contrast.verdict);
    let name = |contrast: &Contrast| format!("{} against {}", contrast.arm, contrast.reference);
    contrasts.into_iter().filter(of).map(name).collect()
}

/// The same of effects and their interactions.
pub fn surprising_effects<'a>(
    evidence: &Evidence,
    effects: impl IntoIterator<Item = &'a Effect>,
) -> Vec<String> {
    let of = |found: &&Effect| is_surprising(evidence, found.interval, found.verdict);
    effects.into_iter().filter(of).map(effect).collect()
}

fn is_surprising(evidence: &Evidence, interval: Option<(f64, f64)>, verdict: Verdict) -> bool {
    let leaves_out_0 = interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    // Equal is an answer of its own: that there is a difference, however sure, and it is within the margin.
    evidence.trust == Trust::Sound && leaves_out_0 && verdict == Verdict::Undecided
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;

    use super::*;

    fn evidence() -> Evidence {
        let all = CpuSet::from_list("0-1").unwrap();
        let arms = study::arm::each_cpu_in_turn(&all, &all, None).unwrap();
        let mut evidence = study::evidence::weigh(&arms, &[], &study::Recipe::default().question());
        evidence.trust = Trust::Sound;
        evidence
    }

    fn contrast(arm: &str, interval: Option<(f64, f64)>, verdict: Verdict) -> Contrast {
        Contrast {
            arm: arm.into(),
            cpu: None,
            reference: "unpinned".into(),
            blocks: 14,
            ratio: 1.05,
            interval,
            p_adjusted: 0.2,
            verdict,
            whose: None,
        }
    }

    #[test]
    fn an_interval_without_0_beside_no_difference_is_named_and_the_others_are_not() {
        let beyond = Some((1.02, 1.09));
        let all = [
            contrast("undecided", beyond, Verdict::Undecided),
            contrast("below", Some((0.9, 0.98)), Verdict::Undecided),
            contrast("equal", Some((1.001, 1.02)), Verdict::Equal),
            contrast("better", beyond, Verdict::Better),
            contrast("with 0", Some((0.99, 1.09)), Verdict::Undecided),
            contrast("few blocks", None, Verdict::Undecided),
            contrast("elsewhere", beyond, Verdict::NotAsAsked),
        ];
        let mut evidence = evidence();
        let named = surprising_contrasts(&evidence, &all);
        assert_eq!(named, ["undecided", "below"].map(|arm| format!("{arm} against unpinned")));
        let words = surprising_intervals(&evidence, &named).unwrap();
        assert_eq!(
            words,
            "Intervals are of each comparison by itself (95 %); verdicts are of all together, and beyond 3 %: so an interval may leave \
             out 0 where no difference is shown (undecided against unpinned; below against unpinned)."
        );
        evidence.trust = Trust::TooFew { blocks: 3, needed: 6 };
        assert!(surprising_contrasts(&evidence, &all).is_empty(), "too early is another reason");
    }

    #[test]
    fn many_are_counted_and_without_any_there_is_no_sentence() {
        let evidence = evidence();
        let names: Vec<String> = (0..7).map(|n| format!("cpu {n} against unpinned")).collect();
        let words = intervals(&evidence, &names);
        assert!(words.ends_with("cpu 2 against unpinned; and 4 more)."), "{words}");
        assert_eq!(surprising_intervals(&evidence, &[]), None);
        assert!(intervals(&evidence, &[]).ends_with("and beyond 3 %."));
    }

    #[test]
    fn effects_are_named_by_their_levels() {
        let effect = Effect {
            factor: "split".into(),
            level: "apart".into(),
            against: "together".into(),
            with: None,
            blocks: 14,
            ratio: 1.04,
            interval: Some((1.01, 1.07)),
            p_adjusted: 0.3,
            verdict: Verdict::Undecided,
        };
        let shown = Effect { verdict: Verdict::Better, ..effect.clone() };
        assert_eq!(surprising_effects(&evidence(), [&effect, &shown]), ["split: apart against together"]);
    }
}
