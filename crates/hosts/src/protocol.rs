//! What controller and agent say to each other: one JSON document a line, each way.

mod verb;

use std::net::SocketAddr;

use load::LoadSpec;
use load::drive::Document;
use machine::devices::path::PathEnd;
use machine::{Class, Fault};
use serde::{Deserialize, Serialize};

pub use self::verb::{Listed, Piece, RunVerb, Verb, VerbEnd};

/// Raised whenever a line would be read otherwise than before. Both ends are the same binary, copied by its hash; this is checked all the
/// same.
pub const PROTOCOL: u32 = 2;

/// A line from the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Comes back with the reply.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What a controller asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Ask {
    /// Who is there; the first line.
    Hello {
        /// [`PROTOCOL`] of the controller.
        protocol: u32,
        /// The agent takes everything back and ends when it hears nothing for this long, s.
        silence_s: f64,
    },
    /// What the clock reads. Sent every other second too: it is what is heard.
    Clock,
    /// The capture of the machine.
    Capture,
    /// How this host reaches another one. Nothing is sent there.
    Path {
        /// The other one, as this host reaches it.
        peer: SocketAddr,
    },
    /// Checks a load and makes ready for it. What was prepared before is forgotten.
    Prepare(Prepare),
    /// Starts what was prepared.
    Start {
        /// The first request of all parts, or the start of a command, CLOCK_MONOTONIC ns of the agent's host.
        at_ns: u64,
    },
    /// Ends the load before its time; there is no [`Line::Ended`] of it then.
    Stop,
    /// Makes a folder for the run of a verb.
    MakeFolder,
    /// Adds to the end of a file of such a folder; it is made where it is not there.
    Put {
        /// As [`Answer::Folder`] has it.
        folder: String,
        /// Of the file.
        name: String,
        /// What is added, in base64.
        content: String,
    },
    /// Runs a verb of pinwise; refused while another or a load runs.
    Run(RunVerb),
    /// Sends the verb that runs SIGINT. None may run any more: it can end meanwhile.
    Interrupt,
    /// Says what is in a folder below that of a run.
    List {
        /// As [`Answer::Folder`] has it.
        folder: String,
        /// Path of the folder below it.
        name: String,
    },
    /// Reads pieces of files.
    Read {
        /// As [`Answer::Folder`] has it.
        folder: String,
        /// As for [`Ask::List`].
        name: String,
        /// What to read.
        pieces: Vec<Piece>,
    },
    /// Removes the folder of a run.
    RemoveFolder {
        /// As [`Answer::Folder`] has it.
        folder: String,
    },
    /// Takes back all that was changed.
    Undo,
    /// Takes back all that was changed, and ends.
    Bye,
}

/// A load, as one host drives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// One for each process.
    pub loads: Vec<LoadSpec>,
    /// Where the server listens, as this host reaches it.
    pub server: SocketAddr,
    /// CPUs of the processes in the words of docs/cpus.md; none: wherever the scheduler puts them.
    pub cpus: Option<String>,
}

/// A line from the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// What came of a request.
    Reply {
        /// Of the request.
        id: u64,
        /// The answer, or what it failed of.
        #[serde(flatten)]
        result: Reply,
    },
    /// The load has come to its end, one for each [`Ask::Start`] that is not stopped.
    Ended {
        /// Of each process in the order of [`Prepare::loads`].
        parts: Vec<PartEnded>,
    },
    /// The verb that runs has printed a line on its standard error.
    Printed {
        /// The line, without its end.
        text: String,
    },
    /// The verb has ended, one for each [`Ask::Run`]. Its last line comes before.
    VerbEnded(VerbEnd),
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// It was done.
    Done(Answer),
    /// It was not.
    Failed(Failure),
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// To [`Ask::Hello`].
    Hello(Hello),
    /// To [`Ask::Clock`].
    Clock {
        /// When the request was read, CLOCK_MONOTONIC ns of the agent's host.
        received_ns: u64,
        /// When this line was written.
        sent_ns: u64,
    },
    /// To [`Ask::Capture`].
    Capture {
        /// The archive (tar.zst) in base64.
        archive: String,
    },
    /// To [`Ask::Path`].
    Path(PathEnd),
    /// To [`Ask::Prepare`].
    Prepared {
        /// CPUs that the processes will run on, as a list; none where the scheduler decides.
        cpus: Option<String>,
    },
    /// To [`Ask::Start`].
    Started,
    /// To [`Ask::Stop`].
    Stopped,
    /// To [`Ask::MakeFolder`].
    Folder {
        /// Its absolute path.
        folder: String,
        /// Absolute path of the agent's binary.
        exe: String,
    },
    /// To [`Ask::Put`].
    Added,
    /// To [`Ask::Run`].
    Runs,
    /// To [`Ask::Interrupt`].
    Interrupted,
    /// To [`Ask::List`].
    Listed {
        /// Each folder before what is in it. Links, devices and the like are left out.
        entries: Vec<Listed>,
    },
    /// To [`Ask::Read`].
    Read {
        /// Of each piece, in base64; shorter where the file ends before.
        contents: Vec<String>,
    },
    /// To [`Ask::RemoveFolder`].
    Removed,
    /// To [`Ask::Undo`] and [`Ask::Bye`].
    Undone {
        /// What could not be taken back, in words; `pinwise undo` on that host tries again.
        left: Vec<String>,
    },
}

