//! What the statistics of pinwise are worth: simulated studies on which the truth is known, weighed by the same code
//! that weighs real ones, beside Welch's t test and what hyperfine prints.
//!
//! `cargo run --release -p pinwise-study --example validate -- [--seed N] [--studies N] [--json FILE] [PART ...]`
//!
//! Parts: false-claims, power, looks, scaling, series, intervals, pooled, situations, dose; none named: all. Tables in Markdown on stdout. docs/statistics.md has them.

mod dose;
mod false_claims;
mod intervals;
mod looks;
mod pooled;
mod power;
mod rivals;
mod series;
mod situations;
mod table;
mod world;

use std::process::ExitCode;

use table::Table;

/// Who wants what.
struct Asked {
    seed: u64,
    studies: u64,
    json: Option<String>,
    parts: Vec<String>,
}

type Part = (&'static str, fn(u64, u64) -> Vec<Table>);

const PARTS: [Part; 9] = [
    ("false-claims", |seed, studies| vec![false_claims::measure(seed, studies)]),
    ("power", power::measure),
    ("looks", |seed, studies| vec![looks::measure(seed, 5 * studies)]),
    ("scaling", |seed, studies| vec![intervals::curves(seed, studies)]),
    ("series", |seed, studies| vec![series::measure(seed, studies)]),
    ("intervals", |seed, studies| vec![intervals::others(seed, studies)]),
    ("pooled", |seed, studies| vec![pooled::measure(seed, studies)]),
    ("situations", |seed, studies| vec![situations::measure(seed, studies)]),
    ("dose", |seed, studies| vec![dose::measure(seed, studies)]),
];

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)).and_then(|asked| run(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("validate: {why}");
            ExitCode::FAILURE
        }
    }
}

fn asked(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked { seed: 20_261_122, studies: 1000, json: None, parts: Vec::new() };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seed" => asked.seed = value()?.parse().map_err(|e| format!("--seed: {e}"))?,
            "--studies" => asked.studies = value()?.parse().map_err(|e| format!("--studies: {e}"))?,
            "--json" => asked.json = Some(value()?),
            part if PARTS.iter().any(|(name, _)| *name == part) => asked.parts.push(word),
            other => {
                let names = PARTS.map(|(name, _)| name).join(", ");
                return Err(format!("there is no part '{other}': choose from {names}"));
            }
        }
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<(), String> {
    let mut tables = Vec::new();
    for (name, measure) in PARTS {
        if asked.parts.is_empty() || asked.parts.iter().any(|part| part == name) {
            eprintln!("{name} ...");
            for table in measure(asked.seed, asked.studies) {
                println!("{}", table.markdown());
                tables.push(table.as_json());
            }
        }
    }
    match &asked.json {
        Some(path) => {
            let text = serde_json::to_string_pretty(&tables).map_err(|e| format!("{path}: {e}"))?;
            std::fs::write(path, text)
                .map_err(|e| format!("{path}: {e}: choose a folder that can be written to"))
        }
        None => Ok(()),
    }
}
