//! `pinwise verify`: whether a plan brought what its study promised, by fresh blocked trials.

use std::path::PathBuf;

use machine::plan::SERVER;
use machine::{Fault, Plan, Planned, Root, knobs};
use study::Case;
use study::engine::verify;

use crate::format::Format;
use crate::output::{self, Answer};
use crate::verbs::apply::target;
use crate::verbs::plan;
use crate::{interrupt, run_case};

// Flags of `pinwise verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise verify cases/string-server-1                      the plan that 'pinwise plan' makes from it
  pinwise verify cases/string-server-1 --plan plan.toml     another plan, in random order, with the study's controls")]
pub struct Args {
    /// The case folder that the plan was made from
    case: PathBuf,
    /// The plan. Without it: the plan that 'pinwise plan CASE' makes
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The plan, whose values before and after can be set here: what cannot be is reported before the first trial.
fn can_be_set(plan: Plan) -> Result<Plan, Fault> {
    let root = Root::live();
    let (of_server, of_machine): (Vec<Planned>, Vec<Planned>) =
        plan.settings.into_iter().partition(|planned| planned.target == SERVER);
    let of_machine = target::named(&root, Plan { settings: of_machine, ..Plan::default() }, None)?.settings;
    for planned in &of_machine {
        let knob = knobs::named(&planned.knob)?;
        for value in planned.before.iter().chain([&planned.value]) {
            knob.change(&root, &planned.target, value)?;
        }
    }
    Ok(Plan { settings: [of_machine, of_server].concat(), ..plan })
}

/// Verifies; the answer is no unless the plan is shown to be better. The machine is left as it was found.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    // Its commands are run.
    let case = Case::open_own(&args.case)?;
    let plan = match &args.plan {
        Some(path) => Plan::read(path)?,
        None => plan::of_case(&args.case, false)?.plan,
    };
    verify::goes_across_no_boots(&plan)?;
    let plan = can_be_set(plan)?;
    let mut verification = verify::open(&case, &plan)?;
    run_case::to_its_end(&mut verification, &interrupt::flag_of_changes()?)?;
    let verified = verify::conclude(&verification, &plan);
    case.write_json("verdict.json", &verified)?;
    match args.format {
        Format::Json => output::json(&verified)?,
        Format::Text => output::text(&report::case::verdict_text::render(&verified))?,
    }
    Ok(if verified.holds { Answer::Done } else { Answer::No })
}
