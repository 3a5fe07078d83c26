//! Starts the load generator as a process of its own, and reads the outcome that it prints.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use change::exit_words;
use change::{Hand, Launch};
use machine::{Class, CpuSet, Fault, Missing, OwnFolder, Placement};

use super::flags;
use super::verb::VERB;
use crate::drive::{BEGAN, Document};
use crate::outcome::Outcome;
use crate::process::running::{Finished, Running};
use crate::process::{netns, own_binary, trial_folder};
use crate::server::Server;
use crate::workloads::{About, Afterwards, Driven, LoadSpec, Workload};

/// Beyond its own length: for starting, for connections that are made before the clock starts, for printing.
const MARGIN_S: f64 = 25.0;

/// What pinwise drives itself is started in a process of its own, whatever it speaks.
impl<L: Driven> Workload for L {
    fn about(&self) -> &'static About {
        Driven::about(self)
    }

    fn check(&self) -> Result<(), Fault> {
        Driven::check(self)
    }

    fn needs(&self) -> Vec<Missing> {
        netns::missing(self.netns().map(String::as_str)).into_iter().chain(self.missing()).collect()
    }

    fn start(
        &self,
        server: &Server,
        placement: &Placement,
        hand: &mut Hand,
        dir: &OwnFolder,
    ) -> Result<Running, Fault> {
        start(self, server, placement, hand, dir)
    }
}

/// One process of a load that several hosts drive together.
#[derive(Debug, Clone)]
pub struct Part {
    /// Where the server listens, as this host reaches it.
    pub server: SocketAddr,
    /// CPUs of this host; none: wherever the scheduler puts it.
    pub cpus: Option<CpuSet>,
    /// The first request of all parts, CLOCK_MONOTONIC ns of this host.
    pub start_at_ns: u64,
    /// Takes what it prints on standard error.
    pub log: PathBuf,
}

/// Starts one process of a load that several hosts drive together; its whole document comes back.
///
/// # Errors
/// An option of the load makes no sense; as [`Hand::launch`].
pub fn start_part(load: &dyn Driven, part: Part, hand: &mut Hand) -> Result<Running<Document>, Fault> {
    load.check()?;
    let start = flags::start_at(part.start_at_ns);
    let launch = launch(load, &load.spec(), part.server, &start, part.cpus, part.log)?;
    Running::start(hand, launch, timeout(load), document)
}

/// Starts the load against `server` on `placement.load_cpus`; `dir` takes its log.
fn start(
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
    let (cpus, log) = (placement.load_cpus.clone(), dir.path().join("load.log"));
    let spec = load.spec_for(server);
    let launch = launch(load, &spec, server.address(), &[flags::ANNOUNCE.into()], cpus, log)?;
    let then = load.afterwards(trial_folder::again(dir)?);
    Running::start(hand, launch, timeout(load), |finished| reckon(finished, then))
}

/// The process of a load that is written down so, with flags that say how it starts.
fn launch(
    load: &dyn Driven,
    spec: &LoadSpec,
    server: SocketAddr,
    start: &[String],
    cpus: Option<CpuSet>,
    log: PathBuf,
) -> Result<Launch, Fault> {
    let mut argv = vec![own_binary::exe(load.exe()), VERB.into()];
    let (flags, input) = flags::to_start(server, spec)?;
    argv.extend(flags);
    argv.extend_from_slice(start);
    let (input, netns) = (input.into_bytes(), load.netns().cloned());
    Ok(Launch { argv, input, netns, cpus, log, ..Launch::default() })
}

fn timeout(load: &dyn Driven) -> Duration {
    Duration::from_secs_f64(load.pace().seconds + MARGIN_S)
}

/// What was seen goes into the trial's folder also when the run was broken off.
fn reckon(finished: Finished, then: Afterwards) -> Result<Outcome, Fault> {
    let Document { outcome, broken, starved } = document(finished)?;
    let outcome = then(outcome);
    match broken {
        None => outcome,
        // A finding about where it ran, for whoever judges the trial.
        Some(_) if starved => outcome,
        Some(broken) => Err(Fault { class: Class::WorkloadFailed, ..broken.into() }),
    }
}

/// What a load printed at its end.
fn document(finished: Finished) -> Result<Document, Fault> {
    if !finished.status.success() {
        return Err(finished.fault(exit_words(finished.status), "see the message above"));
    }
    let announced = finished.stdout.starts_with(BEGAN.as_bytes());
    let first_line = finished.stdout.iter().position(|byte| *byte == b'\n').filter(|_| announced);
    let printed = &finished.stdout[first_line.map_or(0, |at| at + 1)..];
    serde_json::from_slice(printed).map_err(|why| {
        finished.fault(format!("printed no outcome: {why}"), "check that `exe` is this version of pinwise")
    })
}
