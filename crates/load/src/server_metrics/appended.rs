//! What the lines appended to one log say of several figures.

use std::path::{Path, PathBuf};

use machine::Fault;
use regex::Regex;

use super::lines::Lines;
use super::tail::Tail;
use crate::workloads::command::extract::LineFigure;

/// A log, and the figures that are taken of its lines.
#[derive(Debug)]
pub(super) struct Appended {
    path: PathBuf,
    tail: Tail,
    wanted: Vec<Wanted>,
}

/// One of its figures.
#[derive(Debug)]
struct Wanted {
    name: String,
    which: Which,
    lines: Lines,
}

/// Which lines count.
#[derive(Debug)]
enum Which {
    /// Those that match.
    Matching(Regex),
    /// Those that have a figure.
    WithFigure(LineFigure),
}

impl Appended {
    /// Begins at the end of the log.
    pub(super) fn new(path: &Path) -> Result<Self, Fault> {
        let tail = Tail::new(path).map_err(|why| {
            Fault::io(
                format!("log {}", path.display()),
                &why,
                "name a log that is there and that you may read",
            )
        })?;
        Ok(Self { path: path.to_path_buf(), tail, wanted: Vec::new() })
    }

    /// The log.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a figure, of which lines are counted, or numbers taken; returns its place. The error says what is wrong with the expression.
    pub(super) fn add(&mut self, name: &str, expression: &str, counts: bool) -> Result<usize, String> {
        let which = match counts {
            true => Which::Matching(Regex::new(expression).map_err(|why| format!("is malformed: {why}"))?),
            false => Which::WithFigure(LineFigure::new(expression)?),
        };
        self.wanted.push(Wanted { name: name.to_string(), which, lines: Lines::default() });
        Ok(self.wanted.len() - 1)
    }

    /// Takes in what was appended since the last reading. The error says why it cannot be read: those lines come with the next reading.
    pub(super) fn read(&mut self) -> Result<(), String> {
        let wanted = &mut self.wanted;
        let lost = self.tail.read(&mut |line| wanted.iter_mut().for_each(|of| of.take(line)));
        let lost = lost.map_err(|why| format!("cannot be read: {why}"))?;
        if let Some(why) = lost {
            self.wanted.iter_mut().for_each(|of| of.lines.lost(why));
        }
        Ok(())
    }

    /// What the lines have said so far of the figure at this place.
    pub(super) fn lines(&self, place: usize) -> Lines {
        self.wanted.get(place).map(|of| of.lines.clone()).unwrap_or_default()
    }
}

impl Wanted {
    fn take(&mut self, line: &str) {
        match &self.which {
            Which::Matching(expression) => {
                if expression.is_match(line) {
                    self.lines.matched();
                }
            }
            Which::WithFigure(expression) => {
                if let Some(figure) = expression.of_line(&self.name, line) {
                    self.lines.matched();
                    self.lines.figure(figure);
                }
            }
        }
    }
}
