//! The process that watches a server's own traffic, from its first slice to its last.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use machine::processes::{self, FoundServer};
use machine::{Class, Fault, Missing, Root};
use probe::requests::{CountingRequests, Listening};

use super::metric_reader::{MetricReader, News};
use super::options::OwnTrafficLoad;
use super::server_cpu::ServerCpu;
use super::silence::Silence;
use super::slice_clock::{is_stopped, next_end, ns};
use super::slices::{Rest, Slices, Span, outcome};
use super::waiting_checks::WaitingChecks;
use crate::clock::monotonic_ns;
use crate::drive::{BEGAN, Broken, Course, Document};
use crate::guard::{Ages, Breach, Guarding, Slice};
use crate::outcome::latency::Latency;
use crate::outcome::traffic::SliceSums;

/// What does without requests.
pub(super) const INSTEAD: &str =
    "name figures of the server itself instead (--metric NAME=SOURCE), which need no programs in the kernel";

/// How often it is looked whether the server has started further processes.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is watched, and what has been seen.
pub(super) struct Watching {
    load: OwnTrafficLoad,
    asked: String,
    /// `None` where the kernel does not show them; why is in `rest`.
    counting: Option<CountingRequests>,
    cpu: ServerCpu,
    /// What the server had used at the end of the last slice, ns.
    cpu_ns: u64,
    metrics: Option<MetricReader>,
    guarding: Guarding,
    checks: WaitingChecks,
    silence: Silence,
    slices: Slices,
    rest: Rest,
}

/// Why it ended.
enum End {
    Done,
    Stopped,
    Breached(Breach),
    /// The server does not run any more.
    Gone(Missing),
}

impl Watching {
    /// Gets ready.
    ///
    /// # Errors
    /// It is not said which server, there is none of that name, or neither its requests nor figures of its own can be had.
    pub(super) fn begin(load: &OwnTrafficLoad, server: SocketAddr) -> Result<Self, Fault> {
        let Some(asked) = load.server.clone() else {
            let cause = "it is not said which server is watched";
            let remedy = "name it: --server PID, a systemd unit, a cgroup or a container";
            return Err(Fault::new(Class::Usage, "own-traffic load: server", cause, remedy));
        };
        let root = Root::live();
        let found = processes::find(&root, &asked)?;
        let mut rest = Rest::default();
        let counting = match counting(&root, load, server, &found) {
            Ok(counting) => Some(counting),
            Err(missing) => {
                require_metrics(load, &missing)?;
                rest.missing.push(missing);
                None
            }
        };
        let every = Duration::from_secs_f64(load.metrics_every_s);
        let metrics = match load.metrics.is_empty() {
            true => None,
            false => Some(MetricReader::begin(load.metrics.clone(), every)?),
        };
        Ok(Self {
            guarding: Guarding::new(load.guards_that_act(counting.is_some()), load.reference.clone())?,
            checks: WaitingChecks::default(),
            silence: Silence::default(),
            cpu: ServerCpu::begin(root, &asked, &found),
            load: load.clone(),
            asked,
            counting,
            cpu_ns: 0,
            metrics,
            slices: Slices::default(),
            rest,
        })
    }

    /// Watches to the end of the run, until it is stopped, or until a guard is breached.
    ///
    /// # Errors
    /// poll(2) fails.
    pub(super) fn run(mut self, course: Course<'_>) -> Result<Document, Fault> {
        if let Some(counting) = &mut self.counting {
            counting.start();
        }
        let from_ns = monotonic_ns();
        if course.announces {
            // Who does not read it does without.
            let line = format!("{BEGAN}{from_ns}\n");
            let _ = rustix::io::write(rustix::stdio::stdout(), line.as_bytes());
        }
        let (end, to_ns) = self.watch(from_ns, course.stop)?;
        Ok(self.document(Span { from_ns, to_ns }, end))
    }

    /// The slices; gives why and when it ended.
    fn watch(&mut self, from_ns: u64, stop: Option<BorrowedFd<'_>>) -> Result<(End, u64), Fault> {
        let slice_ns = ns(self.load.slice_s);
        let until_ns = from_ns.saturating_add(ns(self.load.seconds));
        // What was used before the first slice is no part of it.
        self.cpu_ns = self.cpu.used_ns().unwrap_or_default();
        self.silence = Silence::begin(from_ns);
        let (mut began_ns, mut looked_ns) = (from_ns, from_ns);
        loop {
            if is_stopped(next_end(from_ns, slice_ns, until_ns, monotonic_ns()), stop)? {
                return Ok((End::Stopped, began_ns));
            }
            let ended_ns = match self.slice(began_ns) {
                Ok((None, ended_ns)) => ended_ns,
                Ok((Some(breach), ended_ns)) => return Ok((End::Breached(breach), ended_ns)),
                Err(gone) => return Ok((End::Gone(gone), began_ns)),
            };
            if ended_ns >= until_ns {
                return Ok((End::Done, ended_ns));
            }
            if ended_ns.saturating_sub(looked_ns) >= LOOK_AGAIN.as_nanos() as u64 {
                self.cpu.look_again();
                looked_ns = ended_ns;
            }
            began_ns = ended_ns;
        }
    }

