//! The hosts of a rollout, as they are reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use advise::fleet::rollout::{FleetHosts, Put};
use hosts::survey::answers_in_parallel;
use hosts::{HostSpec, RemoteFile, RemoteVerb, Verb};
use machine::{Class, Fault};

use super::super::there::{NotRun, Ran, There};
use super::check::Check;
use super::said;
use crate::notes::note;
use crate::window::{self, Ended};

/// How long an undo is tried again on a host that cannot be reached, or on which another pinwise works: what was begun there ends when its
/// agent has heard nothing for 10 s.
const UNDO_WITHIN: Duration = Duration::from_secs(15);

/// Between two tries.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What is to be done on each host.
pub(super) struct Orders {
    /// The plan, under a name that no other run gives it: sessions there have it in their purpose.
    pub(super) plan: RemoteFile,
    /// What the server of the plan is there.
    pub(super) server: Option<String>,
    /// What says here whether a host is well.
    pub(super) check: Option<Check>,
    /// The cases that the plan is verified by there, each with its files.
    pub(super) cases: Vec<Vec<RemoteFile>>,
    /// How long hosts settle before they are checked.
    pub(super) settle: Duration,
    /// When the plan takes itself back there.
    pub(super) confirm_within: Duration,
    /// Hosts at the same time.
    pub(super) at_most: usize,
}

/// The hosts, and what is in force on them.
pub(super) struct RemoteHosts {
    hosts: Vec<HostSpec>,
    sessions: Vec<Option<String>>,
    orders: Orders,
    there: There,
    interrupted: Arc<AtomicBool>,
}

impl RemoteHosts {
    /// # Errors
    /// No temporary folder can be made.
    pub(super) fn new(
        hosts: Vec<HostSpec>,
        orders: Orders,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, Fault> {
        let sessions = hosts.iter().map(|_| None).collect();
        Ok(Self { hosts, sessions, orders, there: There::new()?, interrupted })
    }

    /// The hosts, in their order.
    pub(super) fn specs(&self) -> &[HostSpec] {
        &self.hosts
    }

    /// The session by which the plan can be undone on a host, where it is known.
    pub(super) fn session(&self, host: usize) -> Option<&str> {
        self.sessions.get(host).and_then(Option::as_deref)
    }

    /// What is done on each host.
    pub(super) fn orders(&self) -> &Orders {
        &self.orders
    }

    /// What the plan would do on each host, as `pinwise apply --dry-run` prints it there, and whether all of it can be done.
    pub(super) fn foresee(&self) -> Vec<Result<(String, bool), Fault>> {
        let all: Vec<usize> = (0..self.hosts.len()).collect();
        self.each(&all, &self.interrupted, &|host| {
            let verb = self.apply_verb(&["--dry-run".to_string()]);
            let ran = self.run(host, &verb, true).map_err(NotRun::fault)?;
            let foreseen = match ran.end.exit_code {
                0 => Ok((ran.end.stdout.clone(), true)),
                1 if !ran.end.stdout.is_empty() => Ok((ran.end.stdout.clone(), false)),
                _ => Err(ran.failed()),
            };
            ran.tidy();
            foreseen
        })
    }

    /// Does `work` on hosts, several at the same time; in their order. Once `stop` is raised no other is begun.
    fn each<T: Send>(
        &self,
        members: &[usize],
        stop: &AtomicBool,
        work: &(dyn Fn(usize) -> Result<T, Fault> + Sync),
    ) -> Vec<Result<T, Fault>> {
        let work = |host: &usize| work(*host);
        let done = answers_in_parallel(members, self.orders.at_most, stop, &work);
        let done = members.iter().zip(done);
        done.map(|(host, done)| done.unwrap_or_else(|| Err(self.not_begun(*host)))).collect()
    }

    fn not_begun(&self, host: usize) -> Fault {
        let object = format!("host {}", self.name(host));
        Fault::new(Class::Interrupted, object, "stopped by a signal before its turn", "")
    }

    fn name(&self, host: usize) -> &str {
        self.hosts.get(host).map(|spec| spec.name.as_str()).unwrap_or_default()
    }

    /// Runs a verb on a host. One that may be interrupted is asked to end when a signal comes.
    fn run(&self, host: usize, verb: &RemoteVerb, may_be_interrupted: bool) -> Result<Ran, NotRun> {
        let stop = || may_be_interrupted && self.interrupted.load(Ordering::Relaxed);
        match self.hosts.get(host) {
            Some(spec) => self.there.run(spec, verb, &stop),
            None => Err(NotRun::NotBegun(self.not_begun(host))),
        }
    }

    fn apply_verb(&self, more: &[String]) -> RemoteVerb {
        let Orders { plan, server, .. } = &self.orders;
        let mut arguments = vec![plan.name.clone()];
        arguments.extend(server.iter().map(|server| format!("--server={server}")));
        arguments.extend(more.iter().cloned());
        RemoteVerb { verb: Verb::Apply, arguments, files: vec![plan.clone()] }
    }

    /// Puts the plan in force on one host; with the session that it has there, where that is known.
    fn apply_on(&self, host: usize) -> (Put, Option<String>) {
        let within = format!("--confirm-within={}s", self.orders.confirm_within.as_secs_f64());
        let verb = self.apply_verb(&[within, "--format=json".into()]);
        match self.run(host, &verb, true) {
            Err(NotRun::NotBegun(fault)) => (Put::Refused(fault), None),
            Err(NotRun::Lost(fault)) => (Put::Unknown(fault), None),
            Ok(ran) => {
                let (exit_code, stdout) = (ran.end.exit_code, ran.end.stdout.as_str());
                let put = said::put(exit_code, stdout, || ran.failed());
                ran.tidy();
                put
            }
        }
    }

    fn confirm_on(&self, host: usize) -> Result<(), Fault> {
        let session = match self.session(host) {
            Some(session) => Some(session.to_string()),
            None => self.session_there(host)?,
        };
        let Some(session) = session else {
            let object = format!("host {}: pinwise confirm", self.name(host));
            let cause = "the plan was undone automatically before it was confirmed";
            return Err(Fault::new(Class::No, object, cause, "give a longer --confirm-within"));
        };
        self.on_session(host, Verb::Confirm, &session)
    }

    /// Undoes on one host whatever of this plan is in force there, and tries again for a while where that fails.
    fn undo_on(&self, host: usize) -> Result<(), Fault> {
        let until = Instant::now() + UNDO_WITHIN;
        loop {
            let undone = self.session_there(host).and_then(|session| match session {
                Some(session) => self.on_session(host, Verb::Undo, &session),
                None => Ok(()),
            });
            if undone.is_ok() || Instant::now() >= until {
                return undone;
            }
            std::thread::sleep(TRY_AGAIN_AFTER);
        }
    }

    /// Confirms or undoes a session of a host.
    fn on_session(&self, host: usize, verb: Verb, session: &str) -> Result<(), Fault> {
        let arguments = vec![format!("--session={session}"), "--format=json".into()];
        let verb = RemoteVerb { verb, arguments, files: Vec::new() };
        let ran = self.run(host, &verb, false).map_err(NotRun::fault)?;
        let done = if ran.end.exit_code == 0 { Ok(()) } else { Err(ran.failed()) };
        ran.tidy();
        done
    }

    /// The session of this plan that is on a host's ledger; `None` where nothing of it is in force.
    fn session_there(&self, host: usize) -> Result<Option<String>, Fault> {
        let arguments = vec!["--format=json".into()];
        let verb = RemoteVerb { verb: Verb::Status, arguments, files: Vec::new() };
        let ran = self.run(host, &verb, false).map_err(NotRun::fault)?;
        let found = match said::sessions(&ran.end.stdout) {
            Some(sessions) if ran.end.exit_code == 0 => {
                Ok(said::of_this_run(sessions, self.session(host), &self.orders.plan.name))
            }
            _ => Err(ran.failed()),
        };
        ran.tidy();
        found
    }

    /// Verifies the plan on one host by each case; that leaves it as it was.
    fn verify_on(&self, host: usize) -> Result<(), Fault> {
        for files in &self.orders.cases {
            let plan = &self.orders.plan;
            let arguments = [".", "--plan", plan.name.as_str(), "--format=json"].map(String::from).to_vec();
            let files = files.iter().chain([plan]).cloned().collect();
            let verb = RemoteVerb { verb: Verb::Verify, arguments, files };
            let ran = self.run(host, &verb, true).map_err(NotRun::fault)?;
            let verified = match ran.end.exit_code {
                0 => Ok(()),
                _ => Err(said::not_better(ran.failed(), &ran.end.stdout)),
            };
            ran.tidy();
            verified?;
        }
        Ok(())
    }
}

impl FleetHosts for RemoteHosts {
    fn begins(&mut self, wave: usize, hosts: &[usize]) {
        let names: Vec<&str> = hosts.iter().map(|host| self.name(*host)).collect();
        note!("pinwise: wave {wave}: {}", names.join(", "));
    }

