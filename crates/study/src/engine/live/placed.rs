//! One run of an arm: from a machine as it is, through server and load, to a trial.

use std::time::Instant;

use change::{Mark, calling_thread};
use load::children::{self, CpuTime};
use load::guard::Breach;
use load::{Outcome, Server, ServerSpec};
use machine::{Act, Class, CpuSet, Fault, Missing, OwnFolder, Placement};
use probe::Recording;

use super::load_run::LoadRun;
use super::switching::InForce;
use super::{LiveTrials, put_back, real_time};
use crate::engine::conclusion::{Run, conclude, unix_now_s, write_bytes};
use crate::engine::observation::accounting::Accounting;
use crate::engine::{Planned, breach_record, driving, netns_pair, online_cpus};
use crate::observed_blocks::{Observed, account_file, lock_waits};
use crate::recipe::Recipe;
use crate::trial::{Parts, Trial};

/// What a run of an arm is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A trial of the study.
    Trial,
    /// The figures that guards compare with. Nothing of it is kept.
    Reference,
}

/// A run of an arm that is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub planned: &'a Planned<'a>,
    /// Takes its files.
    pub folder: &'a OwnFolder,
    /// Where the session stood before it.
    pub mark: Mark,
    pub purpose: Purpose,
}

/// What is missing of a trial whose breach could not be written down at once.
const NOT_ON_DISK: &str = "the breach on disk before its trial";

/// What a load left, with its CPU time and what the sampler saw.
type Seen = Result<(Outcome, CpuTime, Recording), Fault>;

/// A server that runs under its arm.
struct Served {
    server: Server,
    in_force: InForce,
    start_s: f64,
}

/// A run whose load has ended.
struct Ended {
    served: Served,
    run: Seen,
    observed: Option<Result<Observed, Missing>>,
    began: Instant,
}

impl LiveTrials {
    /// Runs an arm once. What is still in force afterwards is for the caller to take back, to its mark; after a breach nothing is.
    ///
    /// # Errors
    /// A setting is refused; the server or the load fails; the study is stopped; a file cannot be written.
    pub(super) fn run_placed(&mut self, asked: Asked<'_>, mut recipe: Recipe) -> Result<Trial, Fault> {
        let placement = &asked.planned.arm.placement;
        netns_pair::make(&mut recipe, &mut self.hand)?;
        if let Some(hosts) = &self.hosts {
            recipe.server.address = driving::address(&recipe, hosts)?;
        }
        let spec = self.data.prepared(self.server_spec(&recipe), &mut self.hand, &self.interrupted)?;
        let began = Instant::now();
        // Our own threads keep off the server's CPU, where the placement leaves us another.
        calling_thread::run_on(&self.observer_cpus(placement))?;
        let mut served = self.served(&spec, &recipe, placement, asked.folder)?;
        let (run, accounting) = self.run_load(asked, &recipe, &mut served);
        let not_kept = match &run {
            Ok((Outcome { breach: Some(breach), .. }, ..)) => {
                self.taken_back_at_once(asked, &mut served.in_force, began, breach)?
            }
            _ => None,
        };
        let observed = accounting.map(|begun| self.observed_in(begun, &run));
        self.look_at_locks(observed.as_ref(), asked.planned.block);
        match self.concluded(asked, &recipe, Ended { served, run, observed, began }) {
            Ok(mut trial) => {
                trial.missing.extend(not_kept);
                Ok(trial)
            }
            Err(fault) => Err(with_unwritten(fault, not_kept.as_ref(), asked.planned)),
        }
    }

    /// Drives the load, and has the kernel account for the server meanwhile where the trial is an observed one.
    fn run_load(
        &mut self,
        asked: Asked<'_>,
        recipe: &Recipe,
        served: &mut Served,
    ) -> (Seen, Option<Result<Accounting, Missing>>) {
        let process = served.server.process();
        // In all trials of a block or in none: what that costs must not differ between the arms that are compared.
        let locks = self.locks_from.is_some_and(|from| asked.planned.block >= from);
        let mut accounting = match asked.planned.observed {
            true => Some(Accounting::begin(&self.root, &self.machine, process, recipe, locks)),
            false => None,
        };
        let run = self.observe(LoadRun {
            recipe,
            server: &mut served.server,
            placement: &asked.planned.arm.placement,
            in_force: &mut served.in_force,
            dir: asked.folder,
            accounting: accounting.as_mut().and_then(|begun| begun.as_mut().ok()),
        });
        (run, accounting)
    }

