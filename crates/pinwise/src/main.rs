//! SPEAKS: parses the command line, calls the other rooms, and turns what they say into text and an exit code.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nobody reads: see output and notes"
)]

mod allocator;
mod case_facts;
mod case_size;
mod cli;
mod conclusion;
mod discarded_case;
mod escape;
mod format;
mod harm_budget;
mod interrupt;
mod measured_distances;
mod more_blocks;
mod notes;
mod output;
mod own_verb;
mod pilot;
mod preliminary_trials;
mod progress;
mod progress_bar;
mod quit_key;
mod reboots;
mod rollback;
mod run_case;
mod screening;
mod server_host;
mod terminal;
mod verbs;
mod window;

use std::process::ExitCode;

use clap::Parser;
use machine::{Class, Fault, Outside};

use crate::notes::note;

/// Descriptors 0 to 2 that were closed when pinwise was started are open on /dev/null by now: the standard library sees to it before
/// `main`. So no file that pinwise opens gets the number of stdout or stderr, and is written over by what pinwise says.
fn main() -> ExitCode {
    match cli::Cli::try_parse() {
        Ok(cli) => interrupt::fail_writes_beyond_the_limit()
            .and_then(|()| verbs::run(cli.verb))
            .map_or_else(|fault| failed(&fault), ExitCode::from),
        Err(words) => help(&in_words(words)),
    }
}

fn failed(fault: &Fault) -> ExitCode {
    let said = match fault.class {
        // What the exit code means.
        Class::Interrupted => {
            Fault { cause: format!("{}; the machine is as it was", fault.cause), ..fault.clone() }
        }
        _ => fault.clone(),
    };
    note!("pinwise: {said}");
    fault.class.exit_code().into()
}

/// What the parser says when each argument that it quotes is one line.
fn in_words(words: clap::Error) -> clap::Error {
    let arguments = std::env::args_os().map(|argument| Outside(&argument.to_string_lossy()).to_string());
    cli::Cli::try_parse_from(arguments).err().unwrap_or(words)
}

/// Prints what the command-line parser returned: the requested help, or an error.
fn help(words: &clap::Error) -> ExitCode {
    let words_in =
        |colours| if colours { words.render().ansi().to_string() } else { words.render().to_string() };
    if words.use_stderr() {
        notes::say_styled(&words_in(notes::has_colours()));
        return u8::try_from(words.exit_code()).unwrap_or(u8::MAX).into();
    }
    output::text(&words_in(output::style().colour))
        .map_or_else(|fault| failed(&fault), |()| ExitCode::SUCCESS)
}
