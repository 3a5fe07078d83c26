//! Short trials before a case is created, in a temporary folder. What they saw is recorded in the case; no comparison includes them.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::Fault;
use study::Case;
use study::engine::live::LiveTrials;
use study::engine::prepare::{Draft, free_dir};
use study::engine::server_data::Data;

use crate::run_case::own_binary;
use crate::{discarded_case, rollback};

/// Runs `run` on the case that `make` makes in a folder beside the draft's, named after `name`.
///
/// # Errors
/// Those of either, and a folder that cannot be removed; what the logs of a failed trial say is in the fault.
pub fn run<T>(
    draft: &Draft,
    name: &str,
    interrupted: &Arc<AtomicBool>,
    make: impl FnOnce(&Path) -> Result<Case, Fault>,
    run: impl FnOnce(&mut Case, &mut LiveTrials) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let is_new = !draft.dir().exists();
    // One that is free: a folder of the user's own may have any name.
    let dir = free_dir(draft.dir(), name);
    let ran =
        measured(draft, &dir, interrupted, make, run).map_err(|fault| discarded_case::with_logs(&dir, fault));
    let removed = match std::fs::remove_dir_all(&dir) {
        // It was never made, or another start has taken it for one that was left.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|e| Fault::io(dir.display(), &e, "remove the folder")),
    };
    if is_new {
        // Not removed where somebody else has put something there meanwhile.
        let _ = std::fs::remove_dir(draft.dir());
    }
    rollback::finish(ran, removed)
}

fn measured<T>(
    draft: &Draft,
    dir: &Path,
    interrupted: &Arc<AtomicBool>,
    make: impl FnOnce(&Path) -> Result<Case, Fault>,
    run: impl FnOnce(&mut Case, &mut LiveTrials) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut case = make(dir)?;
    let mut live = LiveTrials::new(&case, own_binary()?, draft.machine(), Arc::clone(interrupted))?;
    let ran = run(&mut case, &mut live);
    let taken_back = live.finish();
    if let Ok(data) = Data::of_case(&case) {
        data.remove();
    }
    rollback::finish(ran, taken_back)
}
