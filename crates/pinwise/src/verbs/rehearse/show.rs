//! What a person sees while a guest runs: the command's output as it comes, and on a terminal what is being waited for.

use std::time::Duration;

use indicatif::ProgressBar;
use rehearse::guest::Event;

use crate::format::Format;
use crate::notes::note;
use crate::{notes, output, progress_bar};

/// Shows what happens.
pub(super) struct Show {
    /// Which of several guests it is: `before the plan`.
    stage: &'static str,
    /// Whether the command's output is handed on.
    is_passing_on: bool,
    bar: Option<ProgressBar>,
}

impl Show {
    /// Of a command whose output is the answer.
    pub(super) fn command(format: Format) -> Self {
        Self::of("", format == Format::Text)
    }

    /// Of one of several guests, whose output is read by pinwise alone.
    pub(super) fn stage(stage: &'static str) -> Self {
        Self::of(stage, false)
    }

    fn of(stage: &'static str, is_passing_on: bool) -> Self {
        let bar = notes::is_terminal().then(progress_bar::spinner);
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { stage, is_passing_on, bar }
    }

    /// Shows one event.
    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Waiting => self.say("two guests are running; waiting for one to end"),
            Event::Less(what) => note!("pinwise: {what}"),
            Event::Making(what) => self.aside(|| note!("pinwise: {what}")),
            Event::Booting => self.say("booting"),
            Event::Again => self.say("it did not come up; booting once more"),
            Event::Up(_) => self.say("running the command"),
            Event::Stdout(bytes) => self.pass_on(|| output::pass_on(bytes)),
            Event::Stderr(bytes) => self.pass_on(|| notes::pass_on(bytes)),
        }
    }

    fn say(&self, what: &'static str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}{what}", self.stage));
        }
    }

    /// Hands on what the user's command prints, as it is: like ssh(1), pinwise is only on its way.
    fn pass_on(&self, write: impl FnOnce()) {
        if self.is_passing_on {
            self.aside(write);
        }
    }

    /// Writes with the line of waiting taken away meanwhile.
    fn aside(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the line of waiting away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
