//! `pinwise noise`: how quiet each CPU is, and what breaks the quiet.

mod distances;
mod progress;

use std::time::Duration;

use advise::noise::Verdict;
use change::calling_thread;
use machine::{CpuChoice, CpuSet, Fault, Machine, Root};
use probe::noise::{self, Noise, Plan, Policy, Round, Surroundings};
use serde::Serialize;

use crate::format::Format;
use crate::interrupt;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::window;
use progress::Progress;

/// Thresholds that make sense, ns: below, the loop's own steps are in the way.
const THRESHOLDS_NS: std::ops::RangeInclusive<f64> = 100.0..=1e9;

/// How long gaps are looked for when nobody says.
const USUAL_WINDOW: Duration = Duration::from_secs(10);

// Flags of `pinwise noise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise noise                                     each usable CPU for 10 s
  pinwise noise --cpu 2-3 --for 1m                  two CPUs; rare gaps take long windows
  pinwise noise --cpu isolated --for 1m             the isolated CPUs (docs/cpus.md)
  pinwise noise --cpu 3 --fifo                      with real-time priority, undisturbed by ordinary tasks (root)
  pinwise noise --format json | jq '.verdict.classes'  what each CPU is quiet enough for
  pinwise noise --cores                             how long a cache line takes from CPU to CPU
  pinwise noise --memory                            memory latency and bandwidth from node to node
  pinwise noise --cores --memory --save d.json      both, for 'pinwise map --distances d.json'

