//! Runs what a case has still to run, with progress, Ctrl-C and everything taken back at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::{Class, Fault, Machine, Root};
use study::Case;
use study::engine::server_data::Data;
use study::engine::{self, Ended, live::LiveTrials, requirements};

use crate::notes::note;
use crate::progress::Progress;
use crate::quit_key::QuitKey;
use crate::{harm_budget, rollback};

/// Runs the case to its end, as far as this boot goes, or until `interrupted` is raised (see [`crate::interrupt::flag_of_changes`]).
pub fn to_its_end(case: &mut Case, interrupted: &Arc<AtomicBool>) -> Result<Ended, Fault> {
    requirements::check(&case.study.recipe)?;
    if let Some(budget) = harm_budget::in_words(case) {
        note!("pinwise: {budget}");
    }
    let _quit = QuitKey::listen(interrupted);
    let mut progress = Progress::new(&case.study.recipe, &case.trials);
    // Of a case of somebody else nothing is run.
    let data = Data::of_case(case)?;
    let machine = Machine::read(&Root::live());
    let mut trials = LiveTrials::new(case, own_binary()?, &machine, Arc::clone(interrupted))?;
    let ran = engine::run(case, &mut trials, interrupted, &mut |event| progress.show(&event));
    progress.finish();
    let taken_back = trials.finish();
    if ran == Ok(Ended::Finished) {
        data.remove();
    }
    rollback::finish(ran, taken_back)
}

/// The binary that serves as built-in server and load generator.
pub fn own_binary() -> Result<PathBuf, Fault> {
    std::env::current_exe().map_err(|e| Fault::new(Class::MachineLacks, "/proc/self/exe", e, "mount /proc"))
}
