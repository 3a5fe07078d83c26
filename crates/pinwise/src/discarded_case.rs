//! Removes the case of a study that failed before it finished a trial, so that it does not block the next attempt.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use load::log_tail;
use machine::{Class, Fault};
use study::Case;

/// The fault of a study. Where the case holds no finished trial and was made by this process, the case is removed, and what the logs in
/// it say goes into the fault.
pub fn unbegun(case: &mut Case, fault: Fault) -> Fault {
    let with_logs = with_logs(case.dir(), fault.clone());
    if !case.discard_unbegun() {
        return fault;
    }
    if fault.class == Class::Interrupted {
        let cause = "stopped before its first trial ended; nothing was kept";
        return Fault { cause: cause.into(), remedy: "run the same command again".into(), ..fault };
    }
    with_logs
}

/// The fault with what the logs of the case in `dir` say that it does not quote yet: for a case that is about to go.
pub fn with_logs(dir: &Path, fault: Fault) -> Fault {
    // Whoever stopped it does not ask why it ended.
    if fault.class == Class::Interrupted {
        return fault;
    }
    let logs = tails(dir, &fault);
    Fault { cause: format!("{}{logs}", fault.cause), ..fault }
}

/// The last lines of each log in the case that the fault does not quote yet.
fn tails(dir: &Path, fault: &Fault) -> String {
    let said = [&*fault.object, &fault.cause, &fault.remedy].join("\n");
    logs(dir)
        .into_iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let tail = log_tail::of_file(&path);
            // Behind a bar, as quoted; it may stand in the command that the fault names, too.
            let last = tail.lines().last()?.trim_end();
            (!said.lines().any(|line| line.starts_with(last))).then(|| format!("\n{name}: {tail}"))
        })
        .collect()
}

/// Logs of trials, and of what was prepared for all of them.
fn logs(dir: &Path) -> BTreeSet<PathBuf> {
    let entries = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let of_trials = entries(dir.join("trials")).flat_map(entries);
    let says_something = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    let is_log = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "log") && says_something(path);
    of_trials.chain(entries(dir.join("data"))).filter(is_log).collect()
}