A loop on each CPU reads the clock; if two readings are more than the threshold apart, something else had the CPU. With root, or
CAP_BPF and CAP_PERFMON, the kernel reports what that was (BPF at its trace points). Without them, gaps are still measured, and shown
next to the counters of /proc. The CPUs are fully busy during the measurement. Threads of one core take turns, unless --together is given.")]
pub struct Args {
    /// CPUs to measure: numbers (0-3,8) or names from 'pinwise map' (node:0, 'l3:0 & smt:0', isolated). Without it: all that this process
    /// may use
    #[arg(long, value_name = "CPUS")]
    cpu: Option<CpuChoice>,
    /// How long to measure each CPU [default: 10s]; with --cores and --memory, how long each of the two may take [default: seconds to
    /// minutes, depending on the number of pairs]
    #[arg(long = "for", value_name = "TIME", value_parser = window::length)]
    window: Option<Duration>,
    /// Run the loops with real-time priority (SCHED_FIFO, 1). Throttling and the fair server still give time to other tasks. Needs root,
    /// CAP_SYS_NICE or 'ulimit -r 1'
    #[arg(long)]
    fifo: bool,
    /// Count gaps longer than this: 100ns to 1s
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = threshold)]
    threshold: Duration,
    /// Measure all CPUs at the same time, including threads of one core, each of which is then noise to the other
    #[arg(long)]
    together: bool,
    #[command(flatten)]
    distances: distances::Flags,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `--format json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    /// What it comes to.
    verdict: &'a Verdict,
    /// What was measured.
    #[serde(flatten)]
    noise: &'a Noise,
}

/// Measures, judges, prints.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let stop = interrupt::flag()?;
    let root = Root::live();
    let machine = Machine::read(&root);
    let cpus = chosen(args.cpu.as_ref(), &machine)?;
    if args.distances.wanted()? {
        args.distances.have_cpus(&cpus, args.cpu.is_some())?;
        return args.distances.run(cpus, args.window, (&machine, &root), args.format, &stop);
    }
    let window = args.window.unwrap_or(USUAL_WINDOW);
    let policy = if args.fifo { Policy::Fifo } else { Policy::Other };
    if args.fifo {
        note!("{}", fifo_warning(root.read(RUNTIME).ok().as_deref(), root.read(PERIOD).ok().as_deref()));
    }
    let plan = Plan { cpus, window, threshold: args.threshold, together: args.together, policy };
    let host = Host { policy, usable: machine.usable(), progress: Progress::new(window) };
    let noise = noise::measure(&plan, &machine, &host, &stop);
    host.progress.finish();
    let noise = noise?;
    let verdict = advise::noise::judge(&noise);
    match args.format {
        Format::Json => output::json(&Document { verdict: &verdict, noise: &noise })?,
        Format::Text => {
            let text = report::account::noise_text::render(&noise, &verdict, output::style());
            output::text(&output::fitted(None, text))?
        }
    }
    Ok(Answer::Done)
}

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

/// What still interrupts a real-time loop, by the kernel's own figures.
fn fifo_warning(runtime: Option<&str>, period: Option<&str>) -> String {
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<i64>().ok());
    let throttling = match (number(runtime), number(period)) {
        (Some(-1), _) => "real-time throttling is off".to_string(),
        (Some(runtime), Some(period)) => {
            format!("real-time tasks are throttled after {runtime} of {period} us ({RUNTIME})")
        }
        _ => format!("real-time tasks may be throttled ({RUNTIME} cannot be read)"),
    };
    format!(
        "pinwise: --fifo: {throttling}, and from Linux 6.12 on a fair server gives ordinary tasks 5 % of a CPU; both appear as other \
         tasks or as time off the CPU"
    )
}

/// The CPUs to measure.
fn chosen(asked: Option<&CpuChoice>, machine: &Machine) -> Result<CpuSet, Fault> {
    asked.map_or_else(|| Ok(machine.usable()), |asked| asked.on(machine))
}

/// Where the loops run, and what is shown meanwhile.
struct Host {
    policy: Policy,
    usable: CpuSet,
    progress: Progress,
}

impl Surroundings for Host {
    fn enter(&self, cpu: u32) -> Result<(), Fault> {
        calling_thread::run_on(&CpuSet::single(cpu))?;
        match self.policy {
            Policy::Other => Ok(()),
            Policy::Fifo => calling_thread::run_as_fifo(),
        }
    }

    fn begins(&self, round: &Round<'_>) -> Duration {
        let others = self.usable.difference(round.cpus);
        // Where it cannot keep off it stays: it sleeps all the longer.
        let keeps_off = !others.is_empty() && calling_thread::run_on(&others).is_ok();
        self.progress.begins(round);
        Duration::from_millis(if keeps_off { 200 } else { 1_000 })
    }

    fn passes(&self, round: &Round<'_>, passed: Duration) {
        self.progress.passes(round, passed);
    }
}

/// `1us`, `500ns`, `2ms`.
fn threshold(text: &str) -> Result<Duration, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)));
    let (number, unit_ns) = found.ok_or("give a time with its unit, such as 1us or 500ns")?;
    let number: f64 = number.parse().map_err(|e| format!("{e}: give a time such as 1us or 500ns"))?;
    let ns = number * unit_ns;
    match THRESHOLDS_NS.contains(&ns) {
        true => Ok(Duration::from_nanos(ns.round() as u64)),
        false => Err("choose 100ns to 1s".into()),
    }
}

#[cfg(test)]
mod tests {
    use machine::Class;
    use machine::topology::cpus::Cpu;

    use super::*;

    #[test]
    fn thresholds_have_their_unit() {
        let ns = |text| threshold(text).unwrap().as_nanos();
        assert_eq!(
            ["1us", "500ns", "2ms", "1s", "1.5us"].map(ns),
            [1_000, 500, 2_000_000, 1_000_000_000, 1_500]
        );
        for bad in ["1", "50ns", "2s", "us", "nanus", "-1us"] {
            assert!(threshold(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cpus_that_are_offline_or_not_allowed_are_refused_by_name() {
        let cpu = |id, online, allowed| Cpu { id, online, allowed: Some(allowed), ..Cpu::default() };
        let cpus = vec![cpu(0, true, true), cpu(1, true, false), cpu(2, false, true), cpu(3, true, true)];
        let machine = Machine { cpus, ..Machine::default() };
        let of = |words: &str| chosen(Some(&words.parse().unwrap()), &machine);
        assert_eq!(chosen(None, &machine).unwrap().to_list(), "0,3");
        assert_eq!(of("3").unwrap().to_list(), "3");
        let refused = of("0-1").unwrap_err();
        assert!(refused.class == Class::Usage && refused.cause.contains("may not run on 1"), "{refused}");
        assert!(of("2").unwrap_err().cause.contains("may not run on 2: not there, offline"));
        assert_eq!(of("all,!0").unwrap().to_list(), "3");
    }

    #[test]
    fn the_warning_has_the_kernels_figures() {
        assert!(fifo_warning(Some("950000\n"), Some("1000000\n")).contains("after 950000 of 1000000 us"));
        assert!(fifo_warning(Some("-1\n"), Some("1000000\n")).contains("throttling is off"));
        assert!(fifo_warning(None, None).contains("may be throttled"));
    }
}
