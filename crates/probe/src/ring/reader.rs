//! Reads the ring, also while a recorder writes to it.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use machine::{Class, Fault, Missing, untrusted};
use serde::de::DeserializeOwned;

use super::entry::Entry;
use super::frame::{HEAD_BYTES, Head, Kind, MAGIC};
use super::lines::Lines;
use super::segment;
use super::session::Session;

/// Most entries of a ring, whose heads are held in memory (640 MB): half a year with one each second.
const MOST_ENTRIES: usize = 16_000_000;

/// Longest session, bytes without compression. Those of recorders are some hundred bytes long, and have the command line of a
/// program at most.
const LONGEST_SESSION_BYTES: usize = 1 << 20;

/// Longest entry, likewise. A thread takes some 800 bytes in it, once: this is an interval in which 160,000 were new.
const LONGEST_ENTRY_BYTES: usize = 128 << 20;

/// How much shorter compression makes a segment at most, beside its longest entry. Those of recorders become 10 to 100 times
/// shorter. So the time to read a ring is bounded by its length.
const MOST_COMPRESSED: u64 = 1_000;

/// A ring as it was when it was opened.
pub struct Ring {
    /// Oldest first; those of one session follow each other.
    pub(super) segments: Vec<Skimmed>,
    /// What cannot be read, and why.
    pub(super) missing: Vec<Missing>,
}

/// A segment of which only the session and the heads of its entries were read.
pub(super) struct Skimmed {
    path: PathBuf,
    pub(super) session: Session,
    /// Heads of all whole frames, the session's too.
    frames: Vec<Head>,
}

impl Ring {
    /// Opens a ring.
    ///
    /// # Errors
    /// When the folder cannot be read, or is no ring, or holds nothing that can be read.
    pub fn open(folder: &Path) -> Result<Self, Fault> {
        let remedy = "name the folder that was given to --record";
        let listed = segment::list(folder).map_err(|e| Fault::io(folder.display(), &e, remedy))?;
        let mut ring = Self { segments: Vec::new(), missing: Vec::new() };
        let (mut refused, mut entries): (Option<Fault>, usize) = (None, 0);
        for (number, _) in listed {
            let path = segment::path(folder, number);
            match skim(&path, MOST_ENTRIES.saturating_sub(entries)) {
                Ok((segment, torn)) => {
                    entries += segment.as_ref().map_or(0, |segment| segment.frames.len());
                    ring.segments.extend(segment);
                    ring.missing.extend(torn);
                }
                // The recorder needed its room meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => {
                    refused.get_or_insert_with(|| unreadable(&path, &e));
                    ring.missing.push(Missing::new(path.display(), e));
                }
            }
        }
        if ring.segments.is_empty() {
            let torn = ring.missing.first().map(|torn| {
                let remedy = "record for longer: not one entry is whole";
                Fault::new(Class::MachineLacks, &torn.fact, &torn.why, remedy)
            });
            let nothing =
                || Fault::new(Class::MachineLacks, folder.display(), "nothing is recorded there", remedy);
            return Err(refused.or(torn).unwrap_or_else(nothing));
        }
        Ok(ring)
    }

    /// Whether the last recorder watched nobody in particular.
    pub fn is_of_everything(&self) -> bool {
        self.segments.last().is_some_and(|segment| segment.session.everything)
    }

    /// When the first entry began by the wall clock, ns since 1970.
    pub fn first_unix_ns(&self) -> u64 {
        self.segments.iter().flat_map(Skimmed::entries).map(Head::began_unix_ns).next().unwrap_or(0)
    }

    /// When the last entry ended by the wall clock, ns since 1970.
    pub fn last_unix_ns(&self) -> u64 {
        let heads = self.segments.iter().flat_map(Skimmed::entries);
        heads.map(|head| head.to_unix_ns).next_back().unwrap_or(0)
    }
}

impl Skimmed {
    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Heads of its entries.
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Head> {
        self.frames.iter().filter(|head| head.kind != Kind::Session)
    }

