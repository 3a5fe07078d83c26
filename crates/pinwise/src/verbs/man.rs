//! `pinwise man`: the man page, made from the same list as the help.

use clap::CommandFactory;
use machine::{Class, Fault};

use crate::cli::Cli;
use crate::output::{self, Answer};

/// Prints the page of pinwise and then one of every verb.
pub fn run() -> Result<Answer, Fault> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let failed = |e| Fault::new(Class::Storage, "man page", e, "report this as a fault of pinwise");
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for verb in command.get_subcommands().filter(|v| !v.is_hide_set() && v.get_name() != "help") {
        clap_mangen::Man::new(verb.clone()).render(&mut page).map_err(failed)?;
    }
    output::text(&String::from_utf8_lossy(&page))?;
    Ok(Answer::Done)
}
