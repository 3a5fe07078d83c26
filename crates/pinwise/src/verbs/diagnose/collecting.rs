//! Takes one window of a running server from every side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::processes::Peer;
use machine::{Fault, Machine, Missing, Root};
use probe::account::{Account, Counting, TracePoints};
use probe::pmu::CountingWork;
use probe::requests::CountingRequests;
use probe::{Observation, Party, Sampler, Situation, Surroundings, identify};

use crate::notes::note;
use crate::verbs::watch::target::Watched;
use crate::verbs::watch::{self, joining::Joining};
use crate::window::{self, Ended};

/// How often counters are read: only their difference counts, but short threads are seen between.
const EVERY: Duration = Duration::from_millis(100);
/// Clients that are followed.
const MOST_CLIENTS: usize = 64;

/// Watches `asked` for `length`; without a name all that runs.
///
/// # Errors
/// There is no such server.
pub fn collect(
    root: &Root,
    asked: Option<&str>,
    length: Duration,
    stop: &AtomicBool,
) -> Result<Situation, Fault> {
    let watched = Watched::find(root, asked, &[])?;
    let machine = Machine::read(root);
    let title = if watched.is_everything() { "This machine".into() } else { watched.title() };
    let mut surroundings = Surroundings::read(root, asked, title, watched.pids());
    let counting = Counting::begin(&watched.target(), &machine, &TracePoints::Best);
    let counting = counting.map_err(|why| surroundings.without(why)).ok();
    let counters = Counters {
        requests: counting_requests(root, &watched, &surroundings),
        work: (!watched.is_everything()).then(|| CountingWork::begin(root, watched.pids())),
    };
    let clients = &surroundings.connections().peers;
    let watching = Watching { root, machine: &machine, watched: &watched, clients };
    let (observation, account, counters) = watching.look(counting, counters, length, stop);
    let mut situation = surroundings.close(root, machine, observation, account);
    counters.end(&mut situation);
    Ok(situation)
}

/// Ready to count the requests of a server that listens; `None` of one that does not.
fn counting_requests(
    root: &Root,
    watched: &Watched,
    surroundings: &Surroundings,
) -> Option<Result<CountingRequests, Missing>> {
    let ports: Vec<u16> = surroundings.connections().listeners.iter().map(|listener| listener.port).collect();
    let pid = watched.pids().first().filter(|_| !ports.is_empty())?;
    Some(CountingRequests::prepare(root, *pid, &ports))
}

/// What is counted of a server beside its threads; `None` where it does not apply.
struct Counters {
    requests: Option<Result<CountingRequests, Missing>>,
    work: Option<Result<CountingWork, Missing>>,
}

impl Counters {
    fn start(&mut self) {
        if let Some(Ok(requests)) = &mut self.requests {
            requests.start();
        }
        if let Some(Ok(work)) = &mut self.work {
            work.start();
        }
    }

    fn stop(&mut self) {
        if let Some(Ok(work)) = &mut self.work {
            work.stop();
        }
        if let Some(Ok(requests)) = &mut self.requests {
            requests.stop();
        }
    }

    /// Adds what was counted, or why it was not.
    fn end(self, situation: &mut Situation) {
        match self.requests {
            Some(Ok(requests)) => situation.requests = Some(requests.end()),
            Some(Err(missing)) => situation.missing.push(missing),
            None => {}
        }
        match self.work.map(|work| work.and_then(CountingWork::end)) {
            Some(Ok(work)) => situation.work = Some(work),
            Some(Err(missing)) => situation.missing.push(missing),
            None => {}
        }
    }
}

/// Who is looked at.
struct Watching<'a> {
    root: &'a Root,
    machine: &'a Machine,
    watched: &'a Watched,
    clients: &'a [Peer],
}

impl Watching<'_> {
    /// Counters of the machine and account of the window; `counters` count in it.
    fn look(
        &self,
        mut counting: Option<Counting>,
        mut counters: Counters,
        length: Duration,
        stop: &AtomicBool,
    ) -> (Observation, Option<Account>, Counters) {
        let Self { root, machine, watched, .. } = *self;
        let sampler = self.sampler();
        let done = AtomicBool::new(false);
        let mut joining = Joining::begin();
        counters.start();
        let recording = std::thread::scope(|scope| {
            let reading = scope.spawn(|| sampler.run(&done, EVERY));
            let ended = window::pass(length, stop, || match &mut counting {
                Some(counting) => {
                    counting.harvest();
                    joining.look(watched, root, |numbers| counting.add(numbers)) != Some(false)
                }
                None => true,
            });
            if ended == Ended::Gone {
                note!("pinwise: {} has ended; this is what was seen until then", watched.title());
            }
            if let Some(counting) = &mut counting {
                counting.stop();
            }
            counters.stop();
            done.store(true, Ordering::Release);
            reading.thread().unpark();
            reading.join().ok()
        });
        let observation = recording
            .and_then(|recording| recording.span_ns().map(|(from, to)| recording.window(from, to)))
            .unwrap_or_default();
        let account = counting.map(|mut counting| {
            watch::account(&mut counting, &joining, root, machine, watched, None).without_lengths()
        });
        (observation, account, counters)
    }

    /// Reads counters, of the server and its clients too.
    fn sampler(&self) -> Sampler {
        let process = self.watched.pids().first().and_then(|pid| identify(self.root, *pid));
        let sampler = Sampler::new(Root::live(), process);
        for client in
            self.clients.iter().take(MOST_CLIENTS).filter_map(|client| identify(self.root, client.pid))
        {
            sampler.follow(Party::Load, client);
        }
        sampler
    }
}
