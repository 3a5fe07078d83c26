//! The dose of a positive control: threads that take a set share of the time of some CPUs.
//!
//! How much they really get is for the kernel's account of them to say. Real-time throttling (`sched_rt_runtime_us`), a cgroup
//! without real-time bandwidth, or missing permissions may give them less than they ask for.

mod pace;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use machine::{Class, CpuSet, Fault, Scheduling};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::flags::{Flags, push};
use crate::signals;
use pace::Pace;

/// Shares of a CPU that may be asked for.
pub const SHARES: std::ops::RangeInclusive<f64> = 0.01..=0.9;

/// Periods that may be asked for, us. Shorter ones cost more in wake-ups than they take, longer ones are pauses.
pub const PERIODS_US: std::ops::RangeInclusive<u64> = 500..=100_000;

/// The period where none is asked for, us.
pub const PERIOD_US: u64 = 2_000;

/// The longest that may be asked for, s.
pub const LONGEST_S: f64 = 3_600.0;

/// Above the threads of interrupts (50) would keep packets from the server.
const FIFO_PRIORITY: i32 = 50;

/// The strongest nice value.
const STRONGEST_NICE: i32 = -20;

/// How the thief of one CPU is scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its CPU.
    pub cpu: u32,
    /// The policy that it got; `None`: an ordinary task, as its process is.
    pub scheduling: Option<Scheduling>,
    /// Why it did not get a better one.
    pub refused: Vec<Fault>,
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CPU {}: ", self.cpu)?;
        match self.scheduling {
            Some(Scheduling::Fifo { priority }) => write!(f, "SCHED_FIFO, priority {priority}")?,
            Some(Scheduling::Other { nice }) => write!(f, "nice {nice}")?,
            _ => f.write_str("an ordinary task")?,
        }
        for fault in &self.refused {
            write!(f, "; {}: {}", fault.object, fault.cause)?;
        }
        match self.scheduling {
            Some(Scheduling::Fifo { .. }) => Ok(()),
            _ => f.write_str("; it may get less than it asks for"),
        }
    }
}

/// Threads that take time, until it is dropped or the process ends.
#[derive(Debug, Default)]
pub struct Thief {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    standings: Vec<Standing>,
}

impl Thief {
    /// Starts one thread on each of `cpus`, pinned there before this returns. In each period of `period_us` it uses `share` of
    /// the period and sleeps for the rest; what it did not get in one period it does not make up for in the next.
    ///
    /// # Errors
    /// A share outside of [`SHARES`], a period outside of [`PERIODS_US`], no CPU, a CPU where it may not run.
    pub fn start(cpus: &CpuSet, share: f64, period_us: u64) -> Result<Self, Fault> {
        check(cpus, share, period_us)?;
        let mut thief = Self::default();
        for cpu in cpus.iter() {
            // The threads before it end when `thief` is dropped on the way out.
            thief.thread_on(cpu, Pace::new(share, period_us * 1_000, cpu))?;
        }
        Ok(thief)
    }

    /// How each of its threads is scheduled, by CPU.
    pub fn standings(&self) -> &[Standing] {
        &self.standings
    }

    fn thread_on(&mut self, cpu: u32, pace: Pace) -> Result<(), Fault> {
        let (answers, answer) = mpsc::channel();
        let stop = self.stop.clone();
        let stealing = move || {
            let standing = change::calling_thread::run_on(&CpuSet::single(cpu)).map(|()| strongest(cpu));
            let placed = standing.is_ok();
            // Nobody listens only when the starter is gone, and then `stop` is set.
            let _ = answers.send(standing);
            if placed {
                pace.keep(&stop);
            }
        };
        let failed = |why: &dyn std::fmt::Display| {
            let object = format!("thread of the thief on CPU {cpu}");
            Fault::new(Class::WorkloadFailed, object, why, "check the limit of tasks (ulimit -u)")
        };
        let thread = std::thread::Builder::new().name(format!("thief-{cpu}")).spawn(stealing);
        self.threads.push(thread.map_err(|e| failed(&e))?);
        self.standings.push(answer.recv().map_err(|e| failed(&e))??);
        Ok(())
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to report, and cannot panic.
            let _ = thread.join();
        }
    }
}

fn check(cpus: &CpuSet, share: f64, period_us: u64) -> Result<(), Fault> {
    let refuse =
        |object: String, remedy: String| Err(Fault::new(Class::Usage, object, "is out of range", remedy));
    if !SHARES.contains(&share) {
        let remedy = format!("choose {} to {}", SHARES.start(), SHARES.end());
        return refuse(format!("thief: share {share}"), remedy);
    }
    if !PERIODS_US.contains(&period_us) {
        let remedy = format!("choose {} to {} us", PERIODS_US.start(), PERIODS_US.end());
        return refuse(format!("thief: period of {period_us} us"), remedy);
    }
    match cpus.is_empty() {
        true => Err(Fault::new(Class::Usage, "thief: CPUs", "the set is empty", "name at least one CPU")),
        false => Ok(()),
    }
}

/// Gives the calling thread the strongest scheduling that it may have.
fn strongest(cpu: u32) -> Standing {
    let wanted = [Scheduling::Fifo { priority: FIFO_PRIORITY }, Scheduling::Other { nice: STRONGEST_NICE }];
    let mut refused = Vec::new();
    for scheduling in wanted {
        match change::calling_thread::schedule_as(scheduling) {
            Ok(()) => return Standing { cpu, scheduling: Some(scheduling), refused },
            Err(fault) => refused.push(fault),
        }
    }
    Standing { cpu, scheduling: None, refused }
}

