//! The processes of a load that this host drives.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use change::Hand;
use load::children::cpu_time;
use load::drive::Document;
use load::generator::{Part, start_part};
use load::outcome::unit_of;
use load::workloads::command::{CommandPart, Gate};
use load::{LoadSpec, Outcome, Running, monotonic_ns};
use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, CpuChoice, CpuSet, Fault, Machine, Root};

use super::left_behind;
use crate::protocol::{Failure, PartEnded, Prepare};

/// What the ledger of this host says of it.
const PURPOSE: &str = "agent: a load for a study of another host";

/// What a command's own processes used of the CPUs, as the loads that pinwise drives report it themselves.
const CPU_TIME: &str = "client_cpu_s";

/// What was prepared, and what of it runs.
#[derive(Default)]
pub(super) struct LoadParts {
    prepared: Option<Prepared>,
    /// Of commands.
    start: Option<CommandStart>,
    /// None of one that has ended.
    running: Vec<Option<Running<Document>>>,
    ended: Vec<Option<PartEnded>>,
    hand: Option<Hand>,
    /// For what the processes print, and for what commands write into their `{dir}`.
    folder: Option<OwnFolder>,
}

/// The moment at which the commands begin that wait at a gate.
struct CommandStart {
    gate: Gate,
    due_ns: u64,
    /// When they were let through, CLOCK_MONOTONIC ns.
    began_ns: Option<u64>,
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
                let remedy = "install or make it there; the PATH of an agent is not that of a login shell";
                return Err(Fault::new(Class::MachineLacks, missing.fact, missing.why, remedy));
            }
        }
        if self.hand.is_none() {
            left_behind::settle(&change::ledger_dir()?, PURPOSE);
            self.hand = Some(Hand::live(PURPOSE)?);
        }
        if self.folder.is_none() {
            self.folder = Some(private_folder()?);
        }
        let list = cpus.as_ref().map(CpuSet::to_list);
        self.prepared = Some(Prepared { loads: asked.loads, server: asked.server, cpus });
        Ok(list)
    }

    /// Starts what was prepared; all of it, or nothing. Commands wait then until [`poll`](Self::poll) finds that their moment has come.
    ///
    /// # Errors
    /// Nothing is prepared, or a process cannot be started.
    pub(super) fn start(&mut self, at_ns: u64) -> Result<(), Fault> {
        self.stop();
        let (Some(prepared), Some(hand), Some(folder)) = (&self.prepared, &mut self.hand, &self.folder)
        else {
            return Err(Fault::new(Class::Usage, "start", "nothing is prepared", "prepare a load first"));
        };
        let is_command = |load: &LoadSpec| matches!(load, LoadSpec::Command(_));
        let start = match prepared.loads.iter().any(is_command) {
            true => Some(CommandStart { gate: Gate::shut(folder)?, due_ns: at_ns, began_ns: None }),
            false => None,
        };
        let mut running = Vec::with_capacity(prepared.loads.len());
        for (number, load) in prepared.loads.iter().enumerate() {
            let one = match (load, &start) {
                (LoadSpec::Command(command), Some(start)) => {
                    // A folder of its own, which is new for each start.
                    let dir = folder.fresh_folder(&format!("load-{number}"), Reach::Owner)?;
                    let (server, cpus) = (prepared.server, prepared.cpus.clone());
                    let part = CommandPart { server, cpus, dir: &dir, gate: &start.gate };
                    command.start_part(part, until(at_ns), hand)?
                }
                _ => start_part(
                    load.driven().ok_or_else(not_driven)?,
                    Part {
                        server: prepared.server,
                        cpus: prepared.cpus.clone(),
                        start_at_ns: at_ns,
                        log: folder.path().join(format!("load-{number}.log")),
                    },
                    hand,
                )?,
            };
            running.push(Some(one));
        }
        self.ended = running.iter().map(|_| None).collect();
        (self.running, self.start) = (running, start);
        Ok(())
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// How long it is until [`poll`](Self::poll) has commands to let through.
    pub(super) fn due_in(&self) -> Option<Duration> {
        let waits = self.start.as_ref().filter(|start| start.began_ns.is_none())?;
        Some(until(waits.due_ns))
    }

    /// What came of all processes, once the last has ended. Lets commands begin whose moment has come.
    pub(super) fn poll(&mut self) -> Option<Vec<PartEnded>> {
        if self.due_in().is_some_and(|due| due.is_zero())
            && let Some(start) = &mut self.start
        {
            start.began_ns = Some(monotonic_ns());
            if let Err(fault) = start.gate.open(self.running.len()) {
                self.stop();
                return Some(vec![PartEnded::Failed(Failure::from(&fault))]);
            }
        }
        for (running, ended) in self.running.iter_mut().zip(&mut self.ended) {
            if let Some(result) = running.as_mut().and_then(Running::poll) {
                // Its group is ended and its CPU time counted as its handle is dropped; nobody else waits for children of the agent here.
                let before = cpu_time();
                drop(running.take());
                let cpu_s = (cpu_time() - before).total_s();
                *ended = Some(part_ended(result, self.start.as_ref(), cpu_s));
            }
        }
        if self.running.is_empty() || self.ended.iter().any(Option::is_none) {
            return None;
        }
        (self.start, self.running) = (None, Vec::new());
        Some(self.ended.drain(..).flatten().collect())
    }

    /// Ends what runs.
    pub(super) fn stop(&mut self) {
        self.ended.clear();
        // Each process group is ended as its handle is dropped; a load has nothing to lose.
        self.running.clear();
        self.start = None;
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
        if let Some(folder) = self.folder.take() {
            let _ = std::fs::remove_dir_all(folder.path());
        }
        left
    }
}

/// How long it is until a moment, CLOCK_MONOTONIC ns; zero of one that is past.
fn until(at_ns: u64) -> Duration {
    Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()))
}

/// What came of a process. Of a command, how it was started says when it began; `cpu_s` is the CPU time of it and its children.
fn part_ended(result: Result<Document, Fault>, start: Option<&CommandStart>, cpu_s: f64) -> PartEnded {
    let mut document = match result {
        Ok(document) => document,
        Err(fault) => return PartEnded::Failed(Failure::from(&fault)),
    };
    if let Some(start) = start {
        let Outcome { figures, units, from_ns, .. } = &mut document.outcome;
        *from_ns = start.began_ns.unwrap_or(*from_ns);
        // What the recipe has it print under this name stays.
        figures.entry(CPU_TIME.into()).or_insert(cpu_s);
        units.extend(unit_of(CPU_TIME).map(|unit| (CPU_TIME.into(), unit.into())));
    }
    PartEnded::Document(Box::new(document))
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
    let cause = "it is neither a command nor driven by pinwise itself";
    Fault::new(Class::Usage, "load", cause, "choose another driver ('pinwise list workloads')")
}

/// A temporary folder for what the processes print; one that is there already and belongs to others is refused.
fn private_folder() -> Result<OwnFolder, Fault> {
    let unique = format!("pinwise-agent-{}-{}", std::process::id(), monotonic_ns());
    let path: PathBuf = std::env::temp_dir().join(unique);
    OwnFolder::make(&path, Reach::Owner)
}
