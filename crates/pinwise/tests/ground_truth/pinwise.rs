//! Runs the binary as a user would, with a state folder and a case of its own.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::testbed::Testbed;

/// A folder for one test: the case, and pinwise's ledger.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// The same in memory where that can be had: thousands of fsyncs on a disk take minutes.
    pub fn in_memory() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { dir: dir.unwrap() }
    }

    pub fn case(&self) -> PathBuf {
        self.dir.path().join("case")
    }

    /// `pinwise` with these arguments; a study without observed blocks unless it asks for them, for they take time.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let unobserved = arguments.first() == Some(&"study") && !arguments.contains(&"--observed");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command
            .args(arguments)
            .args(if unobserved { &["--observed", "0"][..] } else { &[] })
            .env("PINWISE_STATE_DIR", self.dir.path().join("state"))
            .current_dir(self.dir.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs to success and reads the JSON document on stdout.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.run(arguments);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "pinwise {arguments:?}: {}\n{stderr}", out.status);
        serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stdout)))
    }

    /// That nothing of pinwise's is in force on this machine any more.
    pub fn nothing_is_changed(&self) {
        let left = self.json(&["status", "--format", "json"]);
        assert!(left["sessions"].as_array().is_none_or(Vec::is_empty), "{left:#}");
    }

    /// Arguments of a study between the two namespaces.
    pub fn study_arguments<'a>(&self, bed: &'a Testbed, more: &[&'a str]) -> Vec<String> {
        let case = self.case().display().to_string();
        let mut arguments: Vec<String> =
            ["study", "--format", "json", "--seed", "1", "-o", &case].iter().map(|s| s.to_string()).collect();
        for (flag, value) in
            [("--server-netns", bed.server.as_str()), ("--load-netns", &bed.load), ("--address", bed.address)]
        {
            arguments.extend([flag.to_string(), value.to_string()]);
        }
        arguments.extend(more.iter().map(|s| s.to_string()));
        arguments
    }

    /// A whole study between the two namespaces, in short trials: what the tests build moves the figure by a quarter and more.
    pub fn study(&self, bed: &Testbed, more: &[&str]) -> Value {
        let blocks: &[&str] = if more.contains(&"--blocks") { &[] } else { &FEW_BLOCKS };
        let arguments = self.study_arguments(bed, &[&SHORT_TRIALS, blocks, more].concat());
        self.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Studies until CPU `slow` is among those that `named` reads from the result ([`slow_cpus`], [`worse_cpus`]), and no other. On a shared host *undecided* is an honest answer to a noisy minute, and is measured
    /// again, three times at most; a wrong answer is not, and neither is silence each time about a quiet machine. `held` says
    /// whether the CPU was slow all the while: where it was not, silence is right.
    pub fn study_until_named(
        &self,
        bed: &Testbed,
        slow: u32,
        more: &[&str],
        named: fn(&Value) -> Vec<u64>,
        held: impl Fn() -> bool,
    ) -> Option<Value> {
        let mut silent = Vec::new();
        for _ in 0..ATTEMPTS {
            let _ = std::fs::remove_dir_all(self.case());
            let result = self.study(bed, more);
            let named = named(&result);
            if named == [u64::from(slow)] {
                return Some(result);
            }
            assert!(named.is_empty(), "CPU {slow} was made slow: {}", summary(&result));
            eprintln!("CPU {slow} was made slow, and nothing is decided: {}", summary(&result));
            if held() && !is_noisy(&result) {
                silent.push(result);
            }
        }
        assert!(
            silent.len() < ATTEMPTS,
            "CPU {slow} was made slow, the machine is quiet, and {ATTEMPTS} studies did not see it"
        );
        eprintln!(
            "skipped: the host is too noisy, or took the slowness away itself, in {} of {ATTEMPTS} studies",
            ATTEMPTS - silent.len()
        );
        None
    }

    /// Proves until `rule` is proved, likewise; nothing may be refuted.
    pub fn prove(&self, rule: &str) -> bool {
        let case = self.case().display().to_string();
        for _ in 0..ATTEMPTS {
            let _ = std::fs::remove_dir_all(self.case().join("proofs"));
            let _ = std::fs::remove_file(self.case().join("proofs.json"));
            let out = self.run(&["explain", &case, "--prove", "--format", "json"]);
            let stderr = String::from_utf8_lossy(&out.stderr);
            assert!(matches!(out.status.code(), Some(0 | 1)), "{stderr}");
            let result: Value = serde_json::from_slice(&out.stdout).unwrap();
            let found = findings(&result);
            assert!(found.iter().all(|(_, _, standing)| standing != "refuted"), "{}", summary(&result));
            if found.iter().any(|(name, _, standing)| name == rule && standing == "proved") {
                assert_eq!(out.status.code(), Some(0), "{stderr}");
                return true;
            }
        }
        false
    }
}

const ATTEMPTS: usize = 3;

/// What the comparisons of two CPUs need, and two more: what the tests build is seen in fewer blocks than a study has that does not know.
const FEW_BLOCKS: [&str; 2] = ["--blocks", "10"];

/// A quarter of the usual trial.
pub const SHORT_TRIALS: [&str; 4] = ["--window", "0.3", "--warm-up", "0.1"];

/// Whether not even a fifth of the server's CPU time could be seen to go: then the host is the cause. (The baseline beside itself shows
/// nothing here: unpinned on an uneven machine it is a mixture, however quiet the host is.)
fn is_noisy(result: &Value) -> bool {
    result["contrasts"]["control"]["outcome"]["outcome"] != "seen"
}

/// CPUs that the study calls slower than the others.
pub fn slow_cpus(result: &Value) -> Vec<u64> {
    result["slow_cpus"].as_array().unwrap().iter().filter_map(Value::as_u64).collect()
}

/// CPUs with which the study calls the figure worse than with the others, whoever of server and load meets the cause there.
pub fn worse_cpus(result: &Value) -> Vec<u64> {
    let contrasts = result["contrasts"]["against_other_cpus"].as_array().unwrap();
    let worse =
        contrasts.iter().filter(|contrast| contrast["verdict"] == "worse" && contrast["whose"] != "load");
    worse.filter_map(|contrast| contrast["cpu"].as_u64()).collect()
}

/// (rule, CPU, standing) of every finding.
pub fn findings(result: &Value) -> Vec<(String, Option<u64>, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let findings = result["findings"].as_array().unwrap();
    findings.iter().map(|f| (text(&f["rule"]), f["cpu"].as_u64(), text(&f["standing"]))).collect()
}

/// What a failing assertion prints.
pub fn summary(result: &Value) -> String {
    format!(
        "trust {}\n{:#}\n{:#?}",
        result["trust"],
        result["contrasts"]["against_other_cpus"],
        findings(result)
    )
}

/// Waits until `done`, for so long at most.
pub fn wait_at_most(within: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not happen within {within:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
