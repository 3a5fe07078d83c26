//! `pinwise watch`: who takes CPU time, how long, and why.

mod args;
mod counters;
mod joining;
mod live;
mod perfetto;
mod record;
mod replay;
mod target;
mod tell;

use std::io::IsTerminal as _;

use machine::{Class, Fault, Machine, Missing, Root};
use probe::account::{Account, Counting, Names, Nearness};

use crate::interrupt;
use crate::output::Answer;
use crate::window::{self, Ended};
pub use args::Args;
use args::Form;
use joining::Joining;
use target::Watched;
use tell::Sheet;

/// Counts for the window, then tells.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if args.series && args.format.of_table().is_none() {
        let cause = "text and JSON tell the sum of all intervals";
        return Err(Fault::new(Class::Usage, "--series", cause, "add --format csv or --format parquet"));
    }
    if args.format == Form::Perfetto && args.replay.is_some() {
        let cause = "a ring holds sums, and a trace is made of events";
        let remedy = "choose --format text, json, csv or parquet";
        return Err(Fault::new(Class::Usage, "--format perfetto", cause, remedy));
    }
    if let Some(ring) = &args.replay {
        return replay::run(args, ring);
    }
    let stop = interrupt::flag()?;
    let root = Root::live();
    let machine = Machine::read(&root);
    let watched = Watched::find(&root, args.process.as_deref(), &args.thread)?.on(args.cpu.clone());
    if let Some(cpus) = &args.cpu {
        super::ticks::exist(cpus, &machine.online())?;
    }
    if args.format == Form::Perfetto {
        return perfetto::run(args, &root, &machine, &watched, &stop);
    }
    let counting = match Counting::begin(&watched.target(), &machine, &args.trace_points()) {
        Ok(counting) => counting,
        Err(missing) => return counters::run(args, &root, &watched, &stop, missing),
    };
    if let Some(ring) = &args.record {
        return record::run(args, ring, counting, &machine, &watched, &stop);
    }
    if is_live(args) {
        return live::run(args, counting, &root, &machine, &watched, &stop);
    }
    let (account, how) = count(args, counting, &root, &machine, &watched, &stop);
    let target = watched.for_programs();
    let everything = watched.is_everything();
    tell::sheet(args, &watched.title(), Sheet { target: &target, everything, how, recorded: None, account })?;
    Ok(Answer::Done)
}

/// Whether the account is shown while it grows.
fn is_live(args: &Args) -> bool {
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    args.window.is_none() && args.format == Form::Text && to_terminal
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
    let mut joining = Joining::begin();
    let ended = window::pass(args.length(), stop, || {
        counting.harvest();
        joining.look(watched, root, |numbers| counting.add(numbers)) != Some(false)
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
    let not_counted: Vec<Missing> = counting.missing().iter().chain(joining.refused()).cloned().collect();
    let account = Account::of(&snapshot, watched.is_everything(), &names, &not_counted);
    let nearness = Nearness::read(root, machine, || watched.processes_now(root), &account.cpus);
    (account.with_nearness(nearness), counting.means())
}
