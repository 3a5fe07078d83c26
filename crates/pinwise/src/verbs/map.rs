//! `pinwise map`: what the machine is.

use std::path::{Path, PathBuf};

use machine::devices::chain;
use machine::{Class, Fault, Machine, Root, diff};
use report::machine_text::{self, Part};
use serde::Serialize;
use serde_json::json;

use crate::cli::Format;
use crate::output::{self, Answer};

/// Flags of `pinwise map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise map                                  this machine
  pinwise map --format json | jq .irqs         for programs
  pinwise map --device eth0                    one device: where it hangs, queues, interrupts
  pinwise map --from web7.tar.zst              a machine that pinwise capture took home
  pinwise map --diff before.tar.zst after.tar.zst")]
pub struct Args {
    /// Read a captured directory or archive (.tar.zst, .tar.gz, .tar.bz2, .tar) instead of this machine
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    #[command(flatten)]
    part: PartFlags,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// One part in full instead of the whole.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
struct PartFlags {
    /// Every interrupt line, with controller, hint and owner
    #[arg(long)]
    irqs: bool,
    /// Idle states, what a latency limit leaves of them, clock policies
    #[arg(long)]
    power: bool,
    /// Boot parameters with what took effect, settings, mitigations
    #[arg(long)]
    kernel: bool,
    /// One device: where it hangs, its queues, and the CPUs that serve them
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// What changed between two captures (counters and free memory left aside); exit code 1 when anything did
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "from")]
    diff: Option<Vec<PathBuf>>,
}

/// Reads and prints the machine.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if let Some([before, after]) = args.part.diff.as_deref() {
        return differences(args, before, after);
    }
    let root = match &args.from {
        Some(path) => Root::at(path)?,
        None => Root::live(),
    };
    let machine = Machine::read(&root);
    let text = match (chosen_part(&args.part, &machine)?, args.format) {
        (None, Format::Text) => machine_text::render(&machine),
        (None, Format::Json) => output::pretty(&machine)?,
        (Some(part), Format::Text) => machine_text::in_full(&machine, part),
        (Some(part), Format::Json) => part_as_json(&machine, part)?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}

fn chosen_part<'a>(flags: &PartFlags, machine: &'a Machine) -> Result<Option<Part<'a>>, Fault> {
    Ok(match flags {
        PartFlags { irqs: true, .. } => Some(Part::Irqs),
        PartFlags { power: true, .. } => Some(Part::Power),
        PartFlags { kernel: true, .. } => Some(Part::Kernel),
        PartFlags { device: Some(name), .. } => {
            let device = machine.devices.iter().find(|device| device.name == *name);
            Some(Part::Device(device.ok_or_else(|| no_such_device(name, machine))?))
        }
        _ => None,
    })
}

fn no_such_device(name: &str, machine: &Machine) -> Fault {
    let names: Vec<&str> = machine.devices.iter().map(|device| device.name.as_str()).collect();
    let remedy = match names.is_empty() {
        true => "no devices are known of this machine".to_string(),
        false => format!("choose one of {}", names.join(", ")),
    };
    Fault::new(Class::Usage, format!("device {name}"), "there is no such device", remedy)
}

fn part_as_json(machine: &Machine, part: Part) -> Result<String, Fault> {
    match part {
        Part::Irqs => output::pretty(&machine.irqs),
        Part::Kernel => output::pretty(&machine.kernel),
        Part::Power => output::pretty(&json!({
            "idle": machine.idle,
            "power": machine.power,
            "under_limits": machine.idle.under_limits(),
        })),
        Part::Device(device) => {
            output::pretty(&json!({ "device": device, "chain": chain::of(machine, device) }))
        }
    }
}

/// What `--diff --format json` prints.
#[derive(Serialize)]
struct Differences {
    differences: Vec<diff::Difference>,
}

fn differences(args: &Args, before: &Path, after: &Path) -> Result<Answer, Fault> {
    let [before, after] = [before, after].map(|path| Ok::<_, Fault>(Machine::read(&Root::at(path)?)));
    let differences = diff::between(&before?, &after?).map_err(|why| {
        Fault::new(Class::Storage, "a machine as JSON", why, "report this as a fault of pinwise")
    })?;
    let answer = if differences.is_empty() { Answer::Done } else { Answer::No };
    let text = match args.format {
        Format::Text => machine_text::differences(&differences),
        Format::Json => output::pretty(&Differences { differences })?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(answer)
}
