//! Where softirqs ran during a trial, from its observation: pure.

use std::collections::BTreeMap;

use machine::{CpuSet, Placement};
use probe::Observation;

/// Units of the figures.
pub(super) const UNITS: [(&str, &str); 3] =
    [(ON_SERVER, "CPUs"), (ON_LOAD, "CPUs"), (NET_RX_ON_SERVER, "share")];

const ON_SERVER: &str = "softirq_server_cpus";
const ON_LOAD: &str = "softirq_load_cpus";
const NET_RX_ON_SERVER: &str = "net_rx_server_share";

/// Softirq time on the CPUs of the server and on those of the load, in CPUs, and the share of network receive runs that fell on the
/// server's; where the placement keeps the two apart, and as far as it is known. Kernels without IRQ_TIME_ACCOUNTING take the time from
/// samples at the tick, and all of them charge it to the thread that it interrupts too.
pub(super) fn figures(observation: &Observation, placement: &Placement) -> BTreeMap<String, f64> {
    let (Some(server), Some(load)) = (&placement.server_cpus, &placement.load_cpus) else {
        return BTreeMap::new();
    };
    if !server.intersection(load).is_empty() {
        return BTreeMap::new();
    }
    let per_s = |probe: &str, name: &str, cpus: &CpuSet| {
        cpus.iter().map(|cpu| observation.rate(probe, name, cpu)).sum::<Option<f64>>()
    };
    let busy = |cpus: &CpuSet| per_s("stat", "softirq", cpus).map(|us| us / 1e6);
    let receives = |cpus: &CpuSet| per_s("softirqs", "NET_RX", cpus);
    let share = receives(server)
        .zip(receives(load))
        .filter(|(server, load)| server + load > 0.0)
        .map(|(server, load)| server / (server + load));
    let figures = [(ON_SERVER, busy(server)), (ON_LOAD, busy(load)), (NET_RX_ON_SERVER, share)];
    figures.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Counter;

    fn counter(probe: &str, name: &str, by_cpu: &[(u32, u64)]) -> Counter {
        Counter {
            probe: probe.into(),
            name: name.into(),
            label: String::new(),
            unit: String::new(),
            by_cpu: by_cpu.iter().copied().collect(),
        }
    }

    fn apart(server: &str, load: &str) -> Placement {
        let cpus = |list| Some(CpuSet::from_list(list).unwrap());
        Placement { server_cpus: cpus(server), load_cpus: cpus(load), ..Placement::default() }
    }

    #[test]
    fn softirqs_are_told_by_whose_cpu_they_ran_on() {
        let counters = vec![
            counter("stat", "softirq", &[(0, 250_000), (1, 500_000)]),
            counter("softirqs", "NET_RX", &[(0, 300), (1, 100)]),
        ];
        let seen = Observation { to_ns: 1_000_000_000, counters, ..Observation::default() };
        let told = figures(&seen, &apart("0", "1"));
        assert_eq!((told[ON_SERVER], told[ON_LOAD], told[NET_RX_ON_SERVER]), (0.25, 0.5, 0.75));
        assert!(UNITS.iter().all(|(name, _)| told.contains_key(*name)));
        assert!(figures(&seen, &apart("0", "0-1")).is_empty(), "together they cannot be told apart");
        assert!(figures(&seen, &Placement::default()).is_empty());
    }

    #[test]
    fn what_was_not_read_is_not_told() {
        let seen = Observation { to_ns: 1_000_000_000, ..Observation::default() };
        assert!(figures(&seen, &apart("0", "1")).is_empty());
    }
}
