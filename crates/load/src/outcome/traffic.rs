//! The traffic that a server has of its own: how much, from how many, and what it cost, by slices of time. Pure.

mod noise;

use std::collections::BTreeMap;

use probe::requests::{self, Endpoint};
use serde::{Deserialize, Serialize};

pub use self::noise::Noise;
use crate::guard::Ages;

/// How long a block of slices is at least, ns: a tenth of a second, less what a timer may be early. Guards judge such blocks, too.
pub(crate) const LEAST_BLOCK_NS: u64 = 90_000_000;

/// What came to a server by itself during a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Its rate; `None` where requests were not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// By port and Unix socket, those with most requests first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortTraffic>,
    /// Connections that were open at the end and had a request in the run; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Whether requests of some port overlapped or came in pieces, so that counts are of reads; `None` where none did, and of some port it
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_reads: Option<bool>,
    /// Requests that were slower than a guard of latency allows; `None` without guards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_requests: Option<u64>,
    /// Requests by the time for which they went without an answer, those that were not answered among them; `None` without guards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ages: Option<Ages>,
    /// How exactly means are known, by name: of the measured window of a trial. Empty of a run that is no trial.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<String, Noise>,
    /// Slices of time, in order; they are those of the outcome's intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceSums>,
    /// Figures from the server itself, in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSlice>,
}

/// The rate of requests over the slices of a run, requests/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Of the whole run.
    pub mean_per_s: f64,
    /// Of the slice with the lowest.
    pub least_per_s: f64,
    /// Of the slice with the highest.
    pub most_per_s: f64,
}

/// What came to one port or one Unix socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortTraffic {
    /// Where.
    #[serde(flatten)]
    pub at: Endpoint,
    /// Requests that were answered.
    pub requests: u64,
    /// Their share of all that were, 0 to 1.
    pub share: f64,
    /// Clients by address; 64 stands for 64 and more. `None` where they are not known: of Unix sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64>,
    /// What the count counts; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<requests::Counted>,
}

/// Sums of one slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SliceSums {
    /// Start, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Requests that were read.
    pub read: u64,
    /// Their wait in the sockets, all together, ns.
    pub waited_ns: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// The time from read to answer, all together, ns.
    pub served_ns: u64,
    /// CPU time of the server's processes, ns; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
}

/// Figures of the server itself between two readings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MetricSlice {
    /// The first reading, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// The second, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// By name; one that could not be had is not in it.
    pub figures: BTreeMap<String, f64>,
    /// Those that say by how much something grew between the two, which add up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grown: BTreeMap<String, f64>,
}

impl MetricSlice {
    /// Its length, s.
    fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }
}

impl Rate {
    /// The rate over these slices; `None` where there are none.
    pub fn of(slices: &[SliceSums]) -> Option<Self> {
        let rates = slices.iter().filter_map(|slice| Some(slice.answered as f64 / slice.seconds()?));
        let (least_per_s, most_per_s) = rates
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), rate| {
                (least.min(rate), most.max(rate))
            });
        let seconds: f64 = slices.iter().filter_map(SliceSums::seconds).sum();
        let answered: f64 = slices.iter().map(|slice| slice.answered as f64).sum();
        (seconds > 0.0).then(|| Self { mean_per_s: answered / seconds, least_per_s, most_per_s })
    }
}

impl SliceSums {
    /// Its length, s; `None` where it has none.
    fn seconds(&self) -> Option<f64> {
        let length_ns = self.to_ns.saturating_sub(self.from_ns);
        (length_ns > 0).then(|| length_ns as f64 / 1e9)
    }

    /// Means of what is in the slice, by name: see [`Traffic::figures`].
    pub fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        let mean_us = |sum_ns: u64, count: u64| (count > 0).then(|| sum_ns as f64 / count as f64 / 1e3);
        let wait_us = mean_us(self.waited_ns, self.read);
        let service_us = mean_us(self.served_ns, self.answered);
        let cpu_us = self.cpu_ns.and_then(|cpu_ns| mean_us(cpu_ns, self.answered));
        for (name, figure) in [
            ("latency_wait_us", wait_us),
            ("latency_service_us", service_us),
            ("latency_mean_us", wait_us.zip(service_us).map(|(wait, service)| wait + service)),
            ("cpu_us_per_request", cpu_us),
        ] {
            figures.extend(figure.map(|figure| (name.to_string(), figure)));
        }
        figures
    }

    /// Two slices as one, which begins with the first and ends with the second.
    fn and(self, next: &Self) -> Self {
        Self {
            from_ns: self.from_ns,
            to_ns: next.to_ns,
            read: self.read.saturating_add(next.read),
            waited_ns: self.waited_ns.saturating_add(next.waited_ns),
            answered: self.answered.saturating_add(next.answered),
            served_ns: self.served_ns.saturating_add(next.served_ns),
            cpu_ns: self.cpu_ns.zip(next.cpu_ns).map(|(sum, more)| sum.saturating_add(more)),
        }
    }
}

