//! Requests of the last moments, and of all since counting began, for a screen.

use std::collections::VecDeque;

use machine::Missing;

use crate::requests::{PortRequests, Requests};

/// Sums of what [`CountingRequests::take`](crate::requests::CountingRequests::take) gives, one reading after the other.
#[derive(Debug)]
pub struct RequestLookBack {
    /// How many readings are looked back.
    readings: usize,
    /// The last of them, the newest last.
    last: VecDeque<Requests>,
    /// The sum of all.
    total: Requests,
}

impl RequestLookBack {
    /// For sums of the last so many readings.
    pub fn over(readings: usize) -> Self {
        Self { readings, last: VecDeque::new(), total: Requests::default() }
    }

    /// Takes in what came since the last reading.
    pub fn add(&mut self, requests: Requests) {
        add(&mut self.total, &requests);
        self.last.push_back(requests);
        if self.last.len() > self.readings {
            self.last.pop_front();
        }
    }

    /// What came in the last readings.
    pub fn now(&self) -> Requests {
        let mut sum = Requests::default();
        self.last.iter().for_each(|requests| add(&mut sum, requests));
        sum
    }

    /// Everything since counting began.
    pub fn total(&self) -> Requests {
        self.total.clone()
    }
}

/// Adds what came later.
fn add(sum: &mut Requests, later: &Requests) {
    sum.window_s += later.window_s;
    for port in &later.ports {
        match sum.ports.iter_mut().find(|known| known.at == port.at) {
            Some(known) => add_to_port(known, port),
            None => sum.ports.push(port.clone()),
        }
    }
    Missing::add_new(&mut sum.missing, &later.missing);
}

/// Adds what came to the same port or Unix socket later. Clients are in no reading.
fn add_to_port(sum: &mut PortRequests, later: &PortRequests) {
    sum.add_counts(later);
    sum.waited.merge(&later.waited);
    sum.served.merge(&later.served);
    sum.took.merge(&later.took);
    sum.checked.merge(&later.checked);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Endpoint;

    /// So many requests to a port in a second, each of which waited for some 10 us.
    fn reading(port: u16, count: u64) -> Requests {
        let waited = serde_json::from_str(&format!("[[53,{count}]]")).unwrap();
        let port = PortRequests {
            read: count,
            waited_ns: 10_000 * count,
            answered: count,
            served_ns: 20_000 * count,
            waited,
            ..PortRequests::at(Endpoint::Port(port))
        };
        Requests { window_s: 1.0, ports: vec![port], missing: Vec::new() }
    }

    fn answered(requests: &Requests) -> Vec<(Endpoint, u64, u64)> {
        requests.ports.iter().map(|port| (port.at.clone(), port.answered, port.waited.count())).collect()
    }

    #[test]
    fn the_last_readings_are_summed_up_by_port_and_so_are_all() {
        let mut seen = RequestLookBack::over(2);
        assert_eq!(seen.now(), Requests::default());
        for (port, count) in [(80, 5), (80, 3), (443, 2), (80, 4)] {
            seen.add(reading(port, count));
        }
        let now = seen.now();
        assert_eq!(answered(&now), [(Endpoint::Port(443), 2, 2), (Endpoint::Port(80), 4, 4)]);
        let total = seen.total();
        assert_eq!(answered(&total), [(Endpoint::Port(80), 12, 12), (Endpoint::Port(443), 2, 2)]);
        assert_eq!((now.window_s, total.window_s), (2.0, 4.0));
        assert_eq!((total.ports[0].waited_ns, total.ports[0].served_ns), (120_000, 240_000));
        assert_eq!((total.ports[0].overlapping, total.ports[0].continued), (Some(0), Some(0)));
    }

    #[test]
    fn readings_without_requests_are_time_and_what_is_missing_is_named_once() {
        let mut seen = RequestLookBack::over(3);
        for _ in 0..2 {
            let missing = vec![Missing::new("requests to port 80", "gone")];
            seen.add(Requests { window_s: 1.0, ports: Vec::new(), missing });
        }
        assert_eq!((seen.now().window_s, seen.now().ports.len(), seen.now().missing.len()), (2.0, 0, 1));
    }
}
