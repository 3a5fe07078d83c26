//! `pinwise fleet study`: one recipe on a host of each shape, and what came out side by side.

mod on_host;
mod sheet;

use std::path::{Path, PathBuf};

use advise::fleet::{Chosen, chosen};
use machine::own_folder::Reach;
use machine::{Class, Fault, OwnFolder};
use report::case::compare_text::{self, ComparedCases};
use report::fleet::NotRead;
use serde::Serialize;
use study::engine::prepare::free_dir;

use super::surveyed::{HostFlags, Surveyed, survey};
use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::verbs::compare;
use crate::verbs::study::recipe_of;
use on_host::{Studied, Task};

/// Where the cases of runs go that nobody names: `cases/fleet-1`.
const CASES: &str = "cases";
const NAME: &str = "fleet";

// Flags of `pinwise fleet study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise fleet study recipe.toml --hosts hosts.toml             one host of each shape, one after the other
  pinwise fleet study recipe.toml --host load=web1,web2,db1 --parallel 3 -o cases/kinds
                                                                 at the same time; cases/kinds/SHAPE-HOST are the cases
  pinwise fleet study recipe.toml --hosts hosts.toml --per-shape 2
                                                                 two of each, to see how much hosts of one shape differ")]
pub struct Args {
    /// The recipe (TOML): server and load both run on the host that is studied
    recipe: PathBuf,
    #[command(flatten)]
    hosts: HostFlags,
    /// Number of hosts to study for each shape: those that deviate least from what is usual for it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    per_shape: u16,
    /// Number of hosts to study at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,
    /// Folder for the cases, as DIR/SHAPE-HOST; without it: a new one, cases/fleet-1
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    shapes: &'a [Chosen],
    studied: &'a [Studied],
    not_studied: &'a [NotRead],
    not_read: &'a [NotRead],
    /// As `pinwise compare --format json`; none where fewer than two cases can be compared.
    comparison: Option<&'a ComparedCases>,
}

/// Studies one host of each shape and compares them; the answer is no where one that was chosen could not be studied.
///
/// # Errors
/// The recipe cannot be studied so; no host can be read or studied; the cases have nothing in common.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let recipe = recipe(&args.recipe)?;
    let interrupted = interrupt::flag_of_changes()?;
    let surveyed = survey(&args.hosts, None, &interrupted)?;
    let shapes = chosen(&surveyed.fleet, args.per_shape.into());
    let folder = args.output.clone().unwrap_or_else(|| free_dir(Path::new(CASES), NAME));
    let tasks = tasks(&shapes, &surveyed, &folder)?;
    OwnFolder::make(&folder, Reach::Everybody)?;
    let (studied, failed) = on_host::study_all(&tasks, &recipe, args.parallel.into(), &interrupted)?;
    if let (true, Some(first)) = (studied.is_empty(), failed.first()) {
        return Err(first.fault.clone());
    }
    let cases: Vec<PathBuf> = studied.iter().map(|one| one.case.clone()).collect();
    let compared = (cases.len() > 1).then(|| compare::of_cases(&cases));
    let (comparison, fault) = match compared {
        None => (None, None),
        Some(Ok(sheet)) => (Some(sheet), None),
        Some(Err(fault)) => (None, Some(fault)),
    };
    match args.format {
        Format::Json => output::json(&Document {
            shapes: &shapes,
            studied: &studied,
            not_studied: &failed,
            not_read: &surveyed.not_read,
            comparison: comparison.as_ref(),
        })?,
        Format::Text => {
            output::text(&sheet::render(&shapes, &studied, &failed, &surveyed.not_read))?;
            if let Some(comparison) = &comparison {
                output::text(&format!("\n{}", compare_text::render(comparison, false, output::style())))?;
            }
        }
    }
    match fault {
        Some(fault) => Err(fault),
        None => Ok(if failed.is_empty() { Answer::Done } else { Answer::No }),
    }
}

/// The text of the recipe, once it is one that a host can be studied with by itself.
fn recipe(path: &Path) -> Result<String, Fault> {
    let (recipe, text) = recipe_of(path)?;
    let named = path.display();
    if !recipe.hosts.is_empty() {
        let cause = "its load comes from other hosts; here server and load run on the host that is studied";
        return Err(Fault::new(Class::Usage, format!("{named}: hosts"), cause, "leave [[hosts]] out"));
    }
    if recipe.asks_for_boots() {
        let cause = "its trials need reboots, which end the connection to a host";
        let remedy = "leave boot parameters out, or run 'pinwise study --reboot' on each host";
        return Err(Fault::new(Class::Usage, format!("{named}: boot parameters"), cause, remedy));
    }
    Ok(text)
}

/// The studies to be made.
///
/// # Errors
/// Something is where one of their cases is to go.
fn tasks(shapes: &[Chosen], surveyed: &Surveyed, folder: &Path) -> Result<Vec<Task>, Fault> {
    let mut tasks = Vec::new();
    for shape in shapes {
        for host in shape.hosts.iter().filter_map(|name| surveyed.spec(name)) {
            // The name of a host has no slash: the survey has checked it.
            let case = folder.join(format!("{}-{}", shape.shape, host.name));
            hosts::nothing_at(&case)?;
            tasks.push(Task { shape: shape.shape.clone(), host: host.clone(), case });
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use hosts::HostSpec;

    use super::*;

    fn refused(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recipe.toml");
        std::fs::write(&path, text).unwrap();
        recipe(&path).unwrap_err().to_string()
    }

    #[test]
    fn what_a_host_cannot_be_studied_with_by_itself_is_refused_before_any_is_reached() {
        assert!(refused("[[hosts]]\nname = 'b'\n").contains("leave [[hosts]] out"));
        assert!(refused("nonsense = 1\n").contains("recipe.toml"));
        assert!(recipe(Path::new("/nonexistent/recipe.toml")).is_err());
    }

    #[test]
    fn a_case_is_named_by_shape_and_host_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let shapes =
            [Chosen { shape: "aa".into(), title: String::new(), of_hosts: 2, hosts: vec!["b".into()] }];
        let surveyed = Surveyed {
            specs: vec![HostSpec::named("b"), HostSpec::named("c")],
            fleet: advise::fleet::Fleet { shapes: Vec::new() },
            not_read: Vec::new(),
        };
        let made = tasks(&shapes, &surveyed, folder.path()).unwrap();
        assert_eq!(made.iter().map(|task| &task.case).collect::<Vec<_>>(), [&folder.path().join("aa-b")]);
        std::fs::write(folder.path().join("aa-b"), "of yesterday").unwrap();
        assert!(
            tasks(&shapes, &surveyed, folder.path()).err().unwrap().to_string().contains("is there already")
        );
    }
}
