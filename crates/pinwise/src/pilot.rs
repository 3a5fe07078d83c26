//! The pilot of a study, as its user meets it: a few seconds, a line on stderr, and a word in time where the load cannot show anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use load::Outcome;
use machine::wording::whole_percent;
use machine::{Class, Fault};
use report::case::control_words;
use report::visible;
use study::Case;
use study::case::abandoned;
use study::engine::prepare::Draft;
use study::evidence::Unseen;
use study::{Pilot, engine, pilot};

use crate::notes::note;
use crate::preliminary_trials;

/// A study shorter than this, s, is over before a pilot has shown anything.
const WORTH_FROM_S: f64 = 20.0;

/// Runs the pilot of `draft`, with more load where the server has slack; gives back the draft that is to be studied.
///
/// # Errors
/// The server or the load fails; an interruption; the load cannot show anything, and `anyway` is not said.
pub fn run(
    mut draft: Draft,
    anyway: bool,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Draft, Option<Pilot>), Fault> {
    if !is_worth_it(&draft) {
        return Ok((draft, None));
    }
    let mut doublings = 0;
    loop {
        let seen = once(&draft, interrupted)?;
        note!("pilot: {}", in_words(&seen));
        match pilot::with_more_load(&draft.study().recipe, &seen) {
            Some(more) if doublings < pilot::MOST_DOUBLINGS => {
                doublings += 1;
                draft = draft.revised(more)?;
                let connections =
                    draft.study().recipe.load.driven().map_or(0, |load| load.pace().connections);
                note!("pilot: the server has slack; trying {connections} connections");
            }
            _ => return settled(draft, seen, anyway),
        }
    }
}

/// Goes on where the load can show something, or where the user wants it all the same.
fn settled(draft: Draft, seen: Pilot, anyway: bool) -> Result<(Draft, Option<Pilot>), Fault> {
    if let Some(why) = seen.cannot_show.filter(|_| !anyway) {
        return Err(cannot_show(why, &draft.study().recipe.metric));
    }
    let mut recipe = draft.study().recipe.clone();
    if recipe.dose.reference.is_none() {
        recipe.dose.reference = seen.reference.clone();
    }
    Ok((draft.revised(recipe)?, Some(seen)))
}

fn is_worth_it(draft: &Draft) -> bool {
    let study = draft.study();
    let budget = &study.recipe.budget;
    let trials: usize = study.order.iter().map(Vec::len).sum();
    let is_long = trials as f64 * (budget.window_s + budget.warm_up_cap_s) >= WORTH_FROM_S;
    study.boots.is_none() && (is_long || study.recipe.search.is_some())
}

/// One pilot; its trials are in no comparison.
fn once(draft: &Draft, interrupted: &Arc<AtomicBool>) -> Result<Pilot, Fault> {
    preliminary_trials::run(
        draft,
        abandoned::PILOT,
        interrupted,
        |dir| engine::pilot::case(draft.study(), dir),
        |case, live| {
            let trials = engine::pilot::run(case, live, &|| interrupted.load(Ordering::Relaxed))?;
            if let Some(answer) = first_answer(case) {
                note!("pilot: the server's first answer: {answer}");
            }
            Ok(pilot::judge(&case.study.recipe, &case.study.arms, &trials))
        },
    )
}

/// The server's first answer, for the user to check that it is one; only some loads record it.
fn first_answer(case: &Case) -> Option<String> {
    let answers = case.trials.iter().filter_map(|trial| {
        let outcome: Outcome = case.read_fact(&format!("trials/{:04}/outcome.json", trial.index)).ok()?;
        outcome.first_answer
    });
    // Escaped and cut as it was written down.
    let answer = answers.into_iter().next()?;
    let line = answer.trim_end_matches(r"\n").trim_end_matches(r"\r");
    Some(if line.is_empty() { "an empty line".into() } else { visible::one_line(line).into_owned() })
}

fn in_words(seen: &Pilot) -> String {
    let percent = |share: Option<f64>| share.map(whole_percent);
    let server =
        percent(seen.server_wanted).map(|wanted| format!("the server wants a CPU {wanted} of the time"));
    let client = percent(seen.client_busy).map(|busy| format!("the load is {busy} busy"));
    let dose = percent(seen.lost_share)
        .zip(percent(seen.taken_share))
        .map(|(lost, taken)| format!("taking {taken} of the server's CPU costs about {lost}"));
    let parts: Vec<String> = [server, client, dose].into_iter().flatten().collect();
    if parts.is_empty() { "server and load run".into() } else { parts.join(", ") }
}

/// The load cannot show anything: why, and what would.
fn cannot_show(why: Unseen, metric: &str) -> Fault {
    let (cause, remedy) = control_words::unseen_and_remedy(why, metric);
    let remedy = remedy.unwrap_or("use more load, or decide by another figure (--metric)");
    let remedy = format!("{remedy}; or study it all the same: --anyway");
    Fault::new(Class::WorkloadFailed, "pilot: this load cannot show a bad placement", cause, remedy)
}