    /// Hands out each entry that is `wanted`, and those that make threads known, up to the last that is wanted; with its length
    /// without compression, bytes.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged: what was returned before is sound. The first of `each`.
    pub(super) fn read(
        &self,
        wanted: impl Fn(&Head) -> bool,
        mut each: impl FnMut(&Head, Entry, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(last) = self.frames.iter().rposition(|head| head.kind != Kind::Session && wanted(head))
        else {
            return Ok(());
        };
        let mut file = BufReader::new(untrusted::file::open_found(&self.path)?);
        file.seek_relative(MAGIC.len() as i64)?;
        let packed: u64 = self.frames.iter().map(|head| u64::from(head.bytes)).sum();
        let most = (LONGEST_ENTRY_BYTES as u64).saturating_add(packed.saturating_mul(MOST_COMPRESSED));
        let mut lines = Lines::new(LONGEST_ENTRY_BYTES, most)?;
        for head in &self.frames[..=last] {
            let line = lines.next(&mut file, head)?;
            if head.kind == Kind::EntryWithThreads || (head.kind == Kind::Entry && wanted(head)) {
                each(head, parsed(&line)?, line.len())?;
            }
        }
        Ok(())
    }
}

fn parsed<T: DeserializeOwned>(line: &[u8]) -> io::Result<T> {
    serde_json::from_slice(line).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// A segment that cannot be read, where there is no other one.
fn unreadable(segment: &Path, error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Fault::io(segment.display(), error, "read it as who recorded it, or as root")
        }
        io::ErrorKind::Unsupported => {
            Fault::new(Class::Usage, segment.display(), error, "replay it with that version")
        }
        _ => {
            let remedy = "take this file from a copy of the ring: it is damaged, and no other of its files can be read";
            Fault::io(segment.display(), error, remedy)
        }
    }
}

/// Reads the session and the heads, of which there may be so many; reports a torn end. `None` where not even the session is whole.
fn skim(path: &Path, most_heads: usize) -> io::Result<(Option<Skimmed>, Option<Missing>)> {
    let mut file = untrusted::file::open_found(path)?;
    let length = file.metadata()?.len();
    let torn = || {
        let why = "it ends in the middle: the recorder was killed, the disk was full, or it is being written";
        Missing::new(format_args!("the last entry of {}", path.display()), why)
    };
    let mut magic = [0; MAGIC.len()];
    if length < MAGIC.len() as u64 {
        return Ok((None, Some(torn())));
    }
    file.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no segment of a ring"));
    }
    let (frames, whole) = heads(&mut file, length, most_heads)?;
    let torn = (!whole).then(torn);
    let Some(first) = frames.first().filter(|head| head.kind == Kind::Session) else {
        return Ok((None, torn));
    };
    file.seek(io::SeekFrom::Start(MAGIC.len() as u64))?;
    let session: Session = {
        let most = LONGEST_SESSION_BYTES;
        parsed(&Lines::new(most, most as u64)?.next(&mut file, first)?)?
    };
    if !session.can_be_read() {
        let why = format!("it was written by pinwise {}, which is newer", session.pinwise);
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok((Some(Skimmed { path: path.to_path_buf(), session, frames }), torn))
}

/// The heads of all whole frames, and whether the file ends with one. Errors: there are more than so many, too.
fn heads(file: &mut File, length: u64, most: usize) -> io::Result<(Vec<Head>, bool)> {
    let mut frames = Vec::new();
    let mut at = MAGIC.len() as u64;
    let mut bytes = [0; HEAD_BYTES];
    while at + HEAD_BYTES as u64 <= length {
        file.seek(io::SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        let Some(head) = Head::read(&bytes) else { break };
        let end = at + HEAD_BYTES as u64 + u64::from(head.bytes);
        if end > length {
            break;
        }
        if frames.len() >= most {
            let why = format!(
                "the ring has more than {MOST_ENTRIES} entries; this file and those after it are left out"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        frames.push(head);
        at = end;
    }
    Ok((frames, at == length))
}
