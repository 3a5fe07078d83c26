//! A plan put in force on hosts, wave by wave, and taken back where a wave does harm. What is done on the hosts is [`FleetHosts`].
//!
//! On each host the plan takes itself back unless it is confirmed, so that a host that is lost in the middle, or the end of whoever runs
//! this, leaves nothing in force there.

use std::ops::Range;

use machine::Fault;
use serde::Serialize;

#[cfg(test)]
mod tests;

/// What came of a plan on a host.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// It is in force, until its time to be confirmed is over.
    InForce,
    /// All of it was so already: there is nothing to confirm and nothing to undo.
    Already,
    /// It is not in force, and nothing is changed there.
    Refused(Fault),
    /// The host was lost: it may be in force, and takes itself back if it is.
    Unknown(Fault),
}

/// What is done on hosts, each named by its place among all. An answer has one entry for each host, in their order.
pub trait FleetHosts {
    /// A wave begins, counted from 1, on these hosts.
    fn begins(&mut self, wave: usize, hosts: &[usize]);
    /// Whether the plan does good there, by a trial that leaves the host as it was. Nothing is in force yet.
    fn verify(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>>;
    /// Puts the plan in force so that it takes itself back unless it is confirmed in time.
    fn apply(&mut self, hosts: &[usize]) -> Vec<Put>;
    /// Lets the hosts settle, and says of each whether it is well.
    fn check(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>>;
    /// Lets the plan stay.
    fn confirm(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>>;
    /// Takes the plan back, confirmed or not. It is no fault where nothing of it is in force any more.
    fn undo(&mut self, hosts: &[usize]) -> Vec<Result<(), Fault>>;
    /// Whether the user wants it to end.
    fn is_interrupted(&self) -> bool;
}

/// How a host stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was changed there.
    Untouched,
    /// The plan may be in force and waits to be confirmed. No host ends so.
    Waits,
    /// It was to be confirmed, and whether it is is not known. No host ends so.
    Unsettled,
    /// The plan is in force, and stays.
    Confirmed,
    /// All of the plan was so already.
    Already,
    /// The plan was in force, and was taken back.
    Undone,
    /// It could not be reached to undo it. What is in force there was not confirmed, and takes itself back when its time is over.
    TakesItselfBack,
    /// It could not be undone, and is or may be in force for good: it has to be undone there.
    Left,
}

/// How a host of a rollout stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostState {
    /// Its wave, from 1; `None` of a host that no wave reaches.
    pub wave: Option<usize>,
    /// How it stands.
    pub state: State,
    /// What was wrong there first: why the rollout stopped, if it is of this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Why it could not be undone from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_undone: Option<Fault>,
}

/// Why a rollout ended before its last wave was confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// In this wave a host failed.
    Harm {
        /// Counted from 1.
        wave: usize,
    },
    /// The user wanted it to end, before or in this wave.
    Interrupted {
        /// Counted from 1.
        wave: usize,
    },
}

/// What came of a rollout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rollout {
    /// Each host, in their order.
    pub hosts: Vec<HostState>,
    /// Why it ended early; `None` where every wave was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

impl Rollout {
    /// Puts a plan in force on `count` hosts. On harm all is undone: on the hosts of its wave and, unless `keep_earlier`, on those of
    /// earlier waves. Where the user ends it, what was not confirmed is undone, and what was stays.
    pub fn run(count: usize, waves: &[Range<usize>], keep_earlier: bool, hosts: &mut dyn FleetHosts) -> Self {
        let wave_of = |host: usize| waves.iter().position(|wave| wave.contains(&host)).map(|at| at + 1);
        let untouched =
            |host| HostState { wave: wave_of(host), state: State::Untouched, fault: None, not_undone: None };
        let mut rollout = Self { hosts: (0..count).map(untouched).collect(), stopped: None };
        for (at, wave) in waves.iter().enumerate() {
            let members: Vec<usize> = wave.clone().filter(|host| *host < count).collect();
            if let Some(stopped) = rollout.wave(at + 1, &members, hosts) {
                rollout.stopped = Some(stopped);
                let members = rollout.to_be_undone(stopped, keep_earlier);
                rollout.take_back(&members, hosts);
                break;
            }
        }
        rollout
    }

