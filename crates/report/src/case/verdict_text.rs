//! What a verification says, for people.

use machine::plan::Predicted;
use machine::wording::counted;
use study::engine::verify::{AsPredicted, Verified};
use study::{Contrast, Trust, Verdict};

use crate::case::control_words;
use crate::{number, visible};

/// The answer, the figure it rests on, the controls, and what was not judged.
pub fn render(verified: &Verified) -> String {
    let mut text = format!("{}\n", answer(verified));
    if let Some(contrast) = &verified.contrast {
        text += &format!("- {}\n", figure(verified, contrast));
    }
    text +=
        &verified.predicted.iter().map(|predicted| predicted_line(verified, predicted)).collect::<String>();
    if let Some(a_a) = &verified.a_a {
        text += &format!("- the same placement twice: {}\n", change(a_a));
    }
    if let Some(how) = &verified.misplaced {
        text += &format!("- not as planned: {}\n", visible::one_line(&control_words::misplaced(how)));
    }
    for words in &verified.not_as_asked {
        text += &format!("- not as planned: {}\n", visible::one_line(words));
    }
    for setting in &verified.not_judged {
        let (knob, of) = (visible::one_line(&setting.knob), visible::one_line(&setting.target));
        text += &format!("- not judged: {knob} of {of}: the plan does not say what it was before\n");
    }
    text
}

fn answer(verified: &Verified) -> String {
    let why = |words: &str| format!("No claim: {words}");
    match (&verified.trust, verified.contrast.as_ref().map(|contrast| contrast.verdict)) {
        (Trust::Untrustworthy { .. }, _) => why("the baseline differed from itself"),
        (Trust::TooFew { .. }, _) | (_, None) => why("too few complete blocks"),
        _ if verified.misplaced.is_some() => why("the server did not run where the plan puts it"),
        _ if !verified.not_as_asked.is_empty() => why("not everything reads back as the plan requested"),
        (Trust::Sound, Some(Verdict::NotAsAsked)) => why("the server did not run where the plan puts it"),
        (Trust::Sound, Some(Verdict::Better)) => "The gain is real".into(),
        (Trust::Sound, Some(Verdict::Worse)) => "The plan makes it worse: undo it (pinwise undo)".into(),
        (Trust::Sound, Some(Verdict::Equal)) => {
            "There is no gain: the plan makes no difference that matters".into()
        }
        (Trust::Sound, Some(_)) => "Undecided: the trials do not show whether there is a gain".into(),
    }
}

fn figure(verified: &Verified, contrast: &Contrast) -> String {
    let unit = if verified.unit.is_empty() { &verified.metric } else { &verified.unit };
    let blocks = counted(contrast.blocks, "block");
    format!("{} {} compared with before, in {blocks}", change(contrast), visible::one_line(unit))
}

/// `- predicted by the study (cpu 1): +12 % [8, 15]; the result fits`.
fn predicted_line(verified: &Verified, predicted: &Predicted) -> String {
    let interval = predicted.low.zip(predicted.high);
    let fits = match verified.as_predicted {
        Some(AsPredicted::Fits) => "; the result fits",
        Some(AsPredicted::Less) => "; the gain is smaller",
        Some(AsPredicted::More) => "; the gain is larger",
        None => "",
    };
    let arm = visible::one_line(&predicted.arm);
    format!(
        "- predicted by the study ({arm}): {}{fits}\n",
        number::change_with_interval(predicted.ratio, interval)
    )
}

fn change(contrast: &Contrast) -> String {
    number::change_with_interval(contrast.ratio, contrast.interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(trust: Trust, verdict: Verdict) -> Verified {
        let contrast = Contrast {
            arm: "as planned".into(),
            cpu: None,
            reference: "unpinned".into(),
            blocks: 17,
            ratio: 1.12,
            interval: Some((1.08, 1.15)),
            p_adjusted: 0.001,
            verdict,
            whose: None,
        };
        Verified {
            holds: verdict == Verdict::Better,
            a_a: Some(Contrast { ratio: 0.999, interval: None, ..contrast.clone() }),
            contrast: Some(contrast),
            predicted: None,
            as_predicted: None,
            trust,
            metric: "requests_per_s".into(),
            unit: "requests/s".into(),
            trials: "verify/0001".into(),
            not_judged: Vec::new(),
            not_as_asked: Vec::new(),
            misplaced: None,
        }
    }

    #[test]
    fn each_verdict_has_its_sentence_with_its_figure() {
        let text = render(&verified(Trust::Sound, Verdict::Better));
        assert!(
            text.starts_with(
                "The gain is real\n- +12.0 % [+8.0, +15.0] requests/s compared with before, in 17 blocks"
            ),
            "{text}"
        );
        assert!(render(&verified(Trust::Sound, Verdict::Worse)).contains("worse"));
        assert!(render(&verified(Trust::Sound, Verdict::Equal)).contains("no gain"));
        assert!(render(&verified(Trust::Sound, Verdict::Undecided)).starts_with("Undecided"));
        let text = render(&verified(Trust::TooFew { blocks: 3, needed: 6 }, Verdict::Better));
        assert!(text.starts_with("No claim"), "{text}");
    }

    #[test]
    fn what_was_predicted_stands_beside_what_came_out() {
        let predicted = Predicted {
            metric: "requests_per_s".into(),
            ratio: 1.2,
            low: Some(1.16),
            high: Some(1.25),
            arm: "cpu 1".into(),
        };
        let known = Verified {
            predicted: Some(predicted),
            as_predicted: Some(AsPredicted::Less),
            ..verified(Trust::Sound, Verdict::Better)
        };
        let line = "- predicted by the study (cpu 1): +20.0 % [+16.0, +25.0]; the gain is smaller\n";
        assert!(render(&known).contains(line), "{}", render(&known));
        assert!(!render(&verified(Trust::Sound, Verdict::Better)).contains("predicted"));
    }
}
