//! SIGKILL at every point of an apply at which something lasting happens, and of an undo: the next undo leaves the machine as it was.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::bench_plan::BenchPlan;
use super::tracer::{Ended, run_to};

/// No apply has so many points.
const MOST: usize = 5_000;

/// Where the platform reads settings of the kernel at each start.
const SYSCTL_D: &str = "/etc/sysctl.d";

/// Files of pinwise's own among them, drafts too.
fn placed() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(SYSCTL_D).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("pinwise")).collect()
}

/// Takes back what is left, and holds the machine against what it was; how long that took.
fn restored(plan: &BenchPlan, before: &[String], point: usize) -> Duration {
    let begun = Instant::now();
    let out = plan.bench.command(&["undo"]).stdin(Stdio::null()).output().unwrap();
    let took = begun.elapsed();
    let told = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "undo after point {point}: {told}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(plan.readings(), before, "after point {point}: {told}");
    assert!(placed().is_empty(), "after point {point}: {:?}: {told}", placed());
    took
}

/// Kills `words` at each of its points in turn, after `first` has prepared; the number of points, and the longest undo.
fn at_each_point(plan: &BenchPlan, first: &[&[&str]], words: &[&str]) -> (usize, Duration) {
    let before = plan.readings();
    let mut longest = Duration::ZERO;
    for point in 0..MOST {
        for words in first {
            let status = plan.command(words).status().unwrap();
            assert!(status.success(), "pinwise {words:?}: {status}");
        }
        let ended = run_to(&mut plan.command(words), point).unwrap();
        longest = longest.max(restored(plan, &before, point));
        match ended {
            Ended::Killed => {}
            Ended::ByItself(0) => return (point, longest),
            Ended::ByItself(status) => panic!("pinwise {words:?} ended with status {status}"),
        }
    }
    panic!("more than {MOST} points");
}

#[test]
#[ignore = "ground truth: needs root, ptrace and ip netns; run by `make test`"]
fn whatever_point_of_an_apply_is_its_last_undo_restores_the_machine() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: system calls are told apart on x86_64 alone");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let path = plan.path().display().to_string();
    let acts = plan.plan.settings.len();
    assert!(acts >= 30 && plan.kinds() >= 10, "{acts} settings of {} kinds", plan.kinds());
    let begun = Instant::now();
    let (points, longest) = at_each_point(&plan, &[], &["apply", &path]);
    assert!(points > 10 * acts, "{points} points for {acts} acts: some were not seen");
    eprintln!(
        "apply of {acts} settings of {} kinds: killed at {points} points, restored {points} times; the longest undo took {:.0} ms; {:.0} s in all",
        plan.kinds(),
        longest.as_secs_f64() * 1e3,
        begun.elapsed().as_secs_f64()
    );
    let (points, _) = at_each_point(&plan, &[&["apply", &path]], &["undo"]);
    eprintln!("undo of the same: killed at {points} points, completed by the next undo {points} times");
}

#[test]
#[ignore = "ground truth: needs root, ptrace and ip netns; run by `make test`"]
fn no_point_of_an_apply_that_persists_leaves_a_file() {
    if !cfg!(target_arch = "x86_64") || !Path::new(SYSCTL_D).is_dir() {
        eprintln!("skipped: it needs x86_64, where system calls are told apart, and {SYSCTL_D}");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let plan = plan.only(&["swappiness", "dirty-expire", "vm-stat-interval"]);
    let path = plan.path().display().to_string();
    plan.succeeds(&["apply", &path, "--persist"]);
    assert_eq!(placed().len(), 1);
    plan.succeeds(&["undo"]);
    let (points, _) = at_each_point(&plan, &[], &["apply", &path, "--persist"]);
    eprintln!("apply --persist: killed at {points} points, restored {points} times");
    let (points, _) = at_each_point(&plan, &[&["apply", &path, "--persist"]], &["undo"]);
    eprintln!("undo of the same: killed at {points} points, completed by the next undo {points} times");
}