    /// One wave, to its confirmation or to the first step in which a host fails.
    fn wave(&mut self, wave: usize, members: &[usize], hosts: &mut dyn FleetHosts) -> Option<Stopped> {
        if hosts.is_interrupted() {
            return Some(stopped(wave, &*hosts));
        }
        hosts.begins(wave, members);
        if !self.are_well(members, hosts.verify(members)) || hosts.is_interrupted() {
            return Some(stopped(wave, &*hosts));
        }
        if !self.put(members, hosts) || hosts.is_interrupted() {
            return Some(stopped(wave, &*hosts));
        }
        if !self.are_well(members, hosts.check(members)) || hosts.is_interrupted() {
            return Some(stopped(wave, &*hosts));
        }
        // From here on a signal waits for the end of the wave: half of it is not confirmed.
        let waiting: Vec<usize> =
            members.iter().copied().filter(|host| self.is(*host, State::Waits)).collect();
        self.set(&waiting, State::Unsettled);
        let confirmed = hosts.confirm(&waiting);
        for (host, confirmed) in waiting.iter().zip(&confirmed) {
            if confirmed.is_ok() {
                self.set(&[*host], State::Confirmed);
            }
        }
        (!self.are_well(&waiting, confirmed)).then_some(Stopped::Harm { wave })
    }

    /// Whether the plan is in force on all of them.
    fn put(&mut self, members: &[usize], hosts: &mut dyn FleetHosts) -> bool {
        // Whatever has no answer may be in force.
        self.set(members, State::Waits);
        let put = hosts.apply(members);
        let mut all = put.len() == members.len();
        for (host, put) in members.iter().zip(put) {
            let (state, fault) = match put {
                Put::InForce => (State::Waits, None),
                Put::Already => (State::Already, None),
                Put::Refused(fault) => (State::Untouched, Some(fault)),
                Put::Unknown(fault) => (State::Waits, Some(fault)),
            };
            all &= fault.is_none();
            self.set(&[*host], state);
            self.blame(*host, fault);
        }
        all
    }

    /// The hosts that a stop takes back, the last wave first.
    fn to_be_undone(&self, stopped: Stopped, keep_earlier: bool) -> Vec<usize> {
        let is_undone = |of: &HostState| match (of.state, stopped) {
            (State::Waits | State::Unsettled, _) => true,
            (State::Confirmed, Stopped::Harm { wave }) => !keep_earlier || of.wave == Some(wave),
            _ => false,
        };
        let all = self.hosts.iter().enumerate().rev();
        all.filter(|(_, of)| is_undone(of)).map(|(host, _)| host).collect()
    }

    fn take_back(&mut self, members: &[usize], hosts: &mut dyn FleetHosts) {
        if members.is_empty() {
            return;
        }
        let mut undone = hosts.undo(members).into_iter();
        for host in members {
            let Some(of) = self.hosts.get_mut(*host) else { continue };
            match (undone.next(), of.state) {
                (Some(Ok(())), _) => of.state = State::Undone,
                (failed, state) => {
                    of.state = if state == State::Waits { State::TakesItselfBack } else { State::Left };
                    of.not_undone = failed.and_then(Result::err);
                }
            }
        }
    }

    /// Whether each of them has answered that it is well.
    fn are_well(&mut self, members: &[usize], answers: Vec<Result<(), Fault>>) -> bool {
        let mut all = answers.len() == members.len();
        for (host, answer) in members.iter().zip(answers) {
            all &= answer.is_ok();
            self.blame(*host, answer.err());
        }
        all
    }

    fn is(&self, host: usize, state: State) -> bool {
        self.hosts.get(host).is_some_and(|of| of.state == state)
    }

    fn set(&mut self, members: &[usize], state: State) {
        for host in members {
            if let Some(of) = self.hosts.get_mut(*host) {
                of.state = state;
            }
        }
    }

    fn blame(&mut self, host: usize, fault: Option<Fault>) {
        if let Some(of) = self.hosts.get_mut(host)
            && of.fault.is_none()
        {
            of.fault = fault;
        }
    }
}

/// Why a wave ends at a step. After a signal no host is blamed for what it did not do.
fn stopped(wave: usize, hosts: &dyn FleetHosts) -> Stopped {
    if hosts.is_interrupted() { Stopped::Interrupted { wave } } else { Stopped::Harm { wave } }
}
