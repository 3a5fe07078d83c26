//! A guest with this build's pinwise in it, and what it printed.

use machine::Machine;
use rehearse::{Guest, Outcome};
use serde_json::Value;

/// A guest of a shape; `None`, with a word on stderr, where none can be run.
pub fn like(shape: &str) -> Option<Guest> {
    if let Some(why) = Guest::unavailable() {
        eprintln!("skipped: no guest can be run here: {why}");
        return None;
    }
    Some(Guest::like(shape).unwrap().program_as("pinwise", env!("CARGO_BIN_EXE_pinwise")))
}

/// Runs a script that must end well; each of its commands must (`set -e`).
pub fn run(guest: &Guest, script: &str) -> Outcome {
    let outcome = guest.run(&format!("set -e\n{script}")).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(outcome.exit, 0, "{}\n{}", outcome.text(), String::from_utf8_lossy(&outcome.stderr));
    outcome
}

/// A file that the command left, as text.
pub fn text(outcome: &Outcome, name: &str) -> String {
    String::from_utf8(outcome.read(name).unwrap_or_else(|why| panic!("{why}"))).unwrap()
}

/// What `pinwise map --format json` wrote into a file.
pub fn machine(outcome: &Outcome, name: &str) -> Machine {
    serde_json::from_str(&text(outcome, name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// What `--format json` wrote into a file.
pub fn sheet(outcome: &Outcome, name: &str) -> Value {
    serde_json::from_str(&text(outcome, name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// A file of one JSON document a line.
pub fn lines(outcome: &Outcome, name: &str) -> Vec<Value> {
    text(outcome, name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
