//! Progress of a study on stderr: on a terminal a bar with the time left and the figures so far by arm, a line a trial elsewhere.

use indicatif::{MultiProgress, ProgressBar};
use machine::Outside;
use report::case::interim_figures::InterimFigures;
use study::engine::Event;
use study::{Recipe, Trial};

use crate::notes::note;
use crate::{notes, progress_bar, terminal};

/// Lines of the screen that the bar and the shell's prompt want.
const LINES_LEFT: usize = 4;

/// Shows the events of an engine.
pub struct Progress {
    screen: MultiProgress,
    bar: ProgressBar,
    /// A line an arm, below the bar.
    lines: Vec<ProgressBar>,
    so_far: InterimFigures,
    on_terminal: bool,
    metric: String,
    total: usize,
}

impl Progress {
    /// A bar for a study that decides by the recipe's metric, of which these trials are finished.
    pub fn new(recipe: &Recipe, finished: &[Trial]) -> Self {
        let on_terminal = notes::is_terminal();
        let screen = MultiProgress::with_draw_target(progress_bar::target(on_terminal));
        let bar = screen.add(progress_bar::bar(
            "{bar:30} {pos}/{len} trials, {eta} left, q: stop  {msg}",
            0,
            on_terminal,
        ));
        let so_far = InterimFigures::new(&recipe.metric, finished);
        Self { screen, bar, lines: Vec::new(), so_far, on_terminal, metric: recipe.metric.clone(), total: 0 }
    }

    /// Takes one event of the engine.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Began { total, finished } => {
                self.total = *total;
                self.bar.set_length(*total as u64);
                self.bar.set_position(*finished as u64);
                self.bar.reset_eta();
                self.figures();
            }
            Event::Waits { until } => {
                self.bar.set_message(format!("waiting until {until}"));
                if !self.on_terminal {
                    note!("pinwise: no trial begins before {until} (--hours)");
                }
            }
            Event::TrialBegan(planned) => {
                let block = if planned.observed { "observed block" } else { "block" };
                self.bar.set_message(format!(
                    "{block} {}: {}",
                    planned.block + 1,
                    Outside(&planned.arm.name)
                ));
            }
            Event::TrialEnded { trial, observed, total } => {
                self.total = *total;
                self.bar.set_length(*total as u64);
                self.bar.inc(1);
                if !observed {
                    self.so_far.take(trial);
                    self.figures();
                }
                if !self.on_terminal {
                    note!("{}", self.line(trial, *observed));
                }
            }
        }
    }

    /// Figures so far by arm, as many as there is room for.
    fn figures(&mut self) {
        if !self.on_terminal {
            return;
        }
        let room = terminal::height().saturating_sub(LINES_LEFT);
        for (at, text) in self.so_far.lines(room.saturating_sub(1)).into_iter().enumerate() {
            if at == self.lines.len() {
                self.lines.push(self.screen.add(progress_bar::bar("{msg}", 0, true)));
            }
            self.lines[at].set_message(text);
        }
    }

    /// Takes everything off the screen.
    pub fn finish(&self) {
        self.lines.iter().for_each(ProgressBar::finish_and_clear);
        self.bar.finish_and_clear();
    }

    fn line(&self, trial: &Trial, observed: bool) -> String {
        let figure = match (&trial.failed, trial.figures.get(&self.metric)) {
            (Some(cause), _) => format!("failed: {}", Outside(cause)),
            (None, Some(value)) => format!("{value:.1}"),
            (None, None) => "no figure".into(),
        };
        let ended = trial.breach.as_ref().map(|breach| format!("  ended by a guard: {}", breach.words()));
        let note =
            trial.disturbed.as_ref().map(|why| format!("  disturbed: {}", Outside(why))).unwrap_or_default();
        let of = if observed {
            format!("observed {}", trial.index + 1)
        } else {
            format!("trial {}/{}", trial.index + 1, self.total)
        };
        format!(
            "{of}  block {}  {:<12} {} {figure}{note}{}",
            trial.block + 1,
            Outside(&trial.arm),
            Outside(&self.metric),
            ended.unwrap_or_default()
        )
    }
}
