//! What a watch does to those who want quiet: what a loop that only reads the clock loses, and what the tick takes of it, with and without a
//! watch beside it.

use std::io;
use std::process::Command;
use std::time::Duration;

use benches::blocks::{self, Difference, Ratio, middle};
use benches::delay::Delay;
use benches::gaps;
use benches::nothing::{Met, Nothing};
use machine::{Machine, Root};

use crate::section::Section;
use crate::tools;
use crate::tracer::{self, Bystander, Tracer};

const BLOCKS: usize = 30;

/// How long the loop runs each time.
const WINDOW: Duration = Duration::from_secs(1);

/// What counts as lost time: gaps above this, ns.
const THRESHOLD_NS: u64 = 1_000;

/// Of the ticks' gaps that which a tenth are shorter than: half of them have something of a shared host in them, which moves their median by a
/// tenth and more from one second to the next.
const QUIET_TENTH: usize = 10;

/// By how much the positive control makes each tick longer, ns.
const KNOWN_NS: u32 = 500;

/// A tool that pinwise replaces, the program and its arguments (CPU is the loop's).
const TOOLS: [(&str, &str, &[&str]); 2] = [
    ("softirqs", "softirqs", &["60", "1"]),
    (
        "perf record of the timer interrupt",
        "perf",
        &[
            "record",
            "-C",
            "CPU",
            "-e",
            "irq_vectors:local_timer_entry,irq_vectors:local_timer_exit",
            "-o",
            "/dev/null",
        ],
    ),
];

/// Measures the last CPU, which has the least to do in most machines.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("What watching costs those who want quiet");
    let machine = Machine::read(&Root::live());
    let (Some(cpu), Some(hz), true) = (machine.online().last(), machine.kernel.hz, tools::is_root()) else {
        section.say("Not measured: needs root, and a kernel that reports its tick rate (HZ in /proc/config.gz or /boot).");
        return Ok(section);
    };
    let mut quiet =
        Quiet { cpu, hz, arms: vec![("nobody watches".into(), Beside::Nobody)], left_out: Vec::new() };
    let bystander = Bystander::start()?;
    quiet.all_arms(&bystander)?;
    quiet.compare(&mut section)?;
    Ok(section)
}

/// What is beside the loop.
enum Beside {
    Nobody,
    /// A program that makes each tick longer.
    Delay,
    /// Programs where those of watch meet a tick; whether they look at the clock.
    Nothing(bool),
    Tracer(Box<dyn Fn() -> Command>),
}

/// What goes on beside the loop.
enum Begun {
    Programs { _delay: Option<Delay>, _nothing: Option<Nothing> },
    Tracer(Tracer),
}

impl Beside {
    fn begin(&self) -> io::Result<Begun> {
        let (mut delay, mut nothing) = (None, None);
        match self {
            Beside::Nobody => {}
            Beside::Delay => delay = Some(Delay::attach(KNOWN_NS)?),
            Beside::Nothing(reads_clock) => nothing = Some(Nothing::attach(Met::Ticks, *reads_clock)?),
            Beside::Tracer(command) => return Tracer::start(command()).map(Begun::Tracer),
        }
        Ok(Begun::Programs { _delay: delay, _nothing: nothing })
    }
}

impl Begun {
    fn end(self) -> io::Result<()> {
        match self {
            Begun::Programs { .. } => Ok(()),
            Begun::Tracer(tracer) => tracer.end(),
        }
    }
}

/// The loop, and what is put beside it.
struct Quiet {
    cpu: u32,
    hz: u32,
    arms: Vec<(String, Beside)>,
    /// Tools that do not run here, and why.
    left_out: Vec<String>,
}

impl Quiet {
    fn all_arms(&mut self, bystander: &Bystander) -> io::Result<()> {
        self.arms.push(("nobody watches (A/A)".into(), Beside::Nobody));
        self.in_kernel(&format!("each tick made {KNOWN_NS} ns longer"), Beside::Delay);
        self.in_kernel("programs that do nothing at the four trace points of a tick", Beside::Nothing(false));
        self.in_kernel("programs that look at the clock there, and do no more", Beside::Nothing(true));
        self.ours("pinwise watch of another process", &["--process", &bystander.id().to_string()])?;
        self.ours("pinwise watch of the loop's CPU", &["--cpu", &self.cpu.to_string()])?;
        self.ours("pinwise watch of all CPUs", &[])?;
        TOOLS.into_iter().for_each(|(name, program, words)| self.theirs(name, program, words));
        Ok(())
    }

