//! `make bench [PARTS="PART ..."]`: measures pinwise beside other tools, in one run, in CPU time, in
//! randomised blocks. Parts: map, counters, growth, watch, account, observing, requests, changes, engine,
//! traced, traced_goals, noise, amqp, ldap, http, open_loop. A run of all parts writes benches/RESULTS.md and
//! docs/images/growth.svg; a run of some prints them.

mod account;
mod amqp;
mod changes;
mod counters;
mod engine;
mod growth;
mod http;
mod ldap;
mod map;
mod noise;
mod observing;
mod open_loop;
mod perf_test;
mod pinned;
mod plot;
mod recipe;
mod requests;
mod section;
mod tools;
mod traced;
mod tracer;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use section::Section;

/// That of the program that is handed out: what some parts measure in this process is to cost what it costs there.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// A part of the measurement: its name and what it does.
type Part = (&'static str, fn() -> std::io::Result<Section>);

const PARTS: [Part; 16] = [
    ("map", map::measure),
    ("counters", counters::measure),
    ("growth", growth::measure),
    ("watch", watch::measure),
    ("account", account::measure),
    ("observing", observing::measure),
    ("requests", requests::measure),
    ("changes", changes::measure),
    ("engine", engine::measure),
    ("traced", traced::measure),
    ("traced_goals", traced::measure_goals),
    ("noise", noise::measure),
    ("amqp", amqp::measure),
    ("ldap", ldap::measure),
    ("http", http::measure),
    ("open_loop", open_loop::measure),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> std::io::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|word| !PARTS.iter().any(|(name, _)| name == word)) {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(std::io::Error::other(format!("there is no part '{unknown}': {}", names.join(", "))));
    }
    let mut text = tools::preamble()?;
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            eprintln!("measuring {name} ...");
            text.push_str(&measure()?.to_string());
        }
    }
    print!("{text}");
    if wanted.is_empty() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md"), text)?;
    }
    Ok(())
}
