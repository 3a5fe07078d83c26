//! Takes one window of a running server from every side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::processes::Peer;
use machine::{Fault, Machine, Root};
use probe::account::{Account, Counting, TracePoints};
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
    let clients = &surroundings.connections().peers;
    let (observation, account) = look(root, &machine, &watched, clients, counting, length, stop);
    Ok(surroundings.close(root, machine, observation, account))
}

/// Counters and account of the window.
fn look(
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    clients: &[Peer],
    mut counting: Option<Counting>,
    length: Duration,
    stop: &AtomicBool,
) -> (Observation, Option<Account>) {
    let process = watched.pids().first().and_then(|pid| identify(root, *pid));
    let sampler = Sampler::new(Root::live(), process);
    for client in clients.iter().take(MOST_CLIENTS).filter_map(|client| identify(root, client.pid)) {
        sampler.follow(Party::Load, client);
    }
    let done = AtomicBool::new(false);
    let mut joining = Joining::begin();
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
    (observation, account)
}
