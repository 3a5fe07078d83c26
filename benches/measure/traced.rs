//! What watching costs those who are watched: CPU time of `perf bench sched pipe`, two processes that wake each other on one
//! CPU, which is the worst that a tracer of switches can meet.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use benches::blocks::{self, Arm};
use benches::cpu_time::{self, Cost};
use benches::nothing::{Met, Nothing};
use rustix::process::Signal;

use crate::section::Section;
use crate::tools;
use crate::tracer::{self, Bystander, Tracer};

/// Round trips of a run: some 0.3 s.
const ROUND_TRIPS: u32 = 60_000;
const BLOCKS: usize = 15;

/// Of the rows that there are goals for. This host moves each row by 2 % from one run of so few blocks as above to the next.
const BLOCKS_OF_GOALS: usize = 40;

/// Every event as a trace, which is written when the load has ended.
const PERFETTO: [&str; 3] = ["--format", "perfetto", "--output=/dev/null"];

/// A tool that pinwise replaces: the name of its row, the program, its arguments (TARGET is the load).
type Tool = (&'static str, &'static str, &'static [&'static str]);

/// The tool nearest to what pinwise reports of the target.
const CPUDIST: Tool = ("cpudist -p of it", "cpudist", &["-p", "TARGET", "60", "1"]);

/// The least that a tracer of switches and wake-ups can cost.
const NOTHING: &str = "programs that do nothing at sched_switch and sched_wakeup";

const TOOLS: [Tool; 5] = [
    CPUDIST,
    ("runqlat -p of it", "runqlat", &["-p", "TARGET", "60", "1"]),
    ("runqlat", "runqlat", &["60", "1"]),
    ("offcputime -p of it", "offcputime", &["-p", "TARGET", "60"]),
    ("perf sched record", "perf", &["sched", "record", "-o", "/dev/null", "sleep", "60"]),
];

/// Measures pinwise beside the tools that it replaces, those that are there and that run on this kernel.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("What watching costs the one that is watched");
    let Some(mut rows) = Rows::ready(&mut section)? else { return Ok(section) };
    rows.nothing(NOTHING, false);
    rows.nothing("programs that look at the clock there, and do no more", true);
    rows.watched();
    rows.ours("pinwise watch of all CPUs", &[]);
    rows.ours(
        "pinwise watch of it, every event",
        &["--process", "TARGET", PERFETTO[0], PERFETTO[1], PERFETTO[2]],
    );
    rows.ours("pinwise watch of all CPUs, every event", &PERFETTO);
    rows.ours("pinwise watch of it, by stack", &["--process", "TARGET", "--format", "folded"]);
    TOOLS.into_iter().for_each(|tool| rows.theirs(tool));
    section.say(
        "CPU time of `perf bench sched pipe` on one CPU, started stopped, watched, continued; order shuffled in blocks. A round \
         trip is two wake-ups and two switches. pinwise accounts for all of it (switches, wake-ups, interrupts, softirqs, timers); \
         the others do one thing each. The programs that do nothing say what any tracer of switches and wake-ups costs here, those that \
         look at the clock what any costs that reads it each time.",
    );
    rows.compare(BLOCKS, &mut section)?;
    Ok(section)
}

/// The rows that have goals, in as many blocks as a decision takes.
pub fn measure_goals() -> io::Result<Section> {
    let mut section = Section::new("What watching costs the one that is watched, and others");
    let Some(mut rows) = Rows::ready(&mut section)? else { return Ok(section) };
    rows.nothing(NOTHING, false);
    rows.watched();
    rows.theirs(CPUDIST);
    section.say(
        "As `traced`. Goals: 1.11 x for the watched, 1.06 x for others. The third row is what the kernel takes for the two trace points, \
         whatever is done there.",
    );
    rows.compare(BLOCKS_OF_GOALS, &mut section)?;
    Ok(section)
}

/// The rows of a table, of which the first is the load alone.
struct Rows {
    pinwise: PathBuf,
    /// Where the load runs.
    cpu: u32,
    bystander: Bystander,
    arms: Vec<Arm<'static>>,
    /// Tools that do not run here, and why.
    left_out: Vec<String>,
}

