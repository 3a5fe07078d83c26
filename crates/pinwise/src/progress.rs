//! Progress of a study on stderr: a bar with the time left on a terminal, a line a block elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use study::engine::Event;
use study::{Recipe, Trial};

/// A bar of this length on stderr; one that is never seen where it is not `shown`.
pub fn bar(template: &str, length: u64, shown: bool) -> ProgressBar {
    let bar = if shown { ProgressBar::new(length) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Shows the events of an engine.
pub struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    metric: String,
    total: usize,
}

impl Progress {
    /// A bar for a study that decides by the recipe's metric.
    pub fn new(recipe: &Recipe) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = bar("{bar:30} {pos}/{len} trials, {eta} left  {msg}", 0, on_terminal);
        Self { bar, on_terminal, metric: recipe.metric.clone(), total: 0 }
    }

    /// Takes one event of the engine.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Began { total, finished } => {
                self.total = *total;
                self.bar.set_length(*total as u64);
                self.bar.set_position(*finished as u64);
                self.bar.reset_eta();
            }
            Event::TrialBegan(planned) => {
                self.bar.set_message(format!("block {}: {}", planned.block + 1, planned.arm.name));
            }
            Event::TrialEnded { trial, total } => {
                self.total = *total;
                self.bar.set_length(*total as u64);
                self.bar.inc(1);
                if !self.on_terminal {
                    eprintln!("{}", self.line(trial));
                }
            }
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, trial: &Trial) -> String {
        let figure = match (&trial.failed, trial.figures.get(&self.metric)) {
            (Some(cause), _) => format!("failed: {cause}"),
            (None, Some(value)) => format!("{value:.1}"),
            (None, None) => "no figure".into(),
        };
        let note = trial.disturbed.as_ref().map(|why| format!("  disturbed: {why}")).unwrap_or_default();
        format!(
            "trial {}/{}  block {}  {:<12} {} {figure}{note}",
            trial.index + 1,
            self.total,
            trial.block + 1,
            trial.arm,
            self.metric
        )
    }
}
