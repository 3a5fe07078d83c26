use std::collections::BTreeMap;

use probe::account::Distribution;
use probe::requests::{Endpoint, PeerRequests};
use proptest::prelude::*;

use super::*;

const TENTH_NS: u64 = 100_000_000;

/// A distribution as a record has it: steps with their counts.
fn steps(steps: &[(usize, u64)]) -> Distribution {
    serde_json::from_str(&serde_json::to_string(steps).unwrap()).unwrap()
}

/// So many requests that took some 26 us.
fn port(port: u16, requests: u64) -> PortRequests {
    let lengths =
        |step: usize| if requests > 0 { steps(&[(step, requests)]) } else { Distribution::default() };
    PortRequests {
        read: requests,
        waited_ns: 2_000 * requests,
        answered: requests,
        served_ns: 20_000 * requests,
        waited: lengths(44),
        served: lengths(57),
        took: lengths(58),
        ..PortRequests::at(Endpoint::Port(port))
    }
}

fn seen(ports: Vec<PortRequests>) -> Requests {
    Requests { window_s: 0.1, ports, missing: Vec::new() }
}

fn tenth(number: u64) -> Span {
    Span { from_ns: number * TENTH_NS, to_ns: (number + 1) * TENTH_NS }
}

fn run(slices: &[Requests]) -> Outcome {
    let mut all = Slices::default();
    for (number, requests) in (0..).zip(slices) {
        all.add(tenth(number), requests, Some(5_000));
    }
    let span = Span { from_ns: 0, to_ns: slices.len() as u64 * TENTH_NS };
    outcome(span, all, Rest::default())
}

#[test]
fn a_slice_has_the_requests_of_all_ports() {
    let (sums, latency) =
        Slices::default().add(tenth(3), &seen(vec![port(80, 3), port(443, 2)]), Some(50_000));
    assert_eq!((sums.read, sums.answered, latency.count()), (5, 5, 5));
    assert_eq!(sums.figures()["cpu_us_per_request"], 10.0);
    // Step 58 begins at 24,576 ns.
    let p50_us = latency.figures()["latency_p50_us"];
    assert!((24.0..29.0).contains(&p50_us), "{p50_us}");
}

#[test]
fn a_request_whose_arrival_was_not_seen_has_no_latency() {
    let (sums, unknown) = Slices::default().add(
        tenth(0),
        &seen(vec![PortRequests { took: Distribution::default(), ..port(80, 4) }]),
        None,
    );
    assert_eq!((sums.answered, unknown.count()), (4, 0));
}

#[test]
fn the_mix_is_by_port_and_the_clients_are_those_of_the_whole_run() {
    let mut slices = Slices::default();
    slices.add(tenth(0), &seen(vec![port(80, 1), port(443, 3)]), None);
    let peer = |address: Option<&str>| PeerRequests {
        address: address.map(|text| text.parse().unwrap()),
        read: 1,
        waited_ns: 1,
        answered: 1,
        served_ns: 1,
    };
    let peers = vec![peer(Some("10.0.0.1")), peer(Some("10.0.0.2")), peer(None)];
    let whole = seen(vec![PortRequests { peers, ..port(443, 3) }]);
    let rest = Rest { whole: Some(whole), connections: Some(7), ..Rest::default() };
    let traffic = outcome(tenth(0), slices, rest).traffic.unwrap();
    let mix: Vec<_> = traffic.ports.iter().map(|port| (port.at.clone(), port.share, port.clients)).collect();
    assert_eq!(mix, [(Endpoint::Port(443), 0.75, Some(2)), (Endpoint::Port(80), 0.25, None)]);
    assert_eq!((traffic.connections, traffic.by_reads), (Some(7), Some(false)));
}

#[test]
fn requests_that_overlap_anywhere_are_counted_by_reads() {
    let several = PortRequests { overlapping: Some(50), ..port(80, 100) };
    assert_eq!(run(&[seen(vec![several, port(81, 100)])]).traffic.unwrap().by_reads, Some(true));
    let unknown = PortRequests { read: 9, answered: 9, ..PortRequests::at(Endpoint::Unix("/run/a".into())) };
    assert_eq!(run(&[seen(vec![unknown.clone(), port(81, 100)])]).traffic.unwrap().by_reads, None);
    assert_eq!(run(&[seen(vec![unknown])]).traffic.unwrap().by_reads, None);
    let batches = PortRequests { rewritten: Some(50), ..port(80, 100) };
    assert_eq!(run(&[seen(vec![batches])]).traffic.unwrap().by_reads, None);
}

#[test]
fn a_lull_has_a_rate_and_no_latency_and_nothing_is_said_of_failures() {
    let outcome = run(&[seen(Vec::new()), seen(Vec::new())]);
    assert_eq!((outcome.figures["requests_per_s"], outcome.figures.get("failed")), (0.0, None));
    assert!(
        !outcome.figures.contains_key("latency_p99_us")
            && !outcome.figures.contains_key("cpu_us_per_request")
    );
    assert!(outcome.missing.iter().any(|missing| missing.fact.contains("latency")), "{:?}", outcome.missing);
}

#[test]
fn without_requests_the_figures_are_those_of_the_server_itself() {
    let figures = BTreeMap::from([("hits_per_s".to_string(), 12.0)]);
    let metrics = vec![MetricSlice { from_ns: 1, to_ns: 2, figures, grown: BTreeMap::new() }];
    let outcome = outcome(tenth(0), Slices::default(), Rest { metrics, ..Rest::default() });
    assert_eq!(outcome.figures, BTreeMap::from([("hits_per_s".to_string(), 12.0)]));
    assert!(outcome.intervals.is_empty() && outcome.traffic.unwrap().rate.is_none());
}

proptest! {
    #[test]
    fn slices_add_up_to_the_outcome(
        requests in prop::collection::vec((0u64..500, 0u64..500), 1..20),
    ) {
        let slices: Vec<Requests> =
            requests.iter().map(|(one, other)| seen(vec![port(80, *one), port(81, *other)])).collect();
        let outcome = run(&slices);
        let all: u64 = requests.iter().map(|(one, other)| one + other).sum();
        prop_assert_eq!(outcome.intervals.iter().map(|interval| interval.completed).sum::<u64>(), all);
        prop_assert_eq!(outcome.figures["completed"], all as f64);
        let traffic = outcome.traffic.as_ref().unwrap();
        prop_assert_eq!(traffic.ports.iter().map(|port| port.requests).sum::<u64>(), all);
        prop_assert_eq!(traffic.slices.iter().map(|slice| slice.answered).sum::<u64>(), all);
        prop_assert_eq!(outcome.latency(0, u64::MAX).unwrap().count(), all);
        if all > 0 {
            prop_assert_eq!(outcome.figures["latency_wait_us"], 2.0);
            prop_assert_eq!(outcome.figures["latency_service_us"], 20.0);
            let cpu_us = 5.0 * requests.len() as f64 / all as f64;
            prop_assert!((outcome.figures["cpu_us_per_request"] - cpu_us).abs() < 1e-9);
        }
        let text = serde_json::to_string(&outcome).unwrap();
        prop_assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap().intervals, outcome.intervals);
    }
}