    /// Ends what is left of a run, and writes down what was seen.
    fn concluded(&self, asked: Asked<'_>, recipe: &Recipe, ended: Ended) -> Result<Trial, Fault> {
        let Ended { served, run, observed, began } = ended;
        let Served { server, mut in_force, start_s } = served;
        let placement = &asked.planned.arm.placement;
        let locality = self.nodes.as_ref().map(|nodes| nodes.read(&self.root, server.process().pid));
        let killed = server.killed_for_memory();
        let neighbours_user_cpus = ended_beside(&mut in_force);
        let given = self.given(&server, placement);
        let server_ended = Instant::now();
        let stopped = server.stop();
        let server_stop_s = server_ended.elapsed().as_secs_f64();
        // First, because a server or load that lost its CPU may have failed of it.
        online_cpus::cpus_are_there(&self.root, placement)?;
        let (outcome, load_cpu_time, recording) = not_killed(run, killed)?;
        stopped?;
        let load_s = outcome.to_ns.saturating_sub(outcome.from_ns) as f64 / 1e9;
        let seen = Run {
            outcome,
            recording,
            not_as_asked: in_force.not_as_asked,
            load_cpu_time,
            neighbours_user_cpus,
            given,
            locality,
            took: began.elapsed(),
            parts: Parts { server_start_s: start_s, load_s, server_stop_s },
            in_force_ns: in_force.whole_ns.unwrap_or(0),
        };
        let trial = conclude(recipe, asked.planned, seen, asked.folder)?;
        match observed {
            None => Ok(trial),
            Some(observed) => with_account(trial, observed, asked.folder),
        }
    }

    /// Starts the server, or finds the one that runs, with what of its arm is in force by then. Under its own traffic that is nothing: the
    /// arm is put in force once the server is watched.
    fn served(
        &mut self,
        spec: &ServerSpec,
        recipe: &Recipe,
        placement: &Placement,
        folder: &OwnFolder,
    ) -> Result<Served, Fault> {
        let (dir, mut in_force) = (folder.path(), InForce::default());
        let watched_first = recipe.has_own_traffic();
        let mut never = || false;
        if !watched_first {
            self.switching(placement, dir, &mut never).before_the_server(&mut in_force)?;
        }
        if let Some(path) = self.swap.of(&recipe.server, &self.case, &mut self.hand)? {
            self.hand.perform(&Act::SwapOn { path })?;
        }
        let began = Instant::now();
        let server = Server::start(spec, placement, &mut self.hand, dir, &self.interrupted)?;
        let start_s = began.elapsed().as_secs_f64();
        if !watched_first {
            self.switching(placement, dir, &mut never).on_the_server(&server, &mut in_force)?;
        }
        Ok(Served { server, in_force, start_s })
    }

    /// Takes back at once what is in force of a run that a guard ended, before anything is read: the server's clients wait for it. Meanwhile
    /// writes down that it did, so that whoever kills pinwise now does not have the arm run again; why that could not be written.
    ///
    /// # Errors
    /// Something could not be taken back.
    fn taken_back_at_once(
        &mut self,
        asked: Asked<'_>,
        in_force: &mut InForce,
        began: Instant,
        breach: &Breach,
    ) -> Result<Option<Missing>, Fault> {
        let Asked { planned, folder, mark, purpose } = asked;
        let began_unix_s = unix_now_s() - began.elapsed().as_secs_f64();
        // A server's own traffic has no observed trials.
        let above = &self.trials;
        let hand = &mut self.hand;
        let (taken_back, kept) = std::thread::scope(|scope| {
            let keeping = scope.spawn(|| match purpose {
                Purpose::Reference => Ok(()),
                Purpose::Trial => breach_record::keep(folder, above, planned, began_unix_s, breach),
            });
            in_force.beside.clear();
            let taken_back = put_back::complete(&hand.undo_to(mark));
            (taken_back, keeping.join().unwrap_or_else(|_| Err(panicked())))
        });
        let why = |fault: Fault| Missing::new(NOT_ON_DISK, format!("{}: {fault}", breach.words()));
        let not_kept = kept.err().map(why);
        taken_back.map_err(|fault| with_unwritten(fault, not_kept.as_ref(), planned))?;
        Ok(not_kept)
    }

    /// From the next block on locks are looked at, where threads were seen to wait long for each other in this one.
    fn look_at_locks(&mut self, observed: Option<&Result<Observed, Missing>>, block: usize) {
        let account = observed.and_then(|seen| seen.as_ref().ok()?.situation.account.as_ref());
        if self.locks_from.is_none() && account.is_some_and(lock_waits::are_long) {
            self.locks_from = Some(block + 1);
        }
    }

    /// What was observed in a run.
    fn observed_in(&self, begun: Result<Accounting, Missing>, run: &Seen) -> Result<Observed, Missing> {
        match run {
            Ok((outcome, _, recording)) => begun?.conclude(&self.root, &self.machine, outcome, recording),
            Err(fault) => Err(Missing::new("the account of the server", fault)),
        }
    }

    /// The CPUs that a placement gives the server: all of ours where it names none. One that ran before has what its owner gave it.
    fn given(&self, server: &Server, placement: &Placement) -> Option<CpuSet> {
        let ours = server.ran_before().is_none().then(|| self.allowed.clone());
        placement.server_cpus.clone().or(ours)
    }

    /// The server of the recipe; the built-in one where it names none.
    fn server_spec(&self, recipe: &Recipe) -> ServerSpec {
        let asked = &recipe.server;
        if !asked.is_unnamed() {
            return asked.clone();
        }
        let rounds = self.study.string_rounds_of(recipe);
        ServerSpec { command: ServerSpec::built_in(Some(&self.exe), rounds).command, ..asked.clone() }
    }

