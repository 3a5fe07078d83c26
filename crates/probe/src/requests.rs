//! Requests to a server, as the kernel sees them: how long they wait in its sockets until they are read, and how long it takes from there
//! to the answer.
//!
//! The latency that a client sees is the sum of the way there and back, the wait in the socket, and the service. Of these a placement
//! changes the last two. Programs at the trace points of sockets (6.3 and later) sum both up by port; a connection with one request at a
//! time is exact, and requests that are read together count as one. What is on the wire does not matter, so neither does TLS.
//!
//! *Arrival* is when bytes are ready to be read and none were before; *read* is the end of the first read after it, so that the wait has
//! the wake-up of the thread in it; *answer* is the end of the first write after that, so that the service has the kernel's work of sending
//! in it, which on the loopback interface includes receiving on the other side.

use std::mem::offset_of;

use machine::{Missing, Root};
use serde::{Deserialize, Serialize};

use crate::account::Distribution;
use crate::bpf::{Loaded, PORTS, PortSeen, RequestControl, RequestTables, load_requests};
use crate::clock;

/// The fact that is missing where requests cannot be seen.
const FACT: &str = "requests in the kernel";

/// Requests of a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// Length of the window, s.
    pub window_s: f64,
    /// By port, in order; ports without requests are not in it.
    pub ports: Vec<PortRequests>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// Requests to one port.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PortRequests {
    /// TCP port.
    pub port: u16,
    /// Requests whose arrival and read were seen; one in several packets has several.
    pub read: u64,
    /// Their wait between the two, all together, ns.
    pub waited_ns: u64,
    /// Requests whose read and answer were seen.
    pub answered: u64,
    /// The time between the two, all together, ns.
    pub served_ns: u64,
    /// Waits by length.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub waited: Distribution,
    /// Services by length.
    #[serde(skip_serializing_if = "Distribution::is_empty")]
    pub served: Distribution,
}

impl Requests {
    /// The same without the distributions, whose quantiles go with them.
    #[must_use]
    pub fn without_lengths(mut self) -> Self {
        for port in &mut self.ports {
            (port.waited, port.served) = (Distribution::default(), Distribution::default());
        }
        self
    }

    /// Mean wait and mean service of all ports together, us; `None` where either was not seen.
    pub fn means_us(&self) -> Option<(f64, f64)> {
        let sum = |of: fn(&PortRequests) -> u64| self.ports.iter().map(|port| of(port) as f64).sum::<f64>();
        let (read, answered) = (sum(|port| port.read), sum(|port| port.answered));
        let means = (sum(|port| port.waited_ns) / read / 1e3, sum(|port| port.served_ns) / answered / 1e3);
        (read > 0.0 && answered > 0.0).then_some(means)
    }
}

impl PortRequests {
    /// Mean wait, us; `None` without any.
    pub fn mean_waited_us(&self) -> Option<f64> {
        (self.read > 0).then(|| self.waited_ns as f64 / self.read as f64 / 1e3)
    }

    /// Mean service, us; `None` without any.
    pub fn mean_served_us(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.served_ns as f64 / self.answered as f64 / 1e3)
    }

    /// Adds what another CPU saw.
    fn add(&mut self, seen: &PortSeen) {
        self.read = self.read.saturating_add(seen.read);
        self.waited_ns = self.waited_ns.saturating_add(seen.waited_ns);
        self.answered = self.answered.saturating_add(seen.answered);
        self.served_ns = self.served_ns.saturating_add(seen.served_ns);
        self.waited.merge(&Distribution::of(&seen.waited_steps));
        self.served.merge(&Distribution::of(&seen.served_steps));
    }
}

/// Requests while they are counted.
pub struct CountingRequests {
    tables: RequestTables,
    ports: Vec<u16>,
    began_ns: u64,
    ended_ns: u64,
    missing: Vec<Missing>,
    /// Taken off when it is dropped.
    _loaded: Loaded,
}

