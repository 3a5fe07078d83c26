//! What watching costs those who are watched: CPU time of `perf bench sched pipe`, two processes that wake each other on one
//! CPU, which is the worst that a tracer of switches can meet.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use benches::blocks::{self, Arm};
use benches::cpu_time::{self, Cost};
use benches::nothing::Nothing;
use rustix::process::{Pid, Signal, kill_process};

use crate::section::Section;
use crate::tools;

/// Round trips of a run: some 0.3 s.
const ROUND_TRIPS: u32 = 60_000;
const BLOCKS: usize = 15;

/// Of the rows that there are goals for. This host moves each row by 2 % from one run of so few blocks as above to the next.
const BLOCKS_OF_GOALS: usize = 40;

/// Every event as a trace, which is written when the load has ended.
const PERFETTO: [&str; 3] = ["--format", "perfetto", "--output=/dev/null"];

/// How long a tracer may take to be ready.
const READY: Duration = Duration::from_millis(1_200);

/// Measures pinwise beside the tools that it replaces, those that are there and that run on this kernel.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("What watching costs the one that is watched");
    let Some((pinwise, cpu, bystander)) = ready(&mut section)? else { return Ok(section) };
    let other = bystander.0.id();
    let ours = |words| ours(pinwise.clone(), other, words);
    let theirs = |program: &'static str, words: &'static [&'static str]| {
        move |pid: u32| {
            let mut command = Command::new(program);
            command.args(words.iter().map(|word| word.replace("TARGET", &pid.to_string())));
            command
        }
    };
    let mut arms = vec![
        Arm::new("nobody watches", move || run(cpu, None)),
        Arm::new("nobody watches (A/A)", move || run(cpu, None)),
        Arm::new("programs that do nothing at sched_switch and sched_wakeup", move || {
            let _nothing = Nothing::attach(false)?;
            run(cpu, None)
        }),
        Arm::new("programs that look at the clock there, and do no more", move || {
            let _nothing = Nothing::attach(true)?;
            run(cpu, None)
        }),
        arm(cpu, "pinwise watch of it", ours(&["--process", "TARGET"])),
        arm(cpu, "pinwise watch of another process", ours(&["--process", "OTHER"])),
        arm(cpu, "pinwise watch of all CPUs", ours(&[])),
        arm(
            cpu,
            "pinwise watch of it, every event",
            ours(&["--process", "TARGET", PERFETTO[0], PERFETTO[1], PERFETTO[2]]),
        ),
        arm(cpu, "pinwise watch of all CPUs, every event", ours(&PERFETTO)),
    ];
    let mut left_out = Vec::new();
    for (name, program, words) in [
        ("cpudist -p of it", "cpudist", &["-p", "TARGET", "60", "1"][..]),
        ("runqlat -p of it", "runqlat", &["-p", "TARGET", "60", "1"]),
        ("runqlat", "runqlat", &["60", "1"]),
        ("offcputime -p of it", "offcputime", &["-p", "TARGET", "60"]),
        ("perf sched record", "perf", &["sched", "record", "-o", "/dev/null", "sleep", "60"]),
    ] {
        let program = found(program);
        match works(theirs(program, words)(other)) {
            Ok(()) => arms.push(arm(cpu, name, theirs(program, words))),
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    let outcomes = blocks::run(arms, BLOCKS)?;
    section.say(
        "CPU time of `perf bench sched pipe` on one CPU, started stopped, watched, continued; order shuffled in blocks. A round \
         trip is two wake-ups and two switches. pinwise accounts for all of it (switches, wake-ups, interrupts, softirqs, timers); \
         the others do one thing each. The programs that do nothing say what any tracer of switches and wake-ups costs here, those that \
         look at the clock what any costs that reads it each time.",
    );
    section.compare(&format!("{ROUND_TRIPS} round trips"), &outcomes);
    if !left_out.is_empty() {
        section.say(format!("Left out, for they do not run here: {}.", left_out.join("; ")));
    }
    Ok(section)
}

/// The rows that there are goals for, in as many blocks as it takes to tell.
pub fn measure_goals() -> io::Result<Section> {
    let mut section = Section::new("What watching costs the one that is watched, and others");
    let Some((pinwise, cpu, bystander)) = ready(&mut section)? else { return Ok(section) };
    let ours = |words| ours(pinwise.clone(), bystander.0.id(), words);
    let mut arms = vec![
        Arm::new("nobody watches", move || run(cpu, None)),
        Arm::new("nobody watches (A/A)", move || run(cpu, None)),
        arm(cpu, "pinwise watch of it", ours(&["--process", "TARGET"])),
        arm(cpu, "pinwise watch of another process", ours(&["--process", "OTHER"])),
    ];
    let cpudist = found("cpudist");
    if Command::new(cpudist).arg("--version").output().is_ok() {
        arms.push(arm(cpu, "cpudist -p of it", move |pid| {
            let mut command = Command::new(cpudist);
            command.args(["-p", &pid.to_string(), "60", "1"]);
            command
        }));
    }
    section.say("As `traced`. Goals: 1.11 x for the watched, 1.06 x for others.");
    section.compare(&format!("{ROUND_TRIPS} round trips"), &blocks::run(arms, BLOCKS_OF_GOALS)?);
    Ok(section)
}

/// What is measured, the CPU of the load, and somebody else to watch; `None` where the load cannot run, which is said.
fn ready(section: &mut Section) -> io::Result<Option<(PathBuf, u32, Bystander)>> {
    if tools::version("perf").is_none() || !tools::is_root() {
        section.say("Not measured: needs root, and perf (package linux-perf) for its load.");
        return Ok(None);
    }
    let cpu = machine::Machine::read(&machine::Root::live()).online().last().unwrap_or(0);
    Ok(Some((tools::pinwise()?, cpu, Bystander::start()?)))
}

/// `pinwise watch` with these words, in which TARGET is the load and OTHER the bystander.
fn ours(pinwise: PathBuf, other: u32, words: &'static [&'static str]) -> impl Fn(u32) -> Command + 'static {
    move |pid| {
        let mut command = Command::new(&pinwise);
        command.args(["watch", "--for", "60s"]);
        for word in words {
            command.arg(word.replace("TARGET", &pid.to_string()).replace("OTHER", &other.to_string()));
        }
        command
    }
}