/// Options of `pinwise thief`.
#[derive(Debug, Clone, PartialEq)]
pub struct ThiefOptions {
    /// CPUs to take time of.
    pub cpus: CpuSet,
    /// Share of each of them, within [`SHARES`].
    pub share: f64,
    /// Period, us, within [`PERIODS_US`].
    pub period_us: u64,
    /// How long, s, at most [`LONGEST_S`]; `None`: until a signal or the end of its parent.
    pub for_s: Option<f64>,
}

impl ThiefOptions {
    /// Reads `--cpus LIST --share X --period-us N --for S`; the last two may be left out.
    ///
    /// # Errors
    /// Unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("thief", args, &[])?;
        let cpus: String = given.required("cpus")?;
        let cpus = CpuSet::from_list(&cpus).map_err(|why| {
            Fault::new(Class::Usage, format!("thief --cpus {cpus}"), why, "give a list as 0-3,8")
        })?;
        let options = Self {
            cpus,
            share: given.required("share")?,
            period_us: given.optional("period-us")?.unwrap_or(PERIOD_US),
            for_s: given.optional("for")?,
        };
        given.finish()?;
        Ok(options)
    }

    /// The words after `pinwise` that start it.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec!["thief".to_string()];
        push(&mut args, "cpus", self.cpus.to_list());
        push(&mut args, "share", self.share);
        push(&mut args, "period-us", self.period_us);
        if let Some(for_s) = self.for_s {
            push(&mut args, "for", for_s);
        }
        args
    }
}

/// Takes time until SIGTERM or SIGINT, the end of its parent, or the end of `options.for_s`; the hidden verb `pinwise thief`.
/// `report` gets the scheduling of each thread once it runs.
///
/// # Errors
/// As [`Thief::start`], and a time out of range.
pub fn run(options: &ThiefOptions, report: impl Fn(&Standing)) -> Result<(), Fault> {
    if let Some(for_s) = options.for_s.filter(|for_s| !(*for_s > 0.0 && *for_s <= LONGEST_S)) {
        let remedy = format!("choose above 0, to {LONGEST_S}");
        return Err(Fault::new(Class::Usage, format!("thief: {for_s} s"), "is out of range", remedy));
    }
    let failed = |object: &str, error: Errno| {
        Fault::new(Class::WorkloadFailed, object, error, "check the limit of open files (ulimit -n)")
    };
    let signals = signals::terminate().map_err(|e| failed("signalfd", e))?;
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|e| failed("prctl", e))?;
    // It may have ended before the kernel was asked.
    if getppid() != parent {
        return Ok(());
    }
    let thief = Thief::start(&options.cpus, options.share, options.period_us)?;
    thief.standings().iter().for_each(report);
    wait(&signals, options.for_s.map(Duration::from_secs_f64))
}

/// Until a signal comes or the time is over.
fn wait(signals: &OwnedFd, at_most: Option<Duration>) -> Result<(), Fault> {
    let until = at_most.map(|at_most| Instant::now() + at_most);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        let timeout =
            left.map(|left| Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ });
        match poll(&mut [PollFd::new(signals, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(e) => {
                return Err(Fault::new(Class::WorkloadFailed, "poll", e, "check the limit of open files"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ThiefOptions {
        ThiefOptions { cpus: CpuSet::from_list("0,2-3").unwrap(), share: 0.2, period_us: 2_000, for_s: None }
    }

    #[test]
    fn flags_give_back_the_options() {
        for options in [options(), ThiefOptions { for_s: Some(2.5), period_us: 500, ..options() }] {
            assert_eq!(ThiefOptions::from_args(&options.to_args()[1..]).unwrap(), options);
        }
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let refused = |text: &str| ThiefOptions::from_args(&words(text)).unwrap_err().to_string();
        assert!(refused("--share 0.2").contains("--cpus"));
        assert!(refused("--cpus 0- --share 0.2").contains("--cpus 0-"));
        assert!(refused("--cpus 0 --share much").contains("--share much"));
    }

    #[test]
    fn what_is_out_of_range_is_named_and_nothing_starts() {
        let refused = |change: &dyn Fn(&mut ThiefOptions)| {
            let mut options = options();
            change(&mut options);
            run(&options, |_| panic!("it started")).unwrap_err().to_string()
        };
        assert!(refused(&|o| o.for_s = Some(0.0)).contains("0 s"));
        assert!(refused(&|o| o.for_s = Some(3_601.0)).contains("3600"));
        let start = |share, period_us| Thief::start(&CpuSet::single(0), share, period_us).unwrap_err();
        assert!(start(0.005, 2_000).to_string().contains("share 0.005"));
        assert!(start(0.95, 2_000).to_string().contains("0.01 to 0.9"));
        assert!(start(f64::NAN, 2_000).to_string().contains("share NaN"));
        assert!(start(0.2, 100).to_string().contains("100 us"));
        assert_eq!(Thief::start(&CpuSet::default(), 0.2, 2_000).unwrap_err().class, Class::Usage);
        let nowhere = Thief::start(&CpuSet::single(1_000_000), 0.2, 2_000).unwrap_err();
        assert!(nowhere.to_string().contains("1000000"), "{nowhere}");
    }

    #[test]
    fn a_weaker_standing_says_why() {
        let fifo = Standing { cpu: 1, scheduling: Some(Scheduling::Fifo { priority: 50 }), refused: vec![] };
        assert_eq!(fifo.to_string(), "CPU 1: SCHED_FIFO, priority 50");
        let refused = vec![Fault::new(Class::NotPermitted, "SCHED_FIFO 50", "EPERM", "")];
        let plain = Standing { cpu: 1, scheduling: None, refused };
        let words = "CPU 1: an ordinary task; SCHED_FIFO 50: EPERM; it may get less than it asks for";
        assert_eq!(plain.to_string(), words);
    }
}
