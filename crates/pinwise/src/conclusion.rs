//! From the files of a case to evidence, findings and report.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use advise::{Explained, Finding};
use load::{LoadSpec, Outcome};
use machine::{Fault, Missing};
use report::case::every_arm_text;
use report::case::explanation_text;
use report::case::html;
use report::case::json;
use report::case::junit;
use report::case::stalled_text;
use report::case::table;
use report::{CaseView, Commands, absent};
use study::case::quoted;
use study::evidence::Gate;
use study::{Case, Facts};

use crate::escape;
use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};

/// The name of the report in a case.
const REPORT: &str = "report.html";

/// The name of the results of what was expected.
const JUNIT: &str = "junit.xml";

/// Computes all that follows from the trials, prints it, and writes it into the case. A case that may not be written to is read all
/// the same. The answer is that of the recipe's expectations, where it has any.
///
/// # Errors
/// The output cannot be printed; a file cannot be written to a folder that may be written to (the disk is full).
pub fn conclude(case: &Case, format: Format) -> Result<Answer, Fault> {
    conclude_with(case, format, None)
}

/// Prints all that follows from the trials, with the whole explanation of every arm instead of a line each. Nothing is written.
pub fn explain(case: &Case, format: Format) -> Result<Answer, Fault> {
    let computed = Computed::of(case)?;
    computed.print(case, format, whole)?;
    Ok(computed.answer())
}

/// Writes into the case what follows from its trials and proofs, and prints nothing but what could not be written.
pub fn write_down(case: &Case) -> Result<(), Fault> {
    write(case, &Computed::of(case)?, None).map(drop)
}

/// As [`conclude`], with the report at `report` instead of in the case.
pub fn conclude_with(case: &Case, format: Format, report: Option<&Path>) -> Result<Answer, Fault> {
    let computed = Computed::of(case)?;
    // What fails here is said after the answer, which is worth more.
    let written = write(case, &computed, report);
    let printed = computed.print(case, format, in_short);
    if let Some(report) = written? {
        note!("");
        note!("case    {}", case.dir().display());
        note!("report  {}", report.display());
    }
    printed?;
    Ok(computed.answer())
}

/// The report of the case in `dir` as HTML. Nothing is written.
///
/// # Errors
/// As [`Case::open`].
pub fn report_of(dir: &Path) -> Result<String, Fault> {
    let case = Case::open(dir)?;
    let computed = Computed::of(&case)?;
    Ok(escape::text(&page(&case, &computed), false).into_owned())
}

/// All that follows from the trials of a case.
struct Computed {
    facts: Facts,
    findings: Vec<Finding>,
    explained: Explained,
}

impl Computed {
    fn of(case: &Case) -> Result<Self, Fault> {
        let facts = Facts::read(case)?;
        let findings = advise::examine(&facts);
        let explained = Explained::of(&facts);
        Ok(Self { facts, findings, explained })
    }

    /// Prints it; `why` says what makes the difference, as the end of a text.
    fn print(
        &self,
        case: &Case,
        format: Format,
        why: fn(&Explained, &Facts, &Path) -> String,
    ) -> Result<(), Fault> {
        let Self { facts, findings, explained } = self;
        match format {
            Format::Json => output::json(&json::render(facts, findings, explained, case.dir())),
            Format::Text => {
                let table = table::render(facts, findings, case.dir(), output::style());
                output::text(&format!("{table}{}", why(explained, facts, case.dir())))
            }
        }
    }

    /// That of the recipe's expectations, where it has any; no, where guards ended the study.
    fn answer(&self) -> Answer {
        if self.facts.evidence.harm.as_ref().is_some_and(|harm| harm.ended.is_some()) {
            return Answer::No;
        }
        match study::evidence::gate(&self.facts.evidence.expectations) {
            None | Some(Gate::Passed) => Answer::Done,
            Some(Gate::Failed) => Answer::No,
            Some(Gate::CannotTell) => Answer::CannotTell,
        }
    }
}

/// What makes the difference between arms, all of it, what costs all of them, and what observing cost.
fn whole(explained: &Explained, facts: &Facts, _: &Path) -> String {
    let of = |explanation| explanation_text::render(explanation, facts);
    let mut parts: Vec<String> = explained.explanations.iter().map(of).collect();
    parts.push(every_arm_text::render(&explained.every_arm));
    parts.push(stalls(explained, facts));
    parts.push(explanation_text::observing(&explained.observing));
    parts.iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
}

/// What makes the difference between arms, in a line each, and what costs all of them.
fn in_short(explained: &Explained, facts: &Facts, dir: &Path) -> String {
    let summary = explanation_text::summary(&explained.explanations, facts);
    let every = every_arm_text::render(&explained.every_arm) + &stalls(explained, facts);
    match summary.is_empty() && every.is_empty() {
        true => String::new(),
        false => format!("\n{summary}{every}  Full explanation: pinwise explain {}\n", quoted(dir)),
    }
}

