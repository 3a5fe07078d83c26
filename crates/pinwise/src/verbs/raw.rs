//! The verbs that studies start: the built-in servers, and the load.

use load::echo::{self, server::EchoOptions};
use load::queue::{self, server::QueueOptions};
use load::string::server::{self, ServerOptions};
use machine::Fault;

use crate::output::{self, Answer};

/// Flags that the load crate reads itself, so that what it writes it can read back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// See the load crate: ServerOptions::from_args, EchoOptions::from_args, QueueOptions::from_args, drive::flags::from_args
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
    echo::server::serve(&EchoOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Keeps messages in memory until SIGTERM.
pub fn queue(args: &Args) -> Result<Answer, Fault> {
    queue::server::serve(&QueueOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Drives a server and prints one JSON document.
pub fn drive(args: &Args) -> Result<Answer, Fault> {
    let document = load::drive::run(&args.flags)?;
    output::json(&document)?;
    Ok(Answer::Done)
}
