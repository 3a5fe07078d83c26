//! The one place that writes to stdout. A reader that went away is no error; any other failure is one, and whoever prints an answer has
//! done and recorded before what the answer is about.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine::own_folder::named;
use machine::{Class, Fault};
use report::case::table::Style;
use serde::Serialize;

use crate::{escape, notes};

/// What is written at once where output goes on: as much as a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// Exit code of a study that waits for a reboot.
pub const REBOOT: u8 = 7;

/// Exit code of a study whose trials cannot tell whether what was expected holds.
pub const CANNOT_TELL: u8 = 8;

/// What a verb answers when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Done, or yes: exit code 0.
    Done,
    /// The answer is no: exit code 1.
    No,
    /// The study continues after a reboot: exit code 7.
    Reboot,
    /// The trials cannot tell whether what was expected holds: exit code 8.
    CannotTell,
    /// A command that was run for the user ended with this code, which is handed on.
    Exit(u8),
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done => ExitCode::SUCCESS,
            Answer::No => Class::No.exit_code().into(),
            Answer::Reboot => REBOOT.into(),
            Answer::CannotTell => CANNOT_TELL.into(),
            Answer::Exit(code) => code.into(),
        }
    }
}

/// A sheet for people as it goes to its place: no wider than the terminal. In a file or a pipe its lines stay whole, for programs that
/// search them and for wide windows.
pub fn fitted(path: Option<&Path>, sheet: String) -> String {
    match path.is_none() && io::stdout().is_terminal() {
        true => report::fitted::fitted(&sheet, style().width),
        false => sheet,
    }
}

/// Prints text. A reader that went away (`pinwise map | head`) is no error.
pub fn text(text: &str) -> Result<(), Fault> {
    piece(text).map(|_| ())
}

/// Prints a piece of output that goes on; false when nobody reads it any more.
pub fn piece(text: &str) -> Result<bool, Fault> {
    let text = escape::text(text, style().colour);
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Fault::io("stdout", &e, "check where the output goes")),
        Ok(()) => Ok(true),
    }
}

/// Hands on what a command of the user's prints, as it is. The command goes on where nobody takes it, and its exit code counts.
pub fn pass_on(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// A JSON document on one line.
pub fn one_line(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value)
        .map(|document| escape::json(document) + "\n")
        .map_err(|e| Fault::new(Class::Storage, "JSON output", e, machine::IS_A_BUG))
}

/// A JSON document with its last line ended.
pub fn pretty(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string_pretty(value)
        .map(|document| escape::json(document) + "\n")
        .map_err(|e| Fault::new(Class::Storage, "JSON output", e, machine::IS_A_BUG))
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) -> Result<(), Fault> {
    text(&pretty(value)?)
}

/// Writes to `path`, or to stdout when none is given.
pub fn to(path: Option<&Path>, bytes: &str) -> Result<(), Fault> {
    match path {
        None => text(bytes),
        Some(path) => {
            // A file may be a terminal, or be shown on one.
            let bytes = escape::text(bytes, false);
            let write = |mut file: Anew| file.write_all(bytes.as_bytes()).and_then(|()| file.end());
            Anew::open(path).and_then(write).map_err(|e| not_written(path.display(), &e))
        }
    }
}

/// Writes all of a document to its place. A reader that went away is no error.
pub fn whole(place: Place, text: &str) -> Result<(), Fault> {
    let Place { name, mut to } = place;
    let text = escape::text(text, false);
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(not_written(name, &e)),
        _ => Ok(()),
    }
}

/// A form that is not for terminals.
#[derive(Debug, Clone, Copy)]
pub struct Binary {
    /// The flag that asks for it.
    pub flag: &'static str,
    /// Why a terminal does not get it.
    pub cause: &'static str,
    /// A file to write it to.
    pub example: &'static str,
}

/// A place for output that is written piece by piece.
pub struct Place {
    /// Its name in messages: the path, or `stdout`.
    pub name: String,
    /// Takes the pieces, and hands them on when there are many or it is flushed.
    pub to: Box<dyn Write + Send>,
}

