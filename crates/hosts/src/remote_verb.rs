//! Verbs of pinwise that run on another host, through its agent: the controller's end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machine::{Class, Fault};

use crate::connection::Connection;
use crate::fetched_folder::{self, FetchedFolder};
use crate::host::Via;
use crate::protocol::{Answer, Ask, Piece, RunVerb, Verb, VerbEnd};
use crate::remote_folder::{PIECE_BYTES, is_plain_name};
use crate::verb_seen::VerbSeen;

/// How often the caller is asked whether it was interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A verb of pinwise to be run on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteVerb {
    /// Which.
    pub verb: Verb,
    /// Words behind it on the command line.
    pub arguments: Vec<String>,
    /// Files that are put into its working directory before.
    pub files: Vec<RemoteFile>,
}

/// A file that a verb on another host reads.
#[derive(Clone, PartialEq)]
pub struct RemoteFile {
    /// Plain name in the verb's working directory.
    pub name: String,
    /// What it holds.
    pub content: Vec<u8>,
}

impl std::fmt::Debug for RemoteFile {
    /// Without the content, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, content } = self;
        f.debug_struct("RemoteFile").field("name", name).field("bytes", &content.len()).finish()
    }
}

/// What came of a verb on another host.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteEnd {
    /// Its exit code; 128 and the number of the signal that ended it.
    pub exit_code: i32,
    /// The first of its standard output, up to 4 MiB. Text from outside.
    pub stdout: String,
    /// The run's folder on that host, which was the verb's working directory.
    pub folder: PathBuf,
}

