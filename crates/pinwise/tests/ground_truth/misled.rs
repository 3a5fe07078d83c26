//! What misleads a study, made on purpose: a CPU that is busy with something else, too little of it, a server that places itself, a load
//! that cannot show anything. No false sentence may be said of any of them, and each answer must be of use.
//!
//! A busy machine may hide a cause: then *undecided* is right, and what may never be said is asserted all the same.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::CpuSet;
use serde_json::Value;

use crate::pinwise::{Bench, slow_cpus, summary};
use crate::processes::Killed;
use crate::watched::Limited;

/// Short and few: what is made here costs a third and more.
const SHORT: [&str; 10] =
    ["study", "--format", "json", "--blocks", "8", "--window", "0.3", "--warm-up", "0.1", "--attempts=1"];

/// A server with this much work a request, us.
fn study(bench: &Bench, more: &[&str]) -> Value {
    let case = bench.case().display().to_string();
    let result = bench.json(&[&SHORT[..], &["-o", &case], more].concat());
    is_of_use(&result);
    result
}

/// There is an answer, how sure it is, and what to do next.
fn is_of_use(result: &Value) {
    let is_said = |text: &Value| text.as_str().is_some_and(|text| text.len() > 10);
    assert!(
        is_said(&result["answer"]["title"]) && is_said(&result["answer"]["sure"]),
        "{:#}",
        result["answer"]
    );
    let next = result["next"].as_array().unwrap();
    assert!(!next.is_empty() && next.iter().all(|step| is_said(&step["why"])), "{next:#?}");
}

fn title(result: &Value) -> &str {
    result["answer"]["title"].as_str().unwrap()
}