/// Opens the file at `path`, or stdout when none is given. What the file holds stays until something is written; one that was not there goes
/// again where nothing is.
///
/// # Errors
/// The file cannot be made; stdout is a terminal, and `binary` is not for terminals.
pub fn open(path: Option<&Path>, binary: Option<Binary>) -> Result<Place, Fault> {
    let name = path.map_or("stdout".to_string(), |path| path.display().to_string());
    let to: Box<dyn Write + Send> = match (path, binary) {
        (Some(path), _) => Box::new(in_pieces(Anew::open(path).map_err(|e| not_written(&name, &e))?)),
        (None, Some(Binary { flag, cause, example })) if io::stdout().is_terminal() => {
            let remedy = format!("name a file with -o, as in -o {example}");
            return Err(Fault::new(Class::Usage, flag, cause, remedy));
        }
        (None, _) => Box::new(in_pieces(io::stdout())),
    };
    Ok(Place { name, to })
}

/// A file that is emptied when the first of its new content comes.
struct Anew {
    file: File,
    has_begun: bool,
    /// The file, where it was not there before.
    made: Option<PathBuf>,
}

impl Anew {
    fn open(path: &Path) -> io::Result<Self> {
        let (file, is_new) = named::open(path)?;
        Ok(Self { file, has_begun: false, made: is_new.then(|| path.to_path_buf()) })
    }

    /// All is written, were it nothing.
    fn end(&mut self) -> io::Result<()> {
        if !self.has_begun {
            self.empty()?;
            self.has_begun = true;
        }
        Ok(())
    }

    fn empty(&self) -> io::Result<()> {
        // A pipe or a device has nothing to be emptied of.
        if self.file.metadata()?.is_file() { self.file.set_len(0) } else { Ok(()) }
    }
}

impl Drop for Anew {
    fn drop(&mut self) {
        let Some(made) = self.made.take().filter(|_| !self.has_begun) else { return };
        // Another file may have been put into its place meanwhile.
        let is_same = |there: &Metadata, own: &Metadata| (there.dev(), there.ino()) == (own.dev(), own.ino());
        let both = std::fs::symlink_metadata(&made).ok().zip(self.file.metadata().ok());
        if both.is_some_and(|(there, own)| is_same(&there, &own)) {
            let _ = std::fs::remove_file(made);
        }
    }
}

impl Write for Anew {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_begun {
            self.empty()?;
        }
        let written = self.file.write(bytes)?;
        self.has_begun |= written > 0;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn in_pieces<W: Write>(to: W) -> BufWriter<W> {
    BufWriter::with_capacity(PIECE_BYTES, to)
}

/// A place that does not take what is written to it.
pub fn not_written(place: impl std::fmt::Display, error: &io::Error) -> Fault {
    Fault::io(place, error, "choose another place with -o")
}

/// How tables are to look on this stdout: as wide as the terminal, coloured there unless NO_COLOR is set.
pub fn style() -> Style {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return Style::default();
    }
    let width = rustix::termios::tcgetwinsize(&stdout).map_or(80, |size| usize::from(size.ws_col));
    Style { colour: notes::wants_colours(), width: if width == 0 { 80 } else { width } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_what_it_has_until_something_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.json");
        std::fs::write(&path, "of yesterday, and longer").unwrap();
        let place = open(Some(&path), None).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of yesterday, and longer");
        whole(place, "of today").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of today");
    }

    #[test]
    fn a_file_that_nothing_was_written_to_goes_again_where_it_was_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let [there, new, link] = ["there", "new", "link"].map(|name| folder.path().join(name));
        std::fs::write(&there, "of yesterday").unwrap();
        std::os::unix::fs::symlink(folder.path().join("linked"), &link).unwrap();
        for path in [&there, &new, &link] {
            drop(open(Some(path), None).unwrap());
        }
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "of yesterday");
        assert!(!new.exists() && link.is_symlink());
        whole(open(Some(&new), None).unwrap(), "of today").unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "of today");
    }

    #[test]
    fn a_place_that_takes_nothing_is_named() {
        let fault = open(Some(Path::new("/nosuch/x")), None).err().unwrap().to_string();
        assert!(fault.contains("/nosuch/x") && fault.contains("-o"), "{fault}");
    }
}
