//! `pinwise explain`: why a placement is slow; `--prove` moves the cause and measures again.

use std::path::PathBuf;

use advise::explanation::{explain_all, proof_id};
use advise::{Explanation, Finding};
use machine::{Class, Fault, Outside};
use report::case::explanation_text;
use study::engine::prove;
use study::{Case, Facts, Intervention, Proof, Role};

use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::{conclusion, interrupt, run_case};

// Flags of `pinwise explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise explain cases/string-server-1              list findings with their evidence
  pinwise explain cases/string-server-1 --arm 'cpu 0' --against 'cpu 1'
                                                     what makes the difference between two placements
  pinwise explain cases/string-server-1 --prove      move each cause, measure again, put it back")]
pub struct Args {
    /// The case folder
    case: PathBuf,
    /// Run the intervention of each finding as a small study (with --arm, only of that arm's); every change is undone. Exit code 1 if one is
    /// not proved
    #[arg(long)]
    prove: bool,
    /// Explain only this arm
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// Compare it with this arm. Without it: the baseline
    #[arg(long, value_name = "ARM", requires = "arm")]
    against: Option<String>,
    /// Form of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Explains, and with `--prove` proves; the answer is no when a finding was not proved.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    // A proof runs the commands of the case.
    let case = if args.prove { Case::open_own(&args.case)? } else { Case::open(&args.case)? };
    case.repairs.iter().for_each(|repair| note!("pinwise: {repair}"));
    if !args.prove {
        return explain(&case, args);
    }
    case.may_be_written()?;
    let interrupted = interrupt::flag_of_changes()?;
    let facts = Facts::read(&case)?;
    let provable = provable(&facts, args)?;
    if provable.is_empty() {
        note!("pinwise: nothing is left to prove in this case");
    }
    let mut proofs = facts.proofs;
    for what in &provable {
        note!("pinwise: proving \"{}\": {}", Outside(&what.title), Outside(&what.intervention.what));
        let mut proof_case = prove::open(&case, &what.folder, &what.intervention)?;
        run_case::to_its_end(&mut proof_case, &interrupted)?;
        proofs.push(prove::conclude(&what.id, &what.folder, &what.intervention, &proof_case));
        case.write_json("proofs.json", &proofs)?;
    }
    let held = provable
        .iter()
        .all(|what| proofs.iter().rev().find(|proof| proof.finding == what.id).is_some_and(Proof::holds));
    conclusion::write_down(&case)?;
    explain(&case, args)?;
    Ok(if held { Answer::Done } else { Answer::No })
}

/// Something that an intervention can prove.
struct Provable {
    id: String,
    title: String,
    /// Of its trials, below `proofs`.
    folder: String,
    intervention: Intervention,
}

/// What waits for a proof: findings about slow CPUs, and claims about arms, those that cost most first; with `--arm` of that arm alone.
fn provable(facts: &Facts, args: &Args) -> Result<Vec<Provable>, Fault> {
    let mut all = Vec::new();
    if args.arm.is_none() {
        all.extend(
            advise::examine(facts)
                .into_iter()
                .filter(|finding| finding.proof.is_none())
                .filter_map(of_finding),
        );
    }
    let explanations = match &args.arm {
        Some(arm) => vec![one_explained(facts, arm, args)?],
        None => explain_all(facts),
    };
    for explanation in explanations {
        let Explanation { arm, against, claims, .. } = explanation;
        for claim in claims.into_iter().filter(|claim| claim.proof.is_none()) {
            let id = proof_id(&claim, &arm, &against);
            let Some(intervention) = claim.intervention else { continue };
            // Several arms suffer from the same hog: each has a proof of its own.
            if all.iter().all(|other: &Provable| other.id != id) {
                let folder = folder_of(&id);
                all.push(Provable { title: id.clone(), id, folder, intervention });
            }
        }
    }
    Ok(all)
}

fn of_finding(finding: Finding) -> Option<Provable> {
    let folder = match finding.cpu {
        Some(cpu) => format!("{}-cpu{cpu}", finding.rule),
        None => finding.rule.clone(),
    };
    Some(Provable { id: finding.id, title: finding.title, folder, intervention: finding.intervention? })
}

/// A name of a folder: what is no letter or digit in an id may lead elsewhere.
fn folder_of(id: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    id.chars().map(plain).collect::<String>().trim_matches(['.', '-']).chars().take(120).collect()
}

/// Says what makes the difference between arms: of one against another, or of each against the baseline after all that the case says.
fn explain(case: &Case, args: &Args) -> Result<Answer, Fault> {
    let Some(arm) = &args.arm else { return conclusion::explain(case, args.format) };
    let facts = Facts::read(case)?;
    let explanation = one_explained(&facts, arm, args)?;
    match args.format {
        Format::Json => output::json(&explanation)?,
        Format::Text => output::text(&output::fitted(None, explanation_text::render(&explanation, &facts)))?,
    }
    Ok(Answer::Done)
}

/// This arm against the requested one, or the baseline.
fn one_explained(facts: &Facts, arm: &str, args: &Args) -> Result<Explanation, Fault> {
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline).map(|arm| arm.name.clone());
    let against = args.against.clone().or(baseline).unwrap_or_default();
    advise::explain(facts, arm, &against).map_err(|missing| {
        let remedy = "see 'pinwise explain CASE' for what the case has";
        Fault::new(Class::Usage, missing.fact, missing.why, remedy)
    })
}
