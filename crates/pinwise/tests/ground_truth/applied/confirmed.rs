//! `--confirm-within` on this machine: forgotten, hung up on, killed, confirmed; and two pinwise at once.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::bench_plan::BenchPlan;
use crate::killing::{Ended, SYSCTL_D, placed, run_to};
use crate::pinwise::{Bench, wait_at_most};

/// How long something may take that takes no time: machines are busy.
const SOON: Duration = Duration::from_secs(30);

fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_at_most(SOON, what, done);
}

fn status(plan: &BenchPlan) -> serde_json::Value {
    plan.bench.json(&["status", "--format", "json"])
}

#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn what_nobody_confirms_is_taken_back_and_what_is_confirmed_stays() {
    let Some(plan) = BenchPlan::new() else { return };
    let before = plan.readings();
    let path = plan.path().display().to_string();
    plan.succeeds(&["apply", &path, "--confirm-within", "2s"]);
    wait_until("the revert", || status(&plan)["sessions"].as_array().unwrap().is_empty());
    assert_eq!(plan.readings(), before);
    assert_eq!(plan.command(&["confirm"]).status().unwrap().code(), Some(1), "it is too late to confirm");

    plan.succeeds(&["apply", &path, "--confirm-within", "60s"]);
    let after = plan.readings();
    assert_ne!(after, before);
    plan.succeeds(&["confirm"]);
    assert_eq!(plan.readings(), after);
    assert_eq!(status(&plan)["sessions"][0]["to_confirm_within_s"], serde_json::Value::Null);
    plan.succeeds(&["undo"]);
    assert_eq!(plan.readings(), before);
}

#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn a_hang_up_of_the_whole_session_does_not_keep_the_revert_from_coming() {
    let Some(plan) = BenchPlan::new() else { return };
    let before = plan.readings();
    let path = plan.path().display().to_string();
    // A shell in a session of its own, as on a terminal; its end hangs up on all that it started.
    let shell = plan.command(&[]);
    let program = shell.get_program().to_owned();
    let mut session = std::process::Command::new("setsid");
    session.arg("sh").arg("-c").arg("\"$0\" apply \"$1\" --confirm-within 3s; exec sleep 600");
    session.arg(program).arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    session.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Whoever runs the tests may ignore hang-ups (nohup), and that is inherited.
    // SAFETY: signal(2) is all that the child calls between fork and exec.
    unsafe {
        session.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut session = session.spawn().unwrap();
    wait_until("the apply", || {
        plan.readings() != before && !status(&plan)["sessions"][0]["owner_alive"].as_bool().unwrap()
    });
    // SAFETY: a signal to the group of a process of ours that has not been waited for.
    assert_eq!(unsafe { libc::kill(-(session.id() as libc::pid_t), libc::SIGHUP) }, 0);
    session.wait().unwrap();
    wait_until("the revert", || status(&plan)["sessions"].as_array().unwrap().is_empty());
    assert_eq!(plan.readings(), before);
}

#[test]
#[ignore = "ground truth: needs root and unshare; run by `make test`"]
fn in_a_container_whose_session_began_outside_the_revert_comes_too() {
    let bench = Bench::in_memory();
    let plan = bench.case().with_file_name("plan.toml");
    let (file, key) = ("/proc/sys/vm/swappiness", "swappiness");
    let before = std::fs::read_to_string(file).unwrap();
    let other = if before.trim() == "59" { "58" } else { "59" };
    std::fs::write(&plan, format!("[[setting]]\nknob = '{key}'\ntarget = 'machine'\nvalue = '{other}'\n"))
        .unwrap();
    // As after `docker exec`: getsid(2) is 0 there, no process's number.
    let inside = bench.command(&[]);
    let script = "\"$0\" apply \"$1\" --confirm-within 1s || exit 9; cat \"$2\"; n=0; \
                  while [ -n \"$(\"$0\" status --format json | grep owner_alive)\" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done";
    let done = std::process::Command::new("unshare")
        .args(["--pid", "--mount-proc", "--fork", "sh", "-c", script])
        .arg(inside.get_program())
        .arg(&plan)
        .arg(file)
        .envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let after = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, &before).unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {said}", done.status);
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(shown.lines().any(|line| line == other), "{shown}{said}");
    assert_eq!(after, before, "{shown}{said}");
}

#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn a_second_plan_is_refused_because_of_the_first() {
    let Some(plan) = BenchPlan::new() else { return };
    let before = plan.readings();
    let path = plan.path().display().to_string();
    plan.succeeds(&["apply", &path]);
    let second = plan.bench.run(&["apply", &path, "--confirm-within", "60s"]);
    // Everything is so already: what it asks for is held by the first all the same.
    let reported = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{reported}");
    assert!(
        reported.contains("has set it already") && reported.contains("pinwise undo --session"),
        "{reported}"
    );
    plan.succeeds(&["undo"]);
    assert_eq!(plan.readings(), before);
}

