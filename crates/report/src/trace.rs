//! A trace as a file for the Perfetto UI and its trace processor.
//!
//! What the kernel's own tracer would have written goes in that form (`ftrace`), for the UI draws CPUs, states of threads, interrupts
//! and C-states out of it. What it has no form for goes onto tracks of its own (`tracks`): inter-processor interrupts,
//! NMIs, what kept the target's threads from a CPU, and notes on what is missing.

mod file;
mod ftrace;
mod header;
mod moments;
mod proto;
mod states;
mod stretches;
mod tracks;
mod unwatched_task;

use std::collections::BTreeMap;
use std::io::{self, Write};

use machine::Machine;
use probe::events::{Comm, Trace};

use file::File;
use ftrace::Ftrace;
use moments::Moments;
use stretches::Stretches;
use tracks::Tracks;

/// Writes a trace. `watched` is who was watched, in words.
///
/// # Errors
/// When `out` does not take it.
pub fn write(trace: &Trace, machine: &Machine, watched: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut file = File::new(out, trace.suspended_ns);
    let tasks = trace.tasks();
    header::write(&mut file, trace, machine, &tasks)?;
    let lines = machine.irqs.iter().map(|irq| (irq.irq, irq.name.as_str())).collect();
    let names: BTreeMap<u32, Comm> = tasks.iter().map(|(tid, task)| (*tid, task.comm)).collect();
    let mut tracks = Tracks::new(&tasks);
    tracks.notes(&mut file, trace, watched)?;
    let mut ftrace = Ftrace::new(names, lines);
    let mut stretches = Stretches::new(trace, &tasks);
    for moment in Moments::of(&trace.events) {
        stretches.take(&moment, &mut file, &mut tracks)?;
        tracks.take(&moment, &mut file)?;
        ftrace.take(&moment, &mut file, &mut tracks)?;
    }
    stretches.end(trace.ended_ns, &mut file)?;
    ftrace.end(&mut file)?;
    header::write_end(&mut file, trace, &tasks)
}

#[cfg(test)]
mod tests;
