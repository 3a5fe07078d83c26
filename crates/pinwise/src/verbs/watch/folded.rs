//! What the target's threads did, by stack.

use std::sync::atomic::AtomicBool;

use machine::{Fault, Machine, Root};
use probe::stacks::{Summing, TimeByStack};
use report::account::folded;
use report::number;

use super::args::Args;
use super::bpf_fault::refused;
use super::caveats;
use super::new_processes::NewProcesses;
use super::sheet;
use super::target::Watched;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::window::{self, Ended};

/// Sums up for the window, then writes a line for each stack.
pub fn run(
    args: &Args,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    // Opened first: a place that does not take the output is reported before the window, not after it.
    let place = sheet::place(args)?;
    let remedy = "--format text shows the same times without stacks";
    let summing = Summing::begin(&watched.target(), machine).map_err(|missing| refused(missing, remedy))?;
    let seen = sum_up(args, summing, root, watched, stop);
    let stacks = folded::render(&seen);
    let name = place.name.clone();
    output::whole(place, &stacks)?;
    note!(
        "pinwise: {} stacks, ns, written to {name}; flamegraph.pl --countname ns, inferno-flamegraph and speedscope draw them",
        number::count(stacks.lines().count())
    );
    caveats::note_all(&seen.changed_cpus, &seen.missing);
    Ok(Answer::Done)
}

fn sum_up(
    args: &Args,
    mut summing: Summing,
    root: &Root,
    watched: &Watched,
    stop: &AtomicBool,
) -> TimeByStack {
    let mut new_processes = NewProcesses::begin();
    let ended = window::pass(args.length(), stop, || {
        summing.look();
        new_processes.look(watched, root, |numbers| summing.add(numbers)) != Some(false)
    });
    if ended == Ended::Gone {
        note!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    let mut seen = summing.end();
    seen.missing.extend(new_processes.refused().cloned());
    seen
}
