//! The hidden verb `pinwise ticks`: how often the timer interrupts CPUs, and why the tick does not stop.

use std::time::Duration;

use load::Spin;
use machine::{Class, CpuChoice, Fault, Machine, Root};
use probe::{TickWindow, TicksSeen};

use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::window::{self, Ended};

/// The longest window, s.
const LONGEST_S: f64 = 3_600.0;

// Flags of `pinwise ticks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise ticks --cpu 1,2-3 --for 10s --spin 1      does the tick of CPUs 2 and 3 stop while they are busy?")]
pub struct Args {
    /// CPUs: numbers (0-3,8) or names from 'pinwise map' (node:0, isolated)
    #[arg(long, value_name = "CPUS")]
    cpu: CpuChoice,
    /// Length of the window, s (above 0, at most 3600)
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = length)]
    window: Duration,
    /// Keep each CPU busy with this many spinning threads for the window
    #[arg(long, value_name = "N", default_value_t = 0)]
    spin: u32,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Counts for the window and prints the result.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    // An instance of tracefs goes at the end.
    let stop = interrupt::flag_of_changes()?;
    let machine = Machine::read(&Root::live());
    // CPUs that are offline have no tick.
    let cpus = args.cpu.of_online(&machine)?;
    let spin = Spin::start(&cpus, args.spin)?;
    let mut ticks = TickWindow::begin(Root::live(), cpus, &machine.kernel);
    let look = || {
        ticks.look();
        true
    };
    if window::pass(args.window, &stop, look) == Ended::BySignal {
        return Err(Fault::new(Class::Interrupted, "ticks", "stopped by a signal", ""));
    }
    let seen = ticks.end();
    drop(spin);
    print(&seen, args.format)
}

fn print(seen: &TicksSeen, format: Format) -> Result<Answer, Fault> {
    match format {
        Format::Json => output::json(seen)?,
        Format::Text => output::text(&seen.to_string())?,
    }
    Ok(Answer::Done)
}

/// `10s`, `10` or `0.5`: seconds.
fn length(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .strip_suffix('s')
        .unwrap_or(text)
        .parse()
        .map_err(|e| format!("{e}: give seconds, such as 10s"))?;
    match seconds > 0.0 && seconds <= LONGEST_S {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!("choose more than 0, and at most {LONGEST_S}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_and_without_their_unit() {
        assert_eq!(length("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(length("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "s", "0", "-1", "nan", "inf", "3601s", "10m"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }
}
