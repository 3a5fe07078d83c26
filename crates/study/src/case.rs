//! The case directory: one study in plain files, written so that a kill at any moment loses no finished trial.

pub mod abandoned;
pub mod added_blocks;
mod earlier_versions;
mod fault;
mod json_lines;
mod more_blocks;
mod observed_trials;
mod optional_files;
mod prior_contents;
mod resolved;
pub mod search_log;
mod secrets;
mod shell_quoting;
mod writer_lock;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use machine::own_folder::{Lock, Reach, hand_to_caller, named};
use machine::{Class, Fault, OwnFolder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::boots::{self, Asked as AskedBoot};
use crate::recipe::Secrets;
use crate::schedule::{self, Slot};
use crate::search::Stage;
use crate::trial::Trial;

use self::added_blocks::Added;
use self::fault::{malformed, place_of, storage};
use self::json_lines::{Read, read_lines};
use self::prior_contents::Ground;
pub use self::resolved::Resolved;
use self::resolved::bounded_blocks;
use self::search_log::Line;
pub use self::shell_quoting::{quoted, resume_command};

/// Version of the folder's form; raised when an older pinwise could misread it.
pub const FORMAT: u32 = 1;

/// A case directory, open. That of another user can be read, and is neither written to nor gone on with.
#[derive(Debug)]
pub struct Case {
    dir: PathBuf,
    /// The folder as one to write to, or why it is none.
    folder: Result<OwnFolder, Fault>,
    /// The study as resolved, without its secrets: [`revealed`](Self::revealed) has them.
    pub study: Resolved,
    /// Those that this process has taken out of it.
    secrets: Secrets,
    /// Finished trials in the order in which they were run.
    pub trials: Vec<Trial>,
    /// Finished trials of observed blocks, in the order in which they were run. They are in no comparison.
    pub observed: Vec<Trial>,
    /// Boots that were asked for, of a study across boots.
    pub asked_boots: Vec<AskedBoot>,
    /// Damage that was found and repaired when the case was opened, in words for the reader.
    pub repairs: Vec<String>,
    /// Held while trials may be appended.
    _lock: Option<Lock>,
    /// The folder as it was, of a case that this process made.
    ground: Option<Ground>,
}

impl Case {
    /// Makes a new case; `dir` must not hold one already.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    pub fn create(dir: &Path, study: Resolved) -> Result<Self, Fault> {
        Self::create_with(dir, study, |_| Ok(()))
    }

    /// As [`create`](Self::create), with files that `beside` writes. They are on disk before `study.toml`, by which a folder is a
    /// case: a process that is killed meanwhile leaves no case with a part missing.
    ///
    /// # Errors
    /// There is a case in `dir`, it belongs to somebody else, another pinwise makes a case there, or a file cannot be written; what was
    /// written is removed again.
    pub fn create_with(
        dir: &Path,
        study: Resolved,
        beside: impl FnOnce(&Self) -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        Self::create_on(Ground::make(dir)?, study, beside)
    }

    /// As [`create`](Self::create), for trials that are in no comparison: it is to go again, finished or not.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    pub fn create_preliminary(dir: &Path, study: Resolved) -> Result<Self, Fault> {
        let (mut ground, folder) = Ground::make(dir)?;
        ground.is_preliminary = true;
        Self::create_on((ground, folder), study, |_| Ok(()))
    }

    /// As [`create`](Self::create), in the folder `below/name` of another case.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    pub fn create_below(&self, below: &str, name: &str, study: Resolved) -> Result<Self, Fault> {
        Self::create_on(Ground::make_in(self.folder()?, [below, name])?, study, |_| Ok(()))
    }

    fn create_on(
        (mut ground, folder): (Ground, OwnFolder),
        study: Resolved,
        beside: impl FnOnce(&Self) -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        let dir = folder.path().to_path_buf();
        let (study, secrets) = study.concealed()?;
        let lock = writer_lock::take(&folder)?;
        if folder.holds(STUDY) {
            return Err(occupied(&dir));
        }
        if let Err(e) = ground.mark() {
            let _ = ground.clear();
            return Err(storage(&dir.join(prior_contents::MARK), &e));
        }
        let (trials, observed, asked_boots, repairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (folder, lock, ground) = (Ok(folder), Some(lock), Some(ground));
        let case =
            Self { dir, folder, study, secrets, trials, observed, asked_boots, repairs, _lock: lock, ground };
        match case.write_first(beside) {
            Ok(()) => Ok(case),
            Err(fault) => {
                // That it could not be written says more than that what was written cannot be removed.
                let _ = case.ground.as_ref().map(Ground::clear);
                Err(fault)
            }
        }
    }

    /// That `dir` holds no case. [`create`](Self::create) asks again once it has the lock; this is for whoever has work to do before.
    ///
    /// # Errors
    /// There is a case in `dir`, or it is of dubious ownership (as [`OwnFolder::open`]).
    pub fn is_free(dir: &Path) -> Result<(), Fault> {
        if dir.exists() {
            OwnFolder::open(dir)?;
        }
        if dir.join(STUDY).exists() { Err(occupied(dir)) } else { Ok(()) }
    }

    fn write_first(&self, beside: impl FnOnce(&Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.trials_folder()?;
        beside(self)?;
        self.write_secrets()?;
        let file = self.dir.join(STUDY);
        let text = toml::to_string(&self.study)
            .map_err(|e| Fault::new(Class::Storage, file.display(), e, machine::IS_A_BUG))?;
        self.write(STUDY, text.as_bytes()).map(drop)
    }

    /// Removes a case that this process made and that holds nothing worth keeping: no trial is finished, and no boot was asked
    /// for. Of a folder that existed before, only what the case put there. Returns whether it was removed, all of it.
    pub fn discard_unbegun(&mut self) -> bool {
        if !self.trials.is_empty() || !self.asked_boots.is_empty() {
            return false;
        }
        self.ground.take().is_some_and(|ground| ground.clear().is_ok())
    }

    /// Opens a case to read it. A torn last line of one of its lists is left out and noted, not touched.
    ///
    /// # Errors
    /// `dir` holds no case; `study.toml` or a whole line of a list is malformed.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        Self::read(dir, &|name| named::read(&dir.join(name)), open_folder(dir))
    }

    /// As [`open`](Self::open), by `bytes_of` its files.
    fn read(dir: &Path, bytes_of: &Read<'_>, folder: Result<OwnFolder, Fault>) -> Result<Self, Fault> {
        let (mut study, secrets) = read_study(dir, bytes_of)?.concealed()?;
        let lines = read_lines(dir, SEARCH, bytes_of)?;
        extend(dir, &mut study, lines.whole)?;
        let added = read_lines::<added_blocks::Line>(dir, ADDED, bytes_of)?;
        for (number, line) in added.whole.into_iter().enumerate() {
            study.add(line).map_err(|why| malformed(place_of(dir, ADDED, number), why))?;
        }
        let trials = read_lines(dir, TRIALS, bytes_of)?;
        let observed = read_lines(dir, OBSERVED, bytes_of)?;
        let boots = read_lines(dir, BOOTS, bytes_of)?;
        let torn = [lines.torn, added.torn, trials.torn, observed.torn, boots.torn].into_iter().flatten();
        let repairs = torn.map(|t| t.note()).collect();
        let (trials, observed, asked_boots) = (trials.whole, observed.whole, boots.whole);
        let (dir, _lock, ground) = (dir.to_path_buf(), None, None);
        Ok(Self { dir, folder, study, secrets, trials, observed, asked_boots, repairs, _lock, ground })
    }

    /// Opens a case to run commands that it holds, and to write to it; its trials are not gone on with.
    ///
    /// # Errors
    /// As [`open`](Self::open); the folder, one of those in it, or a file that pinwise goes by is of dubious ownership (as
    /// [`OwnFolder::open`]) or a link.
    pub fn open_own(dir: &Path) -> Result<Self, Fault> {
        Self::of_own(own_folder(dir)?)
    }

    fn of_own(folder: OwnFolder) -> Result<Self, Fault> {
        let dir = folder.path().to_path_buf();
        for name in
            [TRIALS_FOLDER, OBSERVED_FOLDER, DATA_FOLDER].into_iter().filter(|name| folder.holds(name))
        {
            folder.folder(name)?;
        }
        let again = folder.again().map_err(|e| storage(&dir, &e))?;
        Self::read(&dir, &|name| folder.read(name), Ok(again))
    }

    /// Opens a case to go on with it: a torn last line is cut off, so that its trial is run again.
    ///
    /// # Errors
    /// As [`open_own`](Self::open_own); another pinwise runs the case; the folder may not be written to.
    pub fn resume(dir: &Path) -> Result<Self, Fault> {
        Self::resume_in(own_folder(dir)?)
    }

    /// As [`resume`](Self::resume), of the case in the folder `below/name` of this one; `None` where there is none.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_below(&self, below: &str, name: &str) -> Result<Option<Self>, Fault> {
        let folder = self.folder()?;
        if !folder.holds(below) {
            return Ok(None);
        }
        let above = folder.folder(below)?;
        if !above.holds(name) {
            return Ok(None);
        }
        let folder = above.folder(name)?;
        if folder.holds(STUDY) { Self::resume_in(folder).map(Some) } else { Ok(None) }
    }

    fn resume_in(folder: OwnFolder) -> Result<Self, Fault> {
        let dir = folder.path().to_path_buf();
        let bytes_of = |name: &str| folder.read(name);
        read_study(&dir, &bytes_of)?;
        let lock = writer_lock::take(&folder)?;
        folder.sweep();
        // Whoever goes on with it keeps it.
        prior_contents::unmark(&folder);
        let again = folder.again().map_err(|e| storage(&dir, &e))?;
        let opened = Self::of_own(again)?;
        for name in [SEARCH, ADDED, TRIALS, OBSERVED, BOOTS] {
            if let Some(torn) = read_lines::<serde_json::Value>(&dir, name, &bytes_of)?.torn {
                let cut = |file: File| file.set_len(torn.whole_bytes).and_then(|()| file.sync_all());
                folder.append(name).and_then(cut).map_err(|e| storage(&dir.join(name), &e))?;
            }
        }
        Ok(Self { _lock: Some(lock), ..opened })
    }

    /// Whether another pinwise is running the case in `dir`.
    pub fn is_held(dir: &Path) -> bool {
        OwnFolder::open(dir).is_ok_and(|folder| folder.is_locked().unwrap_or(true))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder, to write to it and to run what it asks for.
    ///
    /// # Errors
    /// It is of dubious ownership (as [`OwnFolder::open`]).
    pub fn folder(&self) -> Result<&OwnFolder, Fault> {
        self.folder.as_ref().map_err(Fault::clone)
    }

    /// The folder of trial `index`.
    pub fn trial_dir(&self, index: usize) -> PathBuf {
        self.dir.join(TRIALS_FOLDER).join(format!("{index:04}"))
    }

    /// The folder of all trials' folders; it is made where it does not exist.
    ///
    /// # Errors
    /// As [`folder`](Self::folder), of both; it cannot be made.
    pub fn trials_folder(&self) -> Result<OwnFolder, Fault> {
        self.folder()?.make_folder(TRIALS_FOLDER, Reach::Passable)
    }

    /// The trial that is to be run next; `None` when the study is finished.
    pub fn next(&self) -> Option<Slot> {
        schedule::next(&self.study, &self.trials)
    }

    /// Appends a finished trial and returns when it is on disk.
    pub fn append(&mut self, trial: Trial) -> Result<(), Fault> {
        self.append_line(TRIALS, &trial)?;
        if self.trials.is_empty() {
            self.ground.iter().for_each(Ground::keep);
        }
        self.trials.push(trial);
        Ok(())
    }

    /// Appends what a search asks for or has found, and returns when it is on disk.
    pub fn append_asked(&mut self, line: Line) -> Result<(), Fault> {
        self.append_line(SEARCH, &line)?;
        extend(&self.dir, &mut self.study, vec![line])
    }

    /// Adds `blocks` blocks to those that the study has, and returns when their order is on disk.
    ///
    /// # Errors
    /// As [`Resolved::more_blocks`]; the line cannot be written.
    pub fn add_blocks(&mut self, blocks: usize, made_unix_s: u64) -> Result<Added, Fault> {
        let line = self.study.more_blocks(blocks, made_unix_s)?;
        self.append_line(ADDED, &line)?;
        let place = place_of(&self.dir, ADDED, self.study.added.len());
        self.study.add(line).map_err(|why| malformed(place, why))?;
        Ok(Added { first_block: self.study.order.len() - blocks, blocks, made_unix_s })
    }

    /// Appends a boot that was asked for, and returns when it is on disk.
    pub fn append_boot(&mut self, asked: AskedBoot) -> Result<(), Fault> {
        self.append_line(BOOTS, &asked)?;
        self.ground.iter().for_each(Ground::keep);
        self.asked_boots.push(asked);
        Ok(())
    }

    /// Whether files can be added to the folder.
    ///
    /// # Errors
    /// Why not: it is of dubious ownership, the file system is read-only, or this user may not write there.
    pub fn may_be_written(&self) -> Result<(), Fault> {
        let remedy = "copy the case to a folder that you may write to, and use the copy";
        self.folder()?.may_be_written().map_err(|e| Fault::io(self.dir.display(), &e, remedy))
    }

    fn append_line(&self, name: &str, value: &impl Serialize) -> Result<(), Fault> {
        let path = self.dir.join(name);
        let mut line = to_json(&path, value)?;
        line.push(b'\n');
        let folder = self.folder()?;
        let mut file = folder.append(name).map_err(|e| storage(&path, &e))?;
        let before = file.seek(io::SeekFrom::End(0)).map_err(|e| storage(&path, &e))?;
        if let Err(error) = file.write_all(&line).and_then(|()| file.sync_all()) {
            // A line that is half on disk would be taken for a torn one; take it back while we still can.
            let _ = file.set_len(before);
            return Err(storage(&path, &error));
        }
        folder.sync().map_err(|e| storage(&self.dir, &e))
    }

    /// Writes `value` as JSON to a file of the case, whole or not at all.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, Fault> {
        self.write(name, &to_json(&self.dir.join(name), value)?)
    }

    /// Writes a file of the case, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Fault> {
        let path = self.dir.join(name);
        self.folder()?.replace(name, bytes).map_err(|e| storage(&path, &e))?;
        Ok(path)
    }

    /// As [`write`](Self::write), of a file that people read and no pinwise: it is theirs who called this one by sudo(8).
    pub fn write_for_people(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Fault> {
        let path = self.dir.join(name);
        let written = self.folder()?.replace_with(name, |file| {
            hand_to_caller(file);
            file.write_all(bytes)
        });
        written.map_err(|e| storage(&path, &e))?;
        Ok(path)
    }

    /// Reads a JSON file of the case; `None` when it is not there.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Fault> {
        let path = self.dir.join(name);
        match named::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(storage(&path, &e)),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| malformed(path.display(), e)),
        }
    }
}

