//! Reads the ring, also while a recorder writes to it.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use machine::{Class, Fault, Missing};
use serde::de::DeserializeOwned;

use super::entry::Entry;
use super::frame::{HEAD_BYTES, Head, Kind, MAGIC};
use super::segment;
use super::session::Session;

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
        let mut refused: Option<Fault> = None;
        for (number, _) in listed {
            let path = segment::path(folder, number);
            match skim(&path) {
                Ok((segment, torn)) => {
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

    /// Hands out each entry that is `wanted`, and those that make threads known, up to the last that is wanted.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged: what was handed out before is sound.
    pub(super) fn read(
        &self,
        wanted: impl Fn(&Head) -> bool,
        mut each: impl FnMut(&Head, Entry),
    ) -> io::Result<()> {
        let Some(last) = self.frames.iter().rposition(|head| head.kind != Kind::Session && wanted(head))
        else {
            return Ok(());
        };
        let mut file = BufReader::new(File::open(&self.path)?);
        file.seek_relative(MAGIC.len() as i64)?;
        let mut lines = Lines::new()?;
        for head in &self.frames[..=last] {
            let line = lines.next(&mut file, head)?;
            if head.kind == Kind::EntryWithThreads || (head.kind == Kind::Entry && wanted(head)) {
                each(head, parsed(&line)?);
            }
        }
        Ok(())
    }
}

/// The compressed stream, line by line.
struct Lines(zstd::stream::write::Decoder<'static, Vec<u8>>);

impl Lines {
    fn new() -> io::Result<Self> {
        Ok(Self(zstd::stream::write::Decoder::new(Vec::new())?))
    }

    /// The line of the next frame; the file stands at its head.
    fn next(&mut self, file: &mut impl io::Read, head: &Head) -> io::Result<Vec<u8>> {
        io::copy(&mut file.by_ref().take(HEAD_BYTES as u64), &mut io::sink())?;
        let mut piece = vec![0; head.bytes as usize];
        file.read_exact(&mut piece)?;
        if !head.fits(&piece) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "an entry is damaged; it and those after it are left out",
            ));
        }
        self.0.write_all(&piece)?;
        self.0.flush()?;
        Ok(std::mem::take(self.0.get_mut()))
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

/// Reads the session and the heads; tells of a torn end. `None` where not even the session is whole.
fn skim(path: &Path) -> io::Result<(Option<Skimmed>, Option<Missing>)> {
    let mut file = File::open(path)?;
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
    let (frames, whole) = heads(&mut file, length)?;
    let torn = (!whole).then(torn);
    let Some(first) = frames.first().filter(|head| head.kind == Kind::Session) else {
        return Ok((None, torn));
    };
    file.seek(io::SeekFrom::Start(MAGIC.len() as u64))?;
    let session: Session = parsed(&Lines::new()?.next(&mut file, first)?)?;
    if !session.can_be_read() {
        let why = format!("it was written by pinwise {}, which is newer", session.pinwise);
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok((Some(Skimmed { path: path.to_path_buf(), session, frames }), torn))
}

/// The heads of all whole frames, and whether the file ends with one.
fn heads(file: &mut File, length: u64) -> io::Result<(Vec<Head>, bool)> {
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
        frames.push(head);
        at = end;
    }
    Ok((frames, at == length))
}
