//! The server waits for requests: its clients are the limit.

use machine::Missing;
use machine::wording::{percent, plural};
use probe::account::{SleepReason, working_threshold};
use probe::{Busy, Party, Situation, TreeSeen};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::limit::{self, Limit};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::diagnosis::time::active_us;

/// The rule `slow-client`.
pub struct SlowClient;

/// Clients are busy if they use at least this share of a CPU.
const BUSY: f64 = 0.5;
/// The server waits for input if at least this share of its sleep is for that.
const MOSTLY: f64 = 0.5;
/// Clients wait for a CPU if they do for at least this share of the window.
const WAITS: f64 = 0.1;

static ABOUT: About = About {
    id: "slow-client",
    title: "slow clients",
    costs: Costs::Asleep,
    docs: "The server sleeps most of the time, and its clients on this host are busy, wait for a CPU themselves, or have few requests in flight: no \
           placement of the server makes it faster. Clients that wait for a CPU behind another process are named even if the server sleeps less: \
           from outside, they make it look slow. Look-alikes: a server that sleeps at a lock or in a timer of its own; clients on other hosts, which \
           cannot be seen from here: if most connections come from there, the rule says so and names nobody.",
};

impl Rule for SlowClient {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let (connections, saturation) = (&scene.situation.connections, limit::saturation(scene));
        let Some(clients) = scene.clients().filter(|clients| !clients.threads.is_empty()) else {
            return Looked::DoesNotApply;
        };
        // It sleeps for another reason: a lock, a pause of its own, a stop.
        let waits_for_input = scene.time.asleep_ns <= 0.0
            || scene
                .time
                .asleep_share(SleepReason::Input)
                .is_none_or(|input| input * scene.time.wall_ns >= MOSTLY * scene.time.asleep_ns);
        if !waits_for_input || limit::of(scene, &[]) != Limit::Load {
            return Looked::Fine;
        }
        let window_us = scene.situation.observation.window_s() * 1e6;
        let followed_us = if clients.followed_us > 0 { clients.followed_us as f64 } else { window_us };
        let busy = sum(clients, |thread| thread.on_cpu_us) / followed_us;
        let waits = sum(clients, |thread| thread.waited_us) / followed_us;
        let hog = if waits >= WAITS { hog_beside_clients(scene.situation) } else { None };
        // A busier server gains from a better placement, even with such clients; only clients that wait behind another process are held back
        // themselves.
        if saturation >= limit::HAS_ROOM && hog.is_none() {
            return Looked::Fine;
        }
        let in_flight: u64 = connections.peers.iter().map(|peer| peer.connections).sum();
        if connections.from_elsewhere > in_flight {
            let why =
                "most of its connections come from elsewhere, and clients there cannot be seen from here";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let Some(first) = connections.peers.first() else { return Looked::DoesNotApply };
        let who = match connections.peers.len() {
            1 => format!("Its client {} (process {})", first.comm, first.pid),
            n => format!("Its {n} clients ({}, process {}, and others)", first.comm, first.pid),
        };
        let by_itself = hog.is_none() && is_several(clients);
        let claim = claim(&who, waits, busy, in_flight, by_itself);
        let subject = Subject::Process { pid: first.pid };
        let idle = 1.0 - saturation;
        let costs = if waits >= WAITS { idle.min(waits) } else { idle };
        // Without an account it is not known what the server sleeps for.
        let cause = match scene.situation.account {
            Some(_) => Cause::seen(ABOUT.id, subject, costs, claim),
            None => Cause::possible(ABOUT.id, subject, claim),
        };
        let cause = cause
            .because(format!("the server was idle for {} of the time in which it could run", percent(idle)))
            .figure("client_busy_cpus", busy)
            .figure("client_waited_share", waits)
            .figure("connections", in_flight as f64);
        let cause = match connections.made {
            0 => cause,
            made => cause.because(format!(
                "it opened {made} {} itself: it may wait for what is at the other end",
                plural("connection", made as usize)
            )),
        };
        Looked::Found(vec![with_remedy(cause, waits, hog, by_itself)])
    }
}

/// `by_itself`: it has several busy threads, which may be what they wait for.
fn claim(who: &str, waits: f64, busy: f64, in_flight: u64, by_itself: bool) -> String {
    match (waits >= WAITS, busy >= BUSY) {
        (true, _) if by_itself => format!(
            "{who} waited for CPUs, over all threads for {} of the window: something else had them, or its threads wait for each other",
            percent(waits)
        ),
        (true, _) => format!(
            "{who} waited for a CPU for {} of the window, because something else had it",
            percent(waits)
        ),
        (false, true) => format!("{who} kept {} of a CPU busy", percent(busy)),
        (false, false) if in_flight == 0 => format!("{who} sent few requests"),
        (false, false) => {
            format!("{who} sent few requests, over {in_flight} {}", plural("connection", in_flight as usize))
        }
    }
}

