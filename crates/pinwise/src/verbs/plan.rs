//! `pinwise plan`: what of a case is worth keeping, as a file that can be applied.

use std::path::{Path, PathBuf};

use advise::Planning;
use machine::{Class, Fault, Plan};
use serde::Serialize;
use study::case::quoted;

use crate::case_facts;
use crate::escape;
use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};

/// Flags of `pinwise plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise plan cases/string-server-1 -o plan.toml    what was measured to be better, and causes that were proved
  pinwise apply plan.toml --dry-run                  what it would do here")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Also causes that are supported by the evidence but were not proved
    #[arg(long)]
    supported: bool,
    /// Where to write it; standard output otherwise
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of what is printed: the plan's own form (TOML), or JSON
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    left_out: &'a [String],
}

/// The plan of a case; what is left out is said on stderr.
///
/// # Errors
/// The case cannot be read; nothing of it is worth keeping.
pub fn of_case(dir: &Path, supported: bool) -> Result<Planning, Fault> {
    let facts = case_facts::read(dir)?;
    let findings = advise::examine(&facts);
    let mut planning = advise::plan(&facts, &findings, supported);
    planning.left_out.iter().for_each(|why| note!("pinwise: left out: {why}"));
    if planning.plan.settings.is_empty() {
        let can_be_proved = findings.iter().any(|f| f.intervention.is_some() && f.proof.is_none());
        let remedy = match can_be_proved {
            true => format!("prove its findings: pinwise explain {} --prove", quoted(dir)),
            false => "study other placements".into(),
        };
        return Err(Fault::new(Class::No, dir.display(), "nothing in it is worth keeping", remedy));
    }
    planning.plan.case = Some(dir.display().to_string());
    Ok(planning)
}

/// Plans; the answer is no when nothing of the case is worth keeping.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let planning = of_case(&args.case, args.supported)?;
    let text = match args.format {
        Format::Text => escape::toml(planning.plan.to_toml()?),
        Format::Json => output::pretty(&Document { plan: &planning.plan, left_out: &planning.left_out })?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}
