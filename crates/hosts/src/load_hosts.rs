//! A load that several hosts drive together.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use load::drive::Pace;
use load::{LoadSpec, Outcome, monotonic_ns};
use machine::devices::path::PathEnd;
use machine::{Class, Fault};
use serde::Serialize;

use crate::connection::{Connection, SILENCE};
use crate::host::{HostSpec, Role};
use crate::merge::{self, PartOutcome};
use crate::protocol::{Answer, Ask, PartEnded, Prepare};
use crate::transport::Transport;

/// How far ahead the start of a load is set at first: enough to start the processes and make their connections.
const FIRST_LEAD: Duration = Duration::from_millis(500);

/// The longest that is tried.
const LONGEST_LEAD: Duration = Duration::from_secs(20);

/// A part that begins later than this after the moment that was set was not ready, or later than [`LATE_SHARE`] of a long load.
const LATE: Duration = Duration::from_millis(5);

/// Warm-up is a larger part of a load, and is left out.
const LATE_SHARE: f64 = 0.01;

/// What was seen of one process of a load on another host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartSeen {
    /// The host.
    pub host: String,
    /// Number of the process on it, from 0.
    pub process: usize,
    /// Share of its busiest thread that was on CPU, 0 to 1.
    pub client_busy: Option<f64>,
    /// CPU time of the process, s.
    pub client_cpu_s: Option<f64>,
    /// Requests that it completed.
    pub completed: Option<f64>,
    /// When it began after the moment that was set for all, us.
    pub began_after_us: f64,
    /// Clock of the host less ours, ns.
    pub offset_ns: i64,
    /// Bound on the error of the offset: half of the shortest round trip, ns.
    pub offset_error_ns: u64,
    /// By how much its clock runs faster than ours, parts per million; none where it was not followed for long enough.
    pub drift_ppm: Option<f64>,
}

/// What a server is given for each conversation that is opened with it; a RabbitMQ channel with its queue takes about as long.
const FOR_EACH_CONVERSATION: Duration = Duration::from_micros(500);

/// How long parts are given to open what they need. Too short fails a trial, and a study whose first one fails ends.
fn lead_for(parts: &[Vec<LoadSpec>]) -> Duration {
    let driven = parts.iter().flatten().filter_map(LoadSpec::driven);
    let conversations: u64 = driven.map(|load| load.conversations()).sum();
    let all = FOR_EACH_CONVERSATION.saturating_mul(u32::try_from(conversations).unwrap_or(u32::MAX));
    (FIRST_LEAD + all).min(LONGEST_LEAD)
}

/// A load that runs.
struct Running {
    /// The first request of all parts, CLOCK_MONOTONIC ns of this host.
    start_ns: u64,
    /// A part that begins so long after it was not ready.
    late_ns: u64,
    until: Instant,
    /// Of each host, once its parts have ended.
    ended: Vec<Option<Vec<PartEnded>>>,
}

/// The hosts that drive the load of a study.
pub struct LoadHosts {
    specs: Vec<HostSpec>,
    exe: PathBuf,
    transport: Transport,
    /// None of a host that was lost: it is reached again before the next load.
    connections: Vec<Option<Connection>>,
    lead: Duration,
    running: Option<Running>,
    seen: Vec<PartSeen>,
}

impl LoadHosts {
    /// Reaches the hosts of `specs` that drive load, one after the other; `exe` is the binary that is copied to them.
    ///
    /// # Errors
    /// As [`Connection::open`], of the first host that cannot be reached.
    pub fn connect(specs: &[HostSpec], exe: &Path) -> Result<Self, Fault> {
        crate::host::check_all(specs)?;
        let specs: Vec<HostSpec> = specs.iter().filter(|host| host.role == Role::Load).cloned().collect();
        let connections = specs.iter().map(|_| None).collect();
        let mut hosts = Self {
            specs,
            exe: exe.to_path_buf(),
            transport: Transport::new()?,
            connections,
            lead: FIRST_LEAD,
            running: None,
            seen: Vec::new(),
        };
        hosts.reach()?;
        Ok(hosts)
    }

    /// Compares clocks, and forgets agents that are gone: one that heard nothing for long, while a server took its time to start, has ended
    /// in good order.
    fn forget_those_that_ended(&mut self) {
        for slot in &mut self.connections {
            if slot.as_mut().is_some_and(|connection| connection.compare_clocks().is_err()) {
                *slot = None;
            }
        }
    }

    /// Reaches those that are not connected.
    fn reach(&mut self) -> Result<(), Fault> {
        for (spec, connection) in self.specs.iter().zip(&mut self.connections) {
            if connection.is_none() {
                *connection = Some(Connection::open(spec, &self.exe, &self.transport)?);
            }
        }
        Ok(())
    }

