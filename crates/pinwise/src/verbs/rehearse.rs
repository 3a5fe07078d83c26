//! `pinwise rehearse`: a guest in the shape of a machine, and a command in it.

mod checks;
mod show;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use machine::{Class, Fault, Machine, Root};
use rehearse::{Guest, Outcome, Shape, Userland};
use serde::Serialize;

use crate::format::Format;
use crate::interrupt;
use crate::notes::note;
use crate::output::{self, Answer};
pub use checks::{Args as InsideArgs, run as run_inside};
use show::Show;

/// What stands below the flags.
const EXAMPLES: &str = "\
Examples:
  pinwise rehearse --like artemis -- pinwise map              four nodes, interleaved CPU numbers
  pinwise rehearse --like web7.tar.zst --cmdline 'isolcpus=2-3' -- cat /sys/devices/system/cpu/isolated
  pinwise rehearse --like two-node-smt -o out/ -- 'cat /proc/interrupts > irqs'
  pinwise rehearse --like two-node-smt --with irqbalance -- 'pinwise map --irqs'      Debian with systemd
  pinwise rehearse --like small --forward 4999 -- pinwise echo-server --address 0.0.0.0 --port 4999      a server in a guest
  pinwise rehearse --like my-shape.toml --kernel rt-amd64 -- uname -v
  pinwise rehearse plan.toml                                  boot parameters, before the reboot of this machine

For a plan, the guest is booted three times: before the plan, with it, and without it again. Each parameter is checked
against what the kernel reports; on CPUs without a tick, ticks are counted under load and compared with an ordinary CPU.
Exit code 1: not everything took effect, or something was left over. With a command, its exit code is returned.
The guest runs under QEMU's software emulation: which CPU gets what is realistic, how long anything takes is not.
It contains busybox, or Debian with systemd, pinwise, and the programs named by --program.";

// Flags of `pinwise rehearse`.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// A plan with boot parameters (docs/rehearse.md) to try, instead of a command
    #[arg(value_name = "PLAN", required_unless_present = "command", conflicts_with = "command")]
    plan: Option<PathBuf>,
    /// Shape of the guest: a name, a shape file NAME.toml, or a capture. Without it: the shape of this machine
    #[arg(long, value_name = "SHAPE|FILE|CAPTURE")]
    like: Option<String>,
    /// Kernel parameters to add
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    cmdline: String,
    /// Kernel: a Debian flavour (amd64, rt-amd64) or package, fetched once; 'running' for that of this machine; or the path of an image
    #[arg(long, value_name = "KERNEL", default_value = "amd64")]
    kernel: String,
    /// Time limit for the command, s
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: u64,
    /// Memory of all nodes together, MB. Without it: what the shape has
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(192..=1_048_576))]
    memory: Option<u64>,
    /// File or folder of this machine to copy into the folder where the command runs. May be given several times
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Program of this machine to install in /bin with its libraries. May be given several times
    #[arg(long, value_name = "PATH")]
    program: Vec<PathBuf>,
    /// Userland of the guest: busybox, which boots in seconds, or a Debian root with systemd, which is built once
    #[arg(long, value_enum, value_name = "KIND")]
    userland: Option<Kind>,
    /// Package to install in the Debian root, which it implies. May be given several times
    #[arg(long, value_name = "PACKAGE")]
    with: Vec<String>,
    /// Kernel module to load in addition to the usual ones. May be given several times
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// TCP port of 127.0.0.1 to forward to the same port in the guest, once something listens there. The guest's network cards then lead
    /// nowhere else. Needs a shape with a network card, and busybox
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "plan")]
    forward: Option<u16>,
    /// Folder for the files that the command leaves in its working directory, or for the maps and counts of a plan's boots
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Form of the output: text is what the command prints, or the verdict on a plan; json also has the exit code and times
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The command: a single word is run as a shell script, several as a command line
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Examples, and the shapes by name.
fn after_help() -> String {
    let names: Vec<&str> = rehearse::shape::catalogue::ALL.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    format!(
        "{EXAMPLES}\nShapes: {names}; a shape file (docs/rehearse.md); a capture made by 'pinwise capture'."
    )
}

/// Userlands by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Busybox,
    Debian,
}

/// What programs read.
#[derive(Debug, Serialize)]
struct Document<'a> {
    shape: &'a str,
    kernel: &'a str,
    userland: &'static str,
    cmdline: &'a str,
    exit: i32,
    stdout: String,
    stderr: String,
    boot_s: f64,
    wall_s: f64,
    hung_boots: u32,
    differs: &'a [String],
}

