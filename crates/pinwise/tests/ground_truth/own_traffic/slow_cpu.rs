//! A storm of timer interrupts takes three tenths of CPU 1 while production goes on: that CPU is found, and no other. Without a storm
//! none is.

use super::production::Production;
use super::short_study::{claims, study, summary};
use crate::pinwise::Bench;
use crate::storms;

/// The share of CPU 1 that the storm takes.
const SHARE: f64 = 0.3;

/// On a shared host *undecided* is an honest answer to a noisy minute, and is measured once more; a wrong answer is not.
const ATTEMPTS: usize = 2;

/// Clients of redis: while one waits for its turn, another is served.
const FEW_CLIENTS: &str = "4";

/// The least difference that a study would have shown; None where it has no figure for it.
fn visible_share(bench: &Bench) -> Option<f64> {
    let evidence = std::fs::read_to_string(bench.case().join("evidence.json")).unwrap();
    let evidence: serde_json::Value = serde_json::from_str(&evidence).unwrap();
    evidence["power"]["visible_share"].as_f64()
}

/// Studies production until the CPU with the storm is called worse than the other, or the other one better; gives the bench of that study.
fn the_cpu_with_the_storm_is_found(begin: fn() -> Option<Production>) -> Option<Bench> {
    // Before there is production: what an interrupt costs is measured on an idle CPU.
    let (storm, rate_per_s) = storms::start_taking(1, SHARE)?;
    let production = begin()?;
    let watched = storms::Rate::of(1);
    let mut silent = 0;
    for _ in 0..ATTEMPTS {
        let bench = Bench::new();
        let result = study(&bench, &production, &["--cpus", "0,1"]);
        let [worse, better] = claims(&result);
        assert!(!worse.contains(&0) && !better.contains(&1), "CPU 1 has the storm: {}", summary(&result));
        if worse.contains(&1) || better.contains(&0) {
            drop(storm);
            return Some(bench);
        }
        eprintln!("CPU 1 has the storm, and nothing is decided: {}", summary(&result));
        let could_see = visible_share(&bench).is_some_and(|share| share < SHARE / 2.0);
        silent +=
            usize::from(watched.is_at_least(rate_per_s) && result["trust"]["is"] == "sound" && could_see);
    }
    assert!(silent < ATTEMPTS, "CPU 1 has the storm, and {ATTEMPTS} studies did not see it");
    eprintln!("skipped: the kernel held the storm back, or the host is too noisy");
    None
}

#[test]
#[ignore = "ground truth: needs root, BPF, redis and 40 s; run by `make test`"]
fn redis_in_production_is_slower_on_the_cpu_with_a_storm() {
    the_cpu_with_the_storm_is_found(|| Production::redis(FEW_CLIENTS));
}

#[test]
#[ignore = "ground truth: needs root, BPF, redis and 40 s; run by `make test`"]
fn redis_in_production_with_nothing_wrong_has_no_slow_cpu() {
    let Some(production) = Production::redis(FEW_CLIENTS) else { return };
    let bench = Bench::new();
    // As in `nothing`: other tenants of a shared host may well slow one CPU by a few per cent for a minute.
    let result = study(&bench, &production, &["--cpus", "0,1", "--margin", "0.08"]);
    let [worse, better] = claims(&result);
    assert!(worse.is_empty() && better.is_empty(), "{}", summary(&result));
}

mod soak {
    use serde_json::Value;

    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, BPF, nginx, wrk and 40 s; run by `make soak`"]
    fn nginx_in_production_with_two_upstreams_is_slower_on_the_cpu_with_a_storm() {
        let Some(bench) = the_cpu_with_the_storm_is_found(Production::nginx) else { return };
        let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
        for trial in trials.lines() {
            let trial: Value = serde_json::from_str(trial).unwrap();
            let ports = trial["traffic"]["ports"].as_array().unwrap();
            let asked = ports.iter().filter(|port| port["requests"].as_u64().is_some_and(|n| n > 0));
            assert_eq!(asked.count(), 3, "its own port and those of the upstreams: {trial:#}");
        }
    }

    #[test]
    #[ignore = "ground truth: needs root, BPF, PostgreSQL and 40 s; run by `make soak`"]
    fn postgresql_in_production_is_slower_on_the_cpu_with_a_storm() {
        the_cpu_with_the_storm_is_found(Production::postgres);
    }

    #[test]
    #[ignore = "ground truth: needs root, BPF, redis and 40 s; run by `make soak`"]
    fn of_arms_that_are_all_alike_none_is_better_or_worse() {
        let Some(production) = Production::redis(FEW_CLIENTS) else { return };
        let bench = Bench::new();
        let result = study(&bench, &production, &["--aa", "2"]);
        let contrasts = result["contrasts"]["against_baseline"].as_array().unwrap();
        assert_eq!(contrasts.len(), 2, "{}", summary(&result));
        let is_claim = |contrast: &Value| contrast["verdict"] == "better" || contrast["verdict"] == "worse";
        assert!(!contrasts.iter().any(is_claim), "{}", summary(&result));
    }
}
