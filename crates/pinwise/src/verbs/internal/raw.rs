//! The verbs that studies start: the built-in servers, and the load.

use load::workloads::latency::server::{self as echo, EchoOptions};
use load::workloads::packets::sink::{self, SinkOptions};
use load::workloads::queue_fill::server::{self as queue, QueueOptions};
use load::workloads::spin::server::{self as spinner, SpinOptions};
use load::workloads::string::server::{self, ServerOptions};
use machine::Fault;

use crate::output::{self, Answer};

// Flags that the load crate reads itself, so that what it writes it can read back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// See the load crate: from_args of ServerOptions, EchoOptions, SpinOptions, SinkOptions, QueueOptions, and generator::flags::from_args
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Serves until SIGTERM.
pub fn serve(args: &Args) -> Result<Answer, Fault> {
    server::serve(&ServerOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Sends back what it gets until SIGTERM.
pub fn echo(args: &Args) -> Result<Answer, Fault> {
    echo::serve(&EchoOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Spins until SIGTERM, and reports on request how much time was taken from it.
pub fn spin(args: &Args) -> Result<Answer, Fault> {
    spinner::serve(&SpinOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Counts packets until SIGTERM.
pub fn packet_sink(args: &Args) -> Result<Answer, Fault> {
    sink::serve(&SinkOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Keeps messages in memory until SIGTERM.
pub fn queue(args: &Args) -> Result<Answer, Fault> {
    queue::serve(&QueueOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Drives a server and prints one JSON document.
pub fn drive(args: &Args) -> Result<Answer, Fault> {
    let document = load::generator::run(&args.flags)?;
    output::json(&document)?;
    Ok(Answer::Done)
}