/// Boots, runs, brings back.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let guest = guest(args)?;
    for note in &guest.shape().differs {
        note!("pinwise: the guest differs from {}: {note}", guest.shape().name);
    }
    let stop = interrupt::flag()?;
    if let Some(plan) = &args.plan {
        return trial::run(args, plan, &guest, &stop);
    }
    let mut show = Show::command(args.format);
    let outcome =
        guest.run_watched(&script(&args.command), |event| show.event(event), || stop.load(Ordering::Relaxed));
    show.end();
    let outcome = outcome?;
    if let Some(folder) = &args.output {
        bring_back(&outcome, folder)?;
    }
    if args.format == Format::Json {
        output::json(&document(args, &guest, &outcome))?;
    }
    Ok(Answer::Exit(u8::try_from(outcome.exit).unwrap_or(u8::MAX)))
}

fn guest(args: &Args) -> Result<Guest, Fault> {
    let mut shape = match &args.like {
        Some(asked) => Shape::find(asked)?,
        None => Shape::of(&Machine::read(&Root::live()))?,
    };
    if let Some(total_mb) = args.memory {
        shape = shape.with_memory_mb(total_mb);
    }
    let own = std::env::current_exe().map_err(|e| Fault::io("pinwise", &e, "start it by its path"))?;
    let mut guest = Guest::of(shape)
        .kernel(&args.kernel)
        .cmdline(&args.cmdline)
        .program_as("pinwise", own)
        .userland(userland(args)?)
        .limit(Duration::from_secs(args.limit));
    if let Some(port) = args.forward {
        can_be_forwarded(args, &guest, port)?;
        guest = guest.forward(port);
    }
    for path in &args.program {
        guest = guest.program(path);
    }
    for path in &args.file {
        guest = guest.file(path);
    }
    for name in &args.module {
        guest = guest.module(name);
    }
    Ok(guest)
}

/// Fails unless the guest has a network card for incoming connections, and a first process that reports when the port is listened on.
fn can_be_forwarded(args: &Args, guest: &Guest, port: u16) -> Result<(), Fault> {
    let (cause, remedy) = match (guest.shape().nics.is_empty(), is_debian(args)) {
        (false, false) => return Ok(()),
        (true, _) => {
            (format!("{} has no network card", guest.shape().name), "choose a shape with one: --like small")
        }
        (_, true) => ("with a Debian root pinwise does not see when something listens".into(), "use busybox"),
    };
    Err(Fault::new(Class::Usage, format!("--forward {port}"), cause, remedy))
}

fn is_debian(args: &Args) -> bool {
    args.userland == Some(Kind::Debian) || !args.with.is_empty()
}

fn userland(args: &Args) -> Result<Userland, Fault> {
    match args.userland {
        Some(Kind::Busybox) if !args.with.is_empty() => Err(Fault::new(
            Class::Usage,
            format!("--with {}", args.with[0]),
            "busybox has no packages",
            "leave out --userland busybox",
        )),
        _ if is_debian(args) => Ok(Userland::Debian { packages: args.with.clone() }),
        _ => Ok(Userland::Busybox),
    }
}

/// The text that the guest's shell runs.
fn script(command: &[String]) -> String {
    match command {
        [text] => text.clone(),
        words => shell_words::join(words),
    }
}

fn document<'a>(args: &'a Args, guest: &'a Guest, outcome: &'a Outcome) -> Document<'a> {
    Document {
        shape: &guest.shape().name,
        kernel: &outcome.release,
        userland: match is_debian(args) {
            true => "debian",
            false => "busybox",
        },
        cmdline: &args.cmdline,
        exit: outcome.exit,
        stdout: outcome.text(),
        stderr: String::from_utf8_lossy(&outcome.stderr).into_owned(),
        boot_s: outcome.boot.as_secs_f64(),
        wall_s: outcome.wall.as_secs_f64(),
        hung_boots: outcome.hung_boots,
        differs: &guest.shape().differs,
    }
}

/// Copies what the command left.
fn bring_back(outcome: &Outcome, to: &Path) -> Result<(), Fault> {
    for left in outcome.bring_back(to)? {
        note!("pinwise: {} is neither a file nor a folder, and was skipped", left.display());
    }
    Ok(())
}
