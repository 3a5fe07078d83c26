//! The lines that are appended to a log, through its rotation.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use machine::untrusted::file::{open_found, open_named};

/// A longer line is passed over, bytes.
const LONGEST_LINE: usize = 64 << 10;
/// More than this is not read at once, bytes.
const MOST_AT_ONCE: u64 = 32 << 20;
/// How much a call of read(2) asks for, bytes.
const PIECE: usize = 64 << 10;

const TRUNCATED: &str = "was truncated in this time: lines may be lost that were appended before";
const TOO_MUCH: &str = "grew by more than 32 MiB between two readings: what came first was not read";

/// A log that is read from its end on.
///
/// Where another file takes its place (another device or inode), that is read from its start, and the former one on, since the server
/// writes there until it reopens its log. A file that has become shorter is read from its start.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    /// Whether the path was a link when reading began. Only then is one followed.
    is_link: bool,
    current: Followed,
    former: Option<Followed>,
}

impl Tail {
    /// Begins at the end of the file. Fails where there is none, or no regular file.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let is_link = path.symlink_metadata()?.is_symlink();
        let mut current = Followed::of(open(path, is_link)?)?;
        current.skip_to_end()?;
        Ok(Self { path: path.to_path_buf(), is_link, current, former: None })
    }

    /// Gives `line` each line that was completed since the last reading; one without its end waits. Says why lines are lost, if some may
    /// be. Fails where the log cannot be read.
    pub(super) fn read(&mut self, line: &mut dyn FnMut(&str)) -> io::Result<Option<&'static str>> {
        // First what stands at the path: what is appended to the former file until then is read below.
        let next = self.successor()?;
        let mut lost = None;
        if let Some(former) = &mut self.former {
            lost = former.read(line)?;
        }
        lost = self.current.read(line)?.or(lost);
        if let Some(mut next) = next {
            lost = next.read(line)?.or(lost);
            self.former = Some(std::mem::replace(&mut self.current, next));
        }
        Ok(lost)
    }

    /// The file that has taken the place of the current one.
    fn successor(&self) -> io::Result<Option<Followed>> {
        let found = if self.is_link { self.path.metadata() } else { self.path.symlink_metadata() };
        let found = match found {
            // Renamed, and not created anew yet.
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        if identity(&found) == self.current.identity {
            return Ok(None);
        }
        match open(&self.path, self.is_link) {
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            file => {
                let next = Followed::of(file?)?;
                Ok((next.identity != self.current.identity).then_some(next))
            }
        }
    }
}

/// Nothing but a regular file.
fn open(path: &Path, is_link: bool) -> io::Result<File> {
    if is_link { open_named(path) } else { open_found(path) }
}

/// Device and inode: while the file is open, no other has both.
fn identity(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

/// An open file, and how far it is read.
#[derive(Debug)]
struct Followed {
    file: File,
    identity: (u64, u64),
    /// Up to here, bytes.
    at: u64,
    /// The start of a line whose end is not there yet.
    begun: Vec<u8>,
    /// Whether the line at hand is passed over.
    skips: bool,
}

impl Followed {
    fn of(file: File) -> io::Result<Self> {
        let identity = identity(&file.metadata()?);
        Ok(Self { file, identity, at: 0, begun: Vec::new(), skips: false })
    }

    /// What is there already is none of ours, nor is the line that has begun.
    fn skip_to_end(&mut self) -> io::Result<()> {
        self.at = self.file.metadata()?.len();
        self.begun.clear();
        let mut last = [b'\n'];
        if let Some(before) = self.at.checked_sub(1) {
            self.file.read_exact_at(&mut last, before)?;
        }
        self.skips = last != [b'\n'];
        Ok(())
    }

    fn read(&mut self, line: &mut dyn FnMut(&str)) -> io::Result<Option<&'static str>> {
        let length = self.file.metadata()?.len();
        let mut lost = None;
        if length < self.at {
            (self.at, self.skips) = (0, false);
            self.begun.clear();
            lost = Some(TRUNCATED);
        }
        if length - self.at > MOST_AT_ONCE {
            self.skip_to_end()?;
            return Ok(Some(TOO_MUCH));
        }
        let mut piece = vec![0; PIECE];
        while self.at < length {
            let most = usize::try_from(length - self.at).unwrap_or(PIECE).min(PIECE);
            match self.file.read_at(&mut piece[..most], self.at) {
                Ok(0) => break,
                Ok(n) => {
                    self.at += n as u64;
                    self.take(&piece[..n], line);
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(lost)
    }

    fn take(&mut self, piece: &[u8], line: &mut dyn FnMut(&str)) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let ended = part.strip_suffix(b"\n");
            let text = ended.unwrap_or(part);
            self.skips |= self.begun.len() + text.len() > LONGEST_LINE;
            match self.skips {
                true => self.begun.clear(),
                false => self.begun.extend_from_slice(text),
            }
            if ended.is_some() {
                if !self.skips {
                    line(&String::from_utf8_lossy(&self.begun));
                }
                self.begun.clear();
                self.skips = false;
            }
        }
    }
}

#[cfg(test)]
mod tests;
