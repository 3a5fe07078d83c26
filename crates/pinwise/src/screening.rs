//! The screening of a large machine, as its user meets it: a short trial of every CPU, a bar, and a line about what was chosen.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{CpuSet, Fault};
use study::engine::prepare::Draft;
use study::{Screening, engine, screening};

use crate::{preliminary, progress};

/// Screens the CPUs of `draft` where there are many; gives back the draft whose blocks are spent on those that were chosen.
///
/// # Errors
/// Every CPU fails; an interruption.
pub fn run(draft: Draft, interrupted: &Arc<AtomicBool>) -> Result<(Draft, Option<Screening>), Fault> {
    let study = draft.study();
    let Some(arms) = screening::arms(&study.recipe, &study.arms) else { return Ok((draft, None)) };
    let cpus = arms.len();
    eprintln!("screening: a short trial on each of {cpus} CPUs");
    let bar =
        progress::bar("{bar:30} {pos}/{len} CPUs, {eta} left", cpus as u64, std::io::stderr().is_terminal());
    let chosen = preliminary::run(
        &draft,
        "screening",
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
    eprintln!("screening: {}", in_words(&chosen));
    let recipe = chosen.narrowed(study.recipe.clone());
    Ok((draft.revised(recipe)?, Some(chosen)))
}

fn in_words(chosen: &Screening) -> String {
    let slow: CpuSet = chosen.slow.iter().copied().collect();
    let looked = match slow.len() {
        0 => "no CPU looks slow".to_string(),
        1 => format!("CPU {slow} looks slow"),
        _ => format!("CPUs {slow} look slow"),
    };
    let samples = chosen.samples.len();
    let stood_for: usize = chosen.figures.len().saturating_sub(chosen.slow.len());
    format!("{looked}; of the {stood_for} others {samples} are studied for all")
}
