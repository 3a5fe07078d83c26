//! `pinwise watch`: who takes CPU time, how long, and why.

mod account;
mod args;
mod bpf_fault;
mod caveats;
mod counters;
mod export;
mod folded;
mod intervals;
mod live;
pub(super) mod new_processes;
mod on_cpu;
mod perfetto;
mod privileges;
mod record;
pub(super) mod replay;
mod requests;
mod sheet;
pub(super) mod target;
mod triggered;
mod verdict;

use std::io::IsTerminal as _;

use advise::diagnosis::Diagnosis;
use machine::{Fault, Machine, Root};
use probe::account::{Account, Counting};

use crate::interrupt;
use crate::notes::note;
use crate::output::Answer;
use crate::window::{self, Ended};
pub(super) use account::account;
pub use args::Args;
use args::Form;
use new_processes::NewProcesses;
use sheet::Sheet;
use target::Watched;
use verdict::Judging;

/// Counts for the window, judges, prints.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    args.fit_together()?;
    if let Some(ring) = &args.replay {
        return replay::run(args, ring);
    }
    let stop = interrupt::flag()?;
    let root = Root::live();
    let machine = Machine::read(&root);
    let cpus = args.cpu.as_ref().map(|cpus| cpus.of_online(&machine)).transpose()?;
    let watched = Watched::find(&root, args.process.as_deref(), &args.thread)?.on(cpus);
    if args.format == Form::Perfetto {
        return perfetto::run(args, &root, &machine, &watched, &stop);
    }
    if args.format.has_stacks() {
        return folded::run(args, &root, &machine, &watched, &stop);
    }
    let metrics = export::Places::open(&args.export)?;
    let is_live = metrics.is_none() && is_live(args);
    // Opened first: a place that does not take the output is reported before the window, not after it.
    let place =
        if is_live || args.record.is_some() || metrics.is_some() { None } else { Some(sheet::place(args)?) };
    // Before the account, which begins with the window: to load programs takes a CPU for a while. Tables, rings and metrics have no place
    // for a verdict.
    let is_judged = args.record.is_none() && metrics.is_none() && args.format.has_verdict();
    let begin = || Counting::begin(&watched.target(), &machine, &args.trace_points());
    let (mut judging, counting) = match privileges::refused(&root, begin) {
        Some(missing) => (None, Err(missing)),
        None => (is_judged.then(|| Judging::begin(&root, &watched)), begin()),
    };
    let counting = match counting {
        Ok(counting) => counting,
        Err(missing) if metrics.is_some() => {
            return Err(bpf_fault::refused(missing, "run it as root, or with CAP_BPF and CAP_PERFMON"));
        }
        Err(missing) => return counters::run(args, &root, &watched, &stop, missing, place),
    };
    if let Some(places) = metrics {
        return export::run(args, places, counting, &machine, &watched, &stop);
    }
    if let Some(ring) = &args.record {
        return record::run(args, ring, counting, &machine, &watched, &stop);
    }
    let Some(place) = place else {
        let judging = judging.unwrap_or_else(|| Judging::begin(&root, &watched));
        return live::run(args, counting, judging, &root, &machine, &watched, &stop);
    };
    let (account, how) = count(args, counting, &mut judging, &root, &machine, &watched, &stop);
    let (account, diagnosis) = match judging {
        Some(judging) => judging.end(&root, &machine, account),
        None => (account, Diagnosis::default()),
    };
    let target = watched.for_programs();
    let everything = watched.is_everything();
    let sheet = Sheet { target: &target, everything, how, recorded: None, diagnosis, account };
    sheet::write(args, &watched.title(), sheet, place)?;
    Ok(Answer::Done)
}

/// Whether the account is shown while it grows.
fn is_live(args: &Args) -> bool {
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    args.window.is_none() && args.format == Form::Text && to_terminal
}

/// The account of the window, and by which means it was made; what is judged beside it is counted in the same window.
fn count(
    args: &Args,
    mut counting: Counting,
    judging: &mut Option<Judging>,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &std::sync::atomic::AtomicBool,
) -> (Account, &'static str) {
    let mut new_processes = NewProcesses::begin();
    judging.iter_mut().for_each(Judging::start);
    let ended = window::pass(args.length(), stop, || {
        counting.harvest();
        new_processes.look(watched, root, |numbers| counting.add(numbers)) != Some(false)
    });
    if ended == Ended::Gone {
        note!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    counting.stop();
    judging.iter_mut().for_each(Judging::stop);
    let account = account(&mut counting, &new_processes, root, machine, watched, watched.cpus());
    (account, counting.means())
}
