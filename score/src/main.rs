//! Scores pinwise on causes made on purpose: `score live` makes each of them on this machine and has the server diagnosed, `score explain`
//! studies it with the cause and without, `score recorded` judges windows that were kept, in seconds. A claim where there is no cause, or on a look-alike, is worse than silence, and is counted apart.

mod actor;
mod explained;
mod manual;
mod recorded;
mod scenario;
mod simulated;
mod stage;
mod table;
mod verdict;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use scenario::Scenario;
use table::Row;

/// Scores diagnoses.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Makes each cause on this machine, as root, and diagnoses the server beside it
    Live {
        /// Scenarios, by the beginning of their names; all where none is named
        names: Vec<String>,
        /// The pinwise to score
        #[arg(long, default_value = "target/quick/pinwise")]
        pinwise: PathBuf,
        /// How often each is made
        #[arg(long, default_value_t = 1)]
        times: usize,
        /// Keep what was seen in the folders of the scenarios, for 'score recorded'
        #[arg(long)]
        keep: bool,
        /// How long pinwise looks, s
        #[arg(long, default_value_t = 3.0)]
        window_s: f64,
    },
    /// Studies each server with its cause and without, as root, and has pinwise explain the difference
    Explain {
        /// Scenarios, by the beginning of their names; all where none is named
        names: Vec<String>,
        /// The pinwise to score
        #[arg(long, default_value = "target/quick/pinwise")]
        pinwise: PathBuf,
    },
    /// Judges what was kept
    Recorded {
        /// Scenarios, by the beginning of their names; all where none is named
        names: Vec<String>,
    },
    /// Prints what pinwise saw in a scenario, or would see in a made-up one, as 'pinwise diagnose --from' reads it
    Seen {
        /// Its name
        name: String,
    },
    /// Prints the manual of all rules: docs/causes.md
    Causes,
    /// A server, a client or a disturbance of a scenario
    #[command(hide = true)]
    Actor(actor::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("score: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<ExitCode, String> {
    let (rows, names) = match verb {
        Verb::Actor(args) => {
            actor::run(&args).map_err(|e| e.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        Verb::Causes => {
            output(&manual::text())?;
            return Ok(ExitCode::SUCCESS);
        }
        Verb::Seen { name } => {
            output(&format!("{}\n", recorded::seen(&name)?))?;
            return Ok(ExitCode::SUCCESS);
        }
        Verb::Explain { names, pinwise } => {
            let pinwise = found(&pinwise)?;
            let rows = Scenario::played(&names)?.iter().map(|scenario| explain(scenario, &pinwise)).collect();
            (rows, names)
        }
        Verb::Live { names, pinwise, times, keep, window_s } => {
            let pinwise = found(&pinwise)?;
            let mut rows = Vec::new();
            for scenario in Scenario::played(&names)? {
                for _ in 0..times {
                    rows.push(live(&scenario, &pinwise, keep, window_s));
                }
            }
            (rows, names)
        }
        Verb::Recorded { names } => (recorded::judge_all(&names)?, names),
    };
    if rows.is_empty() {
        return Err(format!("no scenario is called {}", names.join(", ")));
    }
    output(&format!("{}\n", table::text(&rows)))?;
    Ok(if rows.iter().all(Row::is_right) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A reader that goes away is an error, and no panic.
fn output(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| format!("standard output: {e}"))
}

fn found(pinwise: &Path) -> Result<PathBuf, String> {
    let why = |e| format!("{}: {e}: build it with make build or make study", pinwise.display());
    pinwise.canonicalize().map_err(why)
}

fn explain(scenario: &Scenario, pinwise: &Path) -> Row {
    let row = match explained::play(scenario, pinwise) {
        Ok(claims) => Row::explained(scenario, &claims),
        Err(why) => Row::failed(scenario, why),
    };
    eprintln!("{}", table::line(&row));
    row
}

fn live(scenario: &Scenario, pinwise: &Path, keep: bool, window_s: f64) -> Row {
    let row = match stage::play(scenario, pinwise, window_s) {
        Ok(situation) => {
            let kept = if keep { recorded::keep(scenario, &situation) } else { Ok(()) };
            match kept {
                Ok(()) => Row::judged(scenario, &advise::diagnosis::diagnose(&situation)),
                Err(why) => Row::failed(scenario, why),
            }
        }
        Err(why) => Row::failed(scenario, why),
    };
    eprintln!("{}", table::line(&row));
    row
}
