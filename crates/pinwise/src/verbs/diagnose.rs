//! `pinwise diagnose`: what is wrong with a running server, ranked, with the next command.

mod collecting;

use std::path::{Path, PathBuf};
use std::time::Duration;

use advise::diagnosis::{Diagnosis, diagnose, diagnose_machine};
use machine::{Class, Fault, Root, foreign};
use probe::Situation;
use report::diagnosis_text::{self, Wanted};
use serde::Serialize;

use crate::cli::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::window;

/// The window where none is given.
const USUAL: &str = "10s";

/// A situation of a machine with a thousand CPUs and as many lines takes some 30 MiB.
const MOST_BYTES: u64 = 256 << 20;

/// Flags of `pinwise diagnose`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise diagnose --process nginx                  a unit, or the only process of that name
  pinwise diagnose --process 4711 --for 30s         a process and its descendants
  pinwise diagnose                                  the machine as a whole, whoever runs there
  pinwise diagnose --process db --full              every cause with all its evidence
  pinwise diagnose --process db --keep db.json      keeps what was seen, to be judged again elsewhere
  pinwise diagnose --from db.json
  pinwise diagnose --process db --format json | jq '.causes[0]'

Root, or CAP_BPF and CAP_PERFMON, is needed to see who took the CPU; without, the counters of /proc are judged, and what they
cannot tell is named. What it finds is seen, not proved: 'pinwise study' measures whether a remedy helps.")]
pub struct Args {
    /// The server: a process number or name, a systemd unit, the path of a cgroup, a container, a guest. Without it: the machine as a whole
    #[arg(long, alias = "pid", value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST")]
    process: Option<String>,
    /// How long to look, as 30s, 200ms or 5m
    #[arg(long = "for", value_name = "TIME", value_parser = window::length, default_value = USUAL)]
    window: Duration,
    /// Every cause with all its evidence, and all that could not be seen
    #[arg(long)]
    full: bool,
    /// Keep what was seen in this file
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    keep: Option<PathBuf>,
    /// Judge what was kept in a file instead of looking
    #[arg(long, value_name = "FILE", conflicts_with = "process")]
    from: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `--format json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    /// Who it is about.
    server: &'a str,
    /// Its processes when the window began.
    pids: &'a [u32],
    /// Length of the window, s.
    window_s: f64,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

/// Looks, judges, tells.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let situation = match &args.from {
        Some(file) => read(file)?,
        None => {
            let stop = interrupt::flag()?;
            collecting::collect(&Root::live(), args.process.as_deref(), args.window, &stop)?
        }
    };
    if let Some(file) = &args.keep {
        output::to(Some(file), &output::one_line(&situation)?)?;
    }
    let of_a_server = !situation.pids.is_empty();
    let diagnosis = if of_a_server { diagnose(&situation) } else { diagnose_machine(&situation) };
    match args.format {
        Format::Json => output::json(&Document {
            server: &situation.target,
            pids: &situation.pids,
            window_s: situation.window_s,
            diagnosis: &diagnosis,
        })?,
        Format::Text => {
            output::text(&diagnosis_text::render(&diagnosis, &situation.target, Wanted { all: args.full }))?;
        }
    }
    Ok(Answer::Done)
}

/// Reads what `--keep` wrote.
fn read(file: &Path) -> Result<Situation, Fault> {
    let remedy = "name a file that 'pinwise diagnose --keep' wrote";
    let text = foreign::read_text(file, MOST_BYTES).map_err(|e| Fault::io(file.display(), &e, remedy))?;
    serde_json::from_str(&text).map_err(|why| Fault::new(Class::Usage, file.display(), why, remedy))
}
