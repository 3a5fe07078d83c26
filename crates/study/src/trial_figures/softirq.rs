//! Where softirqs ran during a trial, from its observation: pure.

use machine::{CpuSet, Missing, Placement};
use probe::Observation;

use super::trial_figure::{Measured, TrialFigure};

/// Softirq time on the CPUs of the server.
pub(super) static ON_SERVER: TrialFigure =
    TrialFigure { name: "softirq_server_cpus", unit: Some("CPUs"), direction: None, of: softirq_server_cpus };

/// Softirq time on the CPUs of the load.
pub(super) static ON_LOAD: TrialFigure =
    TrialFigure { name: "softirq_load_cpus", unit: Some("CPUs"), direction: None, of: softirq_load_cpus };

/// The share of network receive runs that fell on the server's CPUs.
pub(super) static NET_RX_ON_SERVER: TrialFigure = TrialFigure {
    name: "net_rx_server_share",
    unit: Some("share"),
    direction: None,
    of: net_rx_server_share,
};

fn softirq_server_cpus(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(apart(measured.placement).and_then(|(server, _)| softirq_cpus(measured.observation, server)))
}

fn softirq_load_cpus(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(apart(measured.placement).and_then(|(_, load)| softirq_cpus(measured.observation, load)))
}

fn net_rx_server_share(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    let receives = |cpus: &CpuSet| per_s(measured.observation, "softirqs", "NET_RX", cpus);
    let share = apart(measured.placement)
        .and_then(|(server, load)| receives(server).zip(receives(load)))
        .filter(|(server, load)| server + load > 0.0)
        .map(|(server, load)| server / (server + load));
    Ok(share)
}

/// The CPUs of server and load, where the placement keeps the two apart.
fn apart(placement: &Placement) -> Option<(&CpuSet, &CpuSet)> {
    let both = placement.server_cpus.as_ref().zip(placement.load_cpus.as_ref());
    both.filter(|(server, load)| server.intersection(load).is_empty())
}

/// Softirq time in CPUs. Kernels without IRQ_TIME_ACCOUNTING take it from samples at the tick, and all of them charge it to the thread
/// that it interrupts too.
fn softirq_cpus(observation: &Observation, cpus: &CpuSet) -> Option<f64> {
    per_s(observation, "stat", "softirq", cpus).map(|us| us / 1e6)
}

fn per_s(observation: &Observation, probe: &str, name: &str, cpus: &CpuSet) -> Option<f64> {
    cpus.iter().map(|cpu| observation.rate(probe, name, cpu)).sum()
}

#[cfg(test)]
mod tests {
    use probe::Counter;

    use super::*;

    fn counter(probe: &str, name: &str, by_cpu: &[(u32, u64)]) -> Counter {
        Counter {
            probe: probe.into(),
            name: name.into(),
            label: String::new(),
            unit: String::new(),
            by_cpu: by_cpu.iter().copied().collect(),
        }
    }

    fn placed(server: &str, load: &str) -> Placement {
        let cpus = |list| Some(CpuSet::from_list(list).unwrap());
        Placement { server_cpus: cpus(server), load_cpus: cpus(load), ..Placement::default() }
    }

    /// Softirq time on server and load, and the share of receive work on the server.
    fn figures(observation: &Observation, placement: &Placement) -> [Option<f64>; 3] {
        let measured = Measured { placement, ..Measured::by_observation(observation) };
        [&ON_SERVER, &ON_LOAD, &NET_RX_ON_SERVER].map(|figure| (figure.of)(&measured).unwrap())
    }

    #[test]
    fn softirqs_are_counted_by_whose_cpu_they_ran_on() {
        let counters = vec![
            counter("stat", "softirq", &[(0, 250_000), (1, 500_000)]),
            counter("softirqs", "NET_RX", &[(0, 300), (1, 100)]),
        ];
        let seen = Observation { to_ns: 1_000_000_000, counters, ..Observation::default() };
        assert_eq!(figures(&seen, &placed("0", "1")), [Some(0.25), Some(0.5), Some(0.75)]);
        assert_eq!(figures(&seen, &placed("0", "0-1")), [None; 3], "together they cannot be distinguished");
        assert_eq!(figures(&seen, &Placement::default()), [None; 3]);
    }

    #[test]
    fn what_was_not_read_is_not_reported() {
        let seen = Observation { to_ns: 1_000_000_000, ..Observation::default() };
        assert_eq!(figures(&seen, &placed("0", "1")), [None; 3]);
    }
}
