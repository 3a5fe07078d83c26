//! Writes the ring.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use machine::own_folder::{Lock, Reach};
use machine::{Class, Fault, OwnFolder};

use super::frame::HEAD_BYTES;
use super::segment::{self, Segment};
use super::session::Session;
use crate::account::Account;

/// A new segment is begun when the last has this part of the bound: so much is lost at once when the oldest is removed.
const PARTS: u64 = 8;

/// And when it has so many bytes: each begins with all names anew, which is a hundredth of that.
const LONG_BYTES: u64 = 1 << 20;

/// Beginning of a file, head of a frame, and what the compressor adds at most to a line that it cannot make shorter.
const AROUND_SESSION_BYTES: u64 = 256;

/// Held by the recorder that writes.
const LOCK: &str = "lock";

/// Why an entry could not be written.
enum Refused {
    /// There is no room in the ring.
    Bound,
    /// Nor would there be if nothing else were in it: the length of the entry, bytes.
    TooLong(u64),
    /// The file system says so.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A ring that is written to.
pub struct Recorder {
    folder: OwnFolder,
    bound_bytes: u64,
    session: Session,
    /// What it takes at the beginning of a segment at most.
    session_bytes: u64,
    /// Segments that are there and not written to any more, oldest first: number and length.
    old: VecDeque<(u64, u64)>,
    current: Option<Segment>,
    next: u64,
    written: u64,
    _lock: Lock,
}

impl Recorder {
    /// Opens a ring, or makes one, for one session. All its files together never take more than `bound_bytes`.
    ///
    /// # Errors
    /// When the folder cannot be made, is of dubious ownership (as [`OwnFolder::open`]) or something else than a ring, or another
    /// recorder writes to it.
    pub fn open(folder: &Path, bound_bytes: u64, session: Session) -> Result<Self, Fault> {
        let fault = |e: io::Error| Fault::io(folder.display(), &e, "choose another folder for the ring");
        let own = OwnFolder::make(folder, Reach::Owner)?;
        let old: VecDeque<(u64, u64)> = segment::list(folder).map_err(fault)?.into();
        let is_empty = own.names().map_err(fault)?.is_empty();
        if !is_empty && old.is_empty() && !own.holds(LOCK) {
            let cause = "there are files in it, and none is of a ring";
            return Err(Fault::new(Class::Usage, folder.display(), cause, "choose an empty or a new folder"));
        }
        let lock = own.lock_file(LOCK).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => {
                let cause = "another pinwise records into it";
                Fault::new(Class::Usage, folder.display(), cause, "end that one, or choose another folder")
            }
            _ => Fault::io(folder.join(LOCK).display(), &e, "choose another folder for the ring"),
        })?;
        let next = old.back().map_or(1, |(number, _)| number + 1);
        let session_bytes =
            serde_json::to_vec(&session).map_or(0, |line| line.len() as u64) + AROUND_SESSION_BYTES;
        Ok(Self {
            folder: own,
            bound_bytes,
            session,
            session_bytes,
            old,
            current: None,
            next,
            written: 0,
            _lock: lock,
        })
    }

    /// Adds an interval, which ended at `to_unix_ns` by the wall clock. On a full disk the oldest segments make room, but for the
    /// last.
    ///
    /// # Errors
    /// When it cannot be written. Nothing is left of it then, and the next may cover its time too.
    pub fn add(&mut self, account: &Account, to_unix_ns: u64) -> Result<(), Fault> {
        let refused = loop {
            let refused = match self.try_to_add(account, to_unix_ns) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            let kept = match &refused {
                Refused::Bound => 0,
                Refused::Io(e) if is_full(e) => 1,
                Refused::Io(_) | Refused::TooLong(_) => break refused,
            };
            if self.old.len() <= kept || !self.remove_oldest() {
                break refused;
            }
        };
        Err(self.fault(&refused))
    }

    /// What was to be written where, why that failed, and what helps.
    fn fault(&self, refused: &Refused) -> Fault {
        let larger = "give the ring a larger --size";
        let e = match refused {
            Refused::Bound => {
                let cause = "there is no room for one more entry";
                return Fault::new(Class::Storage, self.folder.path().display(), cause, larger);
            }
            Refused::TooLong(bytes) => {
                let cause = format!("an entry of {bytes} bytes does not fit into the ring");
                return Fault::new(Class::Storage, self.folder.path().display(), cause, larger);
            }
            Refused::Io(e) => e,
        };
        let remedy = match e.kind() {
            _ if is_full(e) => {
                "make room on its file system, or record into a folder on another one (--record)"
            }
            io::ErrorKind::NotFound => {
                "the folder was removed: make it again, or end this recorder and begin anew"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make its folder writable, or choose another one with --record"
            }
            io::ErrorKind::AlreadyExists => "somebody else made it: give each recorder a folder of its own",
            _ => "look at the disk that it lies on (dmesg), or choose a folder on another one with --record",
        };
        // The number was given out when it was begun.
        let segment = segment::path(self.folder.path(), self.next.saturating_sub(1));
        Fault::io(segment.display(), e, remedy)
    }

    fn try_to_add(&mut self, account: &Account, to_unix_ns: u64) -> Result<(), Refused> {
        if self
            .current
            .as_ref()
            .is_some_and(|segment| segment.bytes >= LONG_BYTES.min(self.bound_bytes / PARTS))
        {
            self.retire();
        }
        let mut segment = match self.current.take() {
            Some(segment) => segment,
            None => self.begin(to_unix_ns)?,
        };
        let written = segment.encode(account, to_unix_ns).map_err(Refused::Io).and_then(|(head, piece)| {
            let bytes = (HEAD_BYTES + piece.len()) as u64;
            // One that can never fit is not to cost those that are there.
            if self.session_bytes + bytes > self.bound_bytes {
                return Err(Refused::TooLong(bytes));
            }
            self.make_room(segment.bytes + bytes)?;
            Ok(segment.write_entry(&head, &piece)?)
        });
        self.current = Some(segment);
        // What follows builds on an entry that is not there.
        written.inspect_err(|_| self.retire())?;
        self.written += 1;
        Ok(())
    }

    fn begin(&mut self, unix_ns: u64) -> Result<Segment, Refused> {
        self.make_room(self.session_bytes)?;
        let number = self.next;
        self.next += 1;
        Ok(Segment::begin(&self.folder, number, &self.session, unix_ns)?)
    }

    /// Removes what is oldest until the current segment may be so long.
    fn make_room(&mut self, current_bytes: u64) -> Result<(), Refused> {
        while self.old_bytes().saturating_add(current_bytes) > self.bound_bytes {
            if !self.remove_oldest() {
                return Err(Refused::Bound);
            }
        }
        Ok(())
    }

    fn remove_oldest(&mut self) -> bool {
        let Some((number, _)) = self.old.pop_front() else { return false };
        let _ = self.folder.remove(&segment::name(number));
        true
    }

    /// Writes to the current segment no more. One without any entry is removed.
    fn retire(&mut self) {
        let Some(segment) = self.current.take() else { return };
        match segment.entries {
            0 => drop(self.folder.remove(segment.name())),
            _ => self.old.push_back((self.next - 1, segment.bytes)),
        }
    }

    fn old_bytes(&self) -> u64 {
        // A sparse file can be as long as it likes.
        self.old.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Entries written in this session.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What all segments take now, bytes.
    pub fn bytes(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, |segment| segment.bytes);
        self.old_bytes().saturating_add(current)
    }
}

/// Whether the disk, or the share of it that the user may have, is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
