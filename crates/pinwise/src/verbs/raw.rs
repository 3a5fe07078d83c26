//! The verbs that studies start: the built-in string server, and the load.

use load::string::server::{self, ServerOptions};
use machine::Fault;

use crate::output::{self, Answer};

/// Flags that the load crate reads itself, so that what it writes it can read back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// See the load crate: ServerOptions::from_args, drive::flags::from_args
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Serves until SIGTERM.
pub fn serve(args: &Args) -> Result<Answer, Fault> {
    server::serve(&ServerOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Drives a server and prints one JSON document.
pub fn drive(args: &Args) -> Result<Answer, Fault> {
    let document = load::drive::run(&args.flags)?;
    output::json(&document)?;
    Ok(Answer::Done)
}
