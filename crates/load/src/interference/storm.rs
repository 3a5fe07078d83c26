//! A deliberate disturbance: a storm of timer interrupts on one CPU, with no task behind it.
//!
//! It stands in for a network card's interrupts where a study needs a CPU that is slow for a known reason. Only the row
//! LOC of /proc/interrupts shows it. 10,000/s cost the server on that CPU 24-30 % of its requests on one 2-CPU guest, and 5 % on
//! another, where a timer interrupt costs a tenth ([`interrupts_taking`](super::interrupt_cost::interrupts_taking)).

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use machine::{Class, Fault, Root};
use probe::perf_event;
use rustix::io::Errno;

use crate::flags::Flags;
use crate::signals;

/// Interrupts a second that may be asked for. What one costs differs tenfold between machines (3 us on one 2-CPU guest, 27 us on
/// another, where 40,000/s leave nothing of the CPU): [`interrupts_taking`](super::interrupt_cost::interrupts_taking) says how many take which share.
pub const RATES_PER_S: std::ops::RangeInclusive<u32> = 100..=100_000;

/// The most of one event: the kernel throttles each by itself (kernel/events/core.c, `__perf_event_account_interrupt`).
const RATE_OF_ONE_EVENT_PER_S: u32 = 20_000;

/// The longest storm of [`run`], s.
pub const LONGEST_S: f64 = 3_600.0;

const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

/// A storm that goes on until it is dropped, or its process ends in whatever way: the kernel closes what it rests on.
#[derive(Debug)]
pub struct Storm {
    _events: Vec<OwnedFd>,
}

impl Storm {
    /// Begins a storm of `rate_per_s` timer interrupts on `cpu`.
    ///
    /// Fails when the rate is out of [`RATES_PER_S`] or above what the kernel allows, the CPU does not exist or is
    /// offline, the kernel has no perf events, or we may not watch a CPU (perf_event_paranoid).
    pub fn start(cpu: u32, rate_per_s: u32) -> Result<Self, Fault> {
        check_rate(rate_per_s, Root::live().read(MAX_SAMPLE_RATE).ok().as_deref())?;
        let events = rate_per_s.div_ceil(RATE_OF_ONE_EVENT_PER_S);
        let period = Duration::from_secs(1) * events / rate_per_s;
        let began = Instant::now();
        let one = |number: u32| {
            // Evenly apart: the kernel serves timers that expire together by one interrupt.
            while began.elapsed() < period * number / events {
                std::hint::spin_loop();
            }
            perf_event::cpu_clock(cpu, period.as_nanos() as u64)
        };
        let events = (0..events).map(one).collect::<Result<_, _>>();
        events.map(|events| Self { _events: events }).map_err(|error| refused(cpu, &error))
    }
}

/// `allowed`: the text of /proc/sys/kernel/perf_event_max_sample_rate, above which the kernel throttles.
fn check_rate(rate_per_s: u32, allowed: Option<&str>) -> Result<(), Fault> {
    let object = format!("storm of {rate_per_s} interrupts/s");
    if !RATES_PER_S.contains(&rate_per_s) {
        let remedy = format!("choose {} to {}", RATES_PER_S.start(), RATES_PER_S.end());
        return Err(Fault::new(Class::Usage, object, "out of range", remedy));
    }
    match allowed.and_then(|text| text.trim().parse::<u32>().ok()) {
        Some(most) if most < rate_per_s.min(RATE_OF_ONE_EVENT_PER_S) => {
            let needed = rate_per_s.min(RATE_OF_ONE_EVENT_PER_S);
            let remedy =
                format!("choose a lower rate, or 'sysctl kernel.perf_event_max_sample_rate={needed}'");
            Err(Fault::new(Class::MachineLacks, object, format!("{MAX_SAMPLE_RATE} is {most}"), remedy))
        }
        _ => Ok(()),
    }
}

