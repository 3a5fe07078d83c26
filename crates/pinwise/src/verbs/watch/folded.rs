//! What the target's threads did, by stack: as folded stacks, or drawn as a flame graph.

use std::sync::atomic::AtomicBool;

use machine::{Fault, Machine, Root};
use probe::stacks::{Summing, TimeByStack};
use report::account::{flamegraph, folded};
use report::number;

use super::args::{Args, Form};
use super::bpf_fault::refused;
use super::caveats;
use super::new_processes::NewProcesses;
use super::on_cpu::OnCpu;
use super::sheet;
use super::target::Watched;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::window::{self, Ended};

/// Sums up for the window, then writes a line for each stack, or draws them.
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
    // Loaded before the window begins, which is the same for both.
    let on_cpu = OnCpu::prepare(watched, root);
    let summing = Summing::begin(&watched.target(), machine).map_err(|missing| refused(missing, remedy))?;
    let (seen, samples) = sum_up(args, summing, on_cpu, root, watched, stop);
    let name = place.name.clone();
    if args.format == Form::Flamegraph {
        output::whole(place, &flamegraph::render(&seen, &watched.title(), &how(&seen, samples)))?;
        note!("pinwise: flame graph written to {name}; open it in a browser, click to zoom");
    } else {
        let stacks = folded::render(&seen);
        output::whole(place, &stacks)?;
        note!(
            "pinwise: {} stacks, ns, written to {name}; --format flamegraph draws them, as do flamegraph.pl --countname ns, \
             inferno-flamegraph and speedscope",
            number::count(stacks.lines().count())
        );
        note!("pinwise: {}", by_samples(samples));
    }
    caveats::note_all(&seen.changed_cpus, &seen.missing);
    Ok(Answer::Done)
}

/// What was seen, and by how many samples time on a CPU is split there.
fn sum_up(
    args: &Args,
    mut summing: Summing,
    mut on_cpu: OnCpu<'_>,
    root: &Root,
    watched: &Watched,
    stop: &AtomicBool,
) -> (TimeByStack, u64) {
    on_cpu.start();
    let mut new_processes = NewProcesses::begin();
    let ended = window::pass(args.length(), stop, || {
        summing.look();
        let add = |numbers: &[u32]| summing.add(numbers).and(on_cpu.add(numbers));
        new_processes.look(watched, root, add) != Some(false)
    });
    if ended == Ended::Gone {
        note!("pinwise: {} has ended; this is what was seen until then", watched.title());
    }
    on_cpu.stop();
    let mut seen = summing.end();
    let samples = on_cpu.split(&mut seen);
    seen.missing.extend(new_processes.refused().cloned());
    (seen, samples)
}

/// The line under the heading of a drawing.
fn how(seen: &TimeByStack, samples: u64) -> String {
    let window_s = seen.ended_ns.saturating_sub(seen.began_ns) as f64 / 1e9;
    format!("{} of each thread; {}", number::duration(window_s), by_samples(samples))
}

/// How well it is known what threads did on a CPU.
fn by_samples(samples: u64) -> String {
    match samples {
        0 => "time on a CPU has no stacks: too few samples".into(),
        _ => format!("time on a CPU by {} samples of stacks", number::grouped(samples as f64, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_says_of_which_window_it_is_and_of_how_many_samples() {
        let seen = TimeByStack {
            began_ns: 5,
            ended_ns: 10_000_000_005,
            times: Vec::new(),
            changed_cpus: Vec::new(),
            missing: Vec::new(),
        };
        assert_eq!(how(&seen, 1_234), "10 s of each thread; time on a CPU by 1,234 samples of stacks");
        assert_eq!(how(&seen, 0), "10 s of each thread; time on a CPU has no stacks: too few samples");
    }
}
