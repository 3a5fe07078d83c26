//! `pinwise map`: what the machine is.

mod difference;
mod form;
mod part;
mod server;
mod watch;

use std::path::PathBuf;

use machine::cpu_groups::{self, CpuGroup};
use machine::{Fault, Machine, Root};
use report::map::machine_text;
use report::map::picture::{self, Heat};
use serde::Serialize;

use crate::format::Format;
use crate::measured_distances;
use crate::output::{self, Answer};
use form::{Form, no_such_form};
use part::PartFlags;

// Flags of `pinwise map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise map                                  this machine
  pinwise map --process nginx                  one server: a systemd unit, a process by name or number, a cgroup
  pinwise map --process 4f2c0de9a1b2           a container by its ID, or a guest by its name
  pinwise map --process all:redis-server       all processes of that name; job:4711: a Slurm job
  pinwise map --format json | jq .irqs         for programs
  pinwise map --format json | jq .groups       CPUs by name: for --cpus, --cpu and recipes
  pinwise map --format svg -o map.svg          a picture: nodes, caches, cores, devices, interrupts
  pinwise map --format html -o map.html        picture, sheet and interrupts on one page
  pinwise map --device eth0                    one device: where it is attached, queues, interrupts
  pinwise map --distances d.json               with distances from 'pinwise noise --cores --memory --save d.json'
  pinwise map --watch                          live: interrupts, softirqs and CPU time
  pinwise map --from web7.tar.zst              a machine archived by 'pinwise capture'
  pinwise map --diff before.tar.zst after.tar.zst")]
pub struct Args {
    /// Read a captured directory or archive (.tar.zst, .tar.gz, .tar.bz2, .tar) instead of this machine
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Show distances that 'pinwise noise --cores --memory --save FILE' measured on this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["process", "diff"])]
    distances: Option<PathBuf>,
    #[command(flatten)]
    watch: watch::Flags,
    #[command(flatten)]
    part: PartFlags,
    /// Show one running server instead: its threads, where they may run, where its memory is. A container by its ID (8 digits are enough)
    /// or its name in Docker or Podman, a guest (virtual machine) by its name, a Kubernetes pod by its UID, name or NAMESPACE/NAME, a Slurm
    /// job by job:NUMBER, all processes of a name by all:NAME
    #[arg(long, value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB", conflicts_with = "part")]
    process: Option<String>,
    /// Show what changed between two captures, apart from counters and free memory; exit code 1 if anything did
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["from", "part", "process"])]
    diff: Option<Vec<PathBuf>>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What `--format json` prints of a whole machine.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
    /// The names by which options and recipes take its CPUs.
    groups: Vec<CpuGroup>,
}

impl<'a> Document<'a> {
    fn of(machine: &'a Machine) -> Self {
        Self { machine, groups: cpu_groups::all(machine) }
    }
}

/// Reads and prints the machine.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if args.watch.wanted() {
        let format = match args.format {
            Form::Text => Format::Text,
            Form::Json => Format::Json,
            Form::Svg | Form::Html => return Err(no_such_form("the live map")),
        };
        return watch::run(&args.watch, format);
    }
    let to = args.output.as_deref();
    if let Some([before, after]) = args.diff.as_deref() {
        return difference::run(before, after, args.format, to);
    }
    let root = match &args.from {
        Some(path) => Root::at(path)?,
        None => Root::live(),
    };
    let root = measured_distances::add(root, args.distances.as_deref())?;
    if let Some(asked) = &args.process {
        output::to(to, &server::render(&root, asked, args.format, to)?)?;
        return Ok(Answer::Done);
    }
    let machine = match args.part.topology {
        true => Machine::read_topology(&root),
        false => Machine::read(&root),
    };
    let heat = Heat::interrupts(&machine);
    let text = match (args.part.chosen(&machine)?, args.format) {
        (None, Form::Text) => output::fitted(to, machine_text::render(&machine)),
        (None, Form::Json) => output::pretty(&Document::of(&machine))?,
        (None, Form::Svg) => picture::svg(&machine, heat.as_ref()),
        (None, Form::Html) => picture::page(&machine, heat.as_ref()),
        (Some(part), Form::Text) => output::fitted(to, machine_text::in_full(&machine, part)),
        (Some(part), Form::Json) => part::as_json(&machine, part)?,
        (Some(_), Form::Svg | Form::Html) => return Err(no_such_form("one part of the map")),
    };
    output::to(to, &text)?;
    Ok(Answer::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_the_machine_and_the_names_of_its_cpus() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/two-node-smt/capture.tar.zst");
        let machine = Machine::read(&Root::at(std::path::Path::new(path)).unwrap());
        let text = output::pretty(&Document::of(&machine)).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let groups = document["groups"].as_array().unwrap();
        let named =
            |name: &str| groups.iter().find(|group| group["name"] == name).map(|group| &group["cpus"]);
        assert_eq!(named("node:0"), Some(&document["nodes"][0]["cpus"]));
        assert!(named("smt:0").is_some() && named("core:0").is_some(), "{groups:?}");
    }
}
