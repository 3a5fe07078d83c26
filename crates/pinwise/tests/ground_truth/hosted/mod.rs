//! Studies whose load other hosts drive: what they measure, and what is left when agents, connections, networks and the study itself die.

mod commands;
mod faults;
mod fleet;
mod fleet_measured;
mod host_namespaces;
mod host_processes;
mod hosted_study;
mod server_elsewhere;

use std::fs;
use std::path::Path;
use std::time::Duration;

use machine::{Machine, Root};
use serde_json::Value;
use study::{Case, Role};

use self::host_namespaces::HostNamespaces;
use self::host_processes::signal;
use self::hosted_study::{HostedStudy, finished};
use crate::pinwise::wait_at_most;

/// The hosts of most tests here.
const HOSTS: [&str; 2] = ["b", "c"];

/// An agent that hears nothing ends after 10 s (`SILENCE` in `crates/hosts/src/connection.rs`); the rest is for a busy machine.
const ENDED_WITHIN: Duration = Duration::from_secs(15);

/// Exit code of a workload that failed, as documented in `pinwise --help`.
const WORKLOAD_FAILED: i32 = 5;

fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

/// That no agent and no load is left on the hosts, and no connection to them, and that none was left in a hurry.
fn nothing_runs(bed: &HostNamespaces) {
    for host in HOSTS {
        wait_at_most(ENDED_WITHIN, &format!("the end of all that ran for the study on host {host}"), || {
            bed.agents(host).is_empty() && bed.loads(host).is_empty() && bed.ssh(host).is_empty()
        });
    }
}

