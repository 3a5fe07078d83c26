//! `pinwise rehearse PLAN`: three boots, and a verdict.

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{Class, Fault, Machine};
use probe::TicksSeen;
use rehearse::plan::conclusion::sentences;
use rehearse::plan::verdict::{self, Check, Effect, Seen, Ticks, Verdict};
use rehearse::plan::{BootParameters, tick_trial};
use rehearse::{Guest, Outcome};
use serde::Serialize;

use super::show::Show;
use super::{Args, bring_back};
use crate::format::Format;
use crate::output::{self, Answer};

/// What every guest of a trial runs.
const CHECKS: &str = "pinwise rehearsal-checks -o .";

/// What programs read.
#[derive(Debug, Serialize)]
struct Document<'a> {
    plan: &'a BootParameters,
    shape: &'a str,
    differs: &'a [String],
    kernel: &'a str,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

/// Boots without the plan, with it, and without it again; says what took effect.
pub(super) fn run(args: &Args, path: &Path, guest: &Guest, stop: &AtomicBool) -> Result<Answer, Fault> {
    let plan = BootParameters::read(path)?;
    let boot = |stage: &'static str, guest: &Guest| -> Result<Outcome, Fault> {
        let mut show = Show::stage(stage);
        let outcome = guest.run_watched(CHECKS, |event| show.event(event), || stop.load(Ordering::Relaxed));
        show.end();
        outcome.and_then(succeeded)
    };
    let before = boot("before the plan: ", guest)?;
    let with = boot("with the plan: ", &guest.clone().cmdline(&plan.words))?;
    let after = boot("after the plan: ", guest)?;
    if let Some(folder) = &args.output {
        for (name, outcome) in [("before", &before), ("with", &with), ("after", &after)] {
            bring_back(outcome, &folder.join(name))?;
        }
    }
    let maps = [map(&before)?, map(&with)?, map(&after)?];
    let verdict = judged(&plan, &maps, &with)?;
    match args.format {
        Format::Json => output::json(&Document {
            plan: &plan,
            shape: &guest.shape().name,
            differs: &guest.shape().differs,
            kernel: &with.release,
            verdict: &verdict,
        })?,
        Format::Text => output::text(&sheet(path, guest, &with.release, &verdict))?,
    }
    Ok(if verdict.holds { Answer::Done } else { Answer::No })
}

/// The checks themselves do not fail: when they do, it is no answer.
fn succeeded(outcome: Outcome) -> Result<Outcome, Fault> {
    match outcome.exit {
        0 => Ok(outcome),
        code => {
            let said = String::from_utf8_lossy(&outcome.stderr).trim().to_string();
            let cause = format!("the checks in the guest ended with {code}: {said}");
            Err(Fault::new(Class::WorkloadFailed, "rehearsal", cause, machine::IS_A_BUG))
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(outcome: &Outcome, name: &str) -> Result<T, Fault> {
    let bytes = outcome.read(name)?;
    serde_json::from_slice(&bytes).map_err(|e| Fault::new(Class::Storage, name, e, machine::IS_A_BUG))
}

fn map(outcome: &Outcome) -> Result<Machine, Fault> {
    read(outcome, "map.json")
}

fn judged(
    plan: &BootParameters,
    [before, with, after]: &[Machine; 3],
    outcome: &Outcome,
) -> Result<Verdict, Fault> {
    let trial = tick_trial(with);
    let counted: Vec<Ticks> = match &trial {
        None => Vec::new(),
        Some(_) => {
            let seen: TicksSeen = read(outcome, "ticks.json")?;
            let of_cpu = |cpu: &probe::ticks::CpuSeen| Ticks {
                cpu: cpu.ticks.cpu,
                per_s: cpu.ticks.ticks_per_s,
                busy: cpu.ticks.busy,
            };
            seen.cpus.iter().map(of_cpu).collect()
        }
    };
    let is_control = |ticks: &Ticks| trial.as_ref().is_some_and(|trial| trial.control == ticks.cpu);
    let control = counted.iter().copied().find(is_control);
    let without_tick = counted.into_iter().filter(|ticks| !is_control(ticks)).collect();
    verdict::judge(plan, &Seen { before, with, after, without_tick, control })
        .map_err(|why| Fault::new(Class::Storage, "the maps of the guests", why, machine::IS_A_BUG))
}

/// The verdict for people.
fn sheet(path: &Path, guest: &Guest, release: &str, verdict: &Verdict) -> String {
    let mut text = format!(
        "Rehearsal of {} in the shape of {}, kernel {release}\n\n",
        path.display(),
        guest.shape().name
    );
    for check in &verdict.checks {
        text += &row(check);
    }
    let _ = write!(text, "\n  {}", second_boot(verdict));
    for difference in verdict.left_over.iter().chain(&verdict.moves_by_itself) {
        text += &change(difference);
    }
    if !verdict.changed.is_empty() {
        text += "\nWhat the plan changes\n";
        verdict.changed.iter().for_each(|difference| text += &change(difference));
    }
    let _ = writeln!(text, "\n{} A guest cannot show how fast anything is.", sentences(verdict).join(" "));
    text
}

/// What the second boot without the plan shows.
fn second_boot(verdict: &Verdict) -> String {
    let again = "booted without the plan again";
    match (verdict.left_over.len(), verdict.moves_by_itself.len()) {
        (0, 0) => format!("yes          {again}: all is as before\n"),
        (0, moves) => {
            format!("yes          {again}: nothing is left over; facts that move by themselves: {moves}\n")
        }
        (left, 0) => format!("no           {again}: facts that are still as with the plan: {left}\n"),
        (left, moves) => format!(
            "no           {again}: facts that are still as with the plan: {left}, that move by themselves: {moves}\n"
        ),
    }
}

fn row(check: &Check) -> String {
    let effect = match check.effect {
        Effect::TookEffect => "took effect",
        Effect::WasSoBefore => "was so",
        Effect::NoEffect => "NO EFFECT",
        Effect::NotTold => "not shown",
        Effect::Insensitive => "insensitive",
    };
    format!("  {effect:<12} {}\n  {:<12} {} ({})\n", check.asked, "", check.evidence, check.source)
}

fn change(difference: &machine::diff::Difference) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".into());
    format!(
        "  {:<12} {}: {} -> {}\n",
        "",
        difference.fact,
        value(&difference.before),
        value(&difference.after)
    )
}
