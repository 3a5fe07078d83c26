use std::collections::BTreeMap;

use probe::account::Distribution;

use super::*;
use crate::guard::{Ages, Limit, Relation};
use crate::outcome::latency::Latency;
use crate::outcome::traffic::Noise;

fn guards(texts: &[&str]) -> Vec<Guard> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn guarding(texts: &[&str]) -> Guarding {
    Guarding::new(guards(texts), None).unwrap()
}

/// Means of twenty blocks that hardly differ.
fn noise(figures: &[&str]) -> BTreeMap<String, Noise> {
    let exact = Noise { standard_error: 1e-9, blocks: 20 };
    figures.iter().map(|figure| (figure.to_string(), exact)).collect()
}

/// So many requests, ns each.
fn lasted(count: u64, ns: u64) -> Distribution {
    let mut all = Distribution::default();
    (0..count).for_each(|_| all.insert(ns));
    all
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
    let noise = noise(&["cpu_us_per_request"]);
    let reference = Reference { figures, requests: 10_000, noise, ages: None };
    Guarding::new(Guard::usual(), Some(reference)).unwrap()
}

/// So many requests of one latency.
fn slice(from_ms: u64, to_ms: u64, requests: u64, latency_us: u64, figures: &[(&str, f64)]) -> Slice {
    let mut latency = Latency::new();
    (0..requests).for_each(|_| latency.record_ns(latency_us * 1000));
    let ages = Ages { answered: lasted(requests, latency_us * 1000), ..Ages::default() };
    let figures = figures.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    Slice { from_ns: from_ms * 1_000_000, to_ns: to_ms * 1_000_000, requests, latency, ages, figures }
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
    assert!(costly.figure == "cpu_us_per_request" && (costly.limit - 75.0).abs() < 1e-3, "{costly:?}");
    assert!((costly.value - 500.0).abs() < 1e-6, "{costly:?}");
    let failing = alike(&mut usual(), 20, 100, 5_000, &[("errors", 50.0)]).unwrap();
    assert!(failing.figure == "errors" && failing.limit == 0.0 && failing.value >= 100.0, "{failing:?}");
}

#[test]
fn errors_that_are_counted_every_half_second_are_of_all_requests_since() {
    let figures =
        [("latency_p99_us", 10_000.0), ("errors", 100.0)].map(|(name, value)| (name.to_string(), value));
    let reference = Reference { figures: figures.into(), requests: 10_000, ..Reference::default() };
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
    let noise = noise(&["latency_mean_us"]);
    let reference = Reference { figures: figures.into(), requests: 10_000, noise, ages: None };
    let mut guarding = Guarding::new(guards(&["latency_mean_us <= 2 x baseline"]), Some(reference)).unwrap();
    let breach = alike(&mut guarding, 40, 10, 900, &[("latency_mean_us", 900.0)]).unwrap();
    assert!((breach.value - 900.0).abs() < 1e-6 && (breach.limit - 200.0).abs() < 1e-3, "{breach:?}");
}

#[test]
fn a_mean_is_compared_with_what_that_of_the_baseline_may_have_been() {
    let ends = |standard_error: f64, blocks: u64, cost: f64| {
        let figures = [("cpu_us_per_request", 100.0), ("requests_per_s", 1000.0)]
            .map(|(name, value)| (name.to_string(), value));
        let noise = [("cpu_us_per_request".to_string(), Noise { standard_error, blocks })].into();
        let reference = Reference { figures: figures.into(), requests: 2_000, noise, ages: None };
        let guards = guards(&["cpu_us_per_request <= 1.5 x baseline"]);
        let mut guarding = Guarding::new(guards, Some(reference)).unwrap();
        alike(&mut guarding, 600, 100, 50, &[("cpu_us_per_request", cost)])
    };
    let exact = ends(0.1, 20, 200.0).unwrap();
    assert!((150.0..151.0).contains(&exact.limit), "{exact:?}");
    // It may have been 147 as well: t of 19 degrees of freedom is some 4 at this chance.
    assert_eq!(ends(12.0, 20, 200.0), None, "as in a baseline that was low by chance");
    let beyond = ends(12.0, 20, 400.0).unwrap();
    assert!((215.0..225.0).contains(&beyond.limit), "{beyond:?}");
    assert!(ends(12.0, 5, 400.0).is_none_or(|breach| breach.limit > beyond.limit), "fewer blocks say less");
}

