//! The hidden verbs that studies start: the built-in string server and its load generator.

use load::string::client::{self, ClientOptions};
use load::string::server::{self, ServerOptions};
use machine::Fault;

use crate::output::{self, Answer};

/// Flags that the load crate reads itself, so that what it writes it can read back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// See the load crate: ServerOptions::from_args, ClientOptions::from_args
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Serves until SIGTERM.
pub fn serve(args: &Args) -> Result<Answer, Fault> {
    server::serve(&ServerOptions::from_args(&args.flags)?)?;
    Ok(Answer::Done)
}

/// Drives a string server and prints one JSON document.
pub fn load(args: &Args) -> Result<Answer, Fault> {
    let document = client::run(&ClientOptions::from_args(&args.flags)?)?;
    output::json(&document)?;
    Ok(Answer::Done)
}