impl Traffic {
    /// The figures of the slices that lie wholly inside `from_ns`..=`to_ns` (CLOCK_MONOTONIC), beside those of the intervals: the mean wait
    /// in the socket (`latency_wait_us`), the mean service (`latency_service_us`), their sum (`latency_mean_us`), the server's CPU time by
    /// request (`cpu_us_per_request`), and the figures of the server itself. Of these a rate is exact; what grew is scaled to the whole
    /// time where its readings do not cover it; of all others it is the mean over the readings, weighted by time, and a mean of quantiles
    /// is no quantile. What nothing is known of is not in it.
    pub fn figures(&self, from_ns: u64, to_ns: u64) -> BTreeMap<String, f64> {
        let (slices, readings) = self.inside(from_ns, to_ns);
        let whole = slices.into_iter().reduce(|whole, slice| whole.and(&slice));
        let mut figures = whole.map(|whole| whole.figures()).unwrap_or_default();
        let (mut sums, mut grown) =
            (BTreeMap::<&str, (f64, f64)>::new(), BTreeMap::<&str, (f64, f64)>::new());
        for slice in readings {
            let seconds = slice.seconds();
            for (name, figure) in &slice.figures {
                let (sum, length_s) = sums.entry(name).or_default();
                *sum += figure * seconds;
                *length_s += seconds;
            }
            for (name, more) in &slice.grown {
                let (sum, length_s) = grown.entry(name).or_default();
                *sum += more;
                *length_s += seconds;
            }
        }
        // Else a baseline with fewer readings would seem to have fewer errors.
        let whole_s = to_ns.saturating_sub(from_ns) as f64 / 1e9;
        let grown = grown.into_iter().filter(|(_, (_, length_s))| *length_s > 0.0);
        figures.extend(grown.map(|(name, (sum, length_s))| (name.to_string(), sum * whole_s / length_s)));
        let means = sums.into_iter().filter(|(_, (_, length_s))| *length_s > 0.0);
        figures.extend(means.map(|(name, (sum, length_s))| (name.to_string(), sum / length_s)));
        figures
    }

    /// How exactly those of these figures are known that are means: see [`Traffic::figures`].
    pub fn noise_within(&self, from_ns: u64, to_ns: u64) -> BTreeMap<String, Noise> {
        let (slices, readings) = self.inside(from_ns, to_ns);
        noise::noise(&slices, &readings)
    }

    /// Slices and readings that lie wholly inside `from_ns`..=`to_ns`.
    fn inside(&self, from_ns: u64, to_ns: u64) -> (Vec<SliceSums>, Vec<&MetricSlice>) {
        let is_inside = |from: u64, to: u64| from >= from_ns && to <= to_ns;
        let slices = self.slices.iter().filter(|slice| is_inside(slice.from_ns, slice.to_ns));
        let readings = self.metrics.iter().filter(|slice| is_inside(slice.from_ns, slice.to_ns));
        (slices.copied().collect(), readings.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(tenth: u64, answered: u64) -> SliceSums {
        SliceSums {
            from_ns: tenth * 100_000_000,
            to_ns: (tenth + 1) * 100_000_000,
            read: answered,
            waited_ns: 2_000 * answered,
            answered,
            served_ns: 10_000 * answered,
            cpu_ns: Some(8_000 * answered),
        }
    }

    #[test]
    fn figures_are_those_of_the_slices_inside() {
        let slow = SliceSums { waited_ns: 900_000_000, ..slice(0, 5) };
        let traffic = Traffic { slices: vec![slow, slice(1, 10), slice(2, 30)], ..Traffic::default() };
        let figures = traffic.figures(100_000_000, 300_000_000);
        assert_eq!((figures["latency_wait_us"], figures["latency_service_us"]), (2.0, 10.0));
        assert_eq!((figures["latency_mean_us"], figures["cpu_us_per_request"]), (12.0, 8.0));
        assert!(traffic.figures(0, 300_000_000)["latency_wait_us"] > 1_000.0);
    }

    #[test]
    fn what_is_not_known_and_what_nobody_asked_for_has_no_figure() {
        let unknown = SliceSums { cpu_ns: None, ..slice(1, 10) };
        let traffic = Traffic { slices: vec![slice(0, 10), unknown], ..Traffic::default() };
        assert!(!traffic.figures(0, u64::MAX).contains_key("cpu_us_per_request"));
        let lull = Traffic { slices: vec![slice(0, 0)], ..Traffic::default() };
        assert!(lull.figures(0, u64::MAX).is_empty() && Traffic::default().figures(0, u64::MAX).is_empty());
        assert_eq!(Rate::of(&[]), None);
    }

    #[test]
    fn a_rate_has_its_extremes() {
        let rate = Rate::of(&[slice(0, 10), slice(1, 0), slice(2, 20)]).unwrap();
        assert_eq!((rate.least_per_s, rate.most_per_s), (0.0, 200.0));
        assert!((rate.mean_per_s - 100.0).abs() < 1e-9);
    }

    #[test]
    fn figures_of_the_server_are_weighted_by_time() {
        let metric = |from_ns, to_ns, value| MetricSlice {
            from_ns,
            to_ns,
            figures: BTreeMap::from([("hits_per_s".to_string(), value)]),
            grown: BTreeMap::from([("errors".to_string(), 1.0)]),
        };
        let metrics = vec![metric(0, 1_000, 9.0), metric(1_000, 2_000, 10.0), metric(2_000, 5_000, 50.0)];
        let traffic = Traffic { metrics, ..Traffic::default() };
        let figures = traffic.figures(1_000, 5_000);
        assert!((figures["hits_per_s"] - 40.0).abs() < 1e-9 && figures["errors"] == 2.0, "{figures:?}");
        // Readings cover four of six parts of the time.
        assert_eq!(traffic.figures(1_000, 7_000)["errors"], 3.0);
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let port = PortTraffic {
            at: Endpoint::Port(80),
            requests: 3,
            share: 1.0,
            clients: Some(2),
            counted: Some(requests::Counted::Requests),
        };
        let traffic = Traffic { ports: vec![port], slices: vec![slice(1, 3)], ..Traffic::default() };
        let text = serde_json::to_string(&traffic).unwrap();
        assert_eq!(serde_json::from_str::<Traffic>(&text).unwrap(), traffic, "{text}");
        assert_eq!(serde_json::from_str::<Traffic>("{}").unwrap(), Traffic::default());
    }
}
