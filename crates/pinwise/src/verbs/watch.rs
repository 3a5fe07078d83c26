//! `pinwise watch`: who takes CPU time, how long, and why.

mod counters;
mod live;
mod perfetto;
mod target;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use machine::{CpuSet, Fault, Machine, Missing, Root};
use probe::account::{Account, Counting, Names, TracePoints};
use report::account_text::{self, Wanted};
use serde::Serialize;

use crate::interrupt;
use crate::output::{self, Answer};
use crate::window::{self, Ended};
use target::Watched;

/// Flags of `pinwise watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise watch --process nginx                     live, on a terminal
  pinwise watch --process nginx --for 30s           a systemd unit: all its threads, and those that they start
  pinwise watch --process 4711                      a process and its descendants
  pinwise watch --process /system.slice/db.service  a cgroup (a container, a VM)
  pinwise watch --thread 4712 --full                one thread; every task and function, not only the dozen on top
  pinwise watch --cpu 2-3                           what ran on two CPUs
  pinwise watch --format json | jq '.takers[0]'     all CPUs, for programs
  pinwise watch --process nginx --for 5s --format perfetto -o nginx.pftrace
                                                    every event, to look at in the Perfetto UI

The kernel sums up every event (BPF at its trace points; root, or CAP_BPF and CAP_PERFMON). Without that, the counters of
/proc are shown, which tell how often something came but not how long it took. Ctrl-C ends the window early.")]
pub struct Args {
    /// The server: a process number, a systemd unit, or the path of a cgroup
    #[arg(long, alias = "pid", value_name = "PID|UNIT|CGROUP")]
    process: Option<String>,
    /// Threads, by number
    #[arg(long, value_name = "TID", value_delimiter = ',', conflicts_with = "process")]
    thread: Vec<u32>,
    /// Only what happens on these CPUs
    #[arg(long, value_name = "LIST", value_parser = CpuSet::from_list)]
    cpu: Option<CpuSet>,
    /// How long, as 30s, 200ms or 5m. Without it: live on a terminal until q, else 10 s
    #[arg(long = "for", value_name = "TIME", value_parser = window::length)]
    window: Option<Duration>,
    /// Every thread, task, line and function, not only the dozen that matter most
    #[arg(long)]
    full: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Memory for the events of a trace, MiB; what comes when it is full ends the window
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    size: u64,
    /// Raw trace points even where the kernel has them with types
    #[arg(long, hide = true)]
    raw: bool,
}

/// Forms of what is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document; progress and notes stay on stderr.
    Json,
    /// Every event, as a trace for the Perfetto UI.
    Perfetto,
}

/// The window where none is given.
const USUAL: Duration = Duration::from_secs(10);

impl Args {
    fn length(&self) -> Duration {
        self.window.unwrap_or(USUAL)
    }

    fn trace_points(&self) -> TracePoints {
        if self.raw { TracePoints::Raw } else { TracePoints::Best }
    }

    /// Whether the account is shown while it grows.
    fn is_live(&self) -> bool {
        let to_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        self.window.is_none() && self.format == Form::Text && to_terminal
    }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Sheet<'a> {
    target: &'a Watched,
    how: &'a str,
    #[serde(flatten)]
    account: &'a Account,
}

/// Counts for the window, then tells.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let stop = interrupt::flag()?;
    let root = Root::live();
    let machine = Machine::read(&root);
    let watched = Watched::find(&root, args.process.as_deref(), &args.thread)?;
    if let Some(cpus) = &args.cpu {
        super::ticks::exist(cpus, &machine.online())?;
    }
    if args.format == Form::Perfetto {
        return perfetto::run(args, &root, &machine, &watched, &stop);
    }
    let counting = match Counting::begin(&watched.target(), &machine, args.trace_points()) {
        Ok(counting) => counting,
        Err(missing) => return counters::run(args, &root, &watched, &stop, missing),
    };
    if args.is_live() {
        return live::run(args, counting, &root, &machine, &watched, &stop);
    }
    let (account, how) = count(args, counting, &root, &machine, &watched, &stop);
    let text = match args.format {
        Form::Json => output::pretty(&Sheet { target: &watched, how, account: &account })?,
        Form::Text | Form::Perfetto => {
            account_text::render(&account, &watched.title(), Wanted { all: args.full })
        }
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}

/// The account of the window, and by which means it was made.
fn count(
    args: &Args,
    mut counting: Counting,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &std::sync::atomic::AtomicBool,
) -> (Account, &'static str) {
    let mut looked = std::time::Instant::now();
    let mut refused = None;
    let ended = window::pass(args.length(), stop, || {
        counting.harvest();
        if looked.elapsed() < target::LOOK_AGAIN {
            return true;
        }
        looked = std::time::Instant::now();
        match watched.look_again(root) {
            Some(numbers) => {
                refused = counting.add(&numbers).err().or(refused.take());
                !numbers.is_empty()
            }
            None => true,
        }
    });
    if ended == Ended::Gone {
        eprintln!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    counting.stop();
    let mut snapshot = counting.read();
    if let Some(cpus) = &args.cpu {
        snapshot = snapshot.on(cpus);
    }
    let mut names = Names::of(machine);
    names.learn(&snapshot);
    let not_counted: Vec<Missing> = counting.missing().iter().cloned().chain(refused).collect();
    let account = Account::of(&snapshot, watched.is_everything(), &names, &not_counted);
    (account, counting.means())
}
