//! The screening of a large machine, as its user meets it: a short trial of every CPU, a bar, and a line about what was chosen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::Fault;
use report::case::screening_words;
use study::case::abandoned;
use study::engine::prepare::Draft;
use study::{Screening, engine, screening};

use crate::notes::note;
use crate::{notes, preliminary_trials, progress_bar};

/// Screens the CPUs of `draft` where there are many; gives back the draft whose blocks are spent on those that were chosen.
///
/// # Errors
/// Every CPU fails; an interruption.
pub fn run(draft: Draft, interrupted: &Arc<AtomicBool>) -> Result<(Draft, Option<Screening>), Fault> {
    let study = draft.study();
    if study.recipe.has_own_traffic() {
        return Ok((draft, None));
    }
    let Some(arms) = screening::arms(&study.recipe, &study.arms) else { return Ok((draft, None)) };
    let cpus = arms.len();
    note!("screening: a short trial on each of {cpus} CPUs");
    let bar = progress_bar::bar("{bar:30} {pos}/{len} CPUs, {eta} left", cpus as u64, notes::is_terminal());
    let chosen = preliminary_trials::run(
        &draft,
        abandoned::SCREENING,
        interrupted,
        |dir| engine::screening::case(study, arms, dir),
        |case, live| {
            let stopped = || interrupted.load(Ordering::Relaxed);
            engine::screening::run(case, live, draft.machine(), &stopped, &mut |done, of| {
                bar.set_length(of as u64);
                bar.set_position(done as u64);
            })
        },
    );
    bar.finish_and_clear();
    let chosen = chosen?;
    for sentence in screening_words::sentences(&chosen) {
        note!("screening: {sentence}");
    }
    let recipe = chosen.narrowed(study.recipe.clone());
    Ok((draft.revised(recipe)?, Some(chosen)))
}
