//! What is seen of a server over a window beside the account of its threads: its requests, its work, its
//! functions, and where its threads wait for each other.

use machine::{Missing, Root};

use super::Situation;
use crate::futexes::CountingFutexes;
use crate::pmu::CountingWork;
use crate::requests::{CountingRequests, Listening};
use crate::stacks::Profiling;

/// Counters that are ready or run; what cannot be counted is missing with the reason.
pub struct ServerCounters {
    /// `None` where requests are not to be counted.
    requests: Option<Result<CountingRequests, Missing>>,
    work: Result<CountingWork, Missing>,
    profile: Result<Profiling, Missing>,
    /// `None` where waits are not to be counted.
    futexes: Option<Result<CountingFutexes, Missing>>,
}

impl ServerCounters {
    /// Gets ready to count the work of these processes and to sample their functions, and, where it is said on what they listen, the
    /// requests that come to that in the network namespace of the first process.
    pub fn prepare(root: &Root, pids: &[u32], listening: Option<&Listening>) -> Self {
        let requests = listening.zip(pids.first());
        Self {
            requests: requests.map(|(listening, first)| CountingRequests::prepare(root, *first, listening)),
            work: CountingWork::begin(root, pids),
            profile: Profiling::prepare(pids),
            futexes: None,
        }
    }

    /// Gets ready to sum up where the threads of these processes wait for each other, too. That costs each of their switches more than the
    /// rest does: it is for windows that nothing is measured by, and for a server of which it is known that they wait much.
    #[must_use]
    pub fn and_futexes(self, pids: &[u32]) -> Self {
        Self { futexes: Some(CountingFutexes::prepare(pids)), ..self }
    }

    /// Counts from now on.
    pub fn start(&mut self) {
        if let Some(Ok(requests)) = &mut self.requests {
            requests.start();
        }
        if let Ok(work) = &mut self.work {
            work.start();
        }
        if let Ok(profile) = &mut self.profile {
            profile.start();
        }
        if let Some(Ok(futexes)) = &mut self.futexes {
            futexes.start();
        }
    }

    /// Counts no longer.
    pub fn stop(&mut self) {
        if let Some(Ok(futexes)) = &mut self.futexes {
            futexes.stop();
        }
        if let Ok(profile) = &mut self.profile {
            profile.stop();
        }
        if let Some(Ok(requests)) = &mut self.requests {
            requests.stop();
        }
        if let Ok(work) = &mut self.work {
            work.stop();
        }
    }

    /// Adds what was counted between the two, or why it was not.
    pub fn end(self, situation: &mut Situation) {
        match self.requests {
            Some(Ok(requests)) => situation.requests = Some(requests.end()),
            Some(Err(missing)) => situation.missing.push(missing),
            None => {}
        }
        match self.work.and_then(CountingWork::end) {
            Ok(work) => situation.work = Some(work),
            Err(missing) => situation.missing.push(missing),
        }
        match self.profile.map(Profiling::end) {
            Ok(profile) => situation.profile = Some(profile),
            Err(missing) => situation.missing.push(missing),
        }
        match self.futexes.map(|futexes| futexes.map(CountingFutexes::end)) {
            Some(Ok(futexes)) => situation.futexes = Some(futexes),
            Some(Err(missing)) => situation.missing.push(missing),
            None => {}
        }
    }
}
