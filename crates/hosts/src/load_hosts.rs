//! A load that several hosts drive together.

mod shares;
mod times;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use load::{LoadSpec, Outcome, monotonic_ns};
use machine::devices::path::PathEnd;
use machine::{Class, Fault};
use serde::Serialize;

use crate::connection::{Connection, SILENCE};
use crate::host::{HostSpec, Role};
use crate::merge::{self, PartOutcome};
use crate::protocol::{Answer, Ask, PartEnded, Prepare};
use crate::transport::Transport;

pub use self::shares::check_load;
use self::shares::parts;
use self::times::{FIRST_LEAD, LONGEST_LEAD, at_most, late_ns, lead_for};

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

/// A load that runs.
struct Running {
    is_command: bool,
    /// The first request of all parts, CLOCK_MONOTONIC ns of this host; of commands, their start.
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
        let begun = self.begin(parts, server, load);
        if begun.is_err() {
            self.stop();
        }
        begun
    }

    fn begin(&mut self, parts: Vec<Vec<LoadSpec>>, server: SocketAddr, load: &LoadSpec) -> Result<(), Fault> {
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
        let until = Instant::now() + self.lead + at_most(load);
        let (is_command, late_ns) = (matches!(load, LoadSpec::Command(_)), late_ns(load));
        self.running = Some(Running { is_command, start_ns, late_ns, until, ended });
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
            Fault::new(Class::WorkloadFailed, object, "was never compared", machine::IS_A_BUG)
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
        match (running.is_command, latest_ns > running.late_ns) {
            (is_command, true) => Err(self.too_late(latest_ns, is_command)),
            (false, false) => merge::merged(outcomes),
            (true, false) => merge::of_commands(outcomes),
        }
    }

    /// Not ready in time: the next load has longer.
    fn too_late(&mut self, late_ns: u64, is_command: bool) -> Fault {
        let lead = self.lead;
        self.lead = (lead * 2 + Duration::from_nanos(late_ns)).min(LONGEST_LEAD);
        let (late_ms, lead_s) = (late_ns as f64 / 1e6, lead.as_secs_f64());
        let cause = match is_command {
            true => format!("a command began {late_ms:.0} ms late: it was not ready within {lead_s:.1} s"),
            false => format!(
                "a part began {late_ms:.0} ms after the others: its connections were not made within {lead_s:.1} s"
            ),
        };
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

fn gone(host: &HostSpec) -> Fault {
    Fault::new(
        Class::WorkloadFailed,
        format!("host {}", host.name),
        "was lost",
        "see whether it can be reached",
    )
}
