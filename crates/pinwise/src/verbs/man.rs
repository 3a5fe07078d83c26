//! `pinwise man`: man pages, made from the same list as the help.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;
use machine::{Class, Fault};

use crate::output::{self, Answer};

// Flags of `pinwise man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise man | man -l -                        # the overview
  pinwise man --into /usr/local/share/man/man1  # pinwise.1, pinwise-study.1, ...: one page for every verb")]
pub struct Args {
    /// Write a page for pinwise and one for each verb into this folder, which must exist, instead of printing the first
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Prints the page of pinwise, or writes the pages of all verbs of `command`.
///
/// # Errors
/// The folder does not exist or cannot be written to.
pub fn run(args: &Args, command: Command) -> Result<Answer, Fault> {
    let command = built(command);
    let failed = |e: io::Error| Fault::new(Class::Storage, "man page", e, machine::IS_A_BUG);
    match &args.into {
        Some(folder) => write_all(&command, folder)?,
        None => output::text(&String::from_utf8_lossy(&page(&command).map_err(failed)?))?,
    }
    Ok(Answer::Done)
}

/// With the names that verbs have on their pages; `help` is a verb of clap's that has none.
fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command
}

/// Writes a page for the command and one for each of its verbs that is shown, and for their verbs in turn: pinwise-fleet-map.1.
fn write_all(command: &Command, folder: &Path) -> Result<(), Fault> {
    let file = folder.join(Man::new(command.clone()).get_filename());
    page(command)
        .and_then(|page| fs::write(&file, page))
        .map_err(|e| Fault::io(file.display(), &e, "name an existing folder that you may write to"))?;
    let mut verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    verbs.try_for_each(|verb| write_all(verb, folder))
}

/// A page in roff.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).manual("pinwise");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    page.extend(after.map(|text| sections(&text.to_string())).unwrap_or_default().into_bytes());
    Ok(page)
}

/// What stands after the flags in a help text, in roff. A heading begins a section; what is indented below it, mostly commands, keeps its lines.
fn sections(text: &str) -> String {
    let mut roff = String::new();
    let mut keeps_lines = false;
    for line in text.lines() {
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        let is_kept = line.starts_with(' ') || keeps_lines && line.is_empty();
        if keeps_lines && !is_kept {
            roff.push_str(".fi\n");
        } else if is_kept && !keeps_lines {
            roff.push_str(".nf\n");
        }
        keeps_lines = is_kept;
        match line {
            "Example:" | "Examples:" => roff.push_str(".SH EXAMPLES\n"),
            "Exit codes:" => roff.push_str(".SH \"EXIT STATUS\"\n"),
            _ if is_heading => {
                roff.push_str(&format!(".SH \"{}\"\n", escaped(&line.trim_end_matches(':').to_uppercase())))
            }
            "" if !is_kept => roff.push_str(".PP\n"),
            _ => roff.push_str(&format!("{}\n", escaped(line))),
        }
    }
    if keeps_lines {
        roff.push_str(".fi\n");
    }
    roff
}

/// A line without what roff takes for its own (groff(7)): backslashes, hyphens, and a dot or an apostrophe at the start.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_verb_that_is_shown_has_a_page_with_its_example() {
        let folder = tempfile::tempdir().unwrap();
        let command = built(Cli::command());
        write_all(&command, folder.path()).unwrap();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name()) {
            let page = std::fs::read_to_string(folder.path().join(format!("pinwise-{verb}.1"))).unwrap();
            assert!(page.contains(".SH EXAMPLES\n.nf\n  pinwise"), "{verb}: {page}");
        }
        let fleet = command.find_subcommand("fleet").unwrap();
        for verb in fleet.get_subcommands().map(|verb| verb.get_name()) {
            let page =
                std::fs::read_to_string(folder.path().join(format!("pinwise-fleet-{verb}.1"))).unwrap();
            assert!(page.contains(&format!("pinwise fleet {verb}")), "{verb}: {page}");
        }
        let of_fleet = std::fs::read_to_string(folder.path().join("pinwise-fleet.1")).unwrap();
        assert!(of_fleet.contains("pinwise\\-fleet\\-map(1)"), "{of_fleet}");
        assert!(!folder.path().join("pinwise-fleet-help.1").exists());
        let overview = std::fs::read_to_string(folder.path().join("pinwise.1")).unwrap();
        assert!(overview.contains("pinwise\\-study(1)") && overview.contains("EXIT STATUS"), "{overview}");
        let hidden = ["thief", "revert", "drive", "help"];
        assert!(hidden.iter().all(|verb| !folder.path().join(format!("pinwise-{verb}.1")).exists()));
    }

    #[test]
    fn examples_keep_their_lines_and_prose_is_filled() {
        let text = "Examples:\n  pinwise a --b\n\n  .x \\\nProse about\nit.";
        let expected = ".SH EXAMPLES\n.nf\n  pinwise a \\-\\-b\n\n  .x \\e\n.fi\nProse about\nit.\n";
        assert_eq!(sections(text), expected);
        assert_eq!(sections("Codes of X:\n'a'\n.b"), ".SH \"CODES OF X\"\n\\&'a'\n\\&.b\n");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_with_its_name() {
        let fault = write_all(&built(Cli::command()), Path::new("/nonexistent/man1")).unwrap_err();
        assert!(fault.to_string().contains("/nonexistent/man1"), "{fault}");
    }
}