impl CountingRequests {
    /// Gets ready to count what comes to these ports in the network namespace of a process; beyond 64 ports the first of them.
    ///
    /// # Errors
    /// There is no port; the kernel is older than 6.3, or does not permit programs: what, why and the remedy.
    pub fn prepare(root: &Root, pid: u32, ports: &[u16]) -> Result<Self, Missing> {
        if ports.is_empty() {
            return Err(Missing::new(FACT, "the server listens on no TCP port"));
        }
        let loaded = load_requests(network_inum(root, pid)?, ports.len().min(PORTS));
        let mut loaded = loaded.map_err(|missing| Missing::new(FACT, missing.why))?;
        let mut tables = RequestTables::open(&mut loaded)?;
        let mut missing = Vec::new();
        if ports.len() > PORTS {
            let why = format_args!("only the first {PORTS} of its {} ports are counted", ports.len());
            missing.push(Missing::new(FACT, why));
        }
        let ports: Vec<u16> = ports.iter().copied().take(PORTS).collect();
        for (place, port) in (0u32..).zip(&ports) {
            let inserted = tables.ports.insert(u32::from(*port), place, 0);
            inserted.map_err(|e| Missing::new(FACT, format_args!("port {port}: {e}")))?;
        }
        Ok(Self { tables, ports, began_ns: 0, ended_ns: 0, missing, _loaded: loaded })
    }

    /// Counts from now on.
    pub fn start(&mut self) {
        self.began_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(RequestControl, began_ns), self.began_ns);
    }

    /// Counts no longer.
    pub fn stop(&mut self) {
        self.ended_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(RequestControl, ended_ns), self.ended_ns);
    }

    /// What was seen between the two.
    pub fn end(mut self) -> Requests {
        let lost = self.tables.control.get(0).map_or(0, |control| control.lost);
        if lost > 0 {
            let why = format_args!(
                "{lost} times there was no room for the connection: more than 65,536 of them are open"
            );
            self.missing.push(Missing::new("requests of some connections", why));
        }
        let mut ports = Vec::new();
        for (place, port) in (0u32..).zip(&self.ports) {
            let mut requests = PortRequests { port: *port, ..PortRequests::default() };
            match self.tables.sums.get(&place, 0) {
                Ok(by_cpu) => by_cpu.iter().for_each(|seen| requests.add(seen)),
                Err(e) => self.missing.push(Missing::new(format_args!("requests to port {port}"), e)),
            }
            if requests.read > 0 || requests.answered > 0 {
                ports.push(requests);
            }
        }
        let window_s = self.ended_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        Requests { window_s, ports, missing: self.missing }
    }
}

/// The inode of a process's network namespace, by which the kernel distinguishes them: `net:[4026531840]`.
fn network_inum(root: &Root, pid: u32) -> Result<u32, Missing> {
    let link = root.link(format!("/proc/{pid}/ns/net"));
    let link =
        link.map_err(|e| Missing::new(FACT, format_args!("network namespace of process {pid}: {e}")))?;
    let text = link.to_string_lossy();
    let inum = text.strip_prefix("net:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
    inum.ok_or_else(|| Missing::new(FACT, format_args!("network namespace of process {pid}: it is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cpus_saw_is_added_up() {
        let mut steps = [0; crate::bpf::BUCKETS];
        steps[40] = 2;
        let seen = PortSeen {
            read: 2,
            waited_ns: 3_000,
            answered: 1,
            served_ns: u64::MAX,
            waited_steps: steps,
            served_steps: steps,
        };
        let mut sum = PortRequests { port: 80, ..PortRequests::default() };
        sum.add(&seen);
        sum.add(&seen);
        assert_eq!((sum.read, sum.waited_ns, sum.answered, sum.served_ns), (4, 6_000, 2, u64::MAX));
        assert_eq!((sum.waited.count(), sum.mean_waited_us()), (4, Some(1.5)));
        assert_eq!(PortRequests::default().mean_served_us(), None);
    }

    #[test]
    fn a_namespace_is_known_by_its_inode() {
        let root = Root::live();
        assert!(network_inum(&root, std::process::id()).unwrap() > 0);
        assert!(network_inum(&root, u32::MAX).unwrap_err().why.contains("4294967295"));
    }

    #[test]
    fn a_server_without_ports_has_none() {
        let root = Root::live();
        let refused = CountingRequests::prepare(&root, std::process::id(), &[]).err().unwrap();
        assert!(refused.why.contains("no TCP port"), "{refused:?}");
    }
}
