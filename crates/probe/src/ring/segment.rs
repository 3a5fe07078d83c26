//! A file of the ring.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use machine::OwnFolder;
use serde::Serialize;

use super::entry::{Entry, Known};
use super::frame::{Head, Kind, MAGIC};
use super::session::Session;
use crate::account::Account;

/// What the compressor looks back at most: 1 MiB, some dozens of entries.
pub(super) const WINDOW_BITS: u32 = 20;

/// How hard the compressor tries. Harder takes more CPU time than it saves room.
const LEVEL: i32 = 3;

const ENDING: &str = "segment";

/// Most segments of a ring: 128 GiB of them.
const MOST: usize = 1 << 17;

/// No recorder comes to such a number: a segment a second for 30 million years.
const LAST: u64 = 1 << 50;

/// The file of a segment.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(name(number))
}

/// Its name in the folder.
pub(super) fn name(number: u64) -> String {
    format!("{number:08}.{ENDING}")
}

/// The number in the name of a segment, as [`name`] spells it.
fn number(of: &str) -> Option<u64> {
    let number = of.strip_suffix(ENDING)?.strip_suffix('.')?.parse().ok()?;
    (number < LAST && name(number) == of).then_some(number)
}

/// The segments of a folder by number, oldest first, each with its length in bytes.
///
/// Errors: the folder cannot be read, or there are more of them than a ring has.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(number);
        // One that is removed meanwhile is not there.
        if let (Some(number), Ok(about)) = (number, entry.metadata()) {
            found.push((number, about.len()));
        }
        if found.len() > MOST {
            return Err(io::Error::other(format!("there are more than {MOST} segments in it")));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A segment that is written.
pub(super) struct Segment {
    file: File,
    name: String,
    stream: zstd::stream::write::Encoder<'static, Vec<u8>>,
    known: Known,
    /// Its length so far, up to the last whole frame.
    pub(super) bytes: u64,
    /// Entries in it.
    pub(super) entries: u64,
}

impl Segment {
    /// Begins a segment; nothing is left behind when that fails.
    pub(super) fn begin(
        folder: &OwnFolder,
        number: u64,
        session: &Session,
        unix_ns: u64,
    ) -> io::Result<Self> {
        let name = name(number);
        let file = folder.create(&name)?;
        let begun = Self::with_session(file, name.clone(), session, unix_ns);
        if begun.is_err() {
            let _ = folder.remove(&name);
        }
        begun
    }

    fn with_session(mut file: File, name: String, session: &Session, unix_ns: u64) -> io::Result<Self> {
        file.write_all(&MAGIC)?;
        let mut stream = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        stream.window_log(WINDOW_BITS)?;
        let known = Known::default();
        let mut segment = Self { file, name, stream, known, bytes: MAGIC.len() as u64, entries: 0 };
        let at_ns = session.began_ns;
        let piece = segment.compressed(session)?;
        let head = Head::of(Kind::Session, at_ns, at_ns, unix_ns, &piece);
        segment.write(&head, &piece)?;
        Ok(segment)
    }

    /// An entry as it would be written. From then on it has to be written, or the segment given up: what follows builds on it.
    pub(super) fn encode(&mut self, account: &Account, to_unix_ns: u64) -> io::Result<(Head, Vec<u8>)> {
        let entry = Entry::of(account, &mut self.known);
        let kind = if entry.known.is_empty() { Kind::Entry } else { Kind::EntryWithThreads };
        let piece = self.compressed(&entry)?;
        Ok((Head::of(kind, account.from_ns, account.to_ns, to_unix_ns, &piece), piece))
    }

    fn compressed(&mut self, line: &impl Serialize) -> io::Result<Vec<u8>> {
        // It is written a few bytes at a time, and each time the compressor is called takes as long as some hundred bytes.
        let mut stream = BufWriter::new(&mut self.stream);
        serde_json::to_writer(&mut stream, line)?;
        stream.write_all(b"\n")?;
        stream.flush()?;
        drop(stream);
        Ok(std::mem::take(self.stream.get_mut()))
    }

    /// Writes an entry.
    pub(super) fn write_entry(&mut self, head: &Head, piece: &[u8]) -> io::Result<()> {
        self.write(head, piece)?;
        self.entries += 1;
        Ok(())
    }

    /// Writes a frame in one go; what a failure left of it is cut off.
    fn write(&mut self, head: &Head, piece: &[u8]) -> io::Result<()> {
        let frame = [&head.bytes()[..], piece].concat();
        if let Err(e) = self.file.write_all(&frame) {
            let _ = self.file.set_len(self.bytes);
            return Err(e);
        }
        self.bytes += frame.len() as u64;
        Ok(())
    }

    /// Its file in the folder.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}
