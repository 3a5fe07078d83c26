//! `pinwise man`: man pages, made from the same list as the help.

use std::path::{Path, PathBuf};

use clap::Command;
use machine::{Class, Fault};

use crate::output::{self, Answer};

/// Flags of `pinwise man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise man | man -l -                        # the overview
  pinwise man --into /usr/local/share/man/man1  # pinwise.1, pinwise-study.1, ...: one page for every verb")]
pub struct Args {
    /// Write a page for pinwise and one for every verb into this folder, instead of printing the first one
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Prints the page of pinwise, or writes the pages of all verbs of `command`.
///
/// # Errors
/// The folder does not exist or cannot be written to.
pub fn run(args: &Args, command: Command) -> Result<Answer, Fault> {
    match &args.into {
        Some(folder) => write_all(command, folder)?,
        None => output::text(&overview(command)?)?,
    }
    Ok(Answer::Done)
}

fn overview(mut command: Command) -> Result<String, Fault> {
    command.build();
    let mut page = Vec::new();
    let failed = |e| Fault::new(Class::Storage, "man page", e, "this is a bug in pinwise; please report it");
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn write_all(command: Command, folder: &Path) -> Result<(), Fault> {
    clap_mangen::generate_to(command, folder)
        .map_err(|e| Fault::io(folder.display(), &e, "name a folder that exists and may be written to"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_verb_that_is_shown_has_a_page_with_its_example() {
        let folder = tempfile::tempdir().unwrap();
        write_all(Cli::command(), folder.path()).unwrap();
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        for verb in shown.map(|verb| verb.get_name()) {
            let page = std::fs::read_to_string(folder.path().join(format!("pinwise-{verb}.1"))).unwrap();
            assert!(page.contains("Example"), "{verb}: {page}");
        }
        let overview = overview(Cli::command()).unwrap();
        assert!(overview.contains("pinwise\\-study(1)") && overview.contains("Exit codes"), "{overview}");
        let hidden = ["thief", "revert", "drive"];
        assert!(hidden.iter().all(|verb| !folder.path().join(format!("pinwise-{verb}.1")).exists()));
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_with_its_name() {
        let fault = write_all(Cli::command(), Path::new("/nonexistent/man1")).unwrap_err();
        assert!(fault.to_string().contains("/nonexistent/man1"), "{fault}");
    }
}