/// The study as resolved.
const STUDY: &str = "study.toml";
/// Finished trials, a line each.
const TRIALS: &str = "trials.jsonl";
/// What a search asked for, a line a block.
const SEARCH: &str = "search.jsonl";
/// Blocks that were added, a line an addition.
const ADDED: &str = "added.jsonl";
/// Finished trials of observed blocks, a line each.
const OBSERVED: &str = "observed.jsonl";
/// Boots that were asked for, a line each.
const BOOTS: &str = "boots.jsonl";

/// The folders of trials.
const TRIALS_FOLDER: &str = "trials";
/// The folders of observed trials.
const OBSERVED_FOLDER: &str = "observed";
/// What all trials share.
pub(crate) const DATA_FOLDER: &str = "data";

fn extend(dir: &Path, study: &mut Resolved, lines: Vec<Line>) -> Result<(), Fault> {
    for (number, line) in lines.into_iter().enumerate() {
        study.extend(line).map_err(|why| malformed(place_of(dir, SEARCH, number), why))?;
    }
    // The others are in no evidence.
    let confirming = study.stages.iter().filter(|stage| **stage == Stage::Confirm).count();
    bounded_blocks(confirming).map_err(|why| malformed(dir.join(SEARCH).display(), why))
}

fn occupied(dir: &Path) -> Fault {
    Fault::new(
        Class::Usage,
        dir.display(),
        "the folder already holds a case",
        format!("choose another with -o, or continue it: {}", resume_command(dir)),
    )
}

