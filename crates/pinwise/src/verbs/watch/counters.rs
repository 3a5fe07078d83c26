//! Without programs in the kernel: what the counters of /proc alone give.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::{Class, Fault, Missing, Root};
use probe::{Observation, Sampler, identify};
use report::account::counters_text;
use serde::Serialize;

use super::args::{Args, Form};
use super::requests;
use super::target::Watched;
use crate::notes::note;
use crate::output::{self, Answer, Place};
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

/// Reads counters for the window, then writes them to `place`; `why` is what kept the programs out of the kernel, so that requests are not seen
/// either.
pub fn run(
    args: &Args,
    root: &Root,
    watched: &Watched,
    stop: &AtomicBool,
    why: Missing,
    place: Option<Place>,
) -> Result<Answer, Fault> {
    if let Some(types) = &args.btf {
        let remedy = "name the types of the running kernel and run as root, or leave --btf out to see the counters of /proc";
        return Err(Fault::new(class(), format!("--btf {}", types.display()), why.why, remedy));
    }
    if args.record.is_some() || args.format.of_table().is_some() {
        let remedy = "run it as root, or with CAP_BPF and CAP_PERFMON; --format text and json show the counters of /proc";
        return Err(Fault::new(Class::NotPermitted, why.fact, why.why, remedy));
    }
    note!("pinwise: {}: {}", why.fact, why.why);
    // Before the window, at whose end the server may have ended.
    let requests = requests::not_counted(root, watched, &why);
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
    observation.missing.extend(requests);
    observation.missing.push(why);
    observation.missing.extend(watched.elsewhere());
    if let Some(cpus) = watched.cpus() {
        for counter in &mut observation.counters {
            counter.by_cpu.retain(|cpu, _| cpus.contains(*cpu));
        }
        observation.changed_cpus.retain(|changed| cpus.contains(changed.cpu));
    }
    let text = match args.format {
        Form::Json => output::pretty(&Sheet { target: watched, how: "counters", observation: &observation })?,
        _ => output::fitted(args.output.as_deref(), counters_text::render(&observation, &watched.title())),
    };
    match place {
        Some(place) => output::whole(place, &text)?,
        // What would have been shown live.
        None => output::text(&text)?,
    }
    Ok(Answer::Done)
}

/// Whether it is the user or the machine that is missing something.
fn class() -> Class {
    if rustix::process::geteuid().is_root() { Class::MachineLacks } else { Class::NotPermitted }
}