/// What `pinwise` prints on a host, of the one binary that was copied there.
fn pinwise_on(bed: &HostNamespaces, host: &str, words: &str) -> String {
    let out = bed.within(host, &format!("exec /root/.cache/pinwise/pinwise-* {words}"));
    assert!(out.status.success(), "host {host}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// That nothing is in force on a host, by its own ledger.
fn nothing_is_changed_on(bed: &HostNamespaces, host: &str) {
    let status: Value = serde_json::from_str(&pinwise_on(bed, host, "status --format json")).unwrap();
    assert!(status["sessions"].as_array().is_some_and(Vec::is_empty), "host {host}: {status:#}");
}

/// That the trial in this folder is the sum of what two processes on each host did, by one clock.
fn is_the_sum_of_its_parts(dir: &Path) {
    let (seen, outcome) = (json(&dir.join("hosts.json")), json(&dir.join("outcome.json")));
    let parts = seen.as_array().unwrap();
    let number = |part: &Value, key: &str| part[key].as_f64().unwrap_or_else(|| panic!("{key}: {part:#}"));
    let of: Vec<(&str, u64)> =
        parts.iter().filter_map(|part| Some((part["host"].as_str()?, part["process"].as_u64()?))).collect();
    assert_eq!(of, [("b", 0), ("b", 1), ("c", 0), ("c", 1)], "{seen:#}");
    for part in parts {
        // The clock of all of them is that of one kernel. The middle of a round trip may be half a nanosecond off.
        let error_ns = number(part, "offset_error_ns") + 1.0;
        assert!(number(part, "offset_ns").abs() <= error_ns, "{part:#}");
        // Later, and the trial had failed; earlier by no more than the clocks are uncertain.
        assert!((-1_000.0..=5_000.0).contains(&number(part, "began_after_us")), "{part:#}");
        assert!(number(part, "completed") > 0.0 && number(part, "client_busy") > 0.0, "{part:#}");
    }
    let completed: f64 = parts.iter().map(|part| number(part, "completed")).sum();
    assert_eq!(outcome["figures"]["completed"].as_f64(), Some(completed), "{seen:#}");
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 25 s; run by `make test`"]
fn two_processes_on_each_of_two_hosts_drive_one_load_and_leave_nothing_there() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = HostedStudy::begin(&bed, &["--hosts", &bed.hosts_file(2)]);
    study.ends_well();
    let case = study.case().unwrap();
    for trial in case.trials.iter().filter(|trial| trial.failed.is_none()) {
        is_the_sum_of_its_parts(&case.trial_dir(trial.index));
    }
    nothing_runs(&bed);
    for host in HOSTS {
        let capture = case.dir().join("hosts").join(format!("{host}.tar.zst"));
        let there = Machine::read(&Root::at(&capture).unwrap());
        assert_eq!(there.online(), Machine::read(&Root::live()).online(), "host {host}");
        let path = json(&case.dir().join("hosts").join(format!("{host}.path.json")));
        for end in ["server", "load"] {
            assert!(path[end]["interface"].is_string(), "host {host}: {path:#}");
            assert!(
                path[end]["path_mtu_bytes"].as_u64().is_some_and(|bytes| bytes >= 1280),
                "host {host}: {path:#}"
            );
        }
        nothing_is_changed_on(&bed, host);
        let left = bed.within(host, "ls /tmp");
        assert!(!String::from_utf8_lossy(&left.stdout).contains("pinwise"), "host {host}: {left:?}");
    }
}

/// Median over the trials in which nothing takes CPU time from the server on purpose.
fn requests_per_s(bed: &HostNamespaces, load: [&str; 2]) -> f64 {
    // Work enough for the server to be the limit.
    let mut study = HostedStudy::begin(bed, &[load[0], load[1], "--work-us", "100"]);
    study.ends_well();
    let case = study.case().unwrap();
    let is_dosed = |name: &str| case.study.arms.iter().any(|arm| arm.name == name && arm.role == Role::Dose);
    let undosed = case.trials.iter().filter(|trial| !is_dosed(&trial.arm));
    let mut rates: Vec<f64> =
        undosed.filter_map(|trial| trial.figures.get("requests_per_s").copied()).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 30 s; run by `make test`"]
fn an_agent_measures_what_a_load_of_this_host_measures() {
    let Some(bed) = HostNamespaces::local(&["b"]) else { return };
    let (hosts, netns) = (bed.hosts_file(1), bed.netns("b"));
    let mut ratios = Vec::new();
    // On a shared host one of two minutes may be a bad one.
    for _ in 0..3 {
        let by_an_agent = requests_per_s(&bed, ["--hosts", &hosts]);
        let ratio = by_an_agent / requests_per_s(&bed, ["--load-netns", netns]);
        if (0.7..1.4).contains(&ratio) {
            return;
        }
        ratios.push(ratio);
    }
    panic!("requests per second by an agent are these multiples of those by a load of this host: {ratios:?}");
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 30 s; run by `make test`"]
fn a_study_goes_on_after_a_killed_agent_and_a_network_that_was_cut_for_a_second() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = HostedStudy::begin(&bed, &["--hosts", &bed.hosts_file(2), "--attempts", "5"]);
    study.wait_for_load(&bed, "b", |case| finished(case) >= 1);
    signal("KILL", &bed.agents("b"));
    study.wait_until(ENDED_WITHIN, "trial that failed of host b", |study| {
        study.failures().iter().any(|cause| cause.contains("host b"))
    });
    study.wait_for_load(&bed, "c", |case| finished(case) >= 2);
    bed.cut("c");
    std::thread::sleep(Duration::from_secs(1));
    bed.restore("c");
    // Each trial that failed was run again: there is a figure of each arm in each block.
    study.ends_well();
    nothing_runs(&bed);
    for host in HOSTS {
        // The ledger of an agent that was killed is its user's to take back.
        pinwise_on(&bed, host, "undo");
        nothing_is_changed_on(&bed, host);
    }
}

/// Whether the trial that comes next, or runs, is of an arm without which nothing can be compared.
fn runs_a_control(case: &Case) -> bool {
    case.next().is_some_and(|slot| case.study.arms[slot.arm].role != Role::Candidate)
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 30 s; run by `make test`"]
fn a_host_that_is_cut_off_ends_its_load_and_the_study_names_it() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    // With one attempt, a control that fails ends the study.
    let mut study = HostedStudy::begin(&bed, &["--hosts", &bed.hosts_file(1), "--attempts", "1"]);
    study.wait_for_load(&bed, "b", |case| finished(case) >= 1 && runs_a_control(case));
    bed.cut("b");
    // Its load is over in half a second: stopped, it goes only if the agent ends it.
    signal("STOP", &bed.loads("b"));
    let kept = study.finished();
    wait_at_most(ENDED_WITHIN, "the end of agent and load on a host that was cut off", || {
        bed.agents("b").is_empty() && bed.loads("b").is_empty()
    });
    let (status, said) = (study.ends(), study.log());
    assert_eq!(status.code(), Some(WORKLOAD_FAILED), "{said}");
    assert!(said.contains("host b") && said.contains("pinwise resume"), "{said}");
    assert!(study.finished() >= kept && kept >= 1, "{said}");
    study.nothing_is_changed();
    nothing_runs(&bed);
    for host in HOSTS {
        nothing_is_changed_on(&bed, host);
    }
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 30 s; run by `make test`"]
fn the_hosts_of_a_killed_study_are_left_as_they_were_and_resume_completes_the_case() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = HostedStudy::begin(&bed, &["--hosts", &bed.hosts_file(2)]);
    study.wait_for_load(&bed, "b", |case| finished(case) >= 1);
    // As above: the load must not end by itself meanwhile.
    signal("STOP", &bed.loads("b"));
    study.kill();
    let kept = study.trials_text();
    nothing_runs(&bed);
    for host in HOSTS {
        nothing_is_changed_on(&bed, host);
    }
    study.resume();
    study.ends_well();
    assert!(study.trials_text().starts_with(&kept), "finished trials must stay as they were");
    nothing_runs(&bed);
}
