//! Loads that are a command, driven by other hosts: figures whose truth is known, and what becomes of commands that cannot run or do not
//! end.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::host_namespaces::HostNamespaces;
use super::host_processes::{signal, sleeping};
use super::hosted_study::{HostedStudy, finished};
use super::{ENDED_WITHIN, HOSTS, WORKLOAD_FAILED, json, nothing_is_changed_on, nothing_runs, pinwise_on};

/// Exit code of a machine that does not have what is needed, as documented in `pinwise --help`.
const MACHINE_LACKS: i32 = 4;

/// What a process that a command leaves behind sleeps for, s: no other does.
const LEFT_BEHIND_S: &str = "4711";

/// Real requests, and figures that each host has of its own. What it starts beside itself does not end by itself.
const SCRIPT: &str = r#"
test "$LC_ALL" = C || exit 9
sleep 4711 > /dev/null 2>&1 &
case $(uname -n) in
  b) echo errors 3; echo constant 1000;;
  c) echo errors 4; echo constant 250.5;;
  *) exit 8;;
esac
exec /root/.cache/pinwise/pinwise-* drive --address {address} --port {port} \
  --driver string --keep-alive --connections 2 --seconds 0.5
"#;

fn recipe(script: &str) -> String {
    format!(
        "[load]\ndriver = 'command'\ntimeout_s = 20.0\ncommand = ['sh', '-c', '''{script}''']\n\
         [load.figures]\n\
         requests_per_s = {{ json-pointer = '/outcome/figures/requests_per_s' }}\n\
         completed = {{ json-pointer = '/outcome/figures/completed' }}\n\
         latency_p99_us = {{ json-pointer = '/outcome/figures/latency_p99_us' }}\n\
         errors = {{ regex = 'errors (\\d+)' }}\n\
         constant_per_s = {{ regex = 'constant (\\S+)' }}\n"
    )
}

/// That nothing is left on the hosts, by their ledgers and by their processes.
fn nothing_is_left(bed: &HostNamespaces) {
    nothing_runs(bed);
    for host in HOSTS {
        nothing_is_changed_on(bed, host);
        let left = sleeping(bed.netns(host), LEFT_BEHIND_S);
        assert!(left.is_empty(), "host {host}: {left:?}");
        let files = bed.within(host, "ls /tmp");
        assert!(!String::from_utf8_lossy(&files.stdout).contains("pinwise"), "host {host}: {files:?}");
    }
}

/// That the trial in this folder is what two processes on each host did together.
fn is_the_sum_of_its_commands(dir: &Path) {
    let (seen, outcome) = (json(&dir.join("hosts.json")), json(&dir.join("outcome.json")));
    let parts = seen.as_array().unwrap();
    let of: Vec<(&str, u64)> =
        parts.iter().filter_map(|part| Some((part["host"].as_str()?, part["process"].as_u64()?))).collect();
    assert_eq!(of, [("b", 0), ("b", 1), ("c", 0), ("c", 1)], "{seen:#}");
    let sum = |key: &str| parts.iter().filter_map(|part| part[key].as_f64()).sum::<f64>();
    let figure = |name: &str| outcome["figures"][name].as_f64();
    let completed = sum("completed");
    assert!(completed > 0.0 && sum("client_cpu_s") > 0.0, "{seen:#}");
    assert_eq!((figure("completed"), figure("errors")), (Some(completed), Some(14.0)), "{outcome:#}");
    assert_eq!(figure("constant_per_s"), Some(2501.0), "{outcome:#}");
    assert!(figure("requests_per_s").is_some_and(|rate| rate > 0.0), "{outcome:#}");
    // Four quantiles of four processes are none of all requests.
    assert_eq!(figure("latency_p99_us"), None, "{outcome:#}");
    let missing = outcome["missing"].as_array().unwrap();
    assert!(missing.iter().any(|one| one["fact"] == "figure latency_p99_us"), "{outcome:#}");
    // Before the moment that was set, none begins; by clocks that are uncertain to less than this.
    assert!(parts.iter().all(|part| part["began_after_us"].as_f64() >= Some(-1_000.0)), "{seen:#}");
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 30 s; run by `make test`"]
fn a_command_on_two_hosts_is_one_load_whose_rates_and_counts_add_up() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let mut study = HostedStudy::begin_by(&recipe(SCRIPT), &bed, &["--hosts", &bed.hosts_file(2)]);
    study.ends_well();
    let case = study.case().unwrap();
    for trial in case.trials.iter().filter(|trial| trial.failed.is_none()) {
        is_the_sum_of_its_commands(&case.trial_dir(trial.index));
    }
    nothing_is_left(&bed);
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 30 s; run by `make test`"]
fn a_command_whose_agent_is_killed_ends_and_the_study_goes_on() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let hosts = bed.hosts_file(1);
    let mut study = HostedStudy::begin_by(&recipe(SCRIPT), &bed, &["--hosts", &hosts, "--attempts", "5"]);
    study.wait_for_load(&bed, "b", |case| finished(case) >= 1);
    signal("KILL", &bed.agents("b"));
    study.wait_until(ENDED_WITHIN, "trial that failed of host b", |study| {
        study.failures().iter().any(|cause| cause.contains("host b"))
    });
    study.ends_well();
    nothing_runs(&bed);
    for host in HOSTS {
        // The ledger of an agent that was killed is its user's to take back.
        pinwise_on(&bed, host, "undo");
        nothing_is_changed_on(&bed, host);
        // What the command had started went with it.
        assert!(sleeping(bed.netns(host), LEFT_BEHIND_S).is_empty(), "host {host}");
    }
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 15 s; run by `make test`"]
fn what_a_load_host_does_not_have_and_what_no_figure_is_taken_of_are_named() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let hosts = bed.hosts_file(1);
    let more = ["--hosts", &hosts, "--attempts", "1"];

    // Each host has a /tmp of its own, so that this program is here and not there.
    let here = tempfile::tempdir_in("/tmp").unwrap();
    let program = here.path().join("load-tool");
    fs::write(&program, "#!/bin/sh\necho rate 1\n").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let program = program.display().to_string();
    let absent = format!(
        "[load]\ndriver = 'command'\ncommand = ['{program}']\n\
         [load.figures]\nrequests_per_s = {{ regex = 'rate (\\d+)' }}\n"
    );
    let mut study = HostedStudy::begin_by(&absent, &bed, &more);
    let (status, said) = (study.ends(), study.log());
    assert_eq!(status.code(), Some(MACHINE_LACKS), "{said}");
    assert!(said.contains("host b") && said.contains(&program), "{said}");
    study.nothing_is_changed();
    nothing_is_left(&bed);

    let too_much = recipe("head -c 70000000 /dev/zero");
    let mut study = HostedStudy::begin_by(&too_much, &bed, &more);
    let (status, said) = (study.ends(), study.log());
    assert_eq!(status.code(), Some(WORKLOAD_FAILED), "{said}");
    assert!(said.contains("more than 64 MiB"), "{said}");
    assert!(said.contains("host b") || said.contains("host c"), "{said}");
    study.nothing_is_changed();
    nothing_is_left(&bed);
}