    /// The hosts that are connected.
    pub fn connected(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten()
    }

    /// The address of this host as all of them see it, where they agree and say so.
    pub fn own_address(&self) -> Option<IpAddr> {
        let mut seen = self.connected().map(|one| one.hello().controller);
        let first = seen.next()??;
        seen.all(|other| other == Some(first)).then_some(first)
    }

    /// The capture of each host that is wanted, a tar.zst.
    ///
    /// # Errors
    /// A host is lost, or cannot be read.
    pub fn captures(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Vec<u8>)>, Fault> {
        let connected = self.connections.iter_mut().flatten().filter(|one| wanted(&one.host().name));
        connected.map(|one| Ok((one.host().name.clone(), one.capture()?))).collect()
    }

    /// How each host that is wanted reaches `server`, with its name.
    ///
    /// # Errors
    /// A host is lost.
    pub fn paths(
        &mut self,
        wanted: impl Fn(&str) -> bool,
        server: SocketAddr,
    ) -> Result<Vec<(String, PathEnd)>, Fault> {
        let connected = self.connections.iter_mut().flatten().filter(|one| wanted(&one.host().name));
        connected.map(|one| Ok((one.host().name.clone(), one.path(server)?))).collect()
    }

    /// Starts `load` against `server` on all hosts: each process has all of its connections, and a part of the rate.
    ///
    /// # Errors
    /// A host cannot be reached or refuses; then nothing runs.
    pub fn start(&mut self, load: &LoadSpec, server: SocketAddr) -> Result<(), Fault> {
        (self.running, self.seen) = (None, Vec::new());
        self.forget_those_that_ended();
        self.reach()?;
        let parts = parts(load, &self.specs)?;
        self.lead = self.lead.max(lead_for(&parts));
        let begun = self.begin(parts, server, load.seconds());
        if begun.is_err() {
            self.stop();
        }
        begun
    }

    fn begin(&mut self, parts: Vec<Vec<LoadSpec>>, server: SocketAddr, seconds: f64) -> Result<(), Fault> {
        for (at, loads) in parts.into_iter().enumerate() {
            let cpus = self.specs[at].cpus.clone();
            self.prepare(at, Prepare { loads, server, cpus })?;
        }
        let start_ns = monotonic_ns() + self.lead.as_nanos() as u64;
        for at in 0..self.connections.len() {
            let at_ns = self.clock_of(at, start_ns)?.there(start_ns);
            self.asked(at, Ask::Start { at_ns })?;
        }
        let ended = self.specs.iter().map(|_| None).collect();
        let late_ns = LATE.max(Duration::from_secs_f64(seconds * LATE_SHARE)).as_nanos() as u64;
        let until = Instant::now() + self.lead + Duration::from_secs_f64(seconds + MARGIN_S);
        self.running = Some(Running { start_ns, late_ns, until, ended });
        Ok(())
    }

