//! Every event of the window, as a trace for the Perfetto UI.

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use machine::{Fault, Machine, Root};
use probe::events::{Plan, Trace, Tracing};
use report::number;

use super::args::Args;
use super::bpf_fault::refused;
use super::caveats;
use super::new_processes::NewProcesses;
use super::target::Watched;
use crate::notes::note;
use crate::output::{self, Answer, Binary, Place};
use crate::window::{self, Ended};

const MIB: u64 = 1 << 20;

/// Memory for events where nothing is said.
const USUAL_MEMORY: u64 = 256 * MIB;

const TRACE: Binary =
    Binary { flag: "--format perfetto", cause: "a trace is not text", example: "trace.pftrace" };

/// Takes events for the window, then writes them.
pub fn run(
    args: &Args,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    // Opened first: a place that does not take the file is reported before the window, not after it.
    let mut place = output::open(args.output.as_deref(), Some(TRACE))?;
    let plan = Plan {
        target: watched.target(),
        cpus: watched.cpus().cloned(),
        trace_points: args.trace_points(),
        memory_bytes: args.size.unwrap_or(USUAL_MEMORY),
    };
    let remedy = match &args.btf {
        Some(_) => "name the types of the running kernel with --btf, or leave it out",
        None => "--format text shows the counters of /proc instead",
    };
    let tracing = Tracing::begin(&plan, machine).map_err(|missing| refused(missing, remedy))?;
    let trace = take(args, tracing, root, watched, stop);
    write(&mut place, &trace, machine, &watched.title())?;
    caveats::note_all(&trace.changed_cpus(), &trace.missing);
    Ok(Answer::Done)
}

fn take(args: &Args, mut tracing: Tracing, root: &Root, watched: &Watched, stop: &AtomicBool) -> Trace {
    let mut new_processes = NewProcesses::begin();
    let mut full = false;
    let ended = window::pass(args.length(), stop, || {
        tracing.look();
        full = tracing.is_full();
        !full && new_processes.look(watched, root, |numbers| tracing.add(numbers)) != Some(false)
    });
    if ended == Ended::Gone && !full {
        note!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    let mut trace = tracing.end();
    trace.missing.extend(new_processes.refused().cloned());
    trace
}

fn write(place: &mut Place, trace: &Trace, machine: &Machine, watched: &str) -> Result<(), Fault> {
    let mut counted = Counted { to: &mut place.to, bytes: 0 };
    report::trace::write(trace, machine, watched, &mut counted)
        .and_then(|()| counted.flush())
        .map_err(|e| output::not_written(&place.name, &e))?;
    let (events, bytes) = (number::count(trace.events.len()), counted.bytes);
    note!(
        "pinwise: {events} events, {:.1} MB, written to {}; the Perfetto UI opens it",
        bytes as f64 / 1e6,
        place.name
    );
    Ok(())
}

/// Counts what is written.
struct Counted<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
