//! The hidden verb `pinwise hold-latency`: what holds the knob cpu-dma-latency, until undo ends it.

use machine::Fault;

use crate::output::Answer;

// Flags of `pinwise hold-latency`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise hold-latency --limit-us 20")]
pub struct Args {
    /// Longest time that an idle CPU may take to wake, us
    #[arg(long)]
    limit_us: u32,
}

/// Holds it; ends by a signal, or because it cannot be held.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    Err(change::hold_latency(args.limit_us))
}
