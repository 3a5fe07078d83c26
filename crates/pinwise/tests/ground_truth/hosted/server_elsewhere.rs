//! Studies that run on another host than the one that they are asked for on, since their server does.

use std::time::Duration;

use super::host_namespaces::HostNamespaces;
use super::hosted_study::HostedStudy;
use super::{ENDED_WITHIN, json, nothing_is_changed_on};
use crate::pinwise::wait_at_most;

/// The host of the server, and that of the load.
const HOSTS: [&str; 2] = ["a", "b"];

/// Folder of the copy of pinwise, and of runs.
const FOLDER: &str = "/root/.cache/pinwise";

/// The trials of the case of the one run that there was on host a.
const TRIALS: &str = "/root/.cache/pinwise/run-of-pinwise-*/case/trials.jsonl";

/// Longer than it takes until a trial is finished.
const TRIAL_WITHIN: Duration = Duration::from_secs(60);

/// Exit codes, as documented in `pinwise --help`.
const USAGE: i32 = 2;
const INTERRUPTED: i32 = 130;

/// That nothing of a study is left on the hosts but files, or is on its way to end.
fn nothing_runs(bed: &HostNamespaces) {
    for host in HOSTS {
        wait_at_most(ENDED_WITHIN, &format!("the end of all that ran for the study on host {host}"), || {
            let of_study = [bed.studies(host), bed.agents(host), bed.loads(host), bed.ssh(host)];
            of_study.iter().all(Vec::is_empty)
        });
        nothing_is_changed_on(bed, host);
    }
}

/// Whether there is a file on host a.
fn holds(bed: &HostNamespaces, file: &str) -> bool {
    bed.within("a", &format!("test -s {file}")).status.success()
}

/// A study in the middle of a trial, with one finished.
fn begun(bed: &HostNamespaces) -> HostedStudy {
    let mut study = HostedStudy::begin_elsewhere(&bed.hosts_file_of_server());
    study.wait_until(TRIAL_WITHIN, "load on host b after a trial", |_| {
        holds(bed, TRIALS) && !bed.loads("b").is_empty()
    });
    study
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 15 s; run by `make test`"]
fn a_study_runs_where_its_server_is_and_its_case_comes_here() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = HostedStudy::begin_elsewhere(&bed.hosts_file_of_server());
    study.ends_well();
    let case = study.case().unwrap();
    assert_eq!(case.study.recipe.notes.get("server_host").map(String::as_str), Some("a"));
    for trial in case.trials.iter().filter(|trial| trial.failed.is_none()) {
        let seen = json(&case.trial_dir(trial.index).join("hosts.json"));
        assert_eq!(seen[0]["host"], "b", "{seen:#}");
    }
    assert!(case.dir().join("hosts/b.tar.zst").is_file());
    nothing_runs(&bed);
    for (folder, ours) in [("/tmp", "pinwise"), (FOLDER, "run-of-pinwise")] {
        let left = bed.within("a", &format!("ls {folder}"));
        assert!(!String::from_utf8_lossy(&left.stdout).contains(ours), "{folder}: {left:?}");
    }
    // A server of this host is another one.
    study.resume();
    let status = study.ends();
    assert!(status.code() == Some(USAGE) && study.log().contains("host a"), "{status}\n{}", study.log());
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 10 s; run by `make test`"]
fn an_interrupted_study_ends_there_and_what_it_has_comes_here() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = begun(&bed);
    study.interrupt();
    let status = study.ends();
    assert_eq!(status.code(), Some(INTERRUPTED), "{}", study.log());
    assert!(study.finished() >= 1 && study.log().contains("to continue there"), "{}", study.log());
    nothing_runs(&bed);
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 10 s; run by `make test`"]
fn a_killed_study_ends_on_the_host_of_its_server_and_leaves_its_case_there() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = begun(&bed);
    study.kill();
    nothing_runs(&bed);
    assert!(holds(&bed, TRIALS), "what was finished is kept");
}
