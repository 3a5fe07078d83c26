//! Takes one window of a running server from every side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use advise::diagnosis::{Busy, Situation};
use machine::limits::memory_use;
use machine::processes::{self, CpuTime, Peer, Server, Task};
use machine::{Fault, Machine, Missing, Notes, Root};
use probe::account::{Account, Counting, TracePoints};
use probe::{Observation, Party, Sampler, identify};

use crate::notes::note;
use crate::verbs::watch::target::Watched;
use crate::verbs::watch::{self, joining::Joining};
use crate::window::{self, Ended};

/// How often counters are read: only their difference counts, but short threads are seen between.
const EVERY: Duration = Duration::from_millis(100);
/// Tasks of which it is looked up how they compete, those that took most.
const MOST_TASKS: usize = 64;
/// Busy processes that are kept, and what makes one busy, in CPUs.
const MOST_BUSY: usize = 16;
const BUSY: f64 = 0.02;
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
    let mut missing = Vec::new();
    let connections = processes::connections(root, watched.pids());
    let before = cpu_times(root, &mut missing);
    let counting = match Counting::begin(&watched.target(), &machine, &TracePoints::Best) {
        Ok(counting) => Some(counting),
        Err(why) => {
            missing.push(why);
            None
        }
    };
    let (observation, account) = look(root, &machine, &watched, &connections.peers, counting, length, stop);
    let window_s = observation.window_s();
    let busy = busy(&before, &cpu_times(root, &mut missing), window_s);
    let tasks = tasks(root, &watched, account.as_ref());
    let server = match asked {
        None => Server::default(),
        Some(asked) => Server::read(root, asked).unwrap_or_else(|fault| {
            missing.push(Missing::new("the server at the end of the window", fault));
            Server::default()
        }),
    };
    let mut notes = Notes::new();
    let memory =
        watched.pids().first().map(|pid| memory_use::of_process(root, *pid, "the server", &mut notes));
    missing.extend(notes.into_vec());
    Ok(Situation {
        target: if watched.is_everything() { "This machine".into() } else { watched.title() },
        pids: watched.pids().to_vec(),
        observer: Some(std::process::id()),
        window_s,
        machine,
        account,
        observation,
        server,
        tasks,
        busy,
        connections,
        memory: memory.unwrap_or_default(),
        missing,
    })
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

fn cpu_times(root: &Root, missing: &mut Vec<Missing>) -> BTreeMap<u32, CpuTime> {
    processes::cpu_times(root).unwrap_or_else(|why| {
        missing.push(Missing::new("CPU time of other processes", why));
        BTreeMap::new()
    })
}

/// Processes that had much of the CPUs between two passes.
fn busy(before: &BTreeMap<u32, CpuTime>, after: &BTreeMap<u32, CpuTime>, window_s: f64) -> Vec<Busy> {
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let since = |(pid, now): (&u32, &CpuTime)| {
        let earlier = before.get(pid).filter(|earlier| earlier.start_time_ticks == now.start_time_ticks);
        let ticks = now.ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.ticks));
        let cpus = ticks as f64 / ticks_per_s / window_s;
        (!now.of_kernel && cpus >= BUSY).then(|| Busy {
            pid: *pid,
            comm: now.comm.clone(),
            cpus,
            last_cpu: now.last_cpu,
        })
    };
    if window_s <= 0.0 {
        return Vec::new();
    }
    let mut busy: Vec<Busy> = after.iter().filter_map(since).collect();
    busy.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    busy.truncate(MOST_BUSY);
    busy
}

/// How the server's first thread competes, and those who took most from it.
fn tasks(root: &Root, watched: &Watched, account: Option<&Account>) -> BTreeMap<u32, Task> {
    let takers = account.iter().flat_map(|account| &account.tasks).filter(|task| task.took.total_ns > 0);
    let takers = takers.take(MOST_TASKS).map(|task| task.tid);
    let first = watched.pids().first().copied();
    first.into_iter().chain(takers).filter_map(|tid| Some((tid, Task::read(root, tid).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_processes_are_those_that_had_the_cpus_in_between() {
        let time = |comm: &str, start_time_ticks, ticks| CpuTime {
            comm: comm.into(),
            start_time_ticks,
            ticks,
            last_cpu: Some(1),
            of_kernel: false,
        };
        let before =
            BTreeMap::from([(7, time("old", 1, 5_000)), (8, time("hog", 1, 100)), (9, time("gone", 1, 7))]);
        let after = BTreeMap::from([
            (7, time("old", 1, 5_000)),
            (8, time("hog", 1, 1_100)),
            // The number was given to another process.
            (9, time("new", 50, 500)),
        ]);
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let found = busy(&before, &after, 1_000.0 / ticks_per_s);
        let found: Vec<(u32, &str, f64)> =
            found.iter().map(|busy| (busy.pid, busy.comm.as_str(), busy.cpus)).collect();
        assert_eq!(found, [(8, "hog", 1.0), (9, "new", 0.5)]);
        assert!(busy(&before, &after, 0.0).is_empty());
    }
}
