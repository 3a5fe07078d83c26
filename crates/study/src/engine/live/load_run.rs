//! Drives the load of a trial to its end, while counters are sampled on a thread of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::calling_thread;
use load::children::{self, CpuTime};
use load::{LoadSpec, Outcome, Server, monotonic_ns};
use machine::{Class, Fault, OwnFolder, Placement};
use probe::{Party, Recording, Sampler};

use super::LiveTrials;
use super::server_end::{self, Failure, cause_of};
use super::switching::{InForce, Switching};
use super::watched_switch;
use crate::engine::driving::{self, Driving};
use crate::engine::observation::accounting::Accounting;
use crate::recipe::Recipe;

/// How often a running trial is looked at, beside its end. Rare enough not to disturb, often enough that Ctrl-C feels prompt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a load is driven against, and with what beside it.
pub(super) struct LoadRun<'a> {
    pub recipe: &'a Recipe,
    pub server: &'a mut Server,
    pub placement: &'a Placement,
    /// What of the arm is in force; the rest is put in force once the server is watched.
    pub in_force: &'a mut InForce,
    /// Takes the logs.
    pub dir: &'a OwnFolder,
    pub accounting: Option<&'a mut Accounting>,
}

/// What ends a run before its time.
pub(super) struct Limits<'a> {
    pub interrupted: &'a AtomicBool,
    pub deadline: Instant,
    /// How long that was when it began, s.
    pub timeout_s: f64,
}

impl Limits<'_> {
    /// Whether the study is asked to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Why the run is to end now, if it is.
    pub(super) fn reached(&self, server: &mut Server) -> Option<Fault> {
        if self.is_interrupted() {
            return Some(crate::engine::stopped());
        }
        match Instant::now() > self.deadline {
            true => Some(self.timed_out()),
            false => server.still_runs().err(),
        }
    }

    fn timed_out(&self) -> Fault {
        Fault::new(
            Class::WorkloadFailed,
            "load",
            format!("it had not ended after {} s", self.timeout_s),
            "shorten the load, or raise budget.trial_timeout_s (--trial-timeout)",
        )
    }
}

impl LiveTrials {
    /// Drives the load to its end while counters are sampled.
    pub(super) fn observe(&mut self, mut run: LoadRun<'_>) -> Result<(Outcome, CpuTime, Recording), Fault> {
        let sampler = Sampler::new(Arc::clone(&self.root), Some(run.server.process()));
        follow_beside(&sampler, run.in_force);
        let every = Duration::from_secs_f64(1.0 / run.recipe.samples_per_s);
        let over = AtomicBool::new(false);
        let observer_cpus = self.observer_cpus(run.placement);
        std::thread::scope(|scope| {
            let sampling = scope.spawn(|| {
                calling_thread::run_on(&observer_cpus)?;
                Ok::<_, Fault>(sampler.run(&over, every))
            });
            let before = children::cpu_time();
            let outcome = self.drive_or_harm(&mut run, &sampler);
            let elsewhere = self.hosts.as_ref().map(|hosts| driving::cpu_time_here(hosts, &self.root));
            let load_cpu_time = elsewhere.unwrap_or_else(|| children::cpu_time() - before);
            over.store(true, Ordering::Release);
            sampling.thread().unpark();
            let recording = sampling.join().map_err(|_| {
                Fault::new(Class::Storage, "sampler", "its thread panicked", machine::IS_A_BUG)
            })??;
            Ok((outcome?, load_cpu_time, recording))
        })
    }

    /// Drives the load. Where the server ends of its arm, under its own traffic, that is a breach.
    fn drive_or_harm(&mut self, run: &mut LoadRun<'_>, sampler: &Sampler) -> Result<Outcome, Fault> {
        let began_ns = monotonic_ns();
        let fault = match self.drive(run, sampler) {
            Err(fault) if run.recipe.has_own_traffic() => fault,
            outcome => return outcome,
        };
        let failure = Failure {
            fault: &fault,
            in_force: run.in_force.begun,
            interrupted: self.interrupted.load(Ordering::Relaxed),
            server_runs: run.server.still_runs().is_ok(),
        };
        match failure.is_harm() {
            true => Ok(server_end::outcome(began_ns, monotonic_ns())),
            false => Err(fault),
        }
    }