    /// Has one host make ready. An agent of ours that was lost may still hold the lock of that host: it ends of silence.
    fn prepare(&mut self, at: usize, prepare: Prepare) -> Result<(), Fault> {
        let until = Instant::now() + SILENCE + Duration::from_secs(2);
        loop {
            match self.asked(at, Ask::Prepare(prepare.clone())) {
                Err(fault) if fault.class == Class::No && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(250));
                    self.reach()?;
                }
                // Whoever changes that host voids the trial, not the study.
                Err(fault) if fault.class == Class::No => {
                    return Err(Fault { class: Class::WorkloadFailed, ..fault });
                }
                other => return other.map(drop),
            }
        }
    }

    /// Asks one host; forgets it when it is lost.
    fn asked(&mut self, at: usize, ask: Ask) -> Result<Answer, Fault> {
        let Some(connection) = &mut self.connections[at] else { return Err(gone(&self.specs[at])) };
        connection.forget_ended();
        let answer = connection.ask(ask);
        if connection.is_lost() {
            self.connections[at] = None;
        }
        answer
    }

    fn clock_of(&self, at: usize, now_ns: u64) -> Result<crate::clock::Estimate, Fault> {
        let connection = self.connections[at].as_ref().ok_or_else(|| gone(&self.specs[at]))?;
        connection.clock().estimate(now_ns).ok_or_else(|| {
            let object = format!("host {}: clock", self.specs[at].name);
            Fault::new(Class::WorkloadFailed, object, "was never compared", "this is a bug in pinwise")
        })
    }

    /// When the first request of the load that runs is due, CLOCK_MONOTONIC ns of this host.
    pub fn start_ns(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.start_ns)
    }

    /// What came of the load once all parts have ended, and only once; none while one of them runs. Ask ten times a second or so.
    pub fn poll(&mut self) -> Option<Result<Outcome, Fault>> {
        let until = self.running.as_ref()?.until;
        if let Err(fault) = self.attend(Duration::ZERO) {
            self.stop();
            return Some(Err(fault));
        }
        let running = self.running.as_ref()?;
        if running.ended.iter().all(Option::is_some) {
            let running = self.running.take()?;
            return Some(self.conclude(running));
        }
        if Instant::now() < until {
            return None;
        }
        self.stop();
        let cause = "still ran when its time was over and was ended";
        Some(Err(Fault::new(
            Class::WorkloadFailed,
            "load on other hosts",
            cause,
            "see whether they are busy",
        )))
    }

    /// Waits until something is heard of one of them, for `at_most` so long.
    pub fn wait(&mut self, at_most: Duration) {
        // Each is listened to in turn; a fault is met again by `poll`.
        let hosts = self.connections.len().max(1) as u32;
        let until = Instant::now() + at_most;
        while Instant::now() < until {
            if self.attend((at_most / hosts).min(Duration::from_millis(5))).is_err() {
                return;
            }
            let running = self.running.as_ref();
            if running.is_none_or(|running| running.ended.iter().all(Option::is_some)) {
                return;
            }
        }
    }

    fn attend(&mut self, at_most: Duration) -> Result<(), Fault> {
        for at in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[at] else { return Err(gone(&self.specs[at])) };
            if let Err(fault) = connection.attend(at_most) {
                self.connections[at] = None;
                return Err(fault);
            }
            if let (Some(parts), Some(running)) = (connection.take_ended(), &mut self.running) {
                running.ended[at] = Some(parts);
            }
        }
        Ok(())
    }

    fn conclude(&mut self, running: Running) -> Result<Outcome, Fault> {
        let mut outcomes = Vec::new();
        let mut latest_ns = 0;
        let now_ns = monotonic_ns();
        for (at, parts) in running.ended.into_iter().enumerate() {
            let (host, clock) = (self.specs[at].name.clone(), self.clock_of(at, now_ns)?);
            for (process, part) in parts.unwrap_or_default().into_iter().enumerate() {
                let document = match part {
                    PartEnded::Document(document) => document,
                    PartEnded::Failed(failure) => return Err(failure.on(&host)),
                };
                if let Some(broken) = document.broken.filter(|_| !document.starved) {
                    let fault = Fault::from(broken);
                    return Err(Fault { object: format!("host {host}: {}", fault.object), ..fault });
                }
                let outcome = merge::shifted(document.outcome, &clock);
                let late_ns = outcome.from_ns.saturating_sub(running.start_ns);
                latest_ns = latest_ns.max(late_ns);
                let figure = |name: &str| outcome.figures.get(name).copied();
                self.seen.push(PartSeen {
                    host: host.clone(),
                    process,
                    client_busy: figure("client_busy"),
                    client_cpu_s: figure("client_cpu_s"),
                    completed: figure("completed"),
                    began_after_us: outcome.from_ns as f64 / 1e3 - running.start_ns as f64 / 1e3,
                    offset_ns: clock.offset_ns,
                    offset_error_ns: clock.error_ns,
                    drift_ppm: clock.drift_ppm,
                });
                outcomes.push(PartOutcome { host: host.clone(), process, outcome });
            }
        }
        if latest_ns > running.late_ns {
            return Err(self.too_late(latest_ns));
        }
        merge::merged(outcomes)
    }

    /// Not ready in time: the next load has longer.
    fn too_late(&mut self, late_ns: u64) -> Fault {
        let lead = self.lead;
        self.lead = (lead * 2 + Duration::from_nanos(late_ns)).min(LONGEST_LEAD);
        let cause = format!(
            "a part began {:.0} ms after the others: its connections were not made within {:.1} s",
            late_ns as f64 / 1e6,
            lead.as_secs_f64()
        );
        let remedy = format!("the next trial has {:.1} s for it", self.lead.as_secs_f64());
        Fault::new(Class::WorkloadFailed, "load on other hosts", cause, remedy)
    }

    /// What was seen of each process of the load that ended last.
    pub fn seen(&self) -> &[PartSeen] {
        &self.seen
    }

    /// Ends the load before its time, on all hosts that are still there.
    pub fn stop(&mut self) {
        self.running = None;
        for slot in &mut self.connections {
            if slot
                .as_mut()
                .is_some_and(|connection| connection.ask(Ask::Stop).is_err() && connection.is_lost())
            {
                // Dropped, its agent ends; one that cannot be reached ends of silence.
                *slot = None;
            }
        }
    }

    /// Ends all agents; what could not be taken back, by host, in words.
    pub fn finish(mut self) -> Vec<String> {
        let mut left = Vec::new();
        for connection in self.connections.iter_mut().flatten() {
            let host = connection.host().name.clone();
            match connection.ask(Ask::Bye) {
                Ok(Answer::Undone { left: there }) => {
                    left.extend(there.into_iter().map(|words| format!("host {host}: {words}")));
                }
                Ok(_) => {}
                // A signal to all processes of a job ends an agent as well; it has taken everything back then.
                Err(_) if connection.ended_well() => {}
                Err(fault) => left.push(fault.to_string()),
            }
        }
        left
    }
}