/// A command that runs until what this returns goes.
fn beside(command: &[&str]) -> Killed {
    let mut child = Command::new(command[0]);
    Killed(child.args(&command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A task that never sleeps, on one CPU.
fn busy(cpu: u32) -> Killed {
    beside(&["taskset", "-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])
}

/// The load runs on CPU 1 where the server has CPU 0, and starves there: that is no fault of CPU 0.
#[test]
#[ignore = "ground truth: needs two CPUs and a minute; run by `make test`"]
fn a_busy_task_on_the_loads_cpu_does_not_make_the_servers_slow() {
    let busy = busy(1);
    let bench = Bench::new();
    let result = study(&bench, &["--work-us", "5", "--anyway"]);
    drop(busy);
    assert!(!slow_cpus(&result).contains(&0), "{}", summary(&result));
    assert!(!title(&result).contains("CPU 0 is slow"), "{}", title(&result));
}

/// It runs on CPU 0 whatever it is given.
#[test]
#[ignore = "ground truth: needs two CPUs and half a minute; run by `make test`"]
fn a_server_that_places_itself_is_said_to_and_no_placement_is_better() {
    let server = format!(
        "taskset -c 0 {} string-server --address {{address}} --port {{port}} --rounds 3000",
        env!("CARGO_BIN_EXE_pinwise")
    );
    let bench = Bench::new();
    let result = study(&bench, &["--server", &server, "--load", "string", "--anyway"]);
    let contrasts = result["contrasts"]["against_baseline"].as_array().unwrap();
    let of = |arm: &str| contrasts.iter().find(|contrast| contrast["arm"] == arm).unwrap();
    assert_eq!(of("cpu 1")["verdict"], "not-as-asked", "{contrasts:#?}");
    assert!(!slow_cpus(&result).contains(&1), "{}", summary(&result));
    let out = bench.run(&["plan", &bench.case().display().to_string()]);
    let plan = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(!plan.contains("value = \"1\""), "{plan}");
}

/// Work on one CPU that takes from none to 60 % of it and back in 7 s.
fn wave(cpu: u32, ended: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut only = rustix::thread::CpuSet::new();
        only.set(cpu as usize);
        rustix::thread::sched_setaffinity(None, &only).unwrap();
        let began = Instant::now();
        while !ended.load(Ordering::Relaxed) {
            let phase = began.elapsed().as_secs_f64() / 7.0 * std::f64::consts::TAU;
            let share = 0.3 * (1.0 - phase.cos());
            let until = Instant::now() + Duration::from_secs_f64(0.010 * share);
            while Instant::now() < until {}
            std::thread::sleep(Duration::from_secs_f64(0.010 * (1.0 - share)));
        }
    })
}

/// Those that take longest.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs two CPUs and a minute; run by `make soak`"]
    fn a_busy_task_on_the_servers_cpu_makes_that_one_slow_and_no_other() {
        let busy = busy(1);
        let bench = Bench::new();
        // A server that never sleeps long: half of the CPU is the other task's.
        let result = study(&bench, &["--work-us", "300"]);
        drop(busy);
        assert!(!slow_cpus(&result).contains(&0), "{}", summary(&result));
        let said = slow_cpus(&result) == [1]
            || result["answer"]["tone"] == "undecided"
            || title(&result).contains("load");
        assert!(said, "{}: {}", title(&result), summary(&result));
    }

    /// A task above all others on CPU 1: nothing else runs there, but for what the kernel keeps for ordinary tasks.
    #[test]
    #[ignore = "ground truth: needs root, two CPUs and a minute; run by `make soak`"]
    fn a_real_time_task_that_never_sleeps_is_a_finding_of_its_cpu() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: real-time priority needs root");
        }
        let hog = beside(&["chrt", "-f", "40", "taskset", "-c", "1", "sh", "-c", "while :; do :; done"]);
        let bench = Bench::new();
        let result = study(&bench, &["--work-us", "300", "--anyway"]);
        drop(hog);
        assert!(!slow_cpus(&result).contains(&0), "{}", summary(&result));
        assert!(
            !title(&result).contains("CPU 0 is slow") && !title(&result).contains("No difference"),
            "{}",
            title(&result)
        );
    }

    /// Server, load and pinwise have one CPU between them: there is no other place.
    #[test]
    #[ignore = "ground truth: needs half a minute; run by `make soak`"]
    fn with_one_cpu_for_everything_no_cpu_is_slow() {
        let bench = Bench::new();
        let case = bench.case().display().to_string();
        let mut command = Command::new("taskset");
        command.args(["-c", "1", env!("CARGO_BIN_EXE_pinwise")]).args(SHORT).args(["--anyway", "-o", &case]);
        let out = command.env("PINWISE_STATE_DIR", bench.case().with_file_name("state")).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let result: Value = serde_json::from_slice(&out.stdout).unwrap();
        is_of_use(&result);
        assert!(slow_cpus(&result).is_empty(), "{}", summary(&result));
        let claimed = result["contrasts"]["against_baseline"].as_array().unwrap().iter();
        // Pinned to the one CPU that there is, and not: the same.
        let claimed: Vec<&Value> = claimed
            .filter(|contrast| contrast["verdict"] == "better" || contrast["verdict"] == "worse")
            .collect();
        assert!(claimed.is_empty(), "{claimed:#?}");
    }

    /// One request at a time, and little to do for it: most of the time is the way there and back.
    #[test]
    #[ignore = "ground truth: needs half a minute; run by `make soak`"]
    fn one_slow_connection_is_said_not_to_show_anything_or_makes_no_cpu_slow() {
        let bench = Bench::new();
        let case = bench.case().display().to_string();
        let arguments = [
            "--connections",
            "1",
            "--work-us",
            "0",
            "--rate",
            "50",
            "--metric",
            "requests_per_s",
            "-o",
            &case,
        ];
        let out = bench.run(&[&SHORT[..], &arguments].concat());
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        if !out.status.success() {
            assert!(
                stderr.contains("cannot show a bad placement") && stderr.contains("--anyway"),
                "{stderr}"
            );
            return;
        }
        let result: Value = serde_json::from_slice(&out.stdout).unwrap();
        is_of_use(&result);
        assert!(slow_cpus(&result).is_empty(), "{}", summary(&result));
    }

    /// More threads than a study could place one by one.
    #[test]
    #[ignore = "ground truth: needs nginx and a minute; run by `make soak`"]
    fn sixty_four_workers_are_placed_as_one_and_none_is_lost() {
        let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/nginx.toml");
        if Command::new("nginx").arg("-v").output().is_err() {
            return eprintln!("skipped: no nginx");
        }
        let bench = Bench::new();
        let case = bench.case().display().to_string();
        let text = std::fs::read_to_string(recipe).unwrap();
        assert!(text.contains("worker_processes 1"), "the recipe has changed");
        let many = bench.case().with_file_name("many.toml");
        std::fs::write(&many, text.replace("worker_processes 1", "worker_processes 64")).unwrap();
        let mut arguments = vec!["study", many.to_str().unwrap()];
        arguments.extend(&SHORT[1..]);
        arguments.extend(["--anyway", "-o", &case]);
        let result = bench.json(&arguments);
        is_of_use(&result);
        let placed = result["contrasts"]["against_baseline"].as_array().unwrap();
        assert!(placed.iter().all(|contrast| contrast["verdict"] != "not-as-asked"), "{placed:#?}");
    }

    /// Other work comes and goes in waves of several seconds, on all CPUs alike.
    #[test]
    #[ignore = "ground truth: needs two CPUs and a minute; run by `make soak`"]
    fn noise_that_drifts_makes_no_cpu_slow() {
        let ended = Arc::new(AtomicBool::new(false));
        let cpus = rustix::thread::sched_getaffinity(None).unwrap();
        let cpus: CpuSet = (0..1024).filter(|cpu| cpus.is_set(*cpu as usize)).collect();
        let waves: Vec<_> = cpus.iter().map(|cpu| wave(cpu, Arc::clone(&ended))).collect();
        let bench = Bench::new();
        let result = study(&bench, &[]);
        ended.store(true, Ordering::Relaxed);
        waves.into_iter().for_each(|wave| wave.join().unwrap());
        assert!(slow_cpus(&result).is_empty(), "{}", summary(&result));
    }

    /// 0.4 CPUs for the server, wherever it is: the quota comes first, and no CPU is slow for it.
    #[test]
    #[ignore = "ground truth: needs root, a cgroup with the CPU controller and a minute; run by `make soak`"]
    fn a_quota_comes_first_in_the_answer() {
        let limit = ("cpu.max", "40000 100000");
        let Some(cgroup) =
            Limited::new("cpu", &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "40000")], &[limit])
        else {
            return eprintln!("skipped: no cgroup with the CPU controller");
        };
        let procs = cgroup.folder().join("cgroup.procs").display().to_string();
        let server = format!(
            "sh -c 'echo $$ > {procs}; exec {} string-server --address {{address}} --port {{port}} --rounds 20000'",
            env!("CARGO_BIN_EXE_pinwise")
        );
        let bench = Bench::new();
        let result = study(&bench, &["--server", &server, "--load", "string", "--anyway"]);
        assert!(title(&result).contains("quota of 0.4"), "{}", title(&result));
        assert!(slow_cpus(&result).is_empty(), "{}", summary(&result));
    }
}