    /// Starts the load and waits for its end, with an eye on Ctrl-C, the server and the clock. A load that only watches is started before
    /// the arm is in force.
    fn drive(&mut self, run: &mut LoadRun<'_>, sampler: &Sampler) -> Result<Outcome, Fault> {
        let recipe = run.recipe;
        let mut spec = recipe.load.clone();
        spec.set_seconds(recipe.budget.warm_up_cap_s + recipe.budget.window_s);
        let timeout_s = recipe.budget.trial_timeout_s;
        let deadline = Instant::now() + Duration::from_secs_f64(timeout_s);
        let placed = self.placed_load(recipe, run.placement);
        let limits = Limits { interrupted: &self.interrupted, deadline, timeout_s };
        let mut running = match &mut self.hosts {
            None => {
                let (workload, server) = (spec.workload(), &*run.server);
                Driving::Here(Box::new(workload.start(server, &placed, &mut self.hand, run.dir)?))
            }
            Some(hosts) => {
                hosts.start(&spec, run.server.address())?;
                Driving::Elsewhere(hosts)
            }
        };
        running.process().into_iter().for_each(|process| sampler.follow(Party::Load, process));
        let ended_early = match recipe.has_own_traffic() {
            false => Ok(None),
            true => {
                let (root, hand, exe) = (&self.root, &mut self.hand, &self.exe);
                let (placement, dir) = (run.placement, run.dir.path());
                let arm = watched_switch::Arm { root, hand, exe, placement, dir };
                arm.put_in_force(&mut running, &spec, run.server, run.in_force, &limits)
            }
        };
        let ended = match ended_early {
            Ok(Some(ended)) => Ok(ended),
            Ok(None) => {
                if recipe.has_own_traffic() {
                    follow_beside(sampler, run.in_force);
                }
                watch_over(&mut running, run, &spec, &limits, &self.root)
            }
            Err(fault) => Err(fault),
        };
        match ended {
            Ok(ended) => {
                if let Driving::Elsewhere(hosts) = &running {
                    driving::write_seen(hosts, run.dir)?;
                }
                let outcome = ended_of(run.server, ended)?;
                watched_switch::left_a_window(recipe, &outcome, run.in_force.whole_ns)?;
                Ok(outcome)
            }
            Err(fault) => {
                running.stop()?;
                Err(fault)
            }
        }
    }

    /// The placement by which a load is started. One that only watches runs where pinwise itself does: a server that takes all of its CPU
    /// must not keep its guards from acting.
    fn placed_load(&self, recipe: &Recipe, placement: &Placement) -> Placement {
        let of_watch = recipe.has_own_traffic().then(|| self.observer_cpus(placement));
        let load_cpus = of_watch.or_else(|| placement.load_cpus.clone());
        Placement { load_cpus, ..placement.clone() }
    }

    /// What puts the arm of a load in force that pinwise drives: nothing ends it in the middle.
    pub(super) fn switching<'a>(
        &'a mut self,
        placement: &'a Placement,
        dir: &'a Path,
        is_over: &'a mut dyn FnMut() -> bool,
    ) -> Switching<'a> {
        Switching { root: &self.root, hand: &mut self.hand, exe: &self.exe, placement, dir, is_over }
    }
}

/// Has the sampler follow what runs beside the server.
fn follow_beside(sampler: &Sampler, in_force: &InForce) {
    in_force.beside.iter().for_each(|(party, launched)| sampler.follow(*party, launched.process()));
}

/// Waits for the end of a load; what it left.
///
/// # Errors
/// Why it is to be ended before.
fn watch_over(
    running: &mut Driving<'_>,
    run: &mut LoadRun<'_>,
    spec: &LoadSpec,
    limits: &Limits<'_>,
    root: &machine::Root,
) -> Result<Result<Outcome, Fault>, Fault> {
    loop {
        if let Some(ended) = running.poll() {
            run.accounting.iter_mut().for_each(|accounting| accounting.end());
            return Ok(ended);
        }
        if let Some(fault) = limits.reached(run.server) {
            return Err(fault);
        }
        match &mut run.accounting {
            None => running.wait(LOOK_EVERY),
            Some(accounting) => {
                running.wait(accounting.wait(LOOK_EVERY));
                if let Some(from_ns) = running.began_ns(spec) {
                    accounting.load_began(root, from_ns);
                }
                accounting.look(root);
            }
        }
    }
}

/// What comes of a load that has ended.
fn ended_of(server: &mut Server, ended: Result<Outcome, Fault>) -> Result<Outcome, Fault> {
    let outcome = ended.map_err(|fault| cause_of(server, fault))?;
    match outcome.breach {
        // What ended it stands, whatever became of the server since.
        Some(_) => Ok(outcome),
        None => server.still_runs().map(|()| outcome),
    }
}