/// Beyond the load's own length: for printing, and for the way back.
const MARGIN_S: f64 = 30.0;

fn gone(host: &HostSpec) -> Fault {
    Fault::new(
        Class::WorkloadFailed,
        format!("host {}", host.name),
        "was lost",
        "see whether it can be reached",
    )
}

/// The load of each process of each host: all of the connections, a share of the rate and of the requests, a seed of its own.
///
/// # Errors
/// The load is none that several processes can share.
fn parts(load: &LoadSpec, hosts: &[HostSpec]) -> Result<Vec<Vec<LoadSpec>>, Fault> {
    // A queue that is filled is one sequence of operations.
    if !load.is_of_engine() || matches!(load, LoadSpec::QueueFill(_)) {
        let id = load.workload().about().id;
        let cause = "it cannot be driven from other hosts";
        let remedy = "choose driver string, latency, http, ldap, amqp or nats";
        return Err(Fault::new(Class::Usage, format!("load {id}"), cause, remedy));
    }
    let all: u32 = hosts.iter().map(|host| host.processes).sum();
    let mut numbers = 0..all;
    let of_host = |host: &HostSpec| {
        let own = numbers.by_ref().take(host.processes as usize);
        own.map(|number| part(load, number, all)).collect()
    };
    Ok(hosts.iter().map(of_host).collect())
}

/// The load of process `number` of `all`.
fn part(load: &LoadSpec, number: u32, all: u32) -> LoadSpec {
    let mut own = load.clone();
    own.set_netns(None);
    if let Some(driven) = own.driven_mut() {
        let pace = driven.pace();
        driven.set_pace(Pace {
            rate_per_s: pace.rate_per_s.map(|rate| rate / f64::from(all)),
            max_requests: pace.max_requests.map(|most| most.div_ceil(u64::from(all))),
            // Threads take seeds of their own from here on: 2^16 apart none meets another's.
            seed: pace.seed.wrapping_add(u64::from(number) << 16),
            ..pace
        });
    }
    own
}

#[cfg(test)]
mod tests {
    use load::{AmqpLoad, CommandLoad};

    use super::*;

    fn host(processes: u32) -> HostSpec {
        HostSpec { processes, ..HostSpec::named("b") }
    }

    #[test]
    fn each_process_has_all_connections_and_a_share_of_the_rate() {
        let load = AmqpLoad { connections: 2, rate_per_s: Some(900.0), seed: 5, ..AmqpLoad::default() };
        let parts = parts(&LoadSpec::Amqp(load), &[host(3), host(1), host(5)]).unwrap();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 5]);
        let paces: Vec<Pace> =
            parts.iter().flatten().filter_map(|part| Some(part.driven()?.pace())).collect();
        assert!(paces.iter().all(|pace| pace.connections == 2 && pace.rate_per_s == Some(100.0)));
        let seeds: std::collections::BTreeSet<u64> = paces.iter().map(|pace| pace.seed).collect();
        assert_eq!(seeds.len(), 9, "{seeds:?}");
    }

    #[test]
    fn the_first_start_is_late_enough_for_all_that_is_opened() {
        let lead = |channels, hosts: &[HostSpec]| {
            let load = AmqpLoad { connections: 1, channels, ..AmqpLoad::default() };
            lead_for(&parts(&LoadSpec::Amqp(load), hosts).unwrap())
        };
        assert!(lead(1, &[host(1)]) < FIRST_LEAD + Duration::from_millis(1));
        assert_eq!(lead(500, &[host(3), host(3), host(3)]), FIRST_LEAD + FOR_EACH_CONVERSATION * 4_500);
        assert_eq!(lead(65_535, &[host(256)]), LONGEST_LEAD);
    }

    #[test]
    fn what_cannot_be_shared_is_refused_by_name() {
        let load = LoadSpec::Command(CommandLoad::new("wrk".parse().unwrap()));
        assert!(parts(&load, &[host(1)]).unwrap_err().to_string().contains("load command"));
    }
}
