//! `pinwise diagnose`: what is wrong with a running server, ranked, with the next command.

mod situation;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use advise::diagnosis::{self, Diagnosis};
use machine::{Class, Fault, Machine, Root, untrusted};
use probe::Situation;
use report::account::diagnosis_text::{self, Wanted};
use serde::Serialize;

use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::verbs::watch::replay::{self, Part};
use crate::window;

/// The window where none is given.
const USUAL: &str = "10s";

/// A situation of a machine with a thousand CPUs and as many lines takes some 30 MiB.
const MOST_BYTES: u64 = 256 << 20;

// Flags of `pinwise diagnose`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise diagnose --process nginx                  a unit, or the only process of that name
  pinwise diagnose --process 4711 --for 30s         a process and its descendants
  pinwise diagnose --process shop/web-7d9f          a Kubernetes pod of this node
  pinwise diagnose --process all:redis-server       all processes of that name; job:4711: a Slurm job
  pinwise diagnose                                  the machine as a whole
  pinwise diagnose --process db --full              every cause with all its evidence
  pinwise diagnose --process db --keep db.json      save what was seen, to diagnose it again elsewhere
  pinwise diagnose --from db.json
  pinwise diagnose --replay RING --last 5m          what 'pinwise watch --record RING' recorded
  pinwise diagnose --from web7.tar.zst              a machine archived by 'pinwise capture': its settings only
  pinwise diagnose --process db --format json | jq '.causes[0]'

Root, or CAP_BPF and CAP_PERFMON, is needed to see who took the CPU. Without them only the counters of /proc are used,
and the report names what they cannot show. Findings are observations, not proofs: 'pinwise study' measures whether a
remedy helps.")]
pub struct Args {
    /// The server: a process number or name (all:NAME: all processes of that name), a systemd unit, the path of a cgroup, a container, a
    /// guest, a Kubernetes pod (UID, NAME or NAMESPACE/NAME), a Slurm job (job:NUMBER). Without it: the machine as a whole
    #[arg(long, alias = "pid", value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB")]
    process: Option<String>,
    /// How long to observe, such as 30s, 200ms or 5m
    #[arg(long = "for", value_name = "TIME", value_parser = window::length, default_value = USUAL)]
    window: Duration,
    /// Show every cause with all its evidence, and everything that could not be seen
    #[arg(long)]
    full: bool,
    /// Save what was seen to this file
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    keep: Option<PathBuf>,
    /// Diagnose a file saved with --keep, or a machine captured by 'pinwise capture' (its settings only), instead of this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["process", "window"])]
    from: Option<PathBuf>,
    /// Diagnose a recording: the folder of 'pinwise watch --record'
    #[arg(long, value_name = "RING", conflicts_with_all = ["process", "window", "from", "keep"])]
    replay: Option<PathBuf>,
    /// Only the last part of the recording, such as 5m
    #[arg(long, value_name = "TIME", value_parser = window::length, requires = "replay", conflicts_with_all = ["since", "until"])]
    last: Option<Duration>,
    /// Only from this time on, in UTC: 10:00 (on the last day of the recording), '2026-11-21 10:00:05' or @1795255205
    #[arg(long, value_name = "WHEN", requires = "replay")]
    since: Option<String>,
    /// Only up to this time
    #[arg(long, value_name = "WHEN", requires = "replay")]
    until: Option<String>,
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

impl Args {
    /// Which part of the ring.
    fn part(&self) -> Part<'_> {
        let (from, to) = (("--since", self.since.as_deref()), ("--until", self.until.as_deref()));
        Part { last: self.last, from, to }
    }

    /// Whether it is judged what was seen earlier, maybe elsewhere.
    fn is_of_the_past(&self) -> bool {
        self.from.is_some() || self.replay.is_some()
    }
}

/// Looks, judges, prints.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let situation = match (&args.from, &args.replay) {
        (Some(file), _) => read(file)?,
        (None, Some(ring)) => replay::read(ring, &args.part())?,
        (None, None) => {
            let stop = interrupt::flag()?;
            situation::collect(&Root::live(), args.process.as_deref(), args.window, &stop)?
        }
    };
    if let Some(file) = &args.keep {
        output::to(Some(file), &output::one_line(&situation)?)?;
    }
    let diagnosis = diagnosis::judge(&situation);
    match args.format {
        Format::Json => output::json(&Document {
            server: &situation.target,
            pids: &situation.pids,
            window_s: situation.window_s,
            diagnosis: &diagnosis,
        })?,
        Format::Text => {
            let wanted = Wanted { all: args.full, past: args.is_of_the_past() };
            let text = diagnosis_text::render(&diagnosis, &situation.target, wanted);
            output::text(&output::fitted(None, text))?;
        }
    }
    Ok(Answer::Done)
}

/// Reads what `--keep` wrote, or a captured machine.
fn read(file: &Path) -> Result<Situation, Fault> {
    let remedy = "name a file that 'pinwise diagnose --keep' wrote, or a capture of a machine";
    let is_kept =
        !file.is_dir() && begins_as_json(file).map_err(|e| Fault::io(file.display(), &e, remedy))?;
    if !is_kept {
        let machine = Machine::read(&Root::at(file)?);
        return Ok(Situation { target: file.display().to_string(), machine, ..Situation::default() });
    }
    let text =
        untrusted::file::read_text(file, MOST_BYTES).map_err(|e| Fault::io(file.display(), &e, remedy))?;
    let not_kept = |why: &dyn std::fmt::Display| Fault::new(Class::Usage, file.display(), why, remedy);
    let situation: Situation = serde_json::from_slice(text.as_bytes()).map_err(|why| not_kept(&why))?;
    // In a situation of an older pinwise any part but the name may be missing. Without a name it is some other JSON file.
    if situation.target.is_empty() { Err(not_kept(&"it does not name its target")) } else { Ok(situation) }
}

/// Whether a file begins as a JSON object does. No archive does.
fn begins_as_json(file: &Path) -> io::Result<bool> {
    let mut first = [0; 1];
    let read = untrusted::file::open_found(file)?.read(&mut first)?;
    Ok(read == 1 && first == *b"{")
}
