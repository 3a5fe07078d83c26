//! `pinwise rehearsal-checks`, the hidden verb that a guest runs when a plan is rehearsed: what the kernel reports, and ticks under load.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::Spin;
use machine::{CpuSet, Fault, Machine, Root};
use probe::TickWindow;
use rehearse::plan;

use crate::output::{self, Answer};
use crate::window;

// Flags of `pinwise rehearsal-checks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise rehearsal-checks -o . --for 10      in a guest: map.json and, where CPUs have no tick, ticks.json")]
pub struct Args {
    /// Folder for map.json and ticks.json
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// How long ticks are counted, s
    #[arg(long = "for", value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    for_s: u64,
}

/// Writes the map; then spins on some CPUs of nohz_full and on an ordinary one, and writes how often each was ticked.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let machine = Machine::read(&Root::live());
    output::to(Some(&args.output.join("map.json")), &output::pretty(&machine)?)?;
    let Some(trial) = plan::tick_trial(&machine) else { return Ok(Answer::Done) };
    let cpus = trial.without.union(&CpuSet::single(trial.control));
    let spin = Spin::start(&cpus, 1)?;
    let mut ticks = TickWindow::begin(Root::live(), cpus, &machine.kernel);
    // A signal ends the process at once.
    window::pass(Duration::from_secs(args.for_s), &AtomicBool::new(false), || {
        ticks.look();
        true
    });
    let seen = ticks.end();
    drop(spin);
    output::to(Some(&args.output.join("ticks.json")), &output::pretty(&seen)?)?;
    Ok(Answer::Done)
}
