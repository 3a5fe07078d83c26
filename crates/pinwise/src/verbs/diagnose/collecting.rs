//! Takes one window of a running server from every side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::processes::Peer;
use machine::{Fault, Machine, Missing, Root};
use probe::account::{Account, Counting, TracePoints};
use probe::requests::{CountingRequests, Requests};
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
    let requests = counting_requests(root, &watched, &surroundings);
    let clients = &surroundings.connections().peers;
    let watching = Watching { root, machine: &machine, watched: &watched, clients };
    let (observation, account, requests) = watching.look(counting, requests, length, stop);
    let mut situation = surroundings.close(root, machine, observation, account);
    match requests {
        Some(Ok(requests)) => situation.requests = Some(requests),
        Some(Err(missing)) => situation.missing.push(missing),
        None => {}
    }
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

/// Who is looked at.
struct Watching<'a> {
    root: &'a Root,
    machine: &'a Machine,
    watched: &'a Watched,
    clients: &'a [Peer],
}

/// What a window gave: counters, the account, and the server's requests.
type Seen = (Observation, Option<Account>, Option<Result<Requests, Missing>>);

impl Watching<'_> {
    /// Counters, account and requests of the window.
    fn look(
        &self,
        mut counting: Option<Counting>,
        mut requests: Option<Result<CountingRequests, Missing>>,
        length: Duration,
        stop: &AtomicBool,
    ) -> Seen {
        let Self { root, machine, watched, .. } = *self;
        let sampler = self.sampler();
        let done = AtomicBool::new(false);
        let mut joining = Joining::begin();
        if let Some(Ok(requests)) = &mut requests {
            requests.start();
        }
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
            if let Some(Ok(requests)) = &mut requests {
                requests.stop();
            }
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
        (observation, account, requests.map(|requests| Ok(requests?.end())))
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
