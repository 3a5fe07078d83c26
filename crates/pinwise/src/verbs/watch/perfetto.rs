//! Every event of the window, as a trace for the Perfetto UI.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use machine::{Class, Fault, Machine, Missing, Root};
use probe::events::{Plan, Trace, Tracing};
use report::number;

use super::args::Args;
use super::joining::Joining;
use super::target::Watched;
use crate::output::Answer;
use crate::window::{self, Ended};

const MIB: u64 = 1 << 20;

/// Memory for events where nothing is said.
const USUAL_MEMORY: u64 = 256 * MIB;

/// Takes events for the window, then writes them.
pub fn run(
    args: &Args,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    // Opened first: a place that does not take the file is told before the window, not after it.
    let mut out = Out::open(args.output.as_deref())?;
    let plan = Plan {
        target: watched.target(),
        cpus: args.cpu.clone(),
        trace_points: args.trace_points(),
        memory_bytes: args.size.unwrap_or(USUAL_MEMORY),
    };
    let tracing = Tracing::begin(&plan, machine).map_err(refused)?;
    let trace = take(args, tracing, root, watched, stop);
    out.write(&trace, machine, &watched.title())?;
    for missing in &trace.missing {
        eprintln!("pinwise: missing: {}: {}", missing.fact, missing.why);
    }
    Ok(Answer::Done)
}

fn take(args: &Args, mut tracing: Tracing, root: &Root, watched: &Watched, stop: &AtomicBool) -> Trace {
    let mut joining = Joining::begin();
    let mut full = false;
    let ended = window::pass(args.length(), stop, || {
        full = tracing.is_full();
        !full && joining.look(watched, root, |numbers| tracing.add(numbers)) != Some(false)
    });
    if ended == Ended::Gone && !full {
        eprintln!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    let mut trace = tracing.end();
    trace.missing.extend(joining.refused().cloned());
    trace
}

fn refused(missing: Missing) -> Fault {
    let permitted = rustix::process::geteuid().is_root();
    let class = if permitted { Class::MachineLacks } else { Class::NotPermitted };
    Fault::new(class, missing.fact, missing.why, "--format text shows the counters of /proc instead")
}

/// Where the trace goes.
struct Out<'a> {
    path: Option<&'a Path>,
    to: Box<dyn Write>,
}

impl<'a> Out<'a> {
    fn open(path: Option<&'a Path>) -> Result<Self, Fault> {
        let to: Box<dyn Write> = match path {
            Some(path) => Box::new(File::create(path).map_err(|e| not_written(path.display(), &e))?),
            None if io::stdout().is_terminal() => {
                let remedy = "name a file with -o, as in -o trace.pftrace";
                return Err(Fault::new(Class::Usage, "--format perfetto", "a trace is no text", remedy));
            }
            None => Box::new(io::stdout()),
        };
        Ok(Self { path, to })
    }

    fn write(&mut self, trace: &Trace, machine: &Machine, watched: &str) -> Result<(), Fault> {
        let mut counted = Counted { to: BufWriter::with_capacity(MIB as usize, &mut self.to), bytes: 0 };
        let name = self.path.map_or("stdout".to_string(), |path| path.display().to_string());
        report::trace::write(trace, machine, watched, &mut counted)
            .and_then(|()| counted.flush())
            .map_err(|e| not_written(&name, &e))?;
        let (events, bytes) = (number::count(trace.events.len()), counted.bytes);
        eprintln!(
            "pinwise: {events} events, {:.1} MB, written to {name}; the Perfetto UI opens it",
            bytes as f64 / 1e6
        );
        Ok(())
    }
}

fn not_written(what: impl std::fmt::Display, error: &io::Error) -> Fault {
    Fault::io(what, error, "choose another place with -o")
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