    fn verify(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        if !self.orders.cases.is_empty() {
            note!("pinwise: verifying the plan by trials, with nothing in force yet");
        }
        self.each(hosts, &self.interrupted, &|host| self.verify_on(host))
    }

    fn apply(&mut self, hosts: &[usize]) -> Vec<Put> {
        let put = self.each(hosts, &self.interrupted, &|host| Ok(self.apply_on(host)));
        let mut all = Vec::with_capacity(put.len());
        for (host, put) in hosts.iter().zip(put) {
            let (put, session) = put.unwrap_or_else(|fault| (Put::Refused(fault), None));
            if let Some(slot) = self.sessions.get_mut(*host) {
                *slot = session;
            }
            all.push(put);
        }
        all
    }

    fn check(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        note!("pinwise: in force until confirmed; settling for {} s", self.orders.settle.as_secs_f64());
        if window::pass(self.orders.settle, &self.interrupted, || true) == Ended::BySignal {
            return hosts.iter().map(|host| Err(self.not_begun(*host))).collect();
        }
        self.each(hosts, &self.interrupted, &|host| match (&self.orders.check, self.hosts.get(host)) {
            (Some(check), Some(spec)) => check.run(spec, &self.interrupted),
            _ => Ok(()),
        })
    }

    fn confirm(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        self.each(hosts, &AtomicBool::new(false), &|host| self.confirm_on(host))
    }

    fn undo(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>> {
        note!("pinwise: undoing on {}", machine::wording::counted(hosts.len(), "host"));
        self.each(hosts, &AtomicBool::new(false), &|host| self.undo_on(host))
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
