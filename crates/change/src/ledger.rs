//! The write-ahead record of acts: `DIR/SESSION.jsonl`, one fsynced line a record.
//!
//! A session's file appears under its name with its header whole. A line counts once its newline is on disk: no act is
//! performed before that, so a torn last line (kill -9, full disk) stands for nothing that was done.

mod follower;
mod line;
pub(crate) mod owner;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, Fault};

use crate::acts::operation;
use crate::record::{Armed, Entry, FORMAT, Header, Record};

pub(crate) use follower::{follow, is_followed};

/// Where pinwise keeps what must outlive it: `$PINWISE_STATE_DIR`; else /var/lib/pinwise for root; else
/// `$XDG_STATE_HOME/pinwise` or `~/.local/state/pinwise`.
pub fn state_dir() -> Result<PathBuf, Fault> {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = given("PINWISE_STATE_DIR") {
        return absolute(dir);
    }
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/pinwise".into());
    }
    let home = || given("HOME").map(|home| home.join(".local/state"));
    let dir = given("XDG_STATE_HOME").or_else(home).map(|dir| dir.join("pinwise")).ok_or_else(|| {
        let cause = "there is no HOME to keep the ledger in";
        Fault::new(Class::Storage, "ledger", cause, "set PINWISE_STATE_DIR to a folder that you may write to")
    })?;
    absolute(dir)
}

/// Who takes a session back later works in another folder.
fn absolute(dir: PathBuf) -> Result<PathBuf, Fault> {
    std::path::absolute(&dir)
        .map_err(|e| Fault::io(dir.display(), &e, "set PINWISE_STATE_DIR to a path that begins with /"))
}

/// The folder of the ledgers: `ledger` in [`state_dir`].
pub fn ledger_dir() -> Result<PathBuf, Fault> {
    Ok(within(&state_dir()?))
}

/// The folder of the ledgers in this folder of state.
pub(crate) fn within(state_dir: &Path) -> PathBuf {
    state_dir.join("ledger")
}

/// The open ledger of one session.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    folder: OwnFolder,
    path: PathBuf,
}

const REMEDY: &str = "free space or set PINWISE_STATE_DIR to a folder on a disk that you may write to";

impl Ledger {
    /// Makes the ledger of a new session.
    ///
    /// # Errors
    /// The folder belongs to somebody else or cannot be written, the disk is full, a session of that id is there already.
    pub fn create(dir: &Path, header: &Header) -> Result<Self, Fault> {
        let folder = OwnFolder::make(dir, Reach::Owner)?;
        let (name, path) = (name_of(&header.session), path_of(dir, &header.session));
        let made = line::sealed(&Record::Header(header.clone())).and_then(|line| match folder.holds(&name) {
            true => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            false => folder.replace(&name, &line).and_then(|()| folder.append(&name)),
        });
        let file = made.map_err(|e| Fault::io(path.display(), &e, REMEDY))?;
        Ok(Self { file, folder, path })
    }

    /// Opens the ledger of an earlier session to append to it. `cut_off`: whether a torn last line is removed, which is right only
    /// where nobody else writes to it any more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn reopen(session: &Session, cut_off: bool) -> Result<Self, Fault> {
        let folder = session.folder()?;
        let open = || {
            let file = folder.append(&name_of(&session.id()))?;
            if cut_off {
                file.set_len(session.whole_bytes)?;
            }
            Ok(file)
        };
        let file = open().map_err(|e| Fault::io(session.path.display(), &e, REMEDY))?;
        Ok(Self { file, folder, path: session.path.clone() })
    }

    /// Appends one line and waits until it is on disk.
    ///
    /// # Errors
    /// Nothing of the line counts then; what was written of it is cut off again.
    pub fn append(&mut self, record: &Record) -> Result<(), Fault> {
        let write = |file: &mut File| -> io::Result<()> {
            file.write_all(&line::sealed(record)?)?;
            file.sync_data()
        };
        // Read each time: a revert may have appended to the ledger of a process that still runs.
        let whole_bytes = self.file.metadata().map(|metadata| metadata.len());
        write(&mut self.file).map_err(|error| {
            let _ = whole_bytes.and_then(|bytes| self.file.set_len(bytes));
            Fault::io(self.path.display(), &error, REMEDY)
        })
    }

    /// Removes the file: nothing in it is outstanding any more.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), Fault> {
        remove(&self.folder, &self.path)
    }
}