    /// Ends the slice that began then: what it saw, whether a guard is breached by it, and when that was.
    ///
    /// # Errors
    /// The server has ended.
    fn slice(&mut self, from_ns: u64) -> Result<(Option<Breach>, u64), Missing> {
        let used_ns = self.cpu.used_ns()?;
        let to_ns = monotonic_ns();
        let cpu_ns = used_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, used_ns));
        let span = Span { from_ns, to_ns };
        let (sums, latency, ages) = match &mut self.counting {
            Some(counting) => {
                let requests = counting.take();
                // Nobody asks what waits, where there are no guards.
                let ages = match self.load.guards.is_empty() {
                    true => Ages::default(),
                    false => {
                        let waiting = self.checks.look(counting);
                        if let Some(waiting) = &waiting {
                            self.silence.looked(to_ns, waiting.unread);
                        }
                        let ages = Ages::of(&requests, waiting);
                        self.rest.ages.get_or_insert_default().add(&ages);
                        ages
                    }
                };
                Missing::add_new(&mut self.rest.missing, &requests.missing);
                let (sums, latency) = self.slices.add(span, &requests, Some(cpu_ns));
                (sums, latency, ages)
            }
            None => (SliceSums::default(), Latency::new(), Ages::default()),
        };
        let mut figures = sums.figures();
        for News { slice, missing } in self.metrics.iter().flat_map(MetricReader::news) {
            // Counts of several readings in a slice add up; of all others the last is the latest.
            for (name, more) in &slice.grown {
                *figures.entry(name.clone()).or_default() += more;
            }
            figures.extend(slice.figures.clone());
            Missing::add_new(&mut self.rest.missing, &missing);
            self.rest.metrics.push(slice);
        }
        if sums.answered > 0 {
            self.silence.answered(to_ns);
        }
        let slice = Slice { from_ns, to_ns, requests: sums.answered, latency, ages, figures };
        let breach = self.guarding.look(&slice);
        Ok((breach.or_else(|| self.silence(span)), to_ns))
    }

    /// Whether the server has come to a stop by the end of this slice. Not without guards, which would say that it may.
    fn silence(&mut self, span: Span) -> Option<Breach> {
        if self.load.guards.is_empty() {
            return None;
        }
        let counting = self.counting.as_mut()?;
        self.silence.breach(span, || counting.unread())
    }

    /// What the run leaves. Where a guard ended it, nothing is done first that takes time: the machine is to be taken back.
    fn document(self, span: Span, end: End) -> Document {
        let Self { asked, counting, guarding, slices, mut rest, .. } = self;
        rest.slow_requests = guarding.slow_requests();
        Missing::add_new(&mut rest.missing, &guarding.not_judged());
        let broken = match end {
            End::Breached(breach) => {
                rest.breach = Some(breach);
                // The kernel takes the programs off with the process, which ends now.
                std::mem::forget(counting);
                return Document { outcome: outcome(span, slices, rest), broken: None, starved: false };
            }
            End::Done => None,
            End::Stopped => {
                let seconds = span.to_ns.saturating_sub(span.from_ns) as f64 / 1e9;
                Some((format!("stopped by a signal after {seconds:.1} s"), "run it again"))
            }
            End::Gone(missing) => {
                Some((missing.why, "look at its own log; a study needs a server that stays"))
            }
        };
        if let Some(mut counting) = counting {
            counting.stop();
            rest.connections = counting.open_connections();
            let whole = counting.end();
            // The slices had most of it, too.
            Missing::add_new(&mut rest.missing, &whole.missing);
            rest.whole = Some(whole);
        }
        let broken = broken.map(|(cause, remedy)| Broken {
            object: format!("server {asked}"),
            cause,
            remedy: remedy.into(),
        });
        Document { outcome: outcome(span, slices, rest), broken, starved: false }
    }
}

/// Gets ready to count what comes to the server.
fn counting(
    root: &Root,
    load: &OwnTrafficLoad,
    server: SocketAddr,
    found: &FoundServer,
) -> Result<CountingRequests, Missing> {
    let Some(first) = found.pids.first() else {
        return Err(Missing::new("requests in the kernel", "the server has no process"));
    };
    let seen = Listening::of(&processes::connections(root, &found.pids));
    let listening = match &load.ports[..] {
        // It may have its socket from another process: of systemd, of a proxy.
        [] if server.port() != 0 => seen.and_on(server.port()),
        [] => seen,
        ports => seen.only_on(ports),
    };
    CountingRequests::prepare(root, *first, &listening)
}

/// Fails where nothing at all would be seen, or a guard that was asked for could not act.
fn require_metrics(load: &OwnTrafficLoad, missing: &Missing) -> Result<(), Fault> {
    let class = match rustix::process::geteuid().is_root() {
        true => Class::MachineLacks,
        false => Class::NotPermitted,
    };
    match load.needs_requests() {
        _ if load.metrics.is_empty() => {
            Err(Fault::new(class, "requests of the server", &missing.why, INSTEAD))
        }
        Some(guard) => {
            let remedy = "compare a figure of the server itself, or leave the guard out";
            Err(Fault::new(
                class,
                format!("guard '{guard}'"),
                format!("requests cannot be seen: {}", missing.why),
                remedy,
            ))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
