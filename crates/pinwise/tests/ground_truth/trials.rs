//! What trials say was really so: what a thief took, who wanted the CPU, what a quota held back, where the server ran.

use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{CpuSet, Dose, Machine, Placement, Root};
use serde_json::Value;
use study::engine::prepare;
use study::{Arm, Case, Recipe, Role, design};

use crate::pinwise::Bench;

/// Server on CPU 0, load on CPU 1.
fn apart() -> Placement {
    let cpu = |cpu| Some(CpuSet::single(cpu));
    Placement { server_cpus: cpu(0), load_cpus: cpu(1), ..Placement::default() }
}

fn dosed(share_permille: u16) -> Placement {
    Placement { dose: Some(Dose { cpus: CpuSet::single(0), share_permille }), ..apart() }
}

/// One block of a study of `placement` beside [`apart`] twice: the trials of `placement`.
fn trials_of(
    bench: &Bench,
    recipe: &str,
    placement: Placement,
    runs: impl Fn(&Bench, &str) -> Command,
) -> Vec<Value> {
    let budget = "[budget]\nblocks = 1\nwindow_s = 0.8\nwarm_up_cap_s = 0.3\nattempts = 1\n";
    let text = format!("seed = 1\n{recipe}{budget}");
    let recipe = Recipe::from_toml(&text, "recipe").unwrap();
    let machine = Machine::read(&Root::live());
    let mut study = prepare::resolve(recipe, &machine).unwrap();
    study.string_rounds = Some(2_000);
    study.arms = vec![
        Arm::new("A", Role::Baseline, apart()),
        Arm::new("B", Role::Baseline, apart()),
        Arm::new("asked", Role::Candidate, placement),
    ];
    study.order = design::draw_order(3, 1, 1);
    let case =
        Case::create_with(&bench.case(), study, |case| case.write_json("machine.json", &machine).map(drop));
    drop(case.unwrap());
    // One block decides nothing; what counts here are the trials.
    let out = runs(bench, &bench.case().display().to_string()).output().unwrap();
    let lines = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap_or_default();
    let trials: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(trials.len(), 3, "{}", String::from_utf8_lossy(&out.stderr));
    trials.into_iter().filter(|trial| trial["arm"] == "asked").collect()
}

fn resumed(bench: &Bench, case: &str) -> Command {
    bench.command(&["resume", case])
}