#[test]
fn a_mean_of_one_block_bounds_nothing_and_neither_does_one_that_may_be_none() {
    let of = |guard: &str, noise: BTreeMap<String, Noise>| {
        let figures = [("cpu_us_per_request".to_string(), 100.0), ("hit_ratio".to_string(), 0.9)].into();
        let reference = Reference { figures, requests: 2_000, noise, ages: None };
        let guarding = Guarding::new(guards(&[guard]), Some(reference)).unwrap();
        guarding.not_judged()[0].why.clone()
    };
    assert!(of("cpu_us_per_request <= 2 x baseline", BTreeMap::new()).contains("too few slices"));
    let wild = [("hit_ratio".to_string(), Noise { standard_error: 0.5, blocks: 4 })].into();
    assert!(of("hit_ratio >= 0.9 x baseline", wild).contains("bounds nothing"));
    let exact = noise(&["hit_ratio"]);
    assert!(of("hit_ratio >= 0.9 x baseline", exact).contains("no slice had"), "it only waits for a slice");
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
    // The step in which the limit lies ends at 1049 us.
    assert_eq!(longest.look(&slice(0, 10, 1, 1040, &[])), None);
    assert_eq!(longest.look(&slice(10, 20, 1, 1060, &[])).unwrap().value, 1060.0);
}

#[test]
fn a_latency_that_is_within_the_limit_is_no_breach_whatever_the_step_in_which_it_lies() {
    for latency_us in [123_457, 118_000] {
        let mut guarding = guarding(&["latency_p50_us <= 123457"]);
        assert_eq!(alike(&mut guarding, 100, 20, latency_us, &[]), None);
        assert_eq!(guarding.slow_requests(), Some(0));
    }
    let mut guarding = guarding(&["latency_p50_us <= 123457"]);
    assert!(alike(&mut guarding, 100, 20, 135_000, &[]).is_some(), "the next step begins at 134,218 us");
}

/// Guards beside a baseline of 4000 requests that took a millisecond each, so many of which wait for two seconds without an answer.
fn beside(texts: &[&str], unanswered: u64) -> Guarding {
    let waiting = lasted(unanswered, 2_000_000_000);
    let ages = Ages { answered: lasted(4_000, 1_000_000), waiting, ..Ages::default() };
    let figures = [("latency_p99_us".to_string(), 1_000.0), ("requests_per_s".to_string(), 1000.0)].into();
    let reference = Reference { figures, requests: 4_000, noise: BTreeMap::new(), ages: Some(ages) };
    Guarding::new(guards(texts), Some(reference)).unwrap()
}

/// A slice of 100 requests that were answered within a millisecond, at whose end so many others have waited for so long; `before`: those that
/// the check before saw.
fn hanging(at: u64, waiting: u64, waited_ms: u64, before: u64) -> Slice {
    let mut slice = slice(at * 100, at * 100 + 100, 100, 1_000, &[]);
    slice.ages.waiting = lasted(waiting, waited_ms * 1_000_000);
    slice.ages.waiting_before = lasted(before, waited_ms.saturating_sub(100) * 1_000_000);
    slice
}

