//! Arms that do harm: each leaves redis some 1.5 % of its CPU, beside a busy task, so that requests take tens of times as long.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::latency::Latency;
use load::{Interval, Outcome, monotonic_ns};
use serde_json::{Value, json};

use super::production::{Production, begun};
use super::short_study::arguments;
use crate::pinwise::Bench;
use crate::processes::Killed;

/// So many that requests take some milliseconds by themselves, and some hundred where redis has 1.5 % of a CPU.
const MANY_CLIENTS: &str = "32";
const LIMIT_US: f64 = 80_000.0;
/// From the beginning of the slice in which the harm was first to be seen to the end of the arm.
const MOST_NS: u64 = 300_000_000;
/// Window and warm-up of a trial, ns, that no guard ends.
const WHOLE_NS: u64 = 3_200_000_000;

const NICE: &str = "after all others";
const BATCH: &str = "as a batch";

fn recipe() -> String {
    let level = |name: &str, policy: &str| {
        format!(
            "{{ name = '{name}', server = '1', settings = [{{ knob = 'scheduling-policy', target = 'server', value = '{policy}' }}] }}"
        )
    };
    let levels = [level(NICE, "other:19"), level(BATCH, "batch:19")].join(", ");
    format!("[baseline]\nserver = '0'\n[[factors]]\nkind = 'places'\nlevels = [{levels}]\n")
}

/// What the server's state was, and when it was seen to be another one, CLOCK_MONOTONIC ns.
fn changes(production: &Production, over: &AtomicBool) -> Vec<(u64, String)> {
    let mut seen: Vec<(u64, String)> = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let state = production.state();
        if seen.last().is_none_or(|(_, last)| *last != state) {
            seen.push((monotonic_ns(), state));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    seen
}

/// The slowest request of a slice, us; 0 of a slice without any.
fn slowest_us(slice: &Interval) -> f64 {
    let counts = Latency::from_text(&slice.latency).unwrap().counts();
    counts.last().map_or(0.0, |(us, _)| *us as f64)
}

/// That the trial in this folder ended at the first check of its guards after the harm.
fn ended_at_the_first_check(dir: &Path) -> u64 {
    let bytes = std::fs::read(dir.join("outcome.json")).unwrap();
    let outcome: Outcome = serde_json::from_slice(&bytes).unwrap();
    let breach = outcome.breach.expect("a guard ended it");
    let (deciding, before) = outcome.intervals.split_last().unwrap();
    // Histograms have three digits.
    let is_slow = |slice: &&Interval| slowest_us(slice) > 1.01 * LIMIT_US;
    assert_eq!(
        before.iter().filter(is_slow).count(),
        0,
        "an earlier check had the harm before it: {breach:?}"
    );
    assert_eq!((breach.slice_began_ns, breach.seen_ns), (deciding.from_ns, deciding.to_ns));
    assert_eq!(outcome.to_ns, breach.seen_ns, "no slice follows");
    assert!(breach.seen_ns - breach.slice_began_ns <= MOST_NS, "{breach:?}");
    assert!(outcome.to_ns - outcome.from_ns < WHOLE_NS, "{breach:?}");
    assert!(breach.value > breach.limit, "{breach:?}");
    breach.seen_ns
}

#[test]
#[ignore = "ground truth: needs root, BPF, redis and 30 s; run by `make test`"]
fn a_guard_ends_a_harmful_arm_at_its_next_check_and_the_second_one_ends_the_study() {
    let Some(production) = Production::redis(MANY_CLIENTS) else { return };
    let bench = Bench::new();
    let folder = bench.case().parent().unwrap().to_path_buf();
    let busy = ["taskset", "-c", "1", "sh", "-c", "while :; do :; done"];
    let busy = Killed(begun("KILL", &busy, &folder));
    let file = folder.join("harmful.toml");
    std::fs::write(&file, recipe()).unwrap();
    let (file, guard) = (file.display().to_string(), format!("latency_max_us <= {LIMIT_US}"));
    let lengths = ["--blocks", "4", "--window", "3", "--warm-up", "0.2", "--attempts", "1"];
    let guarded = ["--guard", &guard, "--most-slow-requests", "1000000", &file];
    let arguments = arguments(&bench, &production, &[&lengths[..], &guarded].concat());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();

    let (before, over) = (production.state(), AtomicBool::new(false));
    let (out, seen) = std::thread::scope(|scope| {
        let following = scope.spawn(|| changes(&production, &over));
        let out = bench.run(&arguments);
        over.store(true, Ordering::Relaxed);
        (out, following.join().unwrap())
    });
    drop(busy);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "guards ended the study: {said}");
    assert_eq!(production.state(), before, "{seen:?}");
    bench.nothing_is_changed();
    assert!(
        ["other:19", "batch:19"].iter().all(|policy| seen.iter().any(|(_, state)| state.contains(policy)))
    );

    let result: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let harm = &result["harm"];
    assert_eq!(harm["ended"], json!({ "by": "breaches", "trials": 2 }), "{harm:#}");
    let breached = harm["breached"].as_array().unwrap().iter();
    let breached: Vec<&Value> = breached.filter(|breached| breached["baseline"] == false).collect();
    let mut arms: Vec<&str> = breached.iter().map(|breached| breached["arm"].as_str().unwrap()).collect();
    arms.sort_unstable();
    assert_eq!(arms, [NICE, BATCH], "each ran once: {harm:#}");
    for arm in arms {
        assert_eq!(result["standings"][arm]["is"], "harmful", "{:#}", result["standings"]);
    }
    for breached in breached {
        let number = breached["trial"].as_u64().unwrap();
        let decided_ns = ended_at_the_first_check(&bench.case().join("trials").join(format!("{number:04}")));
        let back = seen.iter().find(|(at_ns, state)| *at_ns >= decided_ns && *state == before);
        let (back_ns, _) = back.unwrap_or_else(|| panic!("it was never put back: {seen:?}"));
        // For docs/own-traffic.md; how soon others see it depends on what else runs.
        eprintln!("{}: put back {} ms after the check", breached["arm"], (back_ns - decided_ns) / 1_000_000);
    }
}
