//! `pinwise study`: runs a study and says what came out.

mod args;
mod elsewhere;
mod flags;
mod own_traffic;
mod slurm;

use std::path::Path;

use machine::untrusted::file::read_text;
use machine::{Class, Fault};
use study::Recipe;
use study::case::abandoned;
use study::engine::prepare::{Draft, Request, free_dir};
use study::engine::requirements;

pub use self::args::Args;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::{discarded_case, escape, interrupt, pilot, reboots, screening};

/// Folder of the cases that nobody names.
const CASES: &str = "cases";

/// A recipe takes some thousand bytes, and may come out of a pipe.
const LONGEST_RECIPE_BYTES: u64 = 64 << 20;

/// The recipe of a file, with its text.
///
/// # Errors
/// The file cannot be read, or is no recipe.
pub fn recipe_of(path: &Path) -> Result<(Recipe, String), Fault> {
    let text = read_text(path, LONGEST_RECIPE_BYTES)
        .map_err(|e| Fault::new(Class::Usage, path.display(), e, "name a recipe that can be read"))?;
    Ok((Recipe::from_toml(&text, &path.display().to_string())?, text))
}

/// What a case of this recipe is called there, less its number.
fn usual_name(recipe: &Recipe) -> &'static str {
    if recipe.server.is_unnamed() { "string-server" } else { "server" }
}

/// Makes the case, runs it, and says what came out; on the host of the server, where that is another one.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if args.print_schema {
        output::text(study::recipe::SCHEMA)?;
        return Ok(Answer::Done);
    }
    let (recipe, server) = flags::recipe(args)?;
    if let Some(server) = &server {
        elsewhere::may_run(args, &recipe, server)?;
    }
    let Some(recipe) = slurm::placed(args, recipe)? else { return Ok(Answer::Done) };
    if args.print_recipe {
        output::text(&escape::toml(recipe.concealed()?.0.to_toml()?))?;
        return Ok(Answer::Done);
    }
    if let Some(server) = &server {
        return elsewhere::run(args, recipe, server);
    }
    requirements::check(&recipe)?;
    let (cases, name) = (Path::new(CASES), usual_name(&recipe));
    reboots::may_begin(&recipe, args.reboot)?;
    for left in abandoned::sweep(args.output.as_deref().unwrap_or(&cases.join(name))) {
        note!("pinwise: removed what a study that was killed at its start had left: {}", left.display());
    }
    let dir = args.output.clone().unwrap_or_else(|| free_dir(cases, name));
    let request = Request {
        dir,
        recipe,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let interrupted = interrupt::flag_of_changes()?;
    let (draft, seen) = pilot::run(Draft::new(request)?, args.anyway, &interrupted)?;
    let (draft, chosen) = screening::run(draft, &interrupted)?;
    let mut case = draft.create(seen.as_ref(), chosen.as_ref())?;
    reboots::announce(&case, args.reboot);
    reboots::run(&mut case, &interrupted, args.reboot, args.format)
        .map_err(|fault| discarded_case::unbegun(&mut case, fault))
}
