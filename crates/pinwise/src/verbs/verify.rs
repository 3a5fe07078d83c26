//! `pinwise verify`: whether a plan brought what its study promised, by fresh blocked trials.

use std::path::PathBuf;

use machine::{Fault, Plan};
use study::Case;
use study::engine::verify;

use crate::cli::Format;
use crate::output::{self, Answer};
use crate::run_case;

/// Flags of `pinwise verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise verify cases/string-server-1 --plan plan.toml     before and after, in random order, with the study's controls")]
pub struct Args {
    /// The case folder that the plan was made from
    case: PathBuf,
    /// The plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Verifies; the answer is no unless the plan is shown to be better. The machine is left as it was found.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let plan = Plan::read(&args.plan)?;
    let case = Case::open(&args.case)?;
    let mut verification = verify::open(&case, &plan)?;
    run_case::to_its_end(&mut verification)?;
    let verified = verify::conclude(&verification, &plan);
    case.write_json("verdict.json", &verified)?;
    match args.format {
        Format::Json => output::json(&verified)?,
        Format::Text => output::text(&report::verdict_text::render(&verified))?,
    }
    Ok(if verified.holds { Answer::Done } else { Answer::No })
}
