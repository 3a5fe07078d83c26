//! The hidden verb `pinwise storm`: a bounded disturbance whose size is known.

use machine::Fault;

use crate::output::Answer;

/// Flags of `pinwise storm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise storm --cpu 1 --rate 10000 --for 30       about a quarter of CPU 1 for half a minute")]
pub struct Args {
    /// The CPU
    #[arg(long)]
    cpu: u32,
    /// Timer interrupts a second, 100 to 20000
    #[arg(long, default_value_t = 10_000)]
    rate: u32,
    /// How long, s (at most 3600)
    #[arg(long = "for", value_name = "S", default_value_t = 30.0)]
    for_s: f64,
}

/// Storms, then ends.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    load::storm::run(args.cpu, args.rate, args.for_s)?;
    Ok(Answer::Done)
}