/// A process that has nothing to do with the load.
struct Bystander(Child);

impl Bystander {
    fn start() -> io::Result<Self> {
        Command::new("sleep").arg("3600").spawn().map(Self)
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn arm(cpu: u32, name: &str, tracer: impl Fn(u32) -> Command + 'static) -> Arm<'static> {
    Arm::new(name, move || run(cpu, Some(&tracer)))
}

/// Debian has some of these tools in sbin.
fn found(program: &'static str) -> &'static str {
    match program {
        "cpudist" if Path::new("/usr/sbin/cpudist").exists() => "/usr/sbin/cpudist",
        "runqlat" if Path::new("/usr/sbin/runqlat").exists() => "/usr/sbin/runqlat",
        "offcputime" if Path::new("/usr/sbin/offcputime").exists() => "/usr/sbin/offcputime",
        other => other,
    }
}

/// Whether a tracer still runs when it should be ready; what it said, if not.
fn works(mut tracer: Command) -> Result<(), String> {
    let started = tracer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut started = started.map_err(|e| e.to_string())?;
    std::thread::sleep(READY);
    let ended = started.try_wait().map_err(|e| e.to_string())?;
    end(&mut started).map_err(|e| e.to_string())?;
    match ended {
        None => Ok(()),
        Some(status) => {
            let mut said = String::new();
            let _ = started.stderr.take().map(|mut text| text.read_to_string(&mut said));
            let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("{status} {first}").trim().to_string())
        }
    }
}

/// One run of the load, beside a tracer of it.
fn run(cpu: u32, tracer: Option<&dyn Fn(u32) -> Command>) -> io::Result<Cost> {
    let script = format!("kill -STOP $$; exec taskset -c {cpu} perf bench sched pipe -l {ROUND_TRIPS}");
    let mut load = Command::new("sh");
    let mut load = load.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    stopped(load.id())?;
    let mut tracer = tracer.map(|tracer| silent(tracer(load.id()))).transpose()?;
    if tracer.is_some() {
        std::thread::sleep(READY);
    }
    let began = Instant::now();
    let (cost, status) = cpu_time::of_child(&mut load, |load| {
        signal(load.id(), Signal::CONT)?;
        load.wait()
    })?;
    let wall_ns = began.elapsed().as_nanos() as u64;
    if let Some(tracer) = &mut tracer {
        let gone = tracer.try_wait()?;
        end(tracer)?;
        if let Some(status) = gone {
            return Err(io::Error::other(format!("a tracer ended before its load: {status}")));
        }
    }
    match status.success() {
        true => Ok(Cost { cpu_ns: cost, wall_ns }),
        false => Err(io::Error::other(format!("perf bench sched pipe: {status}"))),
    }
}

fn silent(mut command: Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
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

fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("no such process number"))?;
    kill_process(pid, signal).map_err(io::Error::from)
}

/// Ends a tracer as Ctrl-C does; where that does not help, by force.
fn end(tracer: &mut Child) -> io::Result<()> {
    if tracer.try_wait()?.is_some() {
        return Ok(());
    }
    signal(tracer.id(), Signal::INT)?;
    for _ in 0..300 {
        if tracer.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    tracer.kill()?;
    tracer.wait().map(|_| ())
}