impl Rows {
    /// With the load alone, twice; `None` where it cannot run, which is said.
    fn ready(section: &mut Section) -> io::Result<Option<Self>> {
        if tools::version("perf").is_none() || !tools::is_root() {
            section.say("Not measured: needs root, and perf (package linux-perf) for its load.");
            return Ok(None);
        }
        let cpu = machine::Machine::read(&machine::Root::live()).online().last().unwrap_or(0);
        let alone = |name| Arm::new(name, move || run(cpu, None));
        let arms = vec![alone("nobody watches"), alone("nobody watches (A/A)")];
        let (pinwise, bystander) = (tools::pinwise()?, Bystander::start()?);
        Ok(Some(Self { pinwise, cpu, bystander, arms, left_out: Vec::new() }))
    }

    /// Adds the rows that there are goals for.
    fn watched(&mut self) {
        self.ours("pinwise watch of it", &["--process", "TARGET"]);
        self.ours("pinwise watch of another process", &["--process", "OTHER"]);
    }

    /// Adds programs that count nothing.
    fn nothing(&mut self, name: &str, reads_clock: bool) {
        let cpu = self.cpu;
        self.arms.push(Arm::new(name, move || {
            let _nothing = Nothing::attach(Met::Tasks, reads_clock)?;
            run(cpu, None)
        }));
    }

    /// Adds `pinwise watch` with these arguments, in which TARGET is the load and OTHER the bystander.
    fn ours(&mut self, name: &str, words: &'static [&'static str]) {
        let (pinwise, other) = (self.pinwise.clone(), self.bystander.id().to_string());
        self.add(name, move |pid| {
            let mut command = Command::new(&pinwise);
            command.args(["watch", "--for", "60s"]);
            command.args(
                words.iter().map(|word| word.replace("TARGET", &pid.to_string()).replace("OTHER", &other)),
            );
            command
        });
    }

    /// Adds a tool, if it runs here.
    fn theirs(&mut self, (name, program, words): Tool) {
        let program = tracer::found(program);
        let tracer = move |pid: u32| {
            let mut command = Command::new(&program);
            command.args(words.iter().map(|word| word.replace("TARGET", &pid.to_string())));
            command
        };
        match tracer::works(tracer(self.bystander.id())) {
            Ok(()) => self.add(name, tracer),
            Err(why) => self.left_out.push(format!("{name}: {why}")),
        }
    }

    fn add(&mut self, name: &str, tracer: impl Fn(u32) -> Command + 'static) {
        let cpu = self.cpu;
        self.arms.push(Arm::new(name, move || run(cpu, Some(&tracer))));
    }

    /// Measures them, and says what was left out.
    fn compare(self, blocks: usize, section: &mut Section) -> io::Result<()> {
        section.compare(&format!("{ROUND_TRIPS} round trips"), &blocks::run(self.arms, blocks)?);
        if !self.left_out.is_empty() {
            section.say(format!("Left out, for they do not run here: {}.", self.left_out.join("; ")));
        }
        Ok(())
    }
}

/// One run of the load, beside a tracer of it.
fn run(cpu: u32, tracer: Option<&dyn Fn(u32) -> Command>) -> io::Result<Cost> {
    let script = format!("kill -STOP $$; exec taskset -c {cpu} perf bench sched pipe -l {ROUND_TRIPS}");
    let mut load = Command::new("sh");
    let mut load = load.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    stopped(load.id())?;
    let tracer = tracer.map(|tracer| Tracer::start(tracer(load.id()))).transpose()?;
    let began = Instant::now();
    let (cost, status) = cpu_time::of_child(&mut load, |load| {
        tracer::signal(load.id(), Signal::CONT)?;
        load.wait()
    })?;
    let wall_ns = began.elapsed().as_nanos() as u64;
    tracer.map_or(Ok(()), Tracer::end)?;
    match status.success() {
        true => Ok(Cost { cpu_ns: cost, wall_ns }),
        false => Err(io::Error::other(format!("perf bench sched pipe: {status}"))),
    }
}

/// Waits until a process has stopped itself.
fn stopped(pid: u32) -> io::Result<()> {
    for _ in 0..1_000 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other(format!("process {pid} did not stop")))
}