    /// Where pinwise's own threads may run during a trial: off the CPUs that the placement gives the server, and off all that it may use
    /// where it comes before us there. Wherever we may, if that leaves none.
    pub(super) fn observer_cpus(&self, placement: &Placement) -> CpuSet {
        let servers = match real_time::is_asked(placement) {
            true => real_time::cpus(placement, self.server_has.as_ref()),
            false => placement.server_cpus.clone(),
        };
        match servers.map(|servers| self.allowed.difference(&servers)) {
            Some(left) if !left.is_empty() => left,
            _ => self.allowed.clone(),
        }
    }
}

/// The fault of a run, with the breach that ended it where that is not on disk: the study ends with it, since a trial that merely failed
/// would be run again, and nothing else says so.
fn with_unwritten(fault: Fault, unwritten: Option<&Missing>, planned: &Planned<'_>) -> Fault {
    let Some(Missing { fact, why, .. }) = unwritten else { return fault };
    let arm = &planned.arm.name;
    let remedy = format!("{}; 'pinwise resume' runs arm {arm} again, under the same guards", fault.remedy);
    let class = if fault.class == Class::WorkloadFailed { Class::Storage } else { fault.class };
    Fault { class, cause: format!("{}; missing: {fact}: {why}", fault.cause), remedy, ..fault }
}

fn panicked() -> Fault {
    let cause = "the thread that writes the breach down panicked";
    Fault::new(Class::Storage, "breach", cause, machine::IS_A_BUG)
}

/// Ends dose and neighbours; their user time while they ran, in CPUs.
fn ended_beside(in_force: &mut InForce) -> f64 {
    let before = children::cpu_time();
    in_force.beside.clear();
    let used = children::cpu_time() - before;
    let ran_s = in_force.beside_began.map_or(0.0, |began| began.elapsed().as_secs_f64());
    if ran_s > 0.0 { used.user_s / ran_s } else { 0.0 }
}

/// What a run left. Where the kernel ended the server for want of memory, what came of the run says less than why, unless it was stopped
/// or a guard had ended it before.
fn not_killed(run: Seen, killed: Option<Fault>) -> Seen {
    match (run, killed) {
        (Err(fault), Some(killed)) if fault.class != Class::Interrupted => Err(killed),
        (Ok((outcome, ..)), Some(killed)) if outcome.breach.is_none() => Err(killed),
        (run, _) => run,
    }
}

/// Writes the account of a trial beside it, or says why there is none.
fn with_account(
    mut trial: Trial,
    observed: Result<Observed, Missing>,
    folder: &OwnFolder,
) -> Result<Trial, Fault> {
    match observed {
        Ok(observed) => {
            let bytes = account_file::packed(&observed).map_err(|e| {
                let path = folder.path().join(account_file::PACKED);
                Fault::new(Class::Storage, path.display(), e, machine::IS_A_BUG)
            })?;
            write_bytes(folder, account_file::PACKED, &bytes)?;
        }
        Err(why) => trial.missing.push(why),
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_ended_for_memory_says_why_unless_a_stop_came_first() {
        let of = |class, cause: &str| Fault::new(class, "server", cause, "look at it");
        let killed = || Some(of(Class::WorkloadFailed, "killed for memory"));
        let cause = |run: Fault, killed| not_killed(Err(run), killed).map(drop).unwrap_err().cause;
        assert_eq!(cause(of(Class::WorkloadFailed, "reset"), killed()), "killed for memory");
        assert_eq!(cause(of(Class::Interrupted, "stopped"), killed()), "stopped");
        assert_eq!(cause(of(Class::WorkloadFailed, "reset"), None), "reset");
    }

    #[test]
    fn a_breach_that_is_on_no_disk_is_in_the_fault_that_ends_the_study() {
        use crate::own_traffic::harm::tests::{breach, own_traffic};

        let study = own_traffic();
        let arm = &study.arms[0];
        let planned = Planned { index: 3, block: 0, position: 3, attempt: 0, arm, observed: false };
        let full = || Fault::new(Class::Storage, "outcome.json", "no space left", "free some space");
        assert_eq!(with_unwritten(full(), None, &planned), full());
        let unwritten = Missing::new(NOT_ON_DISK, breach(31_000.0).words());
        let fault = with_unwritten(full(), Some(&unwritten), &planned);
        assert!(fault.cause.contains("no space left") && fault.cause.contains("31000"), "{fault}");
        assert!(fault.remedy.contains(&arm.name) && fault.remedy.contains("free some space"), "{fault}");
        assert_eq!(fault.class, Class::Storage);
        let of = |class| with_unwritten(Fault { class, ..full() }, Some(&unwritten), &planned).class;
        assert_eq!(of(Class::WorkloadFailed), Class::Storage, "not run again by this study");
        assert_eq!(of(Class::No), Class::No, "what is still in force matters more");
    }

    #[test]
    fn without_neighbours_none_used_anything() {
        assert_eq!(ended_beside(&mut InForce::default()), 0.0);
    }
}
