//! Functions that take more time in one arm, by samples.

use probe::Situation;
use probe::stacks::{Profile, Sampled};

use super::{MS, case};
use crate::diagnosis::situation_builder::situation;
use crate::explanation::explain;
use crate::explanation::functions::Where;

/// The server with samples of functions in user space, 4 ms of CPU time each.
fn sampled(user: &[(&str, u64)]) -> Situation {
    let user: Vec<Sampled> =
        user.iter().map(|(name, samples)| Sampled { name: name.to_string(), samples: *samples }).collect();
    let samples = user.iter().map(|function| function.samples).sum();
    let profile = Profile { samples, user, ..Profile::default() };
    let mut it = Situation { profile: Some(profile), ..situation() };
    it.account.as_mut().unwrap().threads[0].on_cpu.total_ns = samples * 4 * MS;
    it
}

#[test]
fn a_function_that_takes_more_time_is_named() {
    let facts = case(6, |arm, block| {
        let copies = if arm == "cpu 0" { 60 } else { 20 } + block as u64;
        (sampled(&[("copies", copies), ("parses", 40)]), Some(1_000.0))
    });
    let functions = explain(&facts, "cpu 0", "cpu 1").unwrap().functions;
    let [copies] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!((copies.name.as_str(), copies.place), ("copies", Where::User));
    let is = |value: f64, truth: f64| (value - truth).abs() < 1e-6;
    assert!(
        is(copies.cpu_us.to, 250.0) && is(copies.cpu_us.from, 90.0),
        "62.5 and 22.5 samples, by 1,000 requests: {copies:?}"
    );
}

#[test]
fn functions_of_which_as_much_is_seen_are_not_named_by_chance() {
    let mut state = 1u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    // A count of rare events with mean 20: as many of 400 as chance hits with one in twenty.
    let mut count = move || (0..400).filter(|_| draw() < 0.05).count() as u64;
    let names: Vec<String> = (0..12).map(|at| format!("function {at}")).collect();
    for study in 0..40 {
        let counts: Vec<Vec<u64>> = (0..12).map(|_| (0..12).map(|_| count()).collect()).collect();
        let facts = case(6, |arm, block| {
            let trial = block * 2 + usize::from(arm == "cpu 0");
            let user: Vec<(&str, u64)> =
                names.iter().zip(&counts[trial]).map(|(name, samples)| (name.as_str(), *samples)).collect();
            (sampled(&user), Some(1_000.0))
        });
        let functions = explain(&facts, "cpu 0", "cpu 1").unwrap().functions;
        assert!(functions.is_empty(), "study {study}: {functions:?}");
    }
}

#[test]
fn without_samples_or_requests_no_function_is_named() {
    let much = |arm: &str| if arm == "cpu 0" { 90 } else { 20 };
    let without_requests = case(6, |arm, _| (sampled(&[("copies", much(arm))]), None));
    assert!(explain(&without_requests, "cpu 0", "cpu 1").unwrap().functions.is_empty());
    let in_one = case(6, |arm, _| match arm {
        "cpu 0" => (sampled(&[("copies", 90)]), Some(1_000.0)),
        _ => (situation(), Some(1_000.0)),
    });
    assert!(explain(&in_one, "cpu 0", "cpu 1").unwrap().functions.is_empty(), "it was not looked at there");
    let few = case(6, |arm, _| (sampled(&[("copies", much(arm) / 20)]), Some(1_000.0)));
    assert!(explain(&few, "cpu 0", "cpu 1").unwrap().functions.is_empty(), "4 and 1 may be chance");
}

#[test]
fn a_function_that_another_one_displaced_from_the_twelve_is_not_named() {
    let others: Vec<String> = (0..11).map(|at| format!("function {at}")).collect();
    let of = |last: (&'static str, u64)| {
        let listed: Vec<(&str, u64)> = others.iter().map(|name| (name.as_str(), 18)).chain([last]).collect();
        (sampled(&listed), Some(1_000.0))
    };
    let named = |displacing: u64| {
        let facts = case(6, |arm, block| match arm {
            "cpu 0" => of(("displaced", 12 + block as u64)),
            _ => of(("displacing", displacing)),
        });
        let functions = explain(&facts, "cpu 0", "cpu 1").unwrap().functions;
        functions.into_iter().map(|function| function.name).collect::<Vec<_>>()
    };
    assert_eq!(named(13), Vec::<String>::new(), "each may be the thirteenth of the other");
    assert_eq!(named(1), ["displaced"], "there it has one sample at most");
}
