//! Observes a running server for one window: its account, its counters and its clients.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::processes::Peer;
use machine::{Fault, Machine, Root};
use probe::account::{Account, Counting, TracePoints};
use probe::requests::Listening;
use probe::{Observation, Party, Sampler, ServerCounters, Situation, Surroundings, identify};

use crate::notes::note;
use crate::verbs::watch::target::Watched;
use crate::verbs::watch::{self, new_processes::NewProcesses};
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
    let mut surroundings = Surroundings::read(root, asked, watched.subject(), watched.pids());
    // First, for it takes a CPU for a while: the account begins with the window.
    let counters = (!watched.is_everything()).then(|| {
        let listening = Listening::of(surroundings.connections());
        // A server that does not listen has no requests to miss.
        let listening = Some(&listening).filter(|listening| !listening.is_empty());
        ServerCounters::prepare(root, watched.pids(), listening).and_futexes(watched.pids())
    });
    let counting = Counting::begin(&watched.target(), &machine, &TracePoints::Best);
    let counting = counting.map_err(|why| surroundings.without(why)).ok();
    let clients = &surroundings.connections().peers;
    let watching = Watching { root, machine: &machine, watched: &watched, clients };
    let (observation, account, counters) = watching.look(counting, counters, length, stop);
    let mut situation = surroundings.close(root, machine, observation, account);
    if let Some(counters) = counters {
        counters.end(&mut situation);
    }
    Ok(situation)
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
        mut counters: Option<ServerCounters>,
        length: Duration,
        stop: &AtomicBool,
    ) -> (Observation, Option<Account>, Option<ServerCounters>) {
        let Self { root, machine, watched, .. } = *self;
        let sampler = self.sampler();
        let done = AtomicBool::new(false);
        let mut new_processes = NewProcesses::begin();
        counters.iter_mut().for_each(ServerCounters::start);
        let recording = std::thread::scope(|scope| {
            let reading = scope.spawn(|| sampler.run(&done, EVERY));
            let ended = window::pass(length, stop, || match &mut counting {
                Some(counting) => {
                    counting.harvest();
                    new_processes.look(watched, root, |numbers| counting.add(numbers)) != Some(false)
                }
                None => true,
            });
            if ended == Ended::Gone {
                note!("pinwise: {} has ended; this is what was seen until then", watched.title());
            }
            if let Some(counting) = &mut counting {
                counting.stop();
            }
            counters.iter_mut().for_each(ServerCounters::stop);
            done.store(true, Ordering::Release);
            reading.thread().unpark();
            reading.join().ok()
        });
        let observation = recording
            .and_then(|recording| recording.span_ns().map(|(from, to)| recording.window(from, to)))
            .unwrap_or_default();
        let account = counting.map(|mut counting| {
            watch::account(&mut counting, &new_processes, root, machine, watched, None).without_lengths()
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
