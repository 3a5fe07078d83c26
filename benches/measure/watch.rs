//! What `pinwise map --watch` costs on this machine at one frame a second.

use std::io;
use std::process::Command;

use benches::blocks::middle;
use benches::cpu_time;

use crate::section::Section;
use crate::tools;

/// Lengths of a short and a long run, s: their difference is free of the cost of starting.
const SHORT_S: u64 = 2;
const LONG_S: u64 = 12;
const RUNS: usize = 5;

/// Measures text frames and JSON lines.
pub fn measure() -> io::Result<Section> {
    let pinwise = tools::pinwise()?;
    let mut section = Section::new("The live map at one frame a second");
    let mut table = String::from("| | CPU time a frame, ms | of one CPU |\n|---|---:|---:|\n");
    for (name, format) in [("plain text", "text"), ("JSON", "json")] {
        let cost = |seconds: u64| {
            let seconds = seconds.to_string();
            let words = ["map", "--watch", "--interval-ms", "1000", "--for", &seconds, "--format", format];
            cpu_time::of(Command::new(&pinwise).args(words)).map(|cost| cost.cpu_ns as f64)
        };
        let mut frames_ns = Vec::new();
        for _ in 0..RUNS {
            frames_ns.push((cost(LONG_S)? - cost(SHORT_S)?) / (LONG_S - SHORT_S) as f64);
        }
        let ms = middle(&frames_ns) / 1e6;
        table.push_str(&format!("| {name} | {ms:.2} | {:.2} % |\n", ms / 10.0));
    }
    section.say(table.trim_end());
    Ok(section)
}
