//! Progress of a measurement on stderr: a bar on a terminal, a line a round elsewhere.

use std::time::Duration;

use indicatif::ProgressBar;
use probe::noise::Round;

use crate::notes::note;
use crate::window::WORTH_A_BAR;
use crate::{notes, progress_bar};

/// Shows how far a measurement is.
pub struct Progress {
    window: Duration,
    bar: ProgressBar,
    prints_rounds: bool,
}

impl Progress {
    /// Of rounds of this length.
    pub fn new(window: Duration) -> Self {
        let on_terminal = notes::is_terminal();
        let bar = progress_bar::bar("{bar:30} {eta} left  {msg}", window.as_millis() as u64, on_terminal);
        Self { window, bar, prints_rounds: !on_terminal && window > WORTH_A_BAR }
    }

    /// A round begins.
    pub fn begins(&self, round: &Round<'_>) {
        let window_ms = self.window.as_millis() as u64;
        self.bar.set_length(window_ms * round.of as u64);
        let rounds = if round.of > 1 {
            format!(", round {} of {}", round.number + 1, round.of)
        } else {
            String::new()
        };
        let words = format!("measuring CPU {}{rounds}", round.cpus);
        if self.prints_rounds {
            note!("{words}: {:.1} s", self.window.as_secs_f64());
        }
        self.bar.set_message(words);
    }

    /// This much of it has passed.
    pub fn passes(&self, round: &Round<'_>, passed: Duration) {
        if self.window > WORTH_A_BAR {
            self.bar.set_position((self.window * round.number as u32 + passed).as_millis() as u64);
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
