//! The write-ahead record of acts: `DIR/SESSION.jsonl`, one fsynced line a record.
//!
//! A session's file appears under its name with its header whole. A line counts once its newline is on disk: no act is
//! performed before that, so a torn last line (kill -9, full disk) stands for nothing that was done.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use machine::{Class, Fault};

use crate::acts::operation;
use crate::record::{Armed, Entry, FORMAT, Header, Record};

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
    Ok(state_dir()?.join("ledger"))
}

/// The open ledger of one session.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: PathBuf,
}

const REMEDY: &str = "free space or set PINWISE_STATE_DIR to a folder on a disk that you may write to";

impl Ledger {
    /// Makes the ledger of a new session.
    ///
    /// Errors: the folder cannot be written, the disk is full, a session of that id is there already.
    pub fn create(dir: &Path, header: &Header) -> Result<Self, Fault> {
        let at = |path: &Path, error: &io::Error| Fault::io(path.display(), error, REMEDY);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| at(dir, &e))?;
        let path = path_of(dir, &header.session);
        let draft = path.with_extension("new");
        // A link and not a rename, which would replace a session of the same id.
        let made = Self::draft(&draft, header).and_then(|file| {
            fs::hard_link(&draft, &path)?;
            sync_dir(dir)?;
            Ok(file)
        });
        let _ = fs::remove_file(&draft);
        let file = made.map_err(|e| at(&path, &e))?;
        Ok(Self { file, path })
    }

    /// Writes the header to a file that `undo` does not look at yet.
    fn draft(path: &Path, header: &Header) -> io::Result<File> {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let line = line(&Record::Header(header.clone()))?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        Ok(file)
    }

    /// Opens the ledger of an earlier session to append to it. `cut_off`: whether a torn last line is removed, which is right only
    /// where nobody else writes to it any more.
    pub fn reopen(session: &Session, cut_off: bool) -> Result<Self, Fault> {
        let open = || {
            let file = OpenOptions::new().append(true).open(&session.path)?;
            if cut_off {
                file.set_len(session.whole_bytes)?;
            }
            Ok(file)
        };
        let file = open().map_err(|e| Fault::io(session.path.display(), &e, REMEDY))?;
        Ok(Self { file, path: session.path.clone() })
    }

    /// Appends one line and waits until it is on disk.
    ///
    /// Errors: nothing of the line counts then; what was written of it is cut off again.
    pub fn append(&mut self, record: &Record) -> Result<(), Fault> {
        let write = |file: &mut File| -> io::Result<()> {
            file.write_all(line(record)?.as_bytes())?;
            file.sync_data()
        };
        // Asked each time: a revert may have appended to the ledger of a process that still runs.
        let whole_bytes = self.file.metadata().map(|metadata| metadata.len());
        write(&mut self.file).map_err(|error| {
            let _ = whole_bytes.and_then(|bytes| self.file.set_len(bytes));
            Fault::io(self.path.display(), &error, REMEDY)
        })
    }

    /// Removes the file: nothing in it is outstanding any more.
    pub fn remove(self) -> Result<(), Fault> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Fault::io(self.path.display(), &error, "remove it by hand: nothing in it is outstanding"))
            }
            _ => Ok(()),
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn line(record: &Record) -> io::Result<String> {
    Ok(serde_json::to_string(record)? + "\n")
}

/// Makes a name in a directory outlive a power failure (fsync(2) on the file does not).
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
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
            problems: Vec::new(),
            whole_bytes: whole as u64,
        };
        // Up to the last newline: what follows it is torn.
        for (i, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let text = &line[..line.len() - 1];
            let understood = serde_json::from_slice(text).map_err(|e| e.to_string());
            if let Err(why) = understood.and_then(|record| session.take(record, i)) {
                let object = format!("{} line {}", path.display(), i + 1);
                let remedy = "the other lines are undone; check by hand what this one was about";
                session.problems.push(Fault::new(Class::Storage, object, why, remedy));
            }
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
            Record::Header(header) if header.format != FORMAT => {
                return Err(format!("format {} is not {FORMAT}: another version of pinwise", header.format));
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
            Record::Reverted => self.armed = None,
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
    dir.join(format!("{session}.jsonl"))
}

/// The session of that id in `dir`; `None` when it has no file there.
pub fn session(dir: &Path, id: &str) -> Result<Option<Session>, Fault> {
    let path = path_of(dir, id);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(Session::parse(&path, &bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// Every session that has a file in `dir`, oldest first. A folder that does not exist holds none.
pub fn sessions(dir: &Path) -> Result<Vec<Session>, Fault> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(dir, &error)),
        Ok(entries) => entries,
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| unreadable(dir, &e))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            match fs::read(&path) {
                Ok(bytes) => sessions.push(Session::parse(&path, &bytes)),
                // Its owner finished in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
    }
    in_order(&mut sessions);
    Ok(sessions)
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    Fault::io(path.display(), error, "the ledger can be read by the user who ran the session, or by root")
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
