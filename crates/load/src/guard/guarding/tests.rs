use super::*;
use crate::guard::{Limit, Relation};
use crate::outcome::latency::Latency;

fn guards(texts: &[&str]) -> Vec<Guard> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn guarding(texts: &[&str]) -> Guarding {
    Guarding::new(guards(texts), None).unwrap()
}

/// The usual guards beside a baseline of 1000 requests a second.
fn usual() -> Guarding {
    let figures = [
        ("latency_p99_us", 10_000.0),
        ("cpu_us_per_request", 50.0),
        ("errors", 0.0),
        ("requests_per_s", 1000.0),
    ];
    let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
    Guarding::new(Guard::usual(), Some(Reference { figures, requests: 10_000 })).unwrap()
}

/// So many requests of one latency.
fn slice(from_ms: u64, to_ms: u64, requests: u64, latency_us: u64, figures: &[(&str, f64)]) -> Slice {
    let mut latency = Latency::new();
    (0..requests).for_each(|_| latency.record_ns(latency_us * 1000));
    let figures = figures.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    Slice { from_ns: from_ms * 1_000_000, to_ns: to_ms * 1_000_000, requests, latency, figures }
}

/// The first breach in so many slices of 100 ms that are alike.
fn alike(
    guarding: &mut Guarding,
    slices: u64,
    requests: u64,
    latency_us: u64,
    figures: &[(&str, f64)],
) -> Option<Breach> {
    (0..slices).find_map(|at| guarding.look(&slice(at * 100, at * 100 + 100, requests, latency_us, figures)))
}

#[test]
fn a_p99_of_ten_times_the_limit_is_a_breach_within_a_hundred_requests() {
    let mut guarding = guarding(&["latency_p99_us <= 20000"]);
    let breach = alike(&mut guarding, 600, 20, 200_000, &[]).unwrap();
    assert_eq!((breach.requests, breach.seen_ns, breach.slice_began_ns), (100, 500_000_000, 400_000_000));
    assert!((breach.value / 200_000.0 - 1.0).abs() < 0.001 && breach.limit == 20_000.0, "{breach:?}");
    assert_eq!(breach.certainty, Certainty::Inferred { false_breach: FALSE_BREACH });
    assert_eq!((breach.guard.as_str(), guarding.slow_requests()), ("latency_p99_us <= 20000", Some(100)));
}

#[test]
fn the_usual_guards_end_gross_harm_of_each_kind_and_leave_traffic_like_the_baseline_alone() {
    let good = [("cpu_us_per_request", 50.0), ("errors", 0.0)];
    let mut same = usual();
    assert_eq!(alike(&mut same, 100, 100, 5_000, &good), None);
    assert_eq!((same.not_judged(), same.slow_requests()), (vec![], Some(0)));
    let slow = alike(&mut usual(), 100, 20, 100_000, &good).unwrap();
    assert!(
        slow.figure == "latency_p99_us" && slow.limit == 20_000.0 && slow.seen_ns <= 700_000_000,
        "{slow:?}"
    );
    let costly = alike(&mut usual(), 20, 100, 5_000, &[("cpu_us_per_request", 500.0)]).unwrap();
    assert!(costly.figure == "cpu_us_per_request" && costly.limit == 75.0, "{costly:?}");
    assert!((costly.value - 500.0).abs() < 1e-6, "{costly:?}");
    let failing = alike(&mut usual(), 20, 100, 5_000, &[("errors", 50.0)]).unwrap();
    assert!(failing.figure == "errors" && failing.limit == 0.0 && failing.value >= 100.0, "{failing:?}");
}

