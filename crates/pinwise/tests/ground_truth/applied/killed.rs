//! SIGKILL at points of an apply at which something lasting happens, and of an undo: the next undo leaves the machine as it was.
//!
//! `make soak` kills at every point, which takes some minutes; `make test` at some, evenly chosen.

use std::path::Path;
use std::time::Instant;

use super::bench_plan::BenchPlan;
use crate::killing::{SYSCTL_D, Tried, Victim, placed};

/// Asks for every point.
const EVERY_POINT: &str = "PINWISE_TEST_EVERY_POINT";

/// So many are chosen otherwise, of the apply and of the undo.
const CHOSEN: usize = 40;

fn words(tried: &Tried) -> String {
    let Tried { points, restored, whole, .. } = tried;
    format!(
        "killed at {restored} of {points} points, restored {restored} times, the whole machine compared {whole} times"
    )
}

fn at_each_point(plan: &BenchPlan, first: &[&[&str]], words: &[&str]) -> Tried {
    let command = |words: &[&str]| plan.command(words);
    let most = if std::env::var_os(EVERY_POINT).is_some() { usize::MAX } else { CHOSEN };
    let victim = Victim { plan: &plan.plan, command: &command, most, whole_step: 1, progress: &|_| {} };
    let tried = victim.at_each_point(first, words);
    assert_eq!((tried.restored, tried.whole), (tried.chosen, tried.chosen), "of {} points", tried.points);
    tried
}

#[test]
#[ignore = "ground truth: needs root, ptrace and ip netns; run by `make test`"]
fn whatever_point_of_an_apply_is_its_last_undo_restores_the_machine() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: system calls are distinguished on x86_64 alone");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let path = plan.path().display().to_string();
    let acts = plan.plan.settings.len();
    assert!(acts >= 30 && plan.kinds() >= 10, "{acts} settings of {} kinds", plan.kinds());
    let begun = Instant::now();
    let tried = at_each_point(&plan, &[], &["apply", &path]);
    assert!(tried.points > 10 * acts, "{} points for {acts} acts: some were not seen", tried.points);
    eprintln!(
        "apply of {acts} settings of {} kinds: {}; the longest undo took {:.0} ms; {:.0} s in all",
        plan.kinds(),
        words(&tried),
        tried.longest.as_secs_f64() * 1e3,
        begun.elapsed().as_secs_f64()
    );
    let tried = at_each_point(&plan, &[&["apply", &path]], &["undo"]);
    eprintln!("undo of the same: {}", words(&tried));
}

#[test]
#[ignore = "ground truth: needs root, ptrace and ip netns; run by `make test`"]
fn no_point_of_an_apply_that_persists_leaves_a_file() {
    if !cfg!(target_arch = "x86_64") || !Path::new(SYSCTL_D).is_dir() {
        eprintln!("skipped: it needs x86_64, where system calls are distinguished, and {SYSCTL_D}");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let plan = plan.only(&["swappiness", "dirty-expire", "vm-stat-interval"]);
    let path = plan.path().display().to_string();
    plan.succeeds(&["apply", &path, "--persist"]);
    assert_eq!(placed().len(), 1);
    plan.succeeds(&["undo"]);
    let tried = at_each_point(&plan, &[], &["apply", &path, "--persist"]);
    eprintln!("apply --persist: {}", words(&tried));
    let tried = at_each_point(&plan, &[&["apply", &path, "--persist"]], &["undo"]);
    eprintln!("undo of the same: {}", words(&tried));
}
