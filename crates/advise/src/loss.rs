//! Sizes: what a slow CPU loses, what a mechanism predicts, and whether the two agree.

use machine::wording::{percent, percent_range};
use study::{Contrast, Direction, Facts};

use crate::finding::{Fit, Predicted};

/// "Agrees" means within this factor of the observed interval.
pub const AGREES_WITHIN: f64 = 2.0;

/// Shares of CPU time are held below this, so that a prediction above a whole CPU stays a number.
const MOST_SHARE: f64 = 0.99;

/// Beginnings of figures that say how the slowest requests fared.
const TAILS: [&str; 3] = ["latency_p9", "latency_max", "latency_jitter"];

/// Share of the server's speed that is lost, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// Estimate.
    pub share: f64,
    /// Lower end of the interval; the estimate where there is no interval.
    pub from: f64,
    /// Upper end of the interval; the estimate where there is no interval.
    pub to: f64,
}

impl Loss {
    /// The loss that a contrast with the verdict *worse* stands for. Figures for which less is better have ratios
    /// above 1: a latency of 1.25 times the others' counts as 20 % of the speed.
    pub fn of(contrast: &Contrast) -> Self {
        let more_is_better = contrast.ratio < 1.0;
        let loss = |ratio: f64| (1.0 - if more_is_better { ratio } else { 1.0 / ratio }).max(0.0);
        let share = loss(contrast.ratio);
        let (a, b) = contrast.interval.map_or((share, share), |(a, b)| (loss(a), loss(b)));
        Self { share, from: a.min(b), to: a.max(b) }
    }

    /// `27 % (24 to 30 %)`.
    pub fn words(&self) -> String {
        if self.from == self.to {
            return percent(self.share);
        }
        format!("{} ({})", percent(self.share), percent_range(self.from, self.to))
    }
}

/// A ratio with its interval as a change: `+12 % (+8.1 % to +15 %)`.
pub fn change(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let signed =
        |ratio: f64| format!("{}{}", if ratio < 1.0 { "-" } else { "+" }, percent((ratio - 1.0).abs()));
    let interval = interval.map(|(low, high)| format!(" ({} to {})", signed(low), signed(high)));
    format!("{}{}", signed(ratio), interval.unwrap_or_default())
}

/// The share of speed lost when something takes `bad` of a CPU's time on the slow CPU and `good` on the others
/// (shares, 0 to 1), for a server that needs all the time that is left.
pub fn from_shares(bad: f64, good: f64) -> f64 {
    let left = |share: f64| 1.0 - share.clamp(0.0, MOST_SHARE);
    (1.0 - left(bad) / left(good)).max(0.0)
}

/// Compares a prediction with what was observed.
pub fn compare(predicted: &Predicted, observed: &Loss) -> (Fit, String) {
    let log = |share: f64| -(1.0 - share.clamp(0.0, MOST_SHARE)).ln();
    let exact = predicted.from == predicted.to;
    let fit = if log(predicted.to) < log(observed.from) / AGREES_WITHIN {
        Fit::TooSmall
    } else if log(predicted.from) > log(observed.to) * AGREES_WITHIN {
        Fit::TooLarge
    } else if exact {
        Fit::Agrees
    } else {
        Fit::Plausible
    };
    let judgement = match fit {
        Fit::Agrees => "they agree within a factor of two",
        Fit::Plausible => "the range is too wide to support the claim, but does not contradict it",
        Fit::TooSmall => "it is less than half of what was lost, so it cannot be the whole reason",
        Fit::TooLarge => "it is more than twice what was lost",
        Fit::Unknown => "they cannot be compared",
    };
    (fit, format!("predicted loss {}, observed {}: {judgement}", size(predicted), observed.words()))
}