#[test]
fn errors_that_are_counted_every_half_second_are_of_all_requests_since() {
    let figures =
        [("latency_p99_us", 10_000.0), ("errors", 100.0)].map(|(name, value)| (name.to_string(), value));
    let reference = Reference { figures: figures.into(), requests: 10_000 };
    let mut guarding = Guarding::new(guards(&["errors <= 1.5 x baseline"]), Some(reference)).unwrap();
    // One in a hundred, as in the baseline: five a reading of 500 requests. All at once, they would be one in twenty.
    for at in 0..600 {
        let errors: &[(&str, f64)] = if at % 5 == 4 { &[("errors", 5.0)] } else { &[] };
        assert_eq!(guarding.look(&slice(at * 100, at * 100 + 100, 100, 5_000, errors)), None);
    }
    let breach = (600..800).find_map(|at| {
        let errors: &[(&str, f64)] = if at % 5 == 4 { &[("errors", 100.0)] } else { &[] };
        guarding.look(&slice(at * 100, at * 100 + 100, 100, 5_000, errors))
    });
    assert!(breach.is_some_and(|breach| breach.value > breach.limit));
    // Those that failed before they were answered.
    assert_eq!(alike(&mut usual(), 20, 0, 0, &[("errors", 50.0)]).unwrap().figure, "errors");
}

#[test]
fn a_mean_latency_is_of_the_requests_and_a_lull_excuses_it_not() {
    let figures = [("latency_mean_us", 100.0), ("requests_per_s", 1000.0)]
        .map(|(name, value)| (name.to_string(), value));
    let reference = Reference { figures: figures.into(), requests: 10_000 };
    let mut guarding = Guarding::new(guards(&["latency_mean_us <= 2 x baseline"]), Some(reference)).unwrap();
    let breach = alike(&mut guarding, 40, 10, 900, &[("latency_mean_us", 900.0)]).unwrap();
    assert!((breach.value - 900.0).abs() < 1e-6 && breach.limit == 200.0, "{breach:?}");
}

#[test]
fn a_lull_is_no_breach() {
    assert_eq!(alike(&mut usual(), 100, 0, 0, &[("cpu_us_per_request", 500.0), ("errors", 0.0)]), None);
    // A tenth of the traffic: what the server does anyhow is shared by few requests.
    assert_eq!(alike(&mut usual(), 100, 10, 5_000, &[("cpu_us_per_request", 500.0)]), None);
}

#[test]
fn one_stall_is_no_breach_however_many_requests_wait_for_its_end() {
    let mut guarding = guarding(&["latency_p99_us <= 20000"]);
    for at in 0..50 {
        let (requests, latency_us) = if at == 4 { (1000, 200_000) } else { (100, 5_000) };
        assert_eq!(guarding.look(&slice(at * 100, at * 100 + 100, requests, latency_us, &[])), None);
    }
    assert_eq!(guarding.slow_requests(), Some(1000));
}

#[test]
fn how_often_one_looks_changes_nothing() {
    let seen_ns = |step_ms: u64| {
        let mut guarding = guarding(&["latency_p99_us <= 20000"]);
        let from_ms = |look: u64| look * step_ms;
        // A request each 10 ms, slow from 270 ms on.
        let look = |look| {
            let latency_us = if from_ms(look) < 270 { 5_000 } else { 50_000 };
            guarding.look(&slice(from_ms(look), from_ms(look + 1), step_ms / 10, latency_us, &[]))
        };
        (0..500).find_map(look).map(|breach| breach.seen_ns)
    };
    assert!(seen_ns(10).is_some());
    assert_eq!((seen_ns(10), seen_ns(10)), (seen_ns(30), seen_ns(90)));
}

#[test]
fn what_is_counted_is_a_breach_in_the_slice_in_which_it_occurs() {
    let mut none_allowed = guarding(&["errors == 0"]);
    assert_eq!(none_allowed.look(&slice(0, 10, 1, 50, &[("errors", 0.0)])), None);
    let breach = none_allowed.look(&slice(10, 20, 1, 50, &[("errors", 1.0)])).unwrap();
    assert_eq!((breach.certainty, breach.value, breach.limit), (Certainty::Counted, 1.0, 0.0));
    assert_eq!((breach.slice_began_ns, breach.seen_ns, breach.requests), (10_000_000, 20_000_000, 2));
    let mut some = guarding(&["http_errors <= 3"]);
    assert_eq!(some.look(&slice(0, 10, 1, 50, &[("http_errors", 2.0)])), None);
    assert_eq!(some.look(&slice(10, 20, 1, 50, &[("http_errors", 2.0)])).unwrap().value, 4.0);
    let mut longest = guarding(&["latency_max_us <= 1000"]);
    assert_eq!(longest.look(&slice(0, 10, 1, 1000, &[])), None);
    assert_eq!(longest.look(&slice(10, 20, 1, 1002, &[])).unwrap().value, 1002.0);
}

