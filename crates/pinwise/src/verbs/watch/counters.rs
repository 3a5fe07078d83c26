//! Without programs in the kernel: what the counters of /proc alone give.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::{Fault, Missing, Root};
use probe::{Observation, Sampler, identify};
use report::counters_text;
use serde::Serialize;

use super::target::Watched;
use super::{Args, Form};
use crate::output::{self, Answer};
use crate::window;

/// How often the counters are read: only their difference counts, but short threads are seen between.
const EVERY: Duration = Duration::from_millis(100);

/// What is printed as JSON.
#[derive(Serialize)]
struct Sheet<'a> {
    target: &'a Watched,
    how: &'a str,
    #[serde(flatten)]
    observation: &'a Observation,
}

/// Reads counters for the window, then tells; `why` is what kept the programs out of the kernel.
pub fn run(
    args: &Args,
    root: &Root,
    watched: &Watched,
    stop: &AtomicBool,
    why: Missing,
) -> Result<Answer, Fault> {
    eprintln!("pinwise: {}: {}", why.fact, why.why);
    let process = watched.pids().first().and_then(|pid| identify(root, *pid));
    let sampler = Sampler::new(Root::live(), process);
    let done = Arc::new(AtomicBool::new(false));
    let seen = std::thread::scope(|scope| {
        let reading = scope.spawn(|| sampler.run(&done, EVERY));
        window::pass(args.length(), stop, || true);
        done.store(true, Ordering::Release);
        reading.join().ok()
    });
    let mut observation = seen
        .and_then(|recording| recording.span_ns().map(|(from, to)| recording.window(from, to)))
        .unwrap_or_default();
    observation.missing.push(why);
    if let Some(cpus) = &args.cpu {
        for counter in &mut observation.counters {
            counter.by_cpu.retain(|cpu, _| cpus.contains(*cpu));
        }
    }
    let text = match args.format {
        Form::Json => output::pretty(&Sheet { target: watched, how: "counters", observation: &observation })?,
        Form::Text | Form::Perfetto => counters_text::render(&observation, &watched.title()),
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}
