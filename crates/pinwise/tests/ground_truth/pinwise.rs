//! Runs the binary as a user would, with a state folder and a case of its own.

use std::path::PathBuf;
use std::process::{Command, Output};

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

    pub fn case(&self) -> PathBuf {
        self.dir.path().join("case")
    }

    /// `pinwise` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(arguments).env("PINWISE_STATE_DIR", self.dir.path().join("state")).current_dir(self.dir.path());
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
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stdout)))
    }

    /// Arguments of a study between the two namespaces.
    pub fn study_arguments<'a>(&self, bed: &'a Testbed, more: &[&'a str]) -> Vec<String> {
        let case = self.case().display().to_string();
        let mut arguments: Vec<String> = ["study", "--format", "json", "--seed", "1", "-o", &case]
            .iter()
            .map(|s| s.to_string())
            .collect();
        for (flag, value) in [("--server-netns", bed.server.as_str()), ("--load-netns", &bed.load), ("--address", bed.address)] {
            arguments.extend([flag.to_string(), value.to_string()]);
        }
        arguments.extend(more.iter().map(|s| s.to_string()));
        arguments
    }

    /// A whole study between the two namespaces.
    pub fn study(&self, bed: &Testbed, more: &[&str]) -> Value {
        let shorter = ["--window", "1.0", "--warm-up", "0.4"];
        let arguments = self.study_arguments(bed, &[&shorter[..], more].concat());
        self.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// CPUs that the study calls slower than the others.
pub fn slow_cpus(result: &Value) -> Vec<u64> {
    result["slow_cpus"].as_array().unwrap().iter().filter_map(Value::as_u64).collect()
}

/// (rule, CPU, standing) of every finding.
pub fn findings(result: &Value) -> Vec<(String, Option<u64>, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let findings = result["findings"].as_array().unwrap();
    findings.iter().map(|f| (text(&f["rule"]), f["cpu"].as_u64(), text(&f["standing"]))).collect()
}

/// What a failing assertion prints.
pub fn told(result: &Value) -> String {
    format!("trust {}\n{:#}\n{:#?}", result["trust"], result["contrasts"]["against_other_cpus"], findings(result))
}
