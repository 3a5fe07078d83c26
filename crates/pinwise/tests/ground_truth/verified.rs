//! `pinwise verify` where the truth is built: receive work is steered onto CPU 0, and a plan puts the server right there; a storm takes
//! a quarter of the CPU that the server is on, the study's own plan takes it away from there, and the storm comes after it.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::pinwise::{Bench, SHORT_TRIALS};
use crate::processes::Killed;
use crate::storms;
use crate::testbed::Testbed;

/// The answer of a verification of a plan that pins the server, and its exit code.
fn verified(bench: &Bench, cpu: u32) -> (serde_json::Value, Option<i32>) {
    let path = bench.case().with_file_name("plan.toml");
    let text = format!("[[setting]]\nknob = \"process-affinity\"\ntarget = \"server\"\nvalue = \"{cpu}\"\n");
    std::fs::write(&path, text).unwrap();
    let (case, path) = (bench.case().display().to_string(), path.display().to_string());
    let out = bench.run(&["verify", &case, "--plan", &path, "--format", "json"]);
    let stderr = String::from_utf8_lossy(&out.stderr);
    let reported = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    (reported, out.status.code())
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make test`"]
fn a_plan_that_makes_it_worse_is_never_called_a_gain() {
    let Some(bed) = Testbed::new() else { return };
    bed.steer_onto(0);
    let before = bed.steering();
    let bench = Bench::new();
    // The study is only there to be verified: two blocks claim nothing.
    bench.study(&bed, &["--blocks", "2"]);
    let (reported, code) = verified(&bench, 0);
    assert_eq!((reported["holds"].as_bool(), code), (Some(false), Some(1)), "{reported:#}");
    let verdict = &reported["contrast"]["verdict"];
    // On a noisy host nothing may be decided; the other way round it never is.
    assert!(
        verdict == "worse" || verdict == "undecided" || reported["trust"]["is"] != "sound",
        "{reported:#}"
    );
    assert_eq!(reported["trials"], "verify/0001");
    assert!(
        bench.case().join("verdict.json").is_file()
            && bench.case().join("verify/0001/trials.jsonl").is_file()
    );
    assert_eq!(bed.steering(), before, "the machine must be as it was found");
    eprintln!("a server on the CPU that receives: {}", reported["contrast"]);
}

/// How often a gain that is there may stay undecided: on a shared host that is an honest answer to a noisy minute.
const ATTEMPTS: usize = 3;

/// The server on CPU 0 as it was found, and on CPU 1; the mis-tuning is both on the stormy one.
const RECIPE: &str = "[baseline]\nserver = '0'\nload = '1'\n\
                      [mis_tuning]\nserver = '0'\nload = '0'\n\
                      [[factors]]\nkind = 'places'\nlevels = [{ name = 'moved', server = '1', load = '0' }]\n";

/// A process that stands for the server that runs for good, on CPU 0.
struct Server(Killed);

impl Server {
    fn new() -> Self {
        let mut command = Command::new("taskset");
        let server =
            Self(Killed(command.args(["-c", "0", "sleep", "3600"]).stdin(Stdio::null()).spawn().unwrap()));
        crate::pinwise::wait_at_most(std::time::Duration::from_secs(10), "taskset", || server.cpus() == "0");
        server
    }

    fn cpus(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_string()
    }
}

/// Studies until there is a plan of it, or not: then the host was too noisy to see a quarter of a CPU.
fn planned(bench: &Bench, bed: &Testbed) -> bool {
    let recipe = bench.case().with_file_name("recipe.toml");
    std::fs::write(&recipe, RECIPE).unwrap();
    let (recipe, case) = (recipe.display().to_string(), bench.case().display().to_string());
    let plan = bench.case().with_file_name("plan.toml").display().to_string();
    for _ in 0..ATTEMPTS {
        let _ = std::fs::remove_dir_all(bench.case());
        let mut arguments = bench.study_arguments(bed, &SHORT_TRIALS);
        arguments.insert(1, recipe.clone());
        bench.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let out = bench.run(&["plan", &case, "-o", &plan]);
        match out.status.code() {
            Some(0) => return true,
            code => assert_eq!(code, Some(1), "{}", String::from_utf8_lossy(&out.stderr)),
        }
    }
    eprintln!("skipped: {ATTEMPTS} studies did not see the storm: the host is too noisy");
    false
}

/// Whether the interval of the same placement, run twice in each block, is wider than a tenth.
fn is_noisy(reported: &Value) -> bool {
    let end = |at: usize| reported["a_a"]["interval"][at].as_f64();
    match (end(0), end(1)) {
        (Some(low), Some(high)) => low < 0.9 || high > 1.1,
        _ => true,
    }
}

/// What `pinwise verify CASE` says of the study's own plan.
fn verdict(bench: &Bench) -> Value {
    let case = bench.case().display().to_string();
    let out = bench.run(&["verify", &case, "--format", "json"]);
    let stderr = String::from_utf8_lossy(&out.stderr);
    let reported: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!(reported["holds"].as_bool(), Some(out.status.code() == Some(0)), "{reported:#}");
    reported
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 5 minutes; run by `make test`"]
fn a_server_that_is_moved_off_a_storm_gains_and_into_one_does_not() {
    let Some(bed) = Testbed::new() else { return };
    let Some((storm, rate_per_s)) = storms::start_taking_a_quarter(0) else { return };
    let (bench, server) = (Bench::new(), Server::new());
    if !planned(&bench, &bed) {
        return;
    }
    let plan = bench.case().with_file_name("plan.toml").display().to_string();
    let of = server.0.id().to_string();
    let applied = bench.run(&["apply", &plan, "--server", &of]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(server.cpus(), "1", "the study says to leave CPU 0");

    let rate = storms::Rate::of(0);
    let mut reported = Vec::new();
    while reported.len() < ATTEMPTS && !reported.last().is_some_and(holds) {
        reported.push(verdict(&bench));
    }
    for reported in &reported {
        assert_ne!(reported["contrast"]["verdict"], "worse", "{reported:#}");
    }
    match reported.last().filter(|reported| holds(reported)) {
        Some(reported) => eprintln!("off the storm: {}", reported["contrast"]),
        None if !rate.is_at_least(rate_per_s) => eprintln!("the kernel held the storm back"),
        // On a host that others use silence is an honest answer, if the same placement twice differs as much.
        None if reported.iter().all(is_noisy) => eprintln!("the host is too noisy"),
        None => panic!("the gain was not seen in {ATTEMPTS} verifications: {reported:#?}"),
    }

    // The same placement is the wrong one when the storm is on the other CPU.
    drop(storm);
    let Some((_storm, _)) = storms::start_taking_a_quarter(1) else { return };
    let reported = verdict(&bench);
    assert!(
        !holds(&reported) && reported["contrast"]["verdict"] != "better",
        "it was moved into the storm: {reported:#}"
    );
    eprintln!("into the storm: {}", reported["contrast"]);
    let undone = bench.run(&["undo"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
    assert_eq!(server.cpus(), "0");
}

fn holds(reported: &Value) -> bool {
    reported["holds"] == true
}