/// Who an agent is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the agent.
    pub protocol: u32,
    /// Version of pinwise.
    pub version: String,
    /// Host name (uname).
    pub hostname: String,
    /// /proc/sys/kernel/random/boot_id: two names of one host have the same.
    pub boot_id: String,
    /// Machine of uname: `x86_64`.
    pub arch: String,
    /// CPUs online.
    pub cpus_online: u32,
    /// Whether the agent runs as root.
    pub root: bool,
    /// The controller's address as this host sees it (SSH_CONNECTION); none where it was not started by sshd.
    pub controller: Option<std::net::IpAddr>,
}

/// What came of one process of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartEnded {
    /// What it printed.
    Document(Box<Document>),
    /// It failed before it could print anything.
    Failed(Failure),
}

/// A fault on its way from one host to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure it is.
    pub class: Class,
    /// What it is about.
    pub object: String,
    /// What went wrong.
    pub cause: String,
    /// What the reader can do.
    pub remedy: String,
}

impl From<&Fault> for Failure {
    fn from(fault: &Fault) -> Self {
        Self {
            class: fault.class,
            object: fault.object.clone(),
            cause: fault.cause.clone(),
            remedy: fault.remedy.clone(),
        }
    }
}

impl Failure {
    /// The fault, as one about `host`.
    pub fn on(self, host: &str) -> Fault {
        Fault::new(self.class, format!("host {host}: {}", self.object), self.cause, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use machine::devices::path::InterfaceKind;
    use machine::ethtool::Offload;

    use super::*;

    fn comes_back<T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug>(message: T) {
        let line = serde_json::to_string(&message).unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<T>(&line).unwrap(), message, "{line}");
    }

    fn run_verb() -> RunVerb {
        RunVerb { verb: Verb::Study, arguments: vec!["-o".into(), "a\nb".into()], folder: "/tmp/run".into() }
    }

    #[test]
    fn every_message_is_a_line_and_comes_back() {
        let prepare = Prepare {
            loads: vec![LoadSpec::default()],
            server: "10.0.0.1:5672".parse().unwrap(),
            cpus: Some("node:1 & smt:0".into()),
        };
        for ask in [
            Ask::Hello { protocol: PROTOCOL, silence_s: 10.0 },
            Ask::Clock,
            Ask::Capture,
            Ask::Path { peer: "[fe80::1]:5672".parse().unwrap() },
            Ask::Prepare(prepare),
            Ask::Start { at_ns: u64::MAX },
            Ask::Stop,
            Ask::MakeFolder,
            Ask::Put { folder: "/tmp/run".into(), name: "recipe.toml".into(), content: "AA==".into() },
            Ask::Run(run_verb()),
            Ask::Interrupt,
            Ask::List { folder: "/tmp/run".into(), name: "case".into() },
            Ask::Read {
                folder: "/tmp/run".into(),
                name: "case".into(),
                pieces: vec![Piece { path: "trials/0001\n".into(), from: 7, bytes: u64::MAX }],
            },
            Ask::RemoveFolder { folder: "/tmp/run".into() },
            Ask::Undo,
            Ask::Bye,
        ] {
            comes_back(Request { id: 7, ask });
        }
        let failure = Failure::from(&Fault::new(Class::WorkloadFailed, "load\n", "died", "see its log"));
        comes_back(Line::Reply { id: 7, result: Reply::Failed(failure.clone()) });
        comes_back(Line::Reply { id: 7, result: Reply::Done(Answer::Clock { received_ns: 1, sent_ns: 2 }) });
        comes_back(Line::Ended { parts: vec![PartEnded::Failed(failure.clone())] });
        comes_back(Line::Printed { text: "trial 1\u{1b}[2J".into() });
        comes_back(Line::VerbEnded(VerbEnd { exit_code: 130, stdout: "a\nb\n".into() }));
        let end = PathEnd {
            local: "10.0.0.2".parse().ok(),
            kind: Some(InterfaceKind::Card),
            rx_queues: Some(4),
            offloads: [(Offload::TxChecksum, true), (Offload::Gro, false)].into(),
            ..PathEnd::unknown("down")
        };
        for answer in [
            Answer::Path(end),
            Answer::Folder { folder: "/tmp/run".into(), exe: "/usr/bin/pinwise".into() },
            Answer::Added,
            Answer::Runs,
            Answer::Interrupted,
            Answer::Listed { entries: vec![Listed { path: "trials".into(), bytes: None, private: true }] },
            Answer::Read { contents: vec!["AA==".into()] },
            Answer::Removed,
        ] {
            comes_back(Line::Reply { id: 7, result: Reply::Done(answer) });
        }
        assert_eq!(failure.on("b").object, "host b: load\n");
    }
}