/// The folder of a case, to write to it and to run what it asks for.
fn open_folder(dir: &Path) -> Result<OwnFolder, Fault> {
    OwnFolder::open(dir).map_err(|fault| match fault.class {
        Class::NotPermitted => {
            let remedy = "copy the case (cp -r), check the commands in study.toml of the copy, remove its data/, and use that; or \
                          run pinwise as the user it belongs to";
            Fault { remedy: remedy.into(), ..fault }
        }
        _ => fault,
    })
}

/// The folder of a case in `dir`, or what is wrong with either.
fn own_folder(dir: &Path) -> Result<OwnFolder, Fault> {
    match open_folder(dir) {
        // Why there is no case says more than why its folder cannot be opened.
        Err(fault) if fault.class != Class::NotPermitted => Err(Case::open(dir).err().unwrap_or(fault)),
        opened => opened,
    }
}

fn read_study(dir: &Path, bytes_of: &Read<'_>) -> Result<Resolved, Fault> {
    let path = dir.join(STUDY);
    let bytes = bytes_of(STUDY).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Fault::new(
            Class::Usage,
            dir.display(),
            "no case: it has no study.toml",
            "name a folder that pinwise study made",
        ),
        _ => storage(&path, &e),
    })?;
    let text = String::from_utf8(bytes).map_err(|e| malformed(path.display(), e))?;
    let mut study: Resolved = toml::from_str(&text).map_err(|e| malformed(path.display(), e.message()))?;
    earlier_versions::name_copies_of_baseline(&mut study.arms);
    if study.format != FORMAT {
        return Err(Fault::new(
            Class::Usage,
            path.display(),
            format!("form {} of a case; this pinwise reads form {FORMAT}", study.format),
            format!("use the pinwise that made it (version {})", study.pinwise),
        ));
    }
    if study.order.iter().flatten().any(|arm| *arm >= study.arms.len()) {
        return Err(malformed(path.display(), "order names an arm that does not exist"));
    }
    if let Some(boots) = &study.boots {
        boots::cover(&boots.trials, &study.order).map_err(|why| malformed(path.display(), why))?;
    }
    study.recipe.check_numbers().map_err(|fault| malformed(path.display(), fault))?;
    bounded_blocks(study.order.len()).map_err(|why| malformed(path.display(), why))?;
    study.recipe = study.recipe.with_directions()?;
    Ok(study)
}

fn to_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|e| Fault::new(Class::Storage, path.display(), e, machine::IS_A_BUG))
}

#[cfg(test)]
pub(crate) mod tests;