/// Compares a prediction with what was observed in a study. Its figure has to say how much speed was lost: neither a latency at a fixed rate
/// does, which a few per cent of a CPU may multiply, since requests queue up meanwhile, nor a tail, of which one interrupt may be the reason.
pub fn compare_in(facts: &Facts, predicted: &Predicted, observed: &Loss) -> (Fit, String) {
    if says_speed(facts) {
        return compare(predicted, observed);
    }
    let agreement = format!(
        "predicted loss of speed {}; {}{} does not change in proportion to the speed, so the two cannot be compared",
        size(predicted),
        facts.evidence.metric,
        if facts.study.recipe.load.has_rate() { " at a fixed rate" } else { "" }
    );
    (Fit::Unknown, agreement)
}

/// Whether the figure that decides changes in proportion to the server's speed, as far as is known.
pub fn says_speed(facts: &Facts) -> bool {
    let metric = &facts.evidence.metric;
    let is_latency = facts.evidence.better == Direction::Lower && metric.starts_with("latency_");
    let is_tail = TAILS.iter().any(|tail| metric.starts_with(tail));
    !(is_latency && (is_tail || facts.study.recipe.load.has_rate()))
}

fn size(predicted: &Predicted) -> String {
    match predicted.from == predicted.to {
        true => percent(predicted.share),
        false => percent_range(predicted.from, predicted.to),
    }
}

/// `with the server on CPU 0 requests_per_s is 52 % (49 to 54 %) lower than on the other CPUs`.
pub fn slower_than_others(facts: &Facts, cpu: u32, contrast: &Contrast) -> String {
    let metric = &facts.evidence.metric;
    match facts.evidence.better {
        Direction::Higher => {
            format!(
                "with the server on CPU {cpu} {metric} is {} lower than on the other CPUs",
                Loss::of(contrast).words()
            )
        }
        Direction::Lower => {
            let more = |ratio: f64| percent(ratio - 1.0);
            let interval = contrast.interval.map(|(a, b)| format!(" ({})", percent_range(a - 1.0, b - 1.0)));
            let interval = interval.unwrap_or_default();
            format!(
                "with the server on CPU {cpu} {metric} is {}{interval} higher than on the other CPUs",
                more(contrast.ratio)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use study::Verdict;

    use super::*;

    fn worse(ratio: f64, interval: Option<(f64, f64)>) -> Contrast {
        Contrast {
            arm: "cpu 0".into(),
            cpu: Some(0),
            reference: "the other CPUs".into(),
            blocks: 8,
            ratio,
            interval,
            p_adjusted: 0.01,
            verdict: Verdict::Worse,
            whose: None,
        }
    }

    fn predicted(from: f64, to: f64) -> Predicted {
        Predicted { share: (from * to).sqrt(), from, to, how: String::new() }
    }

    #[test]
    fn a_ratio_of_latencies_is_turned_round() {
        let loss = Loss::of(&worse(1.25, Some((1.0, 2.0))));
        assert!((loss.share - 0.2).abs() < 1e-12 && loss.from == 0.0 && loss.to == 0.5, "{loss:?}");
        let loss = Loss::of(&worse(0.5, None));
        assert_eq!((loss.share, loss.from, loss.to), (0.5, 0.5, 0.5));
    }

    #[test]
    fn the_softirq_time_of_a_steered_cpu_predicts_its_loss() {
        let share = from_shares(0.74, 0.24);
        assert!((share - 0.658).abs() < 0.001, "{share}");
        let observed = Loss::of(&worse(0.485, Some((0.46, 0.51))));
        assert_eq!(compare(&predicted(share, share), &observed).0, Fit::Agrees);
    }

    #[test]
    fn sizes_apart_do_not_agree_in_either_direction() {
        let observed = Loss::of(&worse(0.5, Some((0.49, 0.51))));
        assert_eq!(compare(&predicted(0.027, 0.027), &observed).0, Fit::TooSmall);
        assert_eq!(compare(&predicted(0.95, 0.95), &observed).0, Fit::TooLarge);
        assert_eq!(compare(&predicted(0.02, 0.4), &observed).0, Fit::Plausible);
    }

    #[test]
    fn more_than_a_whole_cpu_is_still_a_number() {
        assert!(from_shares(7.0, 0.1).is_finite());
        assert_eq!(from_shares(0.1, 0.4), 0.0);
    }
}