fn remove(folder: &OwnFolder, path: &Path) -> Result<(), Fault> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match folder.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Fault::io(path.display(), &error, "remove it manually: nothing in it is outstanding"))
        }
        _ => Ok(()),
    }
}

fn name_of(session: &str) -> String {
    format!("{session}.jsonl")
}

/// What a ledger file says.
#[derive(Debug, Clone)]
pub struct Session {
    /// The file.
    pub path: PathBuf,
    /// Its first line; `None` when the file was cut off in it, or it is malformed.
    pub header: Option<Header>,
    /// Its acts, oldest first.
    pub entries: Vec<Entry>,
    /// Until when it has to be confirmed; `None` when it need not be, or was.
    pub armed: Option<Armed>,
    /// Whether somebody has confirmed that it may stay.
    pub confirmed: bool,
    /// Whether what takes it back by itself has done so, as far as it can: the rest is for 'pinwise undo'.
    pub reverted: bool,
    /// Lines that make no sense, by number; all others count nevertheless.
    pub problems: Vec<Fault>,
    /// Bytes of whole lines.
    pub whole_bytes: u64,
}

impl Session {
    /// Id of the session, from the file's name.
    pub fn id(&self) -> String {
        self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The folder in which it lies.
    fn folder(&self) -> Result<OwnFolder, Fault> {
        OwnFolder::open(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Removes the file: nothing in it is outstanding any more.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), Fault> {
        remove(&self.folder()?, &self.path)
    }

    /// A file that cannot be read.
    fn unreadable(path: &Path, error: &io::Error) -> Self {
        let remedy =
            "the ledger can be read by the user who ran the session, or by root; what it holds is not undone";
        Self { problems: vec![Fault::io(path.display(), error, remedy)], ..Self::parse(path, b"") }
    }

    /// Acts that may still be in force, oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.outstanding())
    }

    /// Reads the text of a ledger. Never fails: what makes no sense is listed in `problems`.
    pub fn parse(path: &Path, bytes: &[u8]) -> Self {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut session = Self {
            path: path.to_path_buf(),
            header: None,
            entries: Vec::new(),
            armed: None,
            confirmed: false,
            reverted: false,
            problems: Vec::new(),
            whole_bytes: whole as u64,
        };
        // Up to the last newline: what follows it is torn.
        for (i, text) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            // The first line says whether others have checksums.
            let unsealed = i == 0 || session.header.as_ref().is_some_and(|header| header.format < FORMAT);
            let understood = line::read(&text[..text.len() - 1], unsealed);
            if let Err(why) = understood.and_then(|record| session.take(record, i)) {
                let object = format!("{} line {}", path.display(), i + 1);
                let remedy = "the other lines are undone; check manually what this one was about";
                session.problems.push(Fault::new(Class::Storage, object, why, remedy));
            }
        }
        if session.header.is_none() {
            session.problems.push(undated(path, session.entries.len()));
        }
        session
    }

