//! `pinwise fleet apply` on hosts of which each has a network of its own: a plan that steers packets of each host's card.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::host_namespaces::HostNamespaces;
use super::{nothing_is_changed_on, pinwise_on};
use crate::pinwise::{Bench, wait_at_most};
use crate::processes::Killed;

/// Two waves of two hosts.
const FOUR: [&str; 4] = ["b", "c", "d", "e"];

/// What it changes belongs to one network namespace, and so to one of the hosts.
const PLAN: &str = "[[setting]]\nknob = \"rps-cpus\"\ntarget = \"eth0/rx-0\"\nvalue = \"0\"\n";

/// How long something may take that takes no time: machines are busy.
const SOON: Duration = Duration::from_secs(60);

/// Where the packets of a host's card are steered to, as its kernel says it.
fn steering(bed: &HostNamespaces, host: &str) -> String {
    let read = bed.within(host, "cat /sys/class/net/eth0/queues/rx-0/rps_cpus");
    assert!(read.status.success(), "host {host}: {read:?}");
    String::from_utf8(read.stdout).unwrap().trim().to_string()
}

/// The same of several hosts.
pub(super) fn steerings(bed: &HostNamespaces, hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| steering(bed, host)).collect()
}

/// A plan, the hosts, and a folder in which the check looks for a file of each host's name.
struct Rollout {
    bench: Bench,
    arguments: Vec<String>,
    wells: PathBuf,
}

impl Rollout {
    fn new(bed: &HostNamespaces, more: &[&str]) -> Self {
        let bench = Bench::new();
        let within = |name: &str| bench.case().with_file_name(name);
        let (plan, wells) = (within("plan.toml"), within("well"));
        fs::write(&plan, PLAN).unwrap();
        fs::create_dir(&wells).unwrap();
        let (hosts, check) = (bed.hosts_file(1), format!("test -e {}/{{host}}", wells.display()));
        let words = ["fleet", "apply", plan.to_str().unwrap(), "--hosts", &hosts, "--check", &check];
        let words = [&words[..], more, &["--format", "json"]].concat();
        Self { arguments: words.into_iter().map(String::from).collect(), bench, wells }
    }

    fn command(&self) -> Command {
        self.bench.command(&self.arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn are_well(&self, hosts: &[&str]) {
        hosts.iter().for_each(|host| fs::write(self.wells.join(host), "").unwrap());
    }

    /// Runs it to its end; the document that it prints.
    fn run(&self, code: i32) -> Value {
        let Output { status, stdout, stderr } = self.command().output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(code), "{said}\n{}", String::from_utf8_lossy(&stdout));
        serde_json::from_slice(&stdout).unwrap()
    }
}

/// Each host with its wave and how it stands.
pub(super) fn states<'a>(document: &'a Value) -> Vec<(&'a str, u64, &'a str)> {
    let rows = document["hosts"].as_array().unwrap().iter();
    let text = |value: &'a Value| value.as_str().unwrap();
    rows.map(|row| (text(&row["host"]), row["wave"].as_u64().unwrap(), text(&row["state"]))).collect()
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 10 s; run by `make test`"]
fn a_check_that_fails_in_the_second_wave_leaves_all_hosts_as_they_were() {
    let Some(bed) = HostNamespaces::new(&FOUR) else { return };
    let before = steerings(&bed, &FOUR);
    let rollout = Rollout::new(&bed, &["--waves", "2,100%", "--settle", "50ms", "--confirm-within", "60s"]);
    rollout.are_well(&["b", "c", "d"]);
    let document = rollout.run(1);
    let expected = [("b", 1, "undone"), ("c", 1, "undone"), ("d", 2, "undone"), ("e", 2, "undone")];
    assert_eq!(states(&document), expected, "{document:#}");
    assert_eq!(document["stopped"]["harm"]["wave"], 2, "{document:#}");
    assert_eq!(document["hosts"][3]["fault"]["object"], "host e: check", "{document:#}");
    assert_eq!(steerings(&bed, &FOUR), before);
    FOUR.iter().for_each(|host| nothing_is_changed_on(&bed, host));

    // Once the last one is well, too, the plan stays on all of them.
    rollout.are_well(&["e"]);
    let document = rollout.run(0);
    assert!(states(&document).iter().all(|(_, _, state)| *state == "confirmed"), "{document:#}");
    for (host, before) in FOUR.iter().zip(&before) {
        assert_ne!(steering(&bed, host), *before, "host {host}");
        pinwise_on(&bed, host, "undo");
    }
    assert_eq!(steerings(&bed, &FOUR), before);
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 10 s; run by `make test`"]
fn hosts_whose_controller_is_killed_take_the_plan_back_themselves() {
    let hosts = ["b", "c"];
    let Some(bed) = HostNamespaces::new(&hosts) else { return };
    let before = steerings(&bed, &hosts);
    let rollout = Rollout::new(&bed, &["--waves", "100%", "--settle", "5s", "--confirm-within", "6s"]);
    let mut command = rollout.command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Killed(command.spawn().unwrap());
    wait_at_most(SOON, "the apply on both hosts", || {
        steerings(&bed, &hosts).iter().zip(&before).all(|(now, before)| now != before)
    });
    drop(running);
    wait_at_most(SOON, "the revert on both hosts", || steerings(&bed, &hosts) == before);
    hosts.iter().for_each(|host| nothing_is_changed_on(&bed, host));
    wait_at_most(SOON, "the end of the agents", || hosts.iter().all(|host| bed.agents(host).is_empty()));
}