impl Connection {
    /// Writes the files into a fresh folder of the run there (mode 0700), runs `pinwise VERB ARGUMENTS` with that folder as working
    /// directory, calls `on_line` with each line of its standard error (text from outside), and waits for the end. `interrupted` is asked
    /// every 100 ms: when it says true, the verb gets SIGINT once, and its end is waited for. The folder stays, for
    /// [`fetch_folder`](Self::fetch_folder) and [`remove_folder`](Self::remove_folder).
    ///
    /// # Errors
    /// A file's name is none; the agent refuses, as it does while another verb or a load runs, and nothing is left there; or the agent is
    /// lost, and then it ends the verb, which takes back its changes, and the folder stays.
    pub fn run_verb(
        &mut self,
        verb: &RemoteVerb,
        on_line: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<RemoteEnd, Fault> {
        if let Some(file) = verb.files.iter().find(|file| !is_plain_name(&file.name)) {
            let object = format!("file '{}'", file.name);
            return Err(Fault::new(
                Class::Usage,
                object,
                "is not a plain name of a file",
                "name it without /",
            ));
        }
        let folder = self.make_folder()?;
        if let Err(fault) = self.begin(verb, &folder) {
            // Of one that is lost, the folder is for whoever goes there.
            if !self.is_lost() {
                let _ = self.remove_folder(&folder);
            }
            return Err(fault);
        }
        let VerbEnd { exit_code, stdout } = self.follow(on_line, interrupted)?;
        Ok(RemoteEnd { exit_code, stdout, folder })
    }

    fn make_folder(&mut self) -> Result<PathBuf, Fault> {
        match self.ask(Ask::MakeFolder)? {
            Answer::Folder { folder, exe } => {
                let folder = PathBuf::from(folder);
                self.verb = VerbSeen {
                    folder: Some(folder.clone()),
                    exe: Some(PathBuf::from(exe)),
                    ..VerbSeen::default()
                };
                Ok(folder)
            }
            other => Err(self.nonsense(&other)),
        }
    }

    fn begin(&mut self, verb: &RemoteVerb, folder: &Path) -> Result<(), Fault> {
        let folder = words(folder);
        for file in &verb.files {
            // An empty file is one empty piece.
            let pieces: Vec<&[u8]> = match file.content.is_empty() {
                true => vec![file.content.as_slice()],
                false => file.content.chunks(PIECE_BYTES as usize).collect(),
            };
            for piece in pieces {
                let (name, content) = (file.name.clone(), STANDARD.encode(piece));
                match self.ask(Ask::Put { folder: folder.clone(), name, content })? {
                    Answer::Added => {}
                    other => return Err(self.nonsense(&other)),
                }
            }
        }
        let run = RunVerb { verb: verb.verb, arguments: verb.arguments.clone(), folder };
        match self.ask(Ask::Run(run))? {
            Answer::Runs => {
                self.verb.runs = true;
                Ok(())
            }
            other => Err(self.nonsense(&other)),
        }
    }

    /// Waits for the end.
    fn follow(
        &mut self,
        on_line: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<VerbEnd, Fault> {
        let mut passed_on = false;
        loop {
            if !passed_on && interrupted() {
                passed_on = true;
                self.ask(Ask::Interrupt)?;
            }
            let attended = self.attend(LOOK_EVERY);
            for line in std::mem::take(&mut self.verb.printed) {
                on_line(&line);
            }
            if let Some(end) = self.verb.end.take() {
                self.verb.runs = false;
                return Ok(end);
            }
            attended?;
        }
    }

    /// Copies the folder of the path `name` below a run's folder into `into`, which must not exist, up to 100,000 files and folders and
    /// 4 GiB. What is neither a file nor a folder is left out. What others may not read there, they may not here.
    ///
    /// # Errors
    /// [`Class::No`] where there is no such folder. There is something at `into` already; it is beyond the bounds, or has names that lead
    /// elsewhere; it cannot be written here, and then what was written stays; or the host is lost.
    pub fn fetch_folder(&mut self, folder: &Path, name: &str, into: &Path) -> Result<(), Fault> {
        let (folder, name) = (words(folder), name.to_string());
        let listed = match self.ask(Ask::List { folder: folder.clone(), name: name.clone() })? {
            Answer::Listed { entries } => entries,
            other => return Err(self.nonsense(&other)),
        };
        let files = fetched_folder::checked(&listed)
            .map_err(|cause| fetched_folder::hostile(&self.host().name, &name, cause))?;
        let fetched = FetchedFolder::make(into, &listed)?;
        for pieces in fetched_folder::in_messages(&files) {
            let ask = Ask::Read { folder: folder.clone(), name: name.clone(), pieces: pieces.clone() };
            let contents = match self.ask(ask)? {
                Answer::Read { contents } => contents,
                other => return Err(self.nonsense(&other)),
            };
            let contents = self.decoded(&name, &pieces, contents)?;
            fetched.write(&pieces, &contents)?;
        }
        Ok(())
    }

    /// What was read, once it is what was asked for.
    fn decoded(&self, name: &str, pieces: &[Piece], contents: Vec<String>) -> Result<Vec<Vec<u8>>, Fault> {
        let hostile = |cause: String| fetched_folder::hostile(&self.host().name, name, cause);
        if contents.len() != pieces.len() {
            return Err(hostile(format!("it sent {} pieces of {}", contents.len(), pieces.len())));
        }
        let decoded = contents.into_iter().zip(pieces).map(|(content, piece)| {
            let content = STANDARD.decode(content).map_err(|error| hostile(error.to_string()))?;
            match content.len() as u64 == piece.bytes {
                true => Ok(content),
                false => Err(hostile(format!("{} has another length than it was listed with", piece.path))),
            }
        });
        decoded.collect()
    }

    /// Removes a run's folder there.
    ///
    /// # Errors
    /// It is none, something of it cannot be removed, or the host is lost.
    pub fn remove_folder(&mut self, folder: &Path) -> Result<(), Fault> {
        match self.ask(Ask::RemoveFolder { folder: words(folder) })? {
            Answer::Removed => Ok(()),
            other => Err(self.nonsense(&other)),
        }
    }

    /// The folder there of the verb that was run last, also of one that was lost.
    pub fn folder_of_run(&self) -> Option<&Path> {
        self.verb.folder.as_deref()
    }

    /// The command of a shell here that runs pinwise there, in the folder of the verb that was run last; none before there was one.
    pub fn command_there(&self, words_of_pinwise: &[&str]) -> Option<String> {
        let (folder, exe) = (self.verb.folder.as_deref()?, self.verb.exe.as_deref()?);
        let mut pinwise = vec![words(exe)];
        pinwise.extend(words_of_pinwise.iter().map(ToString::to_string));
        let there = format!("cd {} && {}", shell_words::quote(&words(folder)), shell_words::join(pinwise));
        let host = self.host();
        Some(match host.via {
            Via::Local => there,
            Via::Ssh => {
                let mut ssh = vec!["ssh".to_string()];
                ssh.extend(host.ssh_options.iter().cloned());
                ssh.extend([host.destination().to_string(), there]);
                shell_words::join(ssh)
            }
            Via::Srun => {
                let node = format!("--nodelist={}", host.name);
                shell_words::join(["srun", "--overlap", &node, "sh", "-c", &there])
            }
        })
    }
}

/// A path as text. Those of agents came as text.
fn words(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
