//! SPEAKS: parses the command line, calls the other rooms, and turns what they say into text and an exit code.

mod allocator;
mod brought;
mod cli;
mod conclusion;
mod discarded;
mod interrupt;
mod more_blocks;
mod opened;
mod output;
mod pilot;
mod preliminary;
mod progress;
mod quit_key;
mod reboots;
mod run_case;
mod screening;
mod terminal;
mod verbs;
mod window;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match verbs::run(cli.verb) {
        Ok(answer) => answer.into(),
        Err(fault) => {
            eprintln!("pinwise: {fault}");
            fault.class.exit_code().into()
        }
    }
}