#[test]
fn requests_that_are_never_answered_are_slow_as_soon_as_they_have_waited_for_too_long() {
    for guard in ["latency_p99_us <= 20000", "latency_p99_us <= 20 x baseline"] {
        let mut guarding = beside(&[guard], 0);
        // A quarter of the requests hang: new ones in each slice.
        let breach = (0..40).find_map(|at| guarding.look(&hanging(at, 33, 60, 0))).unwrap();
        assert_eq!((breach.guard.as_str(), breach.figure.as_str()), (guard, "latency_p99_us"));
        assert!(breach.value > 20_000.0 && breach.requests >= 133, "{breach:?}");
        assert!(breach.seen_ns <= 2_000_000_000, "{breach:?}");
        assert_eq!(guarding.slow_requests(), Some(33 * (breach.seen_ns / 100_000_000)));
    }
}

#[test]
fn a_request_that_waits_through_many_slices_is_one_slow_request_and_so_it_is_when_it_is_answered() {
    let mut guarding = beside(&["latency_p99_us <= 20000"], 0);
    assert_eq!(guarding.look(&hanging(0, 5, 60, 0)), None);
    for at in 1..4 {
        assert_eq!(guarding.look(&hanging(at, 5, 60 + 100 * at, 5)), None);
    }
    let mut answered = slice(400, 500, 5, 450_000, &[]);
    answered.ages.answered_before = lasted(5, 360_000_000);
    assert_eq!(guarding.look(&answered), None);
    assert_eq!(guarding.slow_requests(), Some(5));
}

#[test]
fn what_waits_in_the_baseline_as_well_is_no_harm() {
    // Long polls, and reads that need no answer: as many as in the baseline, 400 of 4400.
    for guard in ["latency_p99_us <= 20000", "latency_p99_us <= 20 x baseline"] {
        let mut same = beside(&[guard], 400);
        assert!((0..60).all(|at| same.look(&hanging(at, 10, 1_500, 0)).is_none()), "{guard}");
        let mut more = beside(&[guard], 400);
        assert!((0..60).any(|at| more.look(&hanging(at, 60, 1_500, 0)).is_some()), "{guard}");
    }
    // Without a baseline nobody knows.
    let mut alone = guarding(&["latency_p99_us <= 20000"]);
    assert!((0..60).all(|at| alone.look(&hanging(at, 60, 1_500, 0)).is_none()));
    assert_eq!(alone.slow_requests(), Some(0));
}

#[test]
fn connections_of_a_worker_that_does_not_run_end_a_trial_although_a_quantile_lets_them_pass() {
    let watch = |guards: &[&str]| {
        let mut guarding = beside(guards, 0);
        // Sixteen clients wait for their answer and send nothing more.
        (0..40).find_map(|at| guarding.look(&hanging(at, 16, 100 + 100 * at, if at > 0 { 16 } else { 0 })))
    };
    let breach = watch(&["latency_p99_us <= 20000"]).unwrap();
    assert_eq!((breach.guard.as_str(), breach.value), ("unanswered_requests <= baseline", 16.0));
    assert!(breach.seen_ns <= 1_200_000_000 && breach.limit < 16.0, "{breach:?}");
    assert!(breach.words().contains("unanswered_requests 16 in"), "{}", breach.words());
    assert_eq!(watch(&[]), None, "not without guards");
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
    let noise = noise(&["queue_len"]);
    let reference = Reference { figures: figures.into(), requests: 0, noise, ages: None };
    let texts = ["queue_len <= 2 x baseline", "errors <= baseline"];
    let mut guarding = Guarding::new(guards(&texts), Some(reference)).unwrap();
    assert!(guarding.not_judged().iter().any(|missing| missing.why.contains("no requests")));
    let breach = alike(&mut guarding, 100, 0, 0, &[("queue_len", 100.0)]).unwrap();
    assert!(breach.figure == "queue_len" && (breach.limit - 20.0).abs() < 1e-3, "{breach:?}");
}

#[test]
fn a_baseline_of_a_few_requests_bounds_no_quantile_and_that_is_said() {
    let of = |requests| {
        let figures = [("latency_p99_us".to_string(), 900.0)].into();
        let reference = Reference { figures, requests, ..Reference::default() };
        Guarding::new(guards(&["latency_p99_us <= 2 x baseline"]), Some(reference))
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
}
