//! The one place that writes to stdout.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use machine::{Class, Fault};
use report::table::Style;
use serde::Serialize;

/// What a verb answers when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Done, or yes: exit code 0.
    Done,
    /// The answer is no: exit code 1.
    No,
    /// A command that was run for the user ended with this code, which is handed on.
    Exit(u8),
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done => ExitCode::SUCCESS,
            Answer::No => Class::No.exit_code().into(),
            Answer::Exit(code) => code.into(),
        }
    }
}

/// Prints text. A reader that went away (`pinwise map | head`) is no error.
pub fn text(text: &str) -> Result<(), Fault> {
    piece(text).map(|_| ())
}

/// Prints a piece of output that goes on; false when nobody reads it any more.
pub fn piece(text: &str) -> Result<bool, Fault> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Fault::io("stdout", &e, "look at where the output goes")),
        Ok(()) => Ok(true),
    }
}

/// A JSON document on one line.
pub fn one_line(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value)
        .map(|document| document + "\n")
        .map_err(|e| Fault::new(Class::Storage, "JSON output", e, "report this as a fault of pinwise"))
}

/// A JSON document with its last line ended.
pub fn pretty(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string_pretty(value)
        .map(|document| document + "\n")
        .map_err(|e| Fault::new(Class::Storage, "JSON output", e, "report this as a fault of pinwise"))
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) -> Result<(), Fault> {
    text(&pretty(value)?)
}

/// Writes to `path`, or to stdout when none is given.
pub fn to(path: Option<&Path>, bytes: &str) -> Result<(), Fault> {
    match path {
        None => text(bytes),
        Some(path) => std::fs::write(path, bytes)
            .map_err(|e| Fault::io(path.display(), &e, "choose another place with -o")),
    }
}

/// How tables are to look on this stdout: as wide as the terminal, coloured there unless NO_COLOR is set.
pub fn style() -> Style {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return Style::default();
    }
    let width = rustix::termios::tcgetwinsize(&stdout).map_or(80, |size| usize::from(size.ws_col));
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style { colour, width: if width == 0 { 80 } else { width } }
}
