//! A load in a process of its own: started, told what to do by its flags, and listened to.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use change::exit_words::exit_words;
use change::{Hand, Launch};
use machine::{Act, Class, Fault, Missing, OwnFolder, Placement};

use super::document::Document;
use super::flags;
use super::pace::Keys;
use crate::outcome::Outcome;
use crate::running::{Finished, Running};
use crate::server::Server;
use crate::trial_folder;
use crate::workloads::{About, LoadSpec};

/// The verb of the binary that is the load; see [`run`](super::run).
pub const VERB: &str = "drive";

/// Beyond its own length: for starting, for connections that are made before the clock starts, for printing.
const MARGIN_S: f64 = 25.0;

/// What [`Driven::afterwards`] gives.
pub type Afterwards = Box<dyn FnOnce(Outcome) -> Result<Outcome, Fault> + Send>;

/// A load that pinwise drives itself, by the engine or in a way of its own.
pub trait Driven: Keys {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Fails, naming the option, when its options make no sense.
    fn check(&self) -> Result<(), Fault>;

    /// It as a recipe says it.
    fn spec(&self) -> LoadSpec;

    /// What it needs, beside its network namespace, that this machine does not have.
    fn lacks(&self) -> Vec<Missing> {
        Vec::new()
    }

    /// What is to be done to the machine before it starts; taken back with the trial.
    ///
    /// Fails when `placement` cannot be had.
    fn acts(&self, placement: &Placement) -> Result<Vec<Act>, Fault> {
        let _ = placement;
        Ok(Vec::new())
    }

    /// What else is to be made of the outcome of a trial in the folder `dir`.
    fn afterwards(&self, dir: OwnFolder) -> Afterwards {
        let _ = dir;
        Box::new(Ok)
    }

    /// Drives `server` to the end of the load, or until `stop` becomes readable.
    ///
    /// Fails only when it cannot begin (senseless options, no descriptors). What happens with the server is reported in the document.
    fn drive(&self, server: SocketAddr, stop: Option<BorrowedFd<'_>>) -> Result<Document, Fault>;
}

/// Starts the load against `server` on `placement.load_cpus`; `dir` takes its log.
pub(crate) fn start(
    load: &dyn Driven,
    server: &Server,
    placement: &Placement,
    hand: &mut Hand,
    dir: &OwnFolder,
) -> Result<Running, Fault> {
    load.check()?;
    for act in load.acts(placement)? {
        hand.perform(&act)?;
    }
    let mut argv = vec![crate::exe(load.exe()), VERB.into()];
    let (flags, input) = flags::to_start(server.address(), &load.spec())?;
    argv.extend(flags);
    let launch = Launch {
        argv,
        input: input.into_bytes(),
        netns: load.netns().cloned(),
        cpus: placement.load_cpus.clone(),
        log: dir.path().join("load.log"),
        ..Launch::default()
    };
    let timeout = Duration::from_secs_f64(load.pace().seconds + MARGIN_S);
    let then = load.afterwards(trial_folder::again(dir)?);
    Running::start(hand, launch, timeout, |finished| reckon(finished, then))
}

/// What was seen goes into the trial's folder also when the run was broken off.
fn reckon(finished: Finished, then: Afterwards) -> Result<Outcome, Fault> {
    if !finished.status.success() {
        return Err(finished.fault(exit_words(finished.status), "see the message above"));
    }
    let document: Document = serde_json::from_slice(&finished.stdout).map_err(|why| {
        finished.fault(format!("printed no outcome: {why}"), "check that `exe` is this version of pinwise")
    })?;
    let outcome = then(document.outcome);
    match document.broken {
        None => outcome,
        // A finding about where it ran, for whoever judges the trial.
        Some(_) if document.starved => outcome,
        Some(broken) => Err(Fault { class: Class::WorkloadFailed, ..broken.into() }),
    }
}
