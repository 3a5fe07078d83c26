//! `pinwise compare`: several cases on one sheet.

mod captured;

use std::collections::BTreeSet;
use std::path::PathBuf;

use advise::environment::{self, Surroundings};
use machine::{Class, Fault};
use report::case::compare_text::{self, ComparedCases};
use study::Facts;
use study::comparison::{self, Side};

use crate::case_facts;
use crate::format::Format;
use crate::output::{self, Answer};
use captured::Captures;
pub use captured::machine_at;

// Flags of `pinwise compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise compare cases/opteron cases/xeon                  how well each scales: per CPU, per GHz, at equal CPUs
  pinwise compare cases/before cases/after --format json | jq .arms
No difference between cases is claimed, because their trials share no block. To test one, study both in one case.")]
pub struct Args {
    /// The case folders, two or more; ratios are relative to the first
    #[arg(required = true, num_args = 2.., value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// Show everything that differs between the cases apart from what was studied, with full values
    #[arg(long)]
    full: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the cases and prints the sheet. Nothing is written into them.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let sheet = of_cases(&args.cases)?;
    match args.format {
        Format::Json => output::json(&sheet)?,
        Format::Text => output::text(&compare_text::render(&sheet, args.full, output::style()))?,
    }
    Ok(Answer::Done)
}

/// The sheet of several cases.
///
/// # Errors
/// One is named twice or cannot be read; they cannot be compared.
pub fn of_cases(cases: &[PathBuf]) -> Result<ComparedCases, Fault> {
    let names = names(cases)?;
    let facts: Vec<Facts> = cases.iter().map(|dir| case_facts::read(dir)).collect::<Result<_, Fault>>()?;
    let sides: Vec<Side<'_>> =
        names.iter().zip(&facts).zip(cases).map(|((name, facts), dir)| Side { name, facts, dir }).collect();
    let comparison = comparison::compare(&sides)?;
    let captures: Vec<Captures> =
        facts.iter().zip(cases).map(|(facts, dir)| captured::of(dir, facts)).collect();
    let sides = sides.iter().zip(&captures);
    let surroundings: Vec<Surroundings<'_>> =
        sides.map(|(side, captures)| surroundings(*side, captures)).collect();
    let environment = environment::compare(&surroundings, &comparison.recipes);
    Ok(ComparedCases { environment, comparison })
}

fn surroundings<'a>(side: Side<'a>, captures: &'a Captures) -> Surroundings<'a> {
    let facts = side.facts;
    Surroundings {
        case: side.name,
        machine: &facts.machine,
        processor: &captures.processor,
        pinwise: &facts.study.pinwise,
        hosts: &captures.hosts,
        paths: &facts.paths,
    }
}

/// The last part of each path where those are all different, else the whole paths.
fn names(dirs: &[PathBuf]) -> Result<Vec<String>, Fault> {
    let last = |dir: &PathBuf| dir.file_name().map(|name| name.to_string_lossy().into_owned());
    let whole: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let short: Option<Vec<String>> = dirs.iter().map(last).collect();
    let are_distinct = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    if let Some(twice) = whole.iter().enumerate().find(|(at, name)| whole[..*at].contains(name)) {
        return Err(Fault::new(Class::Usage, twice.1, "it is named twice", "name each case once"));
    }
    Ok(short.filter(are_distinct).unwrap_or(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_named_by_the_last_part_in_which_they_differ() {
        let of = |dirs: &[&str]| names(&dirs.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["cases/a/", "cases/b"]).unwrap(), ["a", "b"]);
        assert_eq!(of(&["x/a", "y/a"]).unwrap(), ["x/a", "y/a"]);
        assert!(of(&["a", "b", "a"]).unwrap_err().to_string().contains("named twice"));
    }
}
