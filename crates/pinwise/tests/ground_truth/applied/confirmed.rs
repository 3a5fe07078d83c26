//! `--confirm-within` on this machine: forgotten, hung up on, killed, confirmed; and two pinwise at once.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::bench_plan::BenchPlan;
use super::tracer::{Ended, run_to};

/// How long something may take that takes no time: machines are busy.
const SOON: Duration = Duration::from_secs(30);

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not happen within {SOON:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
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
    assert!(plan.command(&["apply", &path, "--confirm-within", "2s"]).status().unwrap().success());
    wait_until("the revert", || status(&plan)["sessions"].as_array().unwrap().is_empty());
    assert_eq!(plan.readings(), before);
    assert_eq!(plan.command(&["confirm"]).status().unwrap().code(), Some(1), "it is too late to confirm");

    assert!(plan.command(&["apply", &path, "--confirm-within", "60s"]).status().unwrap().success());
    let after = plan.readings();
    assert_ne!(after, before);
    assert!(plan.command(&["confirm"]).status().unwrap().success());
    assert_eq!(plan.readings(), after);
    assert_eq!(status(&plan)["sessions"][0]["to_confirm_within_s"], serde_json::Value::Null);
    assert!(plan.command(&["undo"]).status().unwrap().success());
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
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn a_second_plan_is_told_of_the_first() {
    let Some(plan) = BenchPlan::new() else { return };
    let before = plan.readings();
    let path = plan.path().display().to_string();
    assert!(plan.command(&["apply", &path]).status().unwrap().success());
    let second = plan.bench.run(&["apply", &path, "--confirm-within", "60s"]);
    // Everything is so already: what it asks for is held by the first all the same.
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains("has set it already") && told.contains("pinwise undo --session"), "{told}");
    assert!(plan.command(&["undo"]).status().unwrap().success());
    assert_eq!(plan.readings(), before);
}

#[test]
#[ignore = "ground truth: needs root and ip netns; run by `make test`"]
fn what_somebody_else_changes_is_left_and_told() {
    let Some(plan) = BenchPlan::new() else { return };
    let path = plan.path().display().to_string();
    let swappiness = "/proc/sys/vm/swappiness";
    let before = std::fs::read_to_string(swappiness).unwrap();
    assert!(plan.command(&["apply", &path]).status().unwrap().success());
    std::fs::write(swappiness, "33\n").unwrap();
    let text = plan.bench.run(&["status"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let undone = plan.bench.run(&["undo"]);
    let left = std::fs::read_to_string(swappiness).unwrap();
    std::fs::write(swappiness, &before).unwrap();
    assert!(text.contains("now 33: changed since by somebody else"), "{text}");
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
        eprintln!("skipped: system calls are told apart on x86_64 alone");
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
