//! From the files of a case to evidence, findings and report.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use advise::Finding;
use load::{LoadSpec, Outcome};
use machine::Fault;
use report::{CaseView, Commands, html, json, table};
use study::{Calibration, Case, Facts};

use crate::cli::Format;
use crate::output::{self, Answer};

/// Computes all that follows from the trials, writes it into the case, and prints it.
pub fn conclude(case: &Case, format: Format) -> Result<Answer, Fault> {
    let facts = Facts::read(case)?;
    let findings = advise::examine(&facts);
    write(case, &facts, &findings)?;
    let calibration: Calibration = case.read_json("calibration.json")?.unwrap_or_default();
    for missing in &calibration.missing {
        eprintln!("pinwise: not measured before the study: {}: {}", missing.fact, missing.why);
    }
    match format {
        Format::Json => output::json(&json::render(&facts, &findings, &case.dir().display().to_string()))?,
        Format::Text => {
            output::text(&table::render(&facts, &findings, output::style()))?;
            eprintln!(
                "\ncase    {}\nreport  {}",
                case.dir().display(),
                case.dir().join("report.html").display()
            );
        }
    }
    Ok(Answer::Done)
}

/// Writes evidence, findings and report.
pub fn write(case: &Case, facts: &Facts, findings: &[Finding]) -> Result<(), Fault> {
    case.write_json("evidence.json", &facts.evidence)?;
    case.write_json("findings.json", &findings)?;
    let view = CaseView {
        facts,
        findings,
        latency: latency_by_arm(case)?,
        operations: operations_shown(case, facts)?,
        machine_text: report::machine_text::render(&facts.machine),
        commands: commands(case),
        case_dir: case.dir().display().to_string(),
    };
    case.write("report.html", html::render(&view).as_bytes())?;
    Ok(())
}

/// Latency curves by arm: the histograms of all trials of an arm, merged over their measured windows.
fn latency_by_arm(case: &Case) -> Result<BTreeMap<String, Vec<(f64, f64)>>, Fault> {
    let mut merged: BTreeMap<String, load::latency::Latency> = BTreeMap::new();
    for trial in &case.trials {
        let outcome: Option<Outcome> = case.read_json(&format!("trials/{:04}/outcome.json", trial.index))?;
        let Some(outcome) = outcome else { continue };
        match outcome.latency(trial.from_ns, trial.to_ns) {
            Ok(latency) if latency.count() > 0 => merged.entry(trial.arm.clone()).or_default().add(&latency),
            Ok(_) => {}
            Err(why) => {
                eprintln!("pinwise: trial {}: its latencies are left out of the curves: {why}", trial.index)
            }
        }
    }
    Ok(merged
        .into_iter()
        .map(|(arm, latency)| {
            (arm, latency.curve().into_iter().map(|(quantile, us)| (quantile * 100.0, us)).collect())
        })
        .collect())
}

/// The operations of the trial of each arm that is shown.
fn operations_shown(case: &Case, facts: &Facts) -> Result<BTreeMap<usize, Vec<load::Operation>>, Fault> {
    let mut operations = BTreeMap::new();
    for cliff in &facts.evidence.cliffs {
        let file = format!("trials/{:04}/outcome.json", cliff.shown);
        let outcome: Option<Outcome> = case.read_json(&file)?;
        operations.extend(outcome.map(|outcome| (cliff.shown, outcome.operations)));
    }
    Ok(operations)
}

/// How server and load are started, as a shell would take it.
fn commands(case: &Case) -> Commands {
    let recipe = &case.study.recipe;
    let server = match (recipe.server.is_unnamed(), case.study.string_rounds) {
        (true, Some(rounds)) => {
            format!("pinwise string-server --address {{address}} --port {{port}} --rounds {rounds}")
        }
        _ => match &recipe.server.running {
            Some(running) => format!("# {running}, which runs already"),
            None => recipe.server.command.to_string(),
        },
    };
    let load = match &recipe.load {
        LoadSpec::Command(load) => load.command.to_string(),
        driven => {
            let at = SocketAddr::new(recipe.server.address, 0);
            // What a study could write down can be written as flags.
            let flags = load::drive::flags::to_args(at, driven).unwrap_or_default();
            format!("pinwise {} {}", load::drive::VERB, shell_words::join(flags))
                .replace("--port 0", "--port {port}")
        }
    };
    Commands { server, load }
}
