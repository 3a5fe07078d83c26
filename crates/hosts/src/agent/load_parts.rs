//! The processes of a load that this host drives.

use std::net::SocketAddr;
use std::path::PathBuf;

use change::Hand;
use load::drive::Document;
use load::generator::{Part, start_part};
use load::{LoadSpec, Running};
use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, CpuChoice, CpuSet, Fault, Machine, Root};

use super::left_behind;
use crate::protocol::{Failure, PartEnded, Prepare};

/// What the ledger of this host says of it.
const PURPOSE: &str = "agent: a load for a study of another host";

/// What was prepared, and what of it runs.
#[derive(Default)]
pub(super) struct LoadParts {
    prepared: Option<Prepared>,
    running: Vec<Running<Document>>,
    ended: Vec<Option<PartEnded>>,
    hand: Option<Hand>,
    logs: Option<OwnFolder>,
}

struct Prepared {
    loads: Vec<LoadSpec>,
    server: SocketAddr,
    cpus: Option<CpuSet>,
}

impl LoadParts {
    /// Makes ready; the CPUs that the processes will run on, as a list.
    ///
    /// # Errors
    /// The CPUs cannot be had here; the load makes no sense, needs what this host does not have, or cannot be driven from here; this
    /// host's ledger cannot be written.
    pub(super) fn prepare(&mut self, asked: Prepare) -> Result<Option<String>, Fault> {
        self.stop();
        let cpus = match &asked.cpus {
            None => None,
            Some(words) => Some(chosen(words)?),
        };
        for load in &asked.loads {
            load.workload().check()?;
            if let Some(missing) = load.workload().needs().into_iter().next() {
                return Err(Fault::new(Class::MachineLacks, missing.fact, missing.why, "install it there"));
            }
        }
        if self.hand.is_none() {
            left_behind::settle(&change::ledger_dir()?, PURPOSE);
            self.hand = Some(Hand::live(PURPOSE)?);
        }
        if self.logs.is_none() {
            self.logs = Some(private_folder()?);
        }
        let list = cpus.as_ref().map(CpuSet::to_list);
        self.prepared = Some(Prepared { loads: asked.loads, server: asked.server, cpus });
        Ok(list)
    }

    /// Starts what was prepared; all of it, or nothing.
    ///
    /// # Errors
    /// Nothing is prepared, or a process cannot be started.
    pub(super) fn start(&mut self, at_ns: u64) -> Result<(), Fault> {
        self.stop();
        let (Some(prepared), Some(hand), Some(logs)) = (&self.prepared, &mut self.hand, &self.logs) else {
            return Err(Fault::new(Class::Usage, "start", "nothing is prepared", "prepare a load first"));
        };
        let mut running = Vec::with_capacity(prepared.loads.len());
        for (number, load) in prepared.loads.iter().enumerate() {
            let part = Part {
                server: prepared.server,
                cpus: prepared.cpus.clone(),
                start_at_ns: at_ns,
                log: logs.path().join(format!("load-{number}.log")),
            };
            let driven = load.driven().ok_or_else(not_driven)?;
            running.push(start_part(driven, part, hand)?);
        }
        self.ended = running.iter().map(|_| None).collect();
        self.running = running;
        Ok(())
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// What came of all processes, once the last has ended.
    pub(super) fn poll(&mut self) -> Option<Vec<PartEnded>> {
        for (running, ended) in self.running.iter_mut().zip(&mut self.ended) {
            if ended.is_none() {
                *ended = running.poll().map(|result| match result {
                    Ok(document) => PartEnded::Document(Box::new(document)),
                    Err(fault) => PartEnded::Failed(Failure::from(&fault)),
                });
            }
        }
        if self.running.is_empty() || self.ended.iter().any(Option::is_none) {
            return None;
        }
        self.running.clear();
        Some(self.ended.drain(..).flatten().collect())
    }

    /// Ends what runs.
    pub(super) fn stop(&mut self) {
        self.ended.clear();
        // Each process group is ended as its handle is dropped; a load has nothing to lose.
        self.running.clear();
    }

    /// Ends what runs and takes back what was changed; what could not be taken back, in words.
    pub(super) fn take_back(&mut self) -> Vec<String> {
        self.stop();
        self.prepared = None;
        let mut left = Vec::new();
        if let Some(mut hand) = self.hand.take() {
            left.extend(hand.undo_all().iter().filter(|one| !one.how.is_final()).map(ToString::to_string));
            left.extend(hand.finish().err().map(|fault| fault.to_string()));
        }
        if let Some(logs) = self.logs.take() {
            let _ = std::fs::remove_dir_all(logs.path());
        }
        left
    }
}

/// The CPUs that words mean on this host.
fn chosen(words: &str) -> Result<CpuSet, Fault> {
    let choice: CpuChoice = words.parse().map_err(|wrong| {
        Fault::new(
            Class::Usage,
            "cpus of the load",
            wrong,
            "see docs/cpus.md, and 'pinwise map' on that host",
        )
    })?;
    choice.on(&Machine::read(&Root::live()))
}

fn not_driven() -> Fault {
    let cause = "it is a program of its own, and other hosts drive the loads that pinwise drives itself";
    Fault::new(Class::Usage, "load command", cause, "choose another driver ('pinwise list workloads')")
}

/// A temporary folder for what the processes print; one that is there already and belongs to others is refused.
fn private_folder() -> Result<OwnFolder, Fault> {
    let unique = format!("pinwise-agent-{}-{}", std::process::id(), load::monotonic_ns());
    let path: PathBuf = std::env::temp_dir().join(unique);
    OwnFolder::make(&path, Reach::Owner)
}
