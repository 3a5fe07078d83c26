//! The hidden verb `pinwise thief`: takes a set share of the time of some CPUs.

use load::thief::{self, ThiefOptions};
use machine::{CpuChoice, Fault, Machine, Root};

use crate::notes::note;
use crate::output::Answer;

// Flags of `pinwise thief`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise thief --cpus 1 --share 0.2 --for 30       a fifth of CPU 1 for half a minute")]
pub struct Args {
    /// CPUs: numbers (0-3,8) or names from 'pinwise map' (node:0, l3:0)
    #[arg(long, value_name = "CPUS")]
    cpus: CpuChoice,
    /// Share of each CPU, 0.01 to 0.9
    #[arg(long)]
    share: f64,
    /// It takes its share of each period of this length, us (500 to 100000)
    #[arg(long, value_name = "US", default_value_t = thief::PERIOD_US)]
    period_us: u64,
    /// How long, s (at most 3600); without it until a signal or the end of its parent
    #[arg(long = "for", value_name = "S")]
    for_s: Option<f64>,
}

/// Takes time, then ends. What its threads are scheduled as goes to stderr.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let cpus = match args.cpus.numbers() {
        // What starts it beside a trial gives numbers: the machine is then not read while something is measured.
        Some(numbers) => numbers,
        None => args.cpus.on(&Machine::read(&Root::live()))?,
    };
    let options = ThiefOptions { cpus, share: args.share, period_us: args.period_us, for_s: args.for_s };
    thief::run(&options, |standing| note!("thief: {standing}"))?;
    Ok(Answer::Done)
}
