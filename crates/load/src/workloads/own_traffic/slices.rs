//! Slices of time of a server's own traffic: each one's sums and latencies, and of all of them the outcome. Pure.

use machine::Missing;
use probe::requests::{Counted as PortCounted, PortRequests, Requests};

use super::lengths;
use crate::guard::{Ages, Breach};
use crate::outcome::latency::Latency;
use crate::outcome::traffic::{MetricSlice, PortTraffic, Rate, SliceSums, Traffic};
use crate::outcome::{Counted, Interval, Outcome, unit_of};

/// When a slice was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// CLOCK_MONOTONIC ns.
    pub(super) from_ns: u64,
    /// CLOCK_MONOTONIC ns.
    pub(super) to_ns: u64,
}

/// What has been seen up to now.
#[derive(Default)]
pub(super) struct Slices {
    intervals: Vec<Interval>,
    sums: Vec<SliceSums>,
    /// By port, without lengths and clients.
    ports: Vec<PortRequests>,
}

impl Slices {
    /// Adds a slice; gives its sums and its latencies.
    pub(super) fn add(
        &mut self,
        span: Span,
        requests: &Requests,
        cpu_ns: Option<u64>,
    ) -> (SliceSums, Latency) {
        let Span { from_ns, to_ns } = span;
        let mut sums = SliceSums { from_ns, to_ns, cpu_ns, ..SliceSums::default() };
        let mut latency = Latency::new();
        for port in &requests.ports {
            sums.read = sums.read.saturating_add(port.read);
            sums.waited_ns = sums.waited_ns.saturating_add(port.waited_ns);
            sums.answered = sums.answered.saturating_add(port.answered);
            sums.served_ns = sums.served_ns.saturating_add(port.served_ns);
            self.tally(port);
            latency.add(&lengths::latency(&port.took));
        }
        let completed = sums.answered;
        self.intervals.push(Interval { from_ns, to_ns, completed, failed: 0, latency: latency.to_text() });
        self.sums.push(sums);
        (sums, latency)
    }

    /// Adds to the port's sums.
    fn tally(&mut self, port: &PortRequests) {
        let place = match self.ports.iter().position(|known| known.at == port.at) {
            Some(place) => place,
            None => {
                self.ports.push(PortRequests::at(port.at.clone()));
                self.ports.len() - 1
            }
        };
        self.ports[place].add_counts(port);
    }

    /// The ports, those with most requests first; clients are those of `whole`, which has seen all of the run.
    fn traffic(&self, whole: Option<&Requests>) -> Vec<PortTraffic> {
        let all = self.ports.iter().map(|port| port.answered as f64).sum::<f64>().max(1.0);
        let clients = |of: &PortRequests| {
            let port = whole?.ports.iter().find(|port| port.at == of.at && !port.peers.is_empty())?;
            Some(port.peers.iter().filter(|peer| peer.address.is_some()).count() as u64)
        };
        let traffic = |port: &PortRequests| PortTraffic {
            at: port.at.clone(),
            requests: port.answered,
            share: port.answered as f64 / all,
            clients: clients(port),
            counted: port.counted(),
        };
        let mut ports: Vec<PortTraffic> = self.ports.iter().map(traffic).collect();
        ports.sort_by_key(|port| std::cmp::Reverse(port.requests));
        ports
    }
}

/// What a run leaves beside its slices.
#[derive(Default)]
pub(super) struct Rest {
    /// All that was seen of requests, with clients; `None` where the run was ended by a guard, or they were not seen.
    pub(super) whole: Option<Requests>,
    /// Connections that were open at the end.
    pub(super) connections: Option<u64>,
    /// Requests beyond a guard of latency.
    pub(super) slow_requests: Option<u64>,
    /// For how long requests went without an answer; `None` without guards.
    pub(super) ages: Option<Ages>,
    pub(super) metrics: Vec<MetricSlice>,
    pub(super) breach: Option<Breach>,
    pub(super) missing: Vec<Missing>,
}

/// Whether some port's counts are of reads; `None` where none are known to be, and of some it is not known.
fn is_by_reads(ports: &[PortTraffic]) -> Option<bool> {
    let each = || ports.iter().map(|port| port.counted.and_then(PortCounted::is_by_reads));
    if each().any(|of| of == Some(true)) {
        return Some(true);
    }
    (!ports.is_empty() && each().all(|of| of == Some(false))).then_some(false)
}

/// The outcome of a run.
pub(super) fn outcome(span: Span, slices: Slices, rest: Rest) -> Outcome {
    let Span { from_ns, to_ns } = span;
    let ports = slices.traffic(rest.whole.as_ref());
    let traffic = Traffic {
        rate: Rate::of(&slices.sums),
        by_reads: is_by_reads(&ports),
        ports,
        connections: rest.connections,
        slow_requests: rest.slow_requests,
        ages: rest.ages,
        slices: slices.sums,
        metrics: rest.metrics,
        ..Traffic::default()
    };
    let mut outcome = Outcome {
        intervals: slices.intervals,
        counted: Counted::Seen,
        from_ns,
        to_ns,
        breach: rest.breach,
        missing: rest.missing,
        ..Outcome::default()
    };
    if outcome.intervals.is_empty() {
        outcome.figures = traffic.figures(from_ns, to_ns);
    }
    outcome.traffic = Some(traffic);
    if !outcome.intervals.is_empty() {
        match outcome.window(from_ns, to_ns) {
            Ok(figures) => outcome.figures = figures,
            Err(why) => outcome.missing.push(why),
        }
        if outcome.figures.get("completed") == Some(&0.0) {
            outcome.missing.push(Missing::new(
                "latency of requests",
                "nobody asked the server for anything in this time",
            ));
        }
    }
    let units = outcome.figures.keys().filter_map(|name| Some((name.clone(), unit_of(name)?.to_string())));
    outcome.units = units.collect();
    outcome
}

#[cfg(test)]
mod tests;
