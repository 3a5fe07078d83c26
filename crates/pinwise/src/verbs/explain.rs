//! `pinwise explain`: why a placement is slow; `--prove` moves the cause and measures again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use advise::explanation::observing::observing;
use advise::{Finding, Standing};
use machine::{Class, Fault};
use report::explanation_text;
use study::engine::prove;
use study::{Case, Facts, Proof, Role};

use crate::cli::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::{conclusion, interrupt, run_case};

/// Flags of `pinwise explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise explain cases/string-server-1              findings with their evidence
  pinwise explain cases/string-server-1 --arm 'cpu 0' --against 'cpu 1'
                                                     what makes the difference between two placements
  pinwise explain cases/string-server-1 --prove      move each cause, measure again, put it back")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Run the intervention of each finding as a small study; every change is taken back
    #[arg(long)]
    prove: bool,
    /// Explain this arm
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// Against this one; without it: the baseline
    #[arg(long, value_name = "ARM", requires = "arm")]
    against: Option<String>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Explains, and proves when asked to; the answer is no when a finding was not proved.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    // A proof runs the commands of the case.
    let case = if args.prove { Case::open_own(&args.case)? } else { Case::open(&args.case)? };
    case.mended.iter().for_each(|mended| note!("pinwise: {mended}"));
    if !args.prove {
        return explain(&case, args);
    }
    let facts = Facts::read(&case)?;
    let findings = advise::examine(&facts);
    let provable: Vec<&Finding> =
        findings.iter().filter(|f| f.intervention.is_some() && f.proof.is_none()).collect();
    if provable.is_empty() {
        note!("pinwise: no finding of this case waits for a proof");
    }
    case.may_be_written()?;
    let interrupted = interrupt::flag_of_changes()?;
    let mut proofs = facts.proofs;
    for finding in provable {
        proofs.extend(prove_one(&case, finding, &interrupted)?);
        case.write_json("proofs.json", &proofs)?;
    }
    conclusion::conclude(&case, args.format)?;
    let findings = advise::examine(&Facts::read(&case)?);
    let all_shown = findings
        .iter()
        .filter(|f| f.intervention.is_some())
        .all(|f| matches!(f.standing, Standing::Proved | Standing::Imitated));
    Ok(if all_shown { Answer::Done } else { Answer::No })
}

/// Says what makes the difference between arms: of one against another, or of each against the baseline after all that the case says.
fn explain(case: &Case, args: &Args) -> Result<Answer, Fault> {
    let Some(arm) = &args.arm else {
        let answer = conclusion::conclude(case, args.format)?;
        if args.format == Format::Text {
            output::text(&all_explained(&Facts::read(case)?))?;
        }
        return Ok(answer);
    };
    let facts = Facts::read(case)?;
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline).map(|arm| arm.name.clone());
    let against = args.against.clone().or(baseline).unwrap_or_default();
    let explanation = advise::explain(&facts, arm, &against).map_err(|missing| {
        let remedy = "see 'pinwise explain CASE' for what the case has";
        Fault::new(Class::Usage, missing.fact, missing.why, remedy)
    })?;
    match args.format {
        Format::Json => output::json(&explanation)?,
        Format::Text => output::text(&explanation_text::render(&explanation))?,
    }
    Ok(Answer::Done)
}

/// Every arm against the baseline.
fn all_explained(facts: &Facts) -> String {
    let explanations = advise::explanation::explain_all(facts);
    let mut parts: Vec<String> = explanations.iter().map(explanation_text::render).collect();
    parts.extend((!parts.is_empty()).then(|| explanation_text::observing(&observing(facts))));
    parts.iter().map(|part| format!("\n{part}")).collect()
}

/// Runs the intervention of one finding.
fn prove_one(case: &Case, finding: &Finding, interrupted: &Arc<AtomicBool>) -> Result<Option<Proof>, Fault> {
    let Some(intervention) = &finding.intervention else { return Ok(None) };
    let name = match finding.cpu {
        Some(cpu) => format!("{}-cpu{cpu}", finding.rule),
        None => finding.rule.clone(),
    };
    note!("pinwise: proving \"{}\": {}", finding.title, intervention.what);
    let mut proof_case = prove::open(case, &name, intervention)?;
    run_case::to_its_end(&mut proof_case, interrupted)?;
    Ok(Some(prove::conclude(&finding.title, &name, intervention, &proof_case)))
}
