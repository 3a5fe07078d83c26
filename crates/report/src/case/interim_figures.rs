//! Figures by arm while a study runs. They carry no verdict: whoever stops at the first good one is wrong more often than he thinks.

use std::collections::BTreeMap;

use machine::wording::counted;
use study::Trial;
use study::statistics::{median_interval, summary};

use crate::{display_width, number, visible};

/// Level of the intervals that are shown. They decide nothing.
const CONFIDENCE: f64 = 0.95;

/// Longest name of an arm that is shown whole, characters.
const LONGEST_NAME: usize = 28;

/// Figures of one arm by block and position.
type Figures = BTreeMap<(usize, usize), f64>;

/// The deciding figure of each arm, as far as trials have brought it.
#[derive(Debug, Default)]
pub struct InterimFigures {
    metric: String,
    /// In the order in which the arms first ran; a trial that is run again replaces the one before.
    arms: Vec<(String, Figures)>,
}

impl InterimFigures {
    /// Of the figure `metric`, from these trials.
    pub fn new(metric: &str, trials: &[Trial]) -> Self {
        let mut so_far = Self { metric: metric.into(), arms: Vec::new() };
        trials.iter().for_each(|trial| so_far.take(trial));
        so_far
    }

    /// Takes one more trial.
    pub fn take(&mut self, trial: &Trial) {
        let at = self.arms.iter().position(|(arm, _)| *arm == trial.arm).unwrap_or_else(|| {
            self.arms.push((trial.arm.clone(), Figures::new()));
            self.arms.len() - 1
        });
        let figures = &mut self.arms[at].1;
        // What a guard cut short has no figure to be shown beside whole ones.
        match trial.figures.get(&self.metric).filter(|_| trial.breach.is_none()) {
            Some(figure) => figures.insert((trial.block, trial.position), *figure),
            None => figures.remove(&(trial.block, trial.position)),
        };
    }

    /// One line an arm, of the first `most` arms, and how many more there are.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let names: Vec<String> = self.arms.iter().map(|(arm, _)| name(arm)).collect();
        let width = names.iter().take(most).map(|name| display_width::width(name)).max().unwrap_or(0);
        let line = |(name, (_, figures)): (&String, &(String, Figures))| {
            let name = display_width::padded(name, width);
            format!("  {name}  {}", in_words(&figures.values().copied().collect::<Vec<_>>()))
        };
        let mut lines: Vec<String> = names.iter().zip(&self.arms).take(most).map(line).collect();
        match self.arms.len().saturating_sub(most) {
            0 => {}
            more => lines.push(format!("  and {}", counted(more, "more arm"))),
        }
        lines
    }
}

fn name(arm: &str) -> String {
    display_width::cut(&visible::one_line(arm), LONGEST_NAME, "…")
}

/// `14,017 [13,950, 14,101] in 9 trials`: the median, and its interval from six trials on.
fn in_words(figures: &[f64]) -> String {
    let Some(median) = summary::median(figures) else { return "no figure yet".into() };
    let shown = number::figure_with_interval(median, median_interval::of(figures, CONFIDENCE));
    format!("{shown} in {}", counted(figures.len(), "trial"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(arm: &str, block: usize, figure: Option<f64>) -> Trial {
        let figures = figure.into_iter().map(|figure| ("x".to_string(), figure)).collect();
        Trial { arm: arm.into(), block, figures, ..Trial::default() }
    }

    #[test]
    fn an_interval_comes_with_the_sixth_trial_and_one_that_is_run_again_counts_once() {
        let mut trials: Vec<Trial> =
            (0..5).map(|block| trial("cpu 0", block, Some(100.0 + block as f64))).collect();
        trials.push(trial("cpu 0", 4, Some(104.0)));
        trials.push(trial("cpu 1", 0, None));
        let mut so_far = InterimFigures::new("x", &trials);
        assert_eq!(so_far.lines(9), ["  cpu 0  102.0 in 5 trials", "  cpu 1  no figure yet"]);
        so_far.take(&trial("cpu 0", 5, Some(105.0)));
        assert_eq!(so_far.lines(1), ["  cpu 0  102.5 [100.0, 105.0] in 6 trials", "  and 1 more arm"]);
        assert!(so_far.lines(9).iter().all(|line| !line.contains("better") && !line.contains("slow")));
    }

    #[test]
    fn a_hostile_name_stays_on_its_line() {
        let lines = InterimFigures::new("x", &[trial("a\u{1b}[2J\nb", 0, Some(1.0))]).lines(9);
        assert!(!lines[0].contains('\u{1b}') && !lines[0].contains('\n'), "{lines:?}");
    }
}
