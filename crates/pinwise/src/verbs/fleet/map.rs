//! `pinwise fleet map`: hosts by their shape, and what deviates within each.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use advise::fleet::Fleet;
use clap::ArgGroup;
use hosts::{inventory, survey};
use machine::Fault;
use report::fleet::NotRead;
use serde::Serialize;

use super::gathered::Gathered;
use super::{captures, reached, table};
use crate::format::Format;
use crate::interrupt;
use crate::notes::note;
use crate::output::{self, Answer};

/// Most threads that read captures unless the user says otherwise: each holds one machine with all of its files.
const MOST_READERS: usize = 8;

/// Flags of `pinwise fleet map`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("ways").required(true).multiple(true).args(["from", "hosts", "host"])))]
#[command(after_help = "\
Examples:
  pinwise fleet map --from captures/                     a folder of NAME.tar.zst, one host each
  pinwise fleet map --hosts hosts.toml --captures taken/ -o fleet.parquet
                                                         hosts listed in a file, by ssh or srun; keep what they send
  pinwise fleet map --host load=web1,web2 --format json | jq '.shapes[].differences'
  duckdb -c \"SELECT * FROM 'fleet.parquet' WHERE differs ORDER BY weight DESC\"      see docs/fleet.md")]
pub struct Args {
    /// File of hosts: TOML, or an Ansible inventory in INI format (docs/hosts.md)
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The same hosts by name, as ssh takes them: load=web1,web2
    #[arg(long, value_name = "ROLE=HOST,...")]
    host: Vec<String>,
    /// Captures of hosts, or folders of captures; a host has the name of its capture
    #[arg(long, value_name = "CAPTURE", num_args = 1.., conflicts_with_all = ["hosts", "host", "captures"])]
    from: Vec<PathBuf>,
    /// Keep the capture of each host in this folder, as HOST.tar.zst
    #[arg(long, value_name = "DIR")]
    captures: Option<PathBuf>,
    /// Number of hosts to read at the same time. Without it: 16; with --from, as many as there are CPUs, at most 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: Option<u16>,
    /// Also write a table in Parquet: one row for each host and feature
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    fleet: &'a Fleet,
    not_read: &'a [NotRead],
}

/// Reads all hosts, prints their shapes, and writes the table. Hosts that cannot be read are listed; at least one must be.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if let Some(path) = &args.output {
        table::check_place(path)?;
    }
    let interrupted = interrupt::flag()?;
    let gathered = match args.from.is_empty() {
        true => of_hosts(args, &interrupted)?,
        false => of_captures(args, &interrupted)?,
    };
    let (fleet, not_read) = gathered.finish()?;
    if let Some(path) = &args.output {
        table::write(path, &fleet)?;
    }
    match args.format {
        Format::Text => output::text(&output::fitted(None, report::fleet::render(&fleet, &not_read)))?,
        Format::Json => output::json(&Document { fleet: &fleet, not_read: &not_read })?,
    }
    Ok(Answer::Done)
}

/// Reaches the hosts of the file and of the flags.
fn of_hosts(args: &Args, interrupted: &AtomicBool) -> Result<Gathered, Fault> {
    let specs = inventory::given(args.hosts.as_deref(), &args.host)?;
    let gathered = Gathered::begin(specs.len());
    let at_most = args.parallel.map_or(survey::AT_A_TIME, usize::from);
    reached::read_all(&specs, args.captures.as_deref(), at_most, interrupted, &gathered)?;
    Ok(gathered)
}

/// Reads the captures that are named, and those in the folders that are.
fn of_captures(args: &Args, interrupted: &AtomicBool) -> Result<Gathered, Fault> {
    let found = captures::find(&args.from)?;
    if found.passed_over > 0 {
        note!("skipped in folders, because they are not captures: {}", found.passed_over);
    }
    let gathered = Gathered::begin(found.captures.len() + found.not_read.len());
    for NotRead { host, fault } in found.not_read {
        gathered.take(&host, Err(fault));
    }
    let cpus = || std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST_READERS);
    let at_most = args.parallel.map_or_else(cpus, usize::from);
    captures::read_all(&found.captures, at_most, interrupted, &gathered)?;
    Ok(gathered)
}