    /// Adds one line's meaning.
    fn take(&mut self, record: Record, line: usize) -> Result<(), String> {
        let known = |entries: &mut Vec<Entry>, seq| {
            entries.iter().position(|entry| entry.seq == seq).ok_or(format!("act {seq} was never announced"))
        };
        match record {
            Record::Header(header) if line > 0 => {
                return Err(format!("a header of session {} in the middle", header.session));
            }
            Record::Header(header) if header.format == 0 || header.format > FORMAT => {
                return Err(format!("format {} is that of a later version of pinwise", header.format));
            }
            Record::Header(header) => self.header = Some(header),
            Record::Intent { seq, at_ticks, act, old, setting, subject } => {
                if self.entries.iter().any(|entry| entry.seq == seq) {
                    return Err(format!("act {seq} is announced twice"));
                }
                let old = operation(&act).typed(old);
                self.entries.push(Entry::intended((seq, at_ticks), act, old, setting, subject));
            }
            Record::Found { seq, old } => {
                let i = known(&mut self.entries, seq)?;
                let entry = &mut self.entries[i];
                entry.old = operation(&entry.act).typed(old);
            }
            Record::Started { seq, process } => {
                let i = known(&mut self.entries, seq)?;
                self.entries[i].started = Some(process);
            }
            Record::Done { seq, read_back, subject } => {
                let i = known(&mut self.entries, seq)?;
                let entry = &mut self.entries[i];
                entry.read_back = Some(operation(&entry.act).typed(read_back));
                entry.subject = subject.or(entry.subject.take());
            }
            Record::Failed { seq, why } => {
                let i = known(&mut self.entries, seq)?;
                self.entries[i].failed = Some(why);
            }
            Record::Armed { until_ticks, by } => self.armed = Some(Armed { until_ticks, by }),
            Record::Confirmed => (self.armed, self.confirmed) = (None, true),
            Record::Reverted => (self.armed, self.reverted) = (None, true),
            Record::Undone { seq, how } => {
                let i = known(&mut self.entries, seq)?;
                self.entries[i].undone = Some(how);
            }
        }
        Ok(())
    }
}

/// The file of a session in `dir`.
pub(crate) fn path_of(dir: &Path, session: &str) -> PathBuf {
    dir.join(name_of(session))
}

/// The folder of the ledgers; `None` where it is missing.
///
/// # Errors
/// It belongs to somebody else, or cannot be opened.
pub(crate) fn folder(dir: &Path) -> Result<Option<OwnFolder>, Fault> {
    match dir.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => OwnFolder::open(dir).map(Some),
    }
}

/// The session of a file; `None` when its owner has removed it meanwhile.
fn in_folder(folder: &OwnFolder, path: &Path) -> Option<Session> {
    match folder.read(path.file_name()?.to_str()?) {
        Ok(bytes) => Some(Session::parse(path, &bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Session::unreadable(path, &error)),
    }
}

/// That a ledger has no first line: then not even the boot is known in which its acts were performed.
fn undated(path: &Path, acts: usize) -> Fault {
    let cause = match acts {
        0 => "it is empty or damaged: what was changed is not known".to_string(),
        acts => format!(
            "its first line is missing or damaged: it is not known whether its {acts} acts are of this boot"
        ),
    };
    let remedy = "check it; if its acts are of this boot, 'pinwise undo --force --session ID' undoes them, and puts the file aside";
    Fault::new(Class::Storage, path.display(), cause, remedy)
}

/// Every session that has a file in `dir`, oldest first. A folder that does not exist holds none.
pub fn sessions(dir: &Path) -> Result<Vec<Session>, Fault> {
    let Some(folder) = folder(dir)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(|e| Fault::io(dir.display(), &e, "check the disk that it is on"))?;
    let paths = names.into_iter().map(|name| dir.join(name));
    let ledgers = paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let mut sessions: Vec<Session> = ledgers.filter_map(|path| in_folder(&folder, &path)).collect();
    in_order(&mut sessions);
    Ok(sessions)
}

/// Oldest first: by the clock of the boot within a boot, since the time of day may be set back; boots by the time of day.
fn in_order(sessions: &mut [Session]) {
    let mut boots: BTreeMap<String, u64> = BTreeMap::new();
    for header in sessions.iter().filter_map(|session| session.header.as_ref()) {
        let first = boots.entry(header.boot_id.clone()).or_insert(header.began_unix_s);
        *first = (*first).min(header.began_unix_s);
    }
    sessions.sort_by_key(|session| {
        let began = session.header.as_ref().map(|header| {
            let boot = (boots.get(&header.boot_id).copied(), header.boot_id.clone());
            (boot, header.began_ticks, header.began_unix_s, header.began_subsec_ns)
        });
        (began, session.path.clone())
    });
}
