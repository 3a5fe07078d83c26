//! Studies as jobs of Slurm, of a cluster of three nodes in namespaces of this host.

mod cluster;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use self::cluster::{Cluster, NODES};
use crate::pinwise::wait_at_most;

/// Short trials on one CPU.
const SHORT: [&str; 10] =
    ["--cpus", "0", "--window", "0.3", "--warm-up", "0.1", "--observed", "0", "--seed", "1"];

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Submits a study of so many blocks on all nodes; its job.
fn submitted(cluster: &Cluster, case: &str, blocks: &str) -> Value {
    let of_job =
        ["study", "--slurm", "--slurm-nodes", "3", "--format", "json", "--blocks", blocks, "-o", case];
    let out = cluster.pinwise(&[&of_job[..], &SHORT, &["--", "--comment=a test"]].concat());
    assert!(out.status.success(), "{}", stderr(&out));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn trials(case: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(case.join("trials.jsonl")).unwrap_or_default();
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Blocks that have a trial that did not fail.
fn blocks(case: &Path) -> BTreeSet<u64> {
    let ran = trials(case).into_iter().filter(|trial| trial["failed"].is_null());
    ran.filter_map(|trial| trial["block"].as_u64()).collect()
}

/// For each trial that has any: the hosts that parts of its load were seen on.
fn hosts_of_trials(case: &Path) -> Vec<BTreeSet<String>> {
    let folders = fs::read_dir(case.join("trials")).unwrap().map(|entry| entry.unwrap().path());
    let texts = folders.filter_map(|folder| fs::read_to_string(folder.join("hosts.json")).ok());
    let hosts = |text: String| -> BTreeSet<String> {
        let seen: Vec<Value> = serde_json::from_str(&text).unwrap();
        seen.iter().filter_map(|part| part["host"].as_str().map(String::from)).collect()
    };
    texts.map(hosts).collect()
}

#[test]
#[ignore = "ground truth: needs root, slurm-wlm, munge, and half a minute; run by `make test`"]
fn a_study_runs_as_a_job_and_goes_on_on_the_same_nodes_alone() {
    let Some(cluster) = Cluster::new() else { return };
    let case = cluster.path("case");
    let name = case.display().to_string();
    let job = submitted(&cluster, &name, "2");
    assert_eq!(job["nodes"], 3);
    assert_eq!(job["case"], name.as_str());
    let number = job["job"].as_u64().unwrap();
    wait_at_most(Duration::from_secs(90), "the end of the job", || cluster.has_ended(number));
    let log = fs::read_to_string(job["log"].as_str().unwrap()).unwrap();
    assert!(log.contains("the server runs on n1, the load on n2, n3"), "{log}");
    assert_eq!(blocks(&case), BTreeSet::from([0, 1]), "{log}");
    let hosts = hosts_of_trials(&case);
    let load = BTreeSet::from(["n2".to_string(), "n3".to_string()]);
    assert!(!hosts.is_empty() && hosts.iter().all(|of_trial| *of_trial == load), "{hosts:?}\n{log}");
    let study = fs::read_to_string(case.join("study.toml")).unwrap();
    assert!(study.contains("slurm_server_node = \"n1\"") && study.contains("10.214.9.1"), "{study}");
    assert_eq!(cluster.running(), [""; 0]);
    cluster.nothing_is_changed();

    let outside = cluster.pinwise(&["resume", &name, "--blocks", "+1"]);
    assert_eq!(outside.status.code(), Some(2), "{}", stderr(&outside));
    assert!(stderr(&outside).contains("--nodelist=n1,n2,n3"), "{}", stderr(&outside));
    let fewer = cluster.pinwise_on(&["n1", "n2"], &["resume", &name, "--blocks", "+1"]);
    assert!(!fewer.status.success(), "{}", stderr(&fewer));
    assert!(stderr(&fewer).contains("it ran on n1 (server) and n2, n3"), "{}", stderr(&fewer));
    assert_eq!(blocks(&case).len(), 2);
    let same = cluster.pinwise_on(&NODES, &["resume", &name, "--blocks", "+1"]);
    assert!(same.status.success(), "{}", stderr(&same));
    assert_eq!(blocks(&case).len(), 3, "{}", stderr(&same));
}

/// `make soak`: they take long, and shorter tests cover their parts.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, slurm-wlm, munge, and half a minute; run by `make soak`"]
    fn a_job_that_is_cancelled_leaves_nothing() {
        let Some(cluster) = Cluster::new() else { return };
        let case = cluster.path("case");
        let job = submitted(&cluster, &case.display().to_string(), "20");
        let number = job["job"].as_u64().unwrap();
        let is_agent = |line: &String| line.split(' ').nth(1) == Some("agent");
        wait_at_most(Duration::from_secs(60), "a trial with two agents after the first", || {
            !trials(&case).is_empty() && cluster.running().iter().filter(|line| is_agent(line)).count() == 2
        });
        let out = cluster.run("scancel", &[&number.to_string()]);
        assert!(out.status.success(), "{}", stderr(&out));
        wait_at_most(Duration::from_secs(30), "the end of the job", || cluster.has_ended(number));
        let log = fs::read_to_string(job["log"].as_str().unwrap()).unwrap();
        assert_eq!(cluster.running(), [""; 0], "{log}");
        cluster.nothing_is_changed();
        for node in NODES {
            let left = fs::read_dir(cluster.tmp_of(node)).unwrap().map(|entry| entry.unwrap().file_name());
            let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
            assert!(left.iter().all(|name| !name.starts_with("pinwise-agent")), "{node}: {left:?}\n{log}");
        }
        assert!(blocks(&case).len() < 20, "cancelled in the middle");
    }
}