/// Stalls at regular distances, a sentence a line.
fn stalls(explained: &Explained, facts: &Facts) -> String {
    let sentences = stalled_text::sentences(&explained.stalled, facts.study.arms.len());
    sentences.iter().map(|sentence| format!("{sentence}\n")).collect()
}

/// Writes evidence, findings and report. Returns where the report is; `None` where it could not be written, which is said.
fn write(case: &Case, computed: &Computed, report: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    let Computed { facts, findings, .. } = computed;
    let page = || page(case, computed);
    if let Some(path) = report {
        output::to(Some(path), &page())?;
    }
    if let Err(why) = case.may_be_written() {
        let (dir, asked, why) = (case.dir().display(), report.map(Path::to_path_buf), why.cause);
        match &asked {
            Some(_) => note!("pinwise: {dir}: evidence.json and findings.json are not written: {why}"),
            None => note!(
                "pinwise: {dir}: evidence.json, findings.json and {REPORT} are not written: {why} - for the report: \
                 pinwise report {} -o {REPORT}",
                quoted(case.dir())
            ),
        }
        return Ok(asked);
    }
    case.write_json("evidence.json", &facts.evidence)?;
    case.write_json("findings.json", &findings)?;
    if let Some(results) = junit::render(facts)? {
        case.write_for_people(JUNIT, results.as_bytes())?;
    }
    match report {
        Some(path) => Ok(Some(path.to_path_buf())),
        None => case.write_for_people(REPORT, page().as_bytes()).map(Some),
    }
}

/// The report as HTML. Files that it cannot read are left out and said.
fn page(case: &Case, computed: &Computed) -> String {
    let Computed { facts, findings, explained } = computed;
    let mut missing = Vec::new();
    let view = CaseView {
        facts,
        findings,
        explained,
        latency: latency_by_arm(case, &mut missing),
        operations: operations_shown(case, facts, &mut missing),
        machine_text: report::map::machine_text::render(&facts.machine),
        commands: commands(case),
        case_dir: case.dir().to_path_buf(),
    };
    for absent in absent::of_machine(&missing) {
        let alike =
            if absent.alike > 0 { format!(" (and {} more like it)", absent.alike) } else { String::new() };
        note!("pinwise: left out of the report: {}: {}{alike}", absent.fact, absent.why);
    }
    html::render(&view)
}

/// The outcome of a trial that came to its end; `None` where its file cannot be read, which is noted once.
fn outcome(case: &Case, index: usize, missing: &mut Vec<Missing>) -> Option<Outcome> {
    let read = case.read_fact(&format!("trials/{index:04}/outcome.json"));
    read.map_err(|why| (!missing.contains(&why)).then(|| missing.push(why))).ok()
}

/// Latency curves by arm: the histograms of all trials of an arm, merged over their measured windows.
fn latency_by_arm(case: &Case, missing: &mut Vec<Missing>) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut merged: BTreeMap<String, load::latency::Latency> = BTreeMap::new();
    for trial in case.trials.iter().filter(|trial| trial.failed.is_none()) {
        let Some(outcome) = outcome(case, trial.index, missing) else { continue };
        match outcome.latency(trial.from_ns, trial.to_ns) {
            Ok(latency) if latency.count() > 0 => merged.entry(trial.arm.clone()).or_default().add(&latency),
            Ok(_) => {}
            Err(why) => missing.push(Missing::new(format!("latencies of trial {}", trial.index), why)),
        }
    }
    merged
        .into_iter()
        .map(|(arm, latency)| {
            (arm, latency.curve().into_iter().map(|(quantile, us)| (quantile * 100.0, us)).collect())
        })
        .collect()
}

/// The operations of the trial of each arm that is shown.
fn operations_shown(
    case: &Case,
    facts: &Facts,
    missing: &mut Vec<Missing>,
) -> BTreeMap<usize, Vec<load::Operation>> {
    let shown = facts.evidence.cliffs.iter().map(|cliff| cliff.shown);
    shown.filter_map(|index| Some((index, outcome(case, index, missing)?.operations))).collect()
}

/// How server and load are started, as a shell would take it.
fn commands(case: &Case) -> Commands {
    let recipe = &case.study.recipe;
    let server = match (recipe.server.is_unnamed(), case.study.string_rounds) {
        (true, Some(rounds)) => {
            format!("pinwise string-server --address {{address}} --port {{port}} --rounds {rounds}")
        }
        _ => match &recipe.server.running {
            Some(running) => format!("# {running}, already running"),
            None => recipe.server.command.to_string(),
        },
    };
    let load = match &recipe.load {
        LoadSpec::Command(load) => load.command.to_string(),
        driven => {
            let at = SocketAddr::new(recipe.server.address, 0);
            // What a study could write down can be written as flags.
            let flags = load::generator::flags::to_args(at, driven).unwrap_or_default();
            format!("pinwise {} {}", load::generator::VERB, shell_words::join(flags))
                .replace("--port 0", "--port {port}")
        }
    };
    Commands { server, load }
}