fn refused(cpu: u32, error: &std::io::Error) -> Fault {
    let object = format!("perf_event_open on CPU {cpu}");
    let (class, remedy) = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => (
            Class::NotPermitted,
            "run as root, or set kernel.perf_event_paranoid to 0 or below; a container may forbid it all the same",
        ),
        Some(Errno::INVAL | Errno::NODEV) => {
            (Class::Usage, "choose a CPU that exists and is online: /sys/devices/system/cpu/online")
        }
        _ => (Class::MachineLacks, "a kernel with CONFIG_PERF_EVENTS is needed"),
    };
    Fault::new(class, object, error, remedy)
}

/// What `pinwise storm` is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StormOptions {
    /// The CPU to disturb.
    pub cpu: u32,
    /// Timer interrupts a second, within [`RATES_PER_S`].
    pub rate_per_s: u32,
    /// How long, s, at most [`LONGEST_S`].
    pub for_s: f64,
}

impl StormOptions {
    /// Reads `--cpu K --rate N --for S`. Fails on unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("storm", args, &[])?;
        let options = Self {
            cpu: given.required("cpu")?,
            rate_per_s: given.optional("rate")?.unwrap_or(10_000),
            for_s: given.required("for")?,
        };
        given.finish()?;
        Ok(options)
    }

    /// The words after `pinwise` that make it disturb a CPU.
    pub fn to_args(&self) -> Vec<String> {
        [
            "storm",
            "--cpu",
            &self.cpu.to_string(),
            "--rate",
            &self.rate_per_s.to_string(),
            "--for",
            &self.for_s.to_string(),
        ]
        .map(String::from)
        .to_vec()
    }
}

/// Disturbs `cpu` for `for_s` seconds, or until SIGTERM or SIGINT; the hidden verb `pinwise storm`. Fails as
/// [`Storm::start`] does, and when the time is out of range.
pub fn run(cpu: u32, rate_per_s: u32, for_s: f64) -> Result<(), Fault> {
    if !(for_s > 0.0 && for_s <= LONGEST_S) {
        let remedy = format!("choose above 0, to {LONGEST_S}");
        return Err(Fault::new(Class::Usage, format!("storm of {for_s} s"), "out of range", remedy));
    }
    let signals = signals::terminate()
        .map_err(|e| Fault::new(Class::WorkloadFailed, "signalfd", e, "check the limit of open files"))?;
    let _storm = Storm::start(cpu, rate_per_s)?;
    let until = Instant::now() + Duration::from_secs_f64(for_s);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let mut fds = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
        let timeout =
            rustix::time::Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ };
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => {}
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_out_of_range_or_above_the_kernels_are_refused() {
        assert_eq!(check_rate(99, None).unwrap_err().class, Class::Usage);
        assert_eq!(check_rate(100_001, None).unwrap_err().class, Class::Usage);
        let throttled = check_rate(10_000, Some("4000\n")).unwrap_err();
        assert!(throttled.class == Class::MachineLacks && throttled.to_string().contains("4000"));
        check_rate(10_000, Some("100000\n")).unwrap();
        check_rate(80_000, Some("20000\n")).unwrap();
        check_rate(10_000, Some("garbage")).unwrap();
    }

    #[test]
    fn refusals_say_what_to_do() {
        let class = |errno: Errno| refused(3, &errno.into()).class;
        assert_eq!(class(Errno::ACCESS), Class::NotPermitted);
        assert_eq!(class(Errno::NODEV), Class::Usage);
        assert_eq!(class(Errno::NOSYS), Class::MachineLacks);
        assert!(refused(3, &Errno::ACCESS.into()).to_string().contains("perf_event_paranoid"));
    }

    #[test]
    fn flags_give_back_the_options() {
        let options = StormOptions { cpu: 1, rate_per_s: 5000, for_s: 2.5 };
        assert_eq!(StormOptions::from_args(&options.to_args()[1..]).unwrap(), options);
        assert!(run(0, 10_000, 0.0).is_err() && run(0, 10_000, 4000.0).is_err());
    }
}