#[test]
fn a_latency_of_exactly_the_limit_is_within_it_whatever_the_step_of_the_histogram() {
    let mut guarding = guarding(&["latency_p50_us <= 123457"]);
    assert_eq!(alike(&mut guarding, 100, 20, 123_457, &[]), None);
    assert_eq!(guarding.slow_requests(), Some(0));
}

#[test]
fn a_figure_that_is_to_be_at_least_something_is_compared_by_its_median() {
    let at_least = || guarding(&["hit_ratio >= 0.9"]);
    let breach = alike(&mut at_least(), 60, 10, 50, &[("hit_ratio", 0.5)]).unwrap();
    assert_eq!((breach.value, breach.limit), (0.5, 0.9));
    assert_eq!(alike(&mut at_least(), 60, 10, 50, &[("hit_ratio", 0.9)]), None, "a figure at its limit");
    let mean = alike(&mut guarding(&["queue_len <= 10"]), 60, 0, 0, &[("queue_len", 40.0)]).unwrap();
    assert!((mean.value - 40.0).abs() < 1e-6, "{mean:?}");
}

#[test]
fn a_guard_that_compares_nothing_is_said_to() {
    let mut guarding = Guarding::new(Guard::usual(), None).unwrap();
    assert_eq!(alike(&mut guarding, 20, 100, 9_000_000, &[("errors", 99.0)]), None);
    assert_eq!(
        (guarding.not_judged().len(), guarding.slow_requests()),
        (3, None),
        "what is not counted is not 0"
    );
    let mut guarding = super::tests::guarding(&["queue_len <= 10"]);
    assert_eq!(guarding.not_judged()[0].fact, "queue_len <= 10");
    guarding.look(&slice(0, 100, 1, 50, &[("queue_len", f64::NAN)]));
    assert_eq!(guarding.not_judged().len(), 1);
    guarding.look(&slice(100, 200, 1, 50, &[("queue_len", 1.0)]));
    assert!(guarding.not_judged().is_empty());
}

#[test]
fn a_figure_of_the_server_is_compared_with_a_baseline_of_which_no_requests_were_seen() {
    let figures = [("queue_len", 10.0), ("errors", 1.0)].map(|(name, value)| (name.to_string(), value));
    let reference = Reference { figures: figures.into(), requests: 0 };
    let texts = ["queue_len <= 2 x baseline", "errors <= baseline"];
    let mut guarding = Guarding::new(guards(&texts), Some(reference)).unwrap();
    assert!(guarding.not_judged().iter().any(|missing| missing.why.contains("no requests")));
    let breach = alike(&mut guarding, 100, 0, 0, &[("queue_len", 100.0)]).unwrap();
    assert_eq!((breach.figure.as_str(), breach.limit), ("queue_len", 20.0));
}

#[test]
fn a_baseline_of_a_few_requests_bounds_no_quantile_and_that_is_said() {
    let of = |requests| {
        let figures = [("latency_p99_us".to_string(), 900.0)].into();
        Guarding::new(guards(&["latency_p99_us <= 2 x baseline"]), Some(Reference { figures, requests }))
    };
    assert!(of(3).unwrap().not_judged()[0].why.contains("too few"));
    assert!(alike(&mut of(30).unwrap(), 40, 20, 90_000, &[]).is_some());
}

#[test]
fn guards_that_cannot_be_kept_are_refused() {
    let twice = guards(&["errors == 0", "errors == 0"]);
    assert_eq!(Guarding::new(twice, None).err().unwrap().cause, "it is given twice");
    let made =
        Guard { figure: "requests_per_s".into(), relation: Relation::AtLeast, limit: Limit::Absolute(5.0) };
    assert!(Guarding::new(vec![made], None).err().unwrap().cause.contains("lull"));
    assert!(Guarding::with_chance(vec![], None, f64::NAN).is_err());
}