fn share(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
#[ignore = "ground truth: needs root, two CPUs and some seconds; run by `make test`"]
fn what_a_dose_takes_is_read_from_the_kernel_and_is_nobody_elses() {
    let bench = Bench::new();
    let [trial] = &trials_of(&bench, "", dosed(200), resumed)[..] else { panic!("one trial") };
    let as_run = &trial["as_run"];
    let taken = share(&as_run["dose_taken_share"]);
    let log = bench.case().join("trials").join(format!("{:04}", trial["index"].as_u64().unwrap()));
    let log = std::fs::read_to_string(log.join("dose.log")).unwrap();
    if !log.contains("SCHED_FIFO") {
        return eprintln!("skipped: {log}");
    }
    assert!((taken / 0.2 - 1.0).abs() < 0.2, "{taken} of 0.2: {log}");
    assert!(trial["disturbed"].is_null() || share(&as_run["others_user_cpus"]) > 0.0, "{trial:#}");
    // The built-in server is busy whenever it may, and has what the thief leaves.
    let (server, load) = (&as_run["server_demand"], &as_run["load_demand"]);
    let wanted = share(&server["on_cpu_share"]) + share(&server["waited_share"]);
    assert!(share(&server["on_cpu_share"]) < 1.0 - 0.8 * taken && wanted <= 2.0, "{trial:#}");
    assert!(share(&load["on_cpu_share"]) > 0.0 && share(&as_run["load_busy_cpus"]) > 0.0, "{trial:#}");
    assert!(as_run["misplaced"].is_null() && trial["starved"].is_null(), "{trial:#}");
}

/// A cgroup of version 1 with a quota, until it is dropped; none where this machine has no such hierarchy.
struct Quota(PathBuf);

impl Quota {
    fn of(cpus: f64) -> Option<Self> {
        let dir = Path::new("/sys/fs/cgroup/cpu").join(format!("pinwise-test-{}", std::process::id()));
        std::fs::create_dir(&dir).ok()?;
        let quota = Self(dir);
        let quota_us = (cpus * 1e5) as u64;
        std::fs::write(quota.0.join("cpu.cfs_quota_us"), quota_us.to_string()).ok()?;
        // Others that want the CPU are not to be the limit.
        std::fs::write(quota.0.join("cpu.shares"), "262144").ok()?;
        Some(quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Who was in it may still be leaving.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

#[test]
#[ignore = "ground truth: needs root, cgroups of version 1, two CPUs and some seconds; run by `make test`"]
fn a_quota_that_holds_all_of_it_back_is_counted_for_server_and_load() {
    let Some(quota) = Quota::of(0.1) else { return eprintln!("skipped: no cgroup of version 1 can be made") };
    let bench = Bench::new();
    let inside = |bench: &Bench, case: &str| {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", quota.0.display());
        let resume = bench.command(&["resume", case]);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(resume.get_program()).args(resume.get_args());
        command.envs(resume.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(resume.get_current_dir().unwrap());
        command
    };
    let [trial] = &trials_of(&bench, "", apart(), inside)[..] else { panic!("one trial") };
    let name = quota.0.file_name().unwrap().to_string_lossy();
    for party in ["server_quotas", "load_quotas"] {
        let [seen] = &trial["as_run"][party].as_array().unwrap()[..] else { panic!("one quota: {trial:#}") };
        assert!(seen["cgroup"].as_str().unwrap().ends_with(&*name), "{seen}");
        assert_eq!(share(&seen["cpus"]), 0.1);
        let [periods, throttled] = ["periods", "throttled_periods"].map(|key| seen[key].as_u64().unwrap());
        assert!(periods >= 4 && throttled * 2 > periods && share(&seen["throttled_us"]) > 1e5, "{seen}");
    }
}

#[test]
#[ignore = "ground truth: needs two CPUs, taskset and some seconds; run by `make test`"]
fn a_server_that_pins_itself_elsewhere_is_misplaced() {
    let server = "[server]\ncommand = \"taskset -c 1 {exe} string-server --address {address} --port {port} --rounds 2000\"\n";
    let bench = Bench::new();
    let [trial] = &trials_of(&bench, server, apart(), resumed)[..] else { panic!("one trial") };
    let misplaced = &trial["as_run"]["misplaced"];
    assert_eq!(misplaced["how"], "elsewhere", "{trial:#}");
    let unpinned = Placement { server_cpus: None, load_cpus: None, ..Placement::default() };
    let bench = Bench::new();
    let [trial] = &trials_of(&bench, server, unpinned, resumed)[..] else { panic!("one trial") };
    assert_eq!(trial["as_run"]["misplaced"]["how"], "narrower", "{trial:#}");
}

#[test]
#[ignore = "ground truth: needs two CPUs and some seconds; run by `make test`"]
fn a_command_of_brief_processes_has_a_busy_share_and_says_what_it_cannot_measure() {
    let script = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); (:); done; echo rate 5";
    let load = format!(
        "metric = \"rate_per_s\"\n[load]\ndriver = \"command\"\ncommand = \"sh -c '{script}'\"\n\
         [load.figures]\nrate_per_s = {{ regex = 'rate (\\d+)' }}\n"
    );
    let bench = Bench::new();
    let [trial] = &trials_of(&bench, &load, apart(), resumed)[..] else { panic!("one trial") };
    let as_run = &trial["as_run"];
    assert!(share(&as_run["load_busy_cpus"]) > 0.0, "{trial:#}");
    let reported = trial["missing"].as_array().unwrap().iter().any(|m| m["fact"] == "demand of the load");
    assert!(as_run["load_demand"].is_object() || reported, "{trial:#}");
}

/// Takes connections and never answers; needs Python.
const SILENT: &str = "\
import socket, sys\n\
s = socket.socket()\n\
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
s.bind(('127.0.0.1', int(sys.argv[1])))\n\
s.listen(64)\n\
kept = []\n\
while True: kept.append(s.accept())\n";

#[test]
#[ignore = "ground truth: needs two CPUs, python3 and some seconds; run by `make test`"]
fn a_load_that_is_never_answered_is_starved_and_no_error() {
    let bench = Bench::new();
    let script = bench.case().with_file_name("silent.py");
    std::fs::write(&script, SILENT).unwrap();
    let server = format!("[server]\ncommand = \"python3 {} {{port}}\"\n", script.display());
    let [trial] = &trials_of(&bench, &server, apart(), resumed)[..] else { panic!("one trial") };
    assert_eq!((&trial["starved"], &trial["failed"]), (&Value::Bool(true), &Value::Null), "{trial:#}");
    assert_eq!(trial["figures"]["requests_per_s"], 0.0);
}