    /// Adds programs of the bench itself, if the kernel has their trace points (x86).
    fn in_kernel(&mut self, name: &str, beside: Beside) {
        match beside.begin() {
            Ok(_) => self.arms.push((name.into(), beside)),
            Err(why) => self.left_out.push(format!("{name}: {why}")),
        }
    }

    fn ours(&mut self, name: &str, target: &[&str]) -> io::Result<()> {
        let pinwise = tools::pinwise()?;
        let target: Vec<String> = target.iter().map(|word| (*word).to_string()).collect();
        let tracer = move || {
            let mut command = Command::new(&pinwise);
            command.args(["watch", "--for", "60s"]).args(&target);
            command
        };
        self.arms.push((name.into(), Beside::Tracer(Box::new(tracer))));
        Ok(())
    }

    fn theirs(&mut self, name: &str, program: &str, words: &'static [&'static str]) {
        let (program, cpu) = (tracer::found(program), self.cpu.to_string());
        let tracer = move || {
            let mut command = Command::new(&program);
            command.args(words.iter().map(|word| if *word == "CPU" { &cpu } else { *word }));
            command
        };
        match tracer::works(tracer()) {
            Ok(()) => self.arms.push((name.into(), Beside::Tracer(Box::new(tracer)))),
            Err(why) => self.left_out.push(format!("{name}: {why}")),
        }
    }

    /// One run of the loop: the length of a gap that holds a tick, ns, and the share of its time that lies in gaps.
    fn run(&self, beside: &Beside) -> io::Result<[f64; 2]> {
        let begun = beside.begin()?;
        let gaps = gaps::of_loop(self.cpu, WINDOW)?;
        begun.end()?;
        let mut ticks = gaps::of_ticks(&gaps, self.hz);
        ticks.sort_unstable();
        match ticks.get(ticks.len() / QUIET_TENTH) {
            None => Err(io::Error::other(format!(
                "CPU {}: its ticks do not come at one time of each period",
                self.cpu
            ))),
            Some(tick_ns) => Ok([*tick_ns as f64, gaps::share(&gaps, THRESHOLD_NS, WINDOW)]),
        }
    }

    fn compare(&self, section: &mut Section) -> io::Result<()> {
        let figures = blocks::figures(self.arms.len(), BLOCKS, |arm| self.run(&self.arms[arm].1))?;
        section.say(format!(
            "A loop on CPU {} reads the clock for {} s; {BLOCKS} blocks in shuffled order. A tick's gap: the tenth percentile of those that come {} \
             times a second, each at its time; nothing in the kernel marks them. Differences from the first row, with exact \
             95 % intervals, and what they come to as a share of the CPU. The third row is to show its {KNOWN_NS} ns, and what a program \
             costs there that reads the clock: so much is seen here.",
            self.cpu, WINDOW.as_secs(), self.hz,
        ));
        section.say(self.table(&figures));
        if !self.left_out.is_empty() {
            section.say(format!("Left out, for they do not run here: {}.", self.left_out.join("; ")));
        }
        Ok(())
    }

    fn table(&self, all: &[[Vec<f64>; 2]]) -> String {
        let mut table = String::from(
            "| | a tick's gap, us | longer by, ns | of the CPU | share of time in gaps above 1 us | of the first |\n\
             |---|---:|---:|---:|---:|---:|\n",
        );
        for (number, ((name, _), [tick, share])) in self.arms.iter().zip(all).enumerate() {
            let longer = Difference::of(tick, &all[0][0]).filter(|_| number > 0);
            let of_cpu = longer.map(|longer| longer.estimate * f64::from(self.hz) / 1e9 * 100.0);
            let ratio = Ratio::of(share, &all[0][1]).filter(|_| number > 0);
            table.push_str(&format!(
                "| {name} | {:.2} | {} | {} | {:.3} % | {} |\n",
                middle(tick) / 1e3,
                longer.map_or("0".into(), |longer| longer.to_string()),
                of_cpu.map_or("0".into(), |share| format!("{share:.3} %")),
                middle(share) * 100.0,
                ratio.map_or("1".into(), |ratio| ratio.to_string()),
            ));
        }
        table.trim_end().to_string()
    }
}
