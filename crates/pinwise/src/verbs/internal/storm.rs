//! The hidden verb `pinwise storm`: a bounded disturbance whose size is known.

use machine::Fault;

use crate::output::{self, Answer};

// Flags of `pinwise storm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise storm --cpu 1 --share 0.25 --for 30       a quarter of CPU 1 for half a minute")]
pub struct Args {
    /// The CPU
    #[arg(long)]
    cpu: u32,
    /// Timer interrupts a second, 100 to 100000
    #[arg(long, default_value_t = 10_000)]
    rate: u32,
    /// Instead of a rate: as many interrupts as take this share of the CPU, 0.01 to 0.5, by what one costs there (measured first, 0.7 s)
    #[arg(long, value_name = "SHARE", conflicts_with = "rate")]
    share: Option<f64>,
    /// Print the rate and end. A storm that begins within a trial measures first what an interrupt costs, which takes the CPU itself
    #[arg(long)]
    print_rate: bool,
    /// How long, s (at most 3600)
    #[arg(long = "for", value_name = "S", default_value_t = 30.0)]
    for_s: f64,
}

/// Storms, then ends.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let rate_per_s = args.share.map_or(Ok(args.rate), |share| load::interrupts_taking(args.cpu, share))?;
    if args.print_rate {
        output::text(&format!("{rate_per_s}\n"))?;
        return Ok(Answer::Done);
    }
    load::storm::run(args.cpu, rate_per_s, args.for_s)?;
    Ok(Answer::Done)
}