/// If a client waits for a CPU, to move what has that CPU; otherwise more load.
fn with_remedy(cause: Cause, waits: f64, hog: Option<(&Busy, u32)>, by_itself: bool) -> Cause {
    if waits < WAITS {
        return cause.remedy(Remedy::by_hand("Use more connections, more requests in flight, or more clients; no placement of the server gains much"));
    }
    match hog {
        Some((hog, cpu)) => cause
            .because(format!("{}, where the client runs", used(hog, cpu)))
            .figure("hog_pid", f64::from(hog.pid))
            .remedy(Remedy::by_hand(format!(
                "Move {} (process {}) off CPU {cpu}, or the client to another CPU",
                hog.comm, hog.pid
            ))),
        None if by_itself => cause.remedy(Remedy::by_hand(
            "Give the client CPUs of its own, as many as it has busy threads (knob process-affinity), or fewer threads",
        )),
        None => cause.remedy(Remedy::by_hand("Give the client a CPU of its own (knob process-affinity)")),
    }
}

/// The CPU on which clients were seen most.
fn clients_cpu(situation: &Situation) -> Option<u32> {
    let clients = situation.observation.beside.get(&Party::Load)?;
    let seen = clients.threads.iter().flat_map(|thread| &thread.seen_on);
    seen.max_by_key(|(_, times)| **times).map(|(cpu, _)| *cpu)
}

/// The busiest process on the CPU of the clients that is neither the server nor a client, and that CPU.
pub(crate) fn hog_beside_clients(situation: &Situation) -> Option<(&Busy, u32)> {
    let on = clients_cpu(situation)?;
    let is_other = |pid: u32| !situation.is_client(pid) && !situation.pids.contains(&pid);
    let is_hog = |busy: &&Busy| is_other(busy.pid) && busy.last_cpu == Some(on) && busy.cpus >= WAITS;
    situation.busy.iter().find(is_hog).map(|hog| (hog, on))
}

/// What a process next to the clients used, in words: only the last CPU of its first thread is known.
pub(crate) fn used(hog: &Busy, cpu: u32) -> String {
    let used = percent(hog.cpus);
    format!("{} (process {}) used {used} of a CPU and was last seen on CPU {cpu}", hog.comm, hog.pid)
}

/// Whether several threads of the clients are at work.
fn is_several(clients: &TreeSeen) -> bool {
    let active: Vec<f64> = clients.threads.iter().map(active_us).collect();
    let threshold = working_threshold(active.iter().copied());
    active.iter().filter(|did| **did >= threshold).count() > 1
}

fn sum(clients: &TreeSeen, of: fn(&probe::ThreadSeen) -> Option<u64>) -> f64 {
    clients.threads.iter().filter_map(of).sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use machine::processes::Peer;
    use probe::ThreadSeen;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// A server that mostly waits, with one connection of an idle process of this host and so many from elsewhere.
    fn waiting(from_elsewhere: u64) -> Situation {
        let mut seen = situation();
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        (thread.on_cpu.total_ns, thread.run_queue.total_ns) = (SECOND / 10, 0);
        thread.asleep.total_ns = SECOND / 10 * 9;
        let client = ThreadSeen { tid: 9, pid: 9, on_cpu_us: Some(100), ..ThreadSeen::default() };
        seen.observation.beside.insert(Party::Load, TreeSeen { threads: vec![client], followed_us: 0 });
        seen.connections.peers = vec![Peer { pid: 9, comm: "exporter".into(), connections: 1 }];
        seen.connections.from_elsewhere = from_elsewhere;
        seen
    }

    fn look(seen: &Situation) -> Looked {
        SlowClient.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn a_client_here_is_not_blamed_where_most_are_elsewhere() {
        let Looked::Found(causes) = look(&waiting(0)) else { panic!("not found") };
        assert!(causes[0].claim.contains("exporter (process 9) sent few requests"), "{causes:?}");
        assert!(matches!(look(&waiting(1)), Looked::Found(_)), "half of them");
        let Looked::CannotTell(why) = look(&waiting(200)) else { panic!("it is blamed") };
        assert!(why.why.contains("from elsewhere"), "{why:?}");
    }

    #[test]
    fn threads_of_a_client_may_wait_for_each_other() {
        let mut seen = waiting(0);
        let threads = &mut seen.observation.beside.get_mut(&Party::Load).unwrap().threads;
        (threads[0].on_cpu_us, threads[0].waited_us) = (Some(400_000), Some(500_000));
        let claim = |seen: &Situation| match look(seen) {
            Looked::Found(mut causes) => causes.remove(0).claim,
            other => panic!("{other:?}"),
        };
        assert!(claim(&seen).contains("because something else had it"), "{}", claim(&seen));
        let threads = &mut seen.observation.beside.get_mut(&Party::Load).unwrap().threads;
        let second = ThreadSeen { tid: 10, ..threads[0].clone() };
        threads.push(second);
        assert!(claim(&seen).ends_with("or its threads wait for each other"), "{}", claim(&seen));
    }
}
