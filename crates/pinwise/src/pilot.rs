//! The pilot of a study, as its user meets it: a few seconds, a line on stderr, and a word in time where the load cannot show anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use load::Outcome;
use machine::wording::{counted, whole_percent};
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
    // Of a server in production each arm is tried under the eyes of its guards alone.
    let is_tried_at_will = study.boots.is_none() && !study.recipe.has_own_traffic();
    is_tried_at_will && (is_long || study.recipe.search.is_some())
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
    let server = server_in_words(seen);
    let client = percent(seen.client_busy).map(|busy| format!("the load is {busy} busy"));
    let dose = percent(seen.lost_share)
        .zip(percent(seen.taken_share))
        .map(|(lost, taken)| format!("taking {taken} of the server's CPU costs about {lost}"));
    let parts: Vec<String> = [server, client, dose].into_iter().flatten().collect();
    if parts.is_empty() { "server and load run".into() } else { parts.join(", ") }
}

/// What of its CPUs the server used, and its busiest thread where that is nearer to a limit than all of them.
fn server_in_words(seen: &Pilot) -> Option<String> {
    let wanted = seen.server_wanted;
    let Some((used, most)) = seen.server_busy_cpus.zip(seen.server_may_use_cpus) else {
        return wanted.map(|wanted| {
            format!("the server's busiest thread wanted a CPU {} of the time", whole_percent(wanted))
        });
    };
    // A quota need not be a whole number.
    let all = format!("the server used {used:.2} of {}", counted((most * 1e2).round() / 1e2, "CPU"));
    Some(match wanted {
        Some(wanted) if wanted > used / most + 0.01 => {
            format!("{all} and its busiest thread wanted one {} of the time", whole_percent(wanted))
        }
        _ => all,
    })
}

/// The load cannot show anything: why, and what would.
fn cannot_show(why: Unseen, metric: &str) -> Fault {
    let (cause, remedy) = control_words::unseen_and_remedy(why, metric);
    let remedy = remedy.unwrap_or("use more load, or decide by another figure (--metric)");
    let remedy = format!("{remedy}; or run the study nevertheless: --anyway");
    Fault::new(Class::WorkloadFailed, "pilot: this load cannot show a bad placement", cause, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(used: Option<f64>, most: f64, wanted: f64) -> String {
        in_words(&Pilot {
            server_wanted: Some(wanted),
            server_busy_cpus: used,
            server_may_use_cpus: Some(most),
            client_busy: Some(0.2),
            ..Pilot::default()
        })
    }

    #[test]
    fn a_server_of_many_threads_is_said_to_be_full_where_all_of_them_are() {
        assert_eq!(words(Some(0.96), 1.0, 0.96), "the server used 0.96 of 1 CPU, the load is 20 % busy");
        assert_eq!(words(Some(1.34), 2.0, 0.67), "the server used 1.34 of 2 CPUs, the load is 20 % busy");
        assert_eq!(
            words(Some(0.82), 2.0, 0.85),
            "the server used 0.82 of 2 CPUs and its busiest thread wanted one 85 % of the time, the load is 20 % busy"
        );
        assert_eq!(words(Some(0.4), 1.5, 0.2), "the server used 0.40 of 1.5 CPUs, the load is 20 % busy");
    }

    #[test]
    fn without_the_time_of_all_threads_the_busiest_speaks() {
        let words = words(None, 1.0, 0.43);
        assert_eq!(words, "the server's busiest thread wanted a CPU 43 % of the time, the load is 20 % busy");
        assert_eq!(in_words(&Pilot::default()), "server and load run");
    }
}