#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn what_somebody_else_changes_is_left_and_reported() {
    let Some(plan) = BenchPlan::new() else { return };
    let path = plan.path().display().to_string();
    let swappiness = "/proc/sys/vm/swappiness";
    let before = std::fs::read_to_string(swappiness).unwrap();
    plan.succeeds(&["apply", &path]);
    std::fs::write(swappiness, "33\n").unwrap();
    let text = plan.bench.run(&["status"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let undone = plan.bench.run(&["undo"]);
    let left = std::fs::read_to_string(swappiness).unwrap();
    std::fs::write(swappiness, &before).unwrap();
    assert!(text.contains("now 33: changed since by something else"), "{text}");
    assert_eq!(
        (undone.status.code(), left.trim()),
        (Some(1), "33"),
        "{}",
        String::from_utf8_lossy(&undone.stdout)
    );
}

#[test]
#[ignore = "ground truth: needs root, ptrace and ip netns; run by `make test`"]
fn an_apply_that_is_killed_in_the_middle_is_taken_back_by_itself() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: system calls are distinguished on x86_64 alone");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let before = plan.readings();
    let path = plan.path().display().to_string();
    let ended = run_to(&mut plan.command(&["apply", &path, "--confirm-within", "2s"]), 150).unwrap();
    assert_eq!(ended, Ended::Killed);
    assert_ne!(plan.readings(), before, "150 points into it something must have been changed");
    wait_until("the revert", || status(&plan)["sessions"].as_array().unwrap().is_empty());
    assert_eq!(plan.readings(), before);
}

/// What is to outlive a restart is placed when it is known that the machine can still be reached, and not before.
#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn nothing_is_placed_for_good_until_it_is_confirmed() {
    if !Path::new(SYSCTL_D).is_dir() {
        eprintln!("skipped: there is no {SYSCTL_D}");
        return;
    }
    let Some(plan) = BenchPlan::new() else { return };
    let plan = plan.only(&["swappiness", "dirty-expire"]);
    let before = plan.readings();
    let path = plan.path().display().to_string();
    let refused = |words: &[&str]| {
        let out = plan.bench.run(words);
        assert!(placed().is_empty(), "{:?}", placed());
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, said) = refused(&["apply", &path, "--persist", "--confirm-within", "60s"]);
    assert_eq!(code, Some(2), "{said}");
    plan.succeeds(&["apply", &path, "--confirm-within", "3s"]);
    let (code, said) = refused(&["apply", &path, "--persist", "--over"]);
    assert!(code == Some(1) && said.contains("is waiting to be confirmed"), "{code:?} {said}");
    wait_until("the revert", || status(&plan)["sessions"].as_array().unwrap().is_empty());
    assert_eq!((plan.readings(), placed()), (before.clone(), Vec::new()));

    plan.succeeds(&["apply", &path, "--confirm-within", "60s"]);
    plan.succeeds(&["confirm"]);
    plan.succeeds(&["apply", &path, "--persist", "--over"]);
    assert_eq!(placed().len(), 1);
    plan.succeeds(&["undo"]);
    assert_eq!((plan.readings(), placed()), (before, Vec::new()));
}

/// A program of the name of one that sets such things.
#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn who_may_set_it_again_is_reported_before_it_is_set() {
    let Some(plan) = BenchPlan::new() else { return };
    let plan = plan.only(&["swappiness", "oom-score"]);
    let path = plan.path().display().to_string();
    let program = plan.path().with_file_name("tuned");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut tuned = std::process::Command::new(&program).arg("600").spawn().unwrap();
    wait_until("a process named tuned", || {
        std::fs::read_to_string(format!("/proc/{}/comm", tuned.id())).is_ok_and(|name| name.trim() == "tuned")
    });
    let text = plan.bench.run(&["apply", &path]);
    plan.succeeds(&["undo"]);
    let json = plan.bench.json(&["apply", &path, "--format", "json"]);
    plan.succeeds(&["undo"]);
    let dry_run = plan.bench.run(&["apply", &path, "--dry-run"]);
    tuned.kill().unwrap();
    tuned.wait().unwrap();
    let said = String::from_utf8_lossy(&text.stderr);
    let line =
        said.lines().position(|line| line.contains("swappiness of machine may be overwritten by tuned"));
    let set = said.lines().position(|line| line.starts_with("swappiness of machine: "));
    assert!(line.is_some() && line < set, "{said}");
    assert!(!said.contains("oom-score of machine may"), "{said}");
    let reported = json["not_left_alone"].as_array().unwrap();
    assert_eq!((reported.len(), reported[0]["knob"].as_str()), (1, Some("swappiness")), "{json:#}");
    let shown = String::from_utf8_lossy(&dry_run.stdout);
    assert!(shown.contains("RUNS HERE") && shown.contains("tuned (process "), "{shown}");
}
