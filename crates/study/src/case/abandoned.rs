//! Cases that were begun, and whose process was killed before they held a result: the next study removes them.

use std::io;
use std::path::{Path, PathBuf};

use machine::OwnFolder;

use super::fault::storage;
use super::prior_contents::{Ground, MARK};
use super::{BOOTS, TRIALS};

/// Names of the folders of preliminary trials, which lie in that of their case; a number follows.
pub const PILOT: &str = "pilot";
/// As [`PILOT`], of a screening.
pub const SCREENING: &str = "screening";

/// `BASE/name-1`, `BASE/name-2` and so on.
pub fn numbered(base: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    (1u32..).map(move |n| base.join(format!("{name}-{n}")))
}

/// Removes what is left where a case is to be made in `dir`: there, and in the folders beside it. The folders that are gone, or were
/// emptied of it. Cases that hold a result, those that a process still runs, and folders of others stay.
pub fn sweep(dir: &Path) -> Vec<PathBuf> {
    let above = dir.parent().unwrap_or(dir);
    let listed = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let names = OwnFolder::open(listed).and_then(|folder| folder.names().map_err(|e| storage(listed, &e)));
    let mut cases: Vec<PathBuf> = names.unwrap_or_default().iter().map(|name| above.join(name)).collect();
    cases.sort();
    if !cases.iter().any(|case| case == dir) {
        cases.push(dir.to_path_buf());
    }
    let with_preliminary = cases.into_iter().flat_map(|case| {
        let there = |name| numbered(&case, name).take_while(|dir| dir.exists());
        let within: Vec<PathBuf> = [PILOT, SCREENING].into_iter().flat_map(there).collect();
        within.into_iter().chain([case])
    });
    with_preliminary.filter(|folder| remove(folder)).collect()
}

/// Removes the case of a folder whose mark says that it was begun, if nobody runs it and it holds no result; whether it did.
fn remove(dir: &Path) -> bool {
    // A link leads to a folder of another name.
    if !dir.symlink_metadata().is_ok_and(|about| about.is_dir()) || !dir.join(MARK).exists() {
        return false;
    }
    let Ok(folder) = OwnFolder::open(dir) else { return false };
    let Ok(_lock) = folder.lock() else { return false };
    let has_result = [TRIALS, BOOTS].into_iter().any(|list| !is_empty(&folder, list));
    let Some(ground) = Ground::of_begun(folder) else { return false };
    match ground.is_preliminary || !has_result {
        true => ground.clear().is_ok(),
        false => {
            ground.keep();
            false
        }
    }
}

/// Whether a list of the case has no whole line. One that cannot be read may have some.
fn is_empty(folder: &OwnFolder, list: &str) -> bool {
    match folder.read(list) {
        Err(e) => e.kind() == io::ErrorKind::NotFound,
        Ok(lines) => !lines.contains(&b'\n'),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::case::tests::resolved;
    use crate::{Case, Trial};

    /// Ends with a case as SIGKILL does: nothing is removed, and the lock is let go of.
    fn killed(case: Case) {
        drop(case);
    }

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_start_left_goes_with_the_folders_that_were_made_for_it() {
        let place = tempfile::tempdir().unwrap();
        let cases = place.path().join("cases");
        let own = cases.join("own");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("notes.txt"), "mine").unwrap();
        fs::write(own.join("machine.json"), "mine").unwrap();
        killed(Case::create(&own, resolved()).unwrap());
        killed(Case::create(&cases.join("a"), resolved()).unwrap());
        killed(Case::create_preliminary(&cases.join("b/pilot-1"), resolved()).unwrap());
        let mut with_trial = Case::create_preliminary(&cases.join("c/screening-1"), resolved()).unwrap();
        with_trial.append(Trial::default()).unwrap();
        killed(with_trial);
        let swept = sweep(&cases.join("next"));
        assert_eq!(swept.len(), 4, "{swept:?}");
        assert_eq!(names(&cases), ["own"]);
        assert_eq!(names(&own), ["machine.json", "notes.txt"]);
        assert_eq!(fs::read_to_string(own.join("machine.json")).unwrap(), "mine");
        assert!(sweep(&cases.join("next")).is_empty());
    }

    #[test]
    fn results_running_starts_and_folders_of_the_user_stay() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let mut result = Case::create(&at("result"), resolved()).unwrap();
        result.append(Trial::default()).unwrap();
        killed(result);
        // Killed between the line of the first trial and the end of the mark.
        fs::write(at("result").join(MARK), r#"{"made":1,"held":[],"preliminary":false}"#).unwrap();
        let runs = Case::create(&at("runs"), resolved()).unwrap();
        let pilot_runs = Case::create_preliminary(&at("x/pilot-1"), resolved()).unwrap();
        fs::create_dir_all(at("x/pilot-2")).unwrap();
        fs::write(at("x/pilot-2/study.toml"), "mine").unwrap();
        killed(Case::create(&at("adopted"), resolved()).unwrap());
        drop(Case::resume(&at("adopted")).unwrap());
        fs::create_dir(at("looks-alike")).unwrap();
        fs::write(at("looks-alike").join(MARK), "notes of mine").unwrap();
        fs::write(at("looks-alike/machine.json"), "mine").unwrap();
        std::os::unix::fs::symlink(at("runs"), at("link")).unwrap();
        assert!(sweep(&at("next")).is_empty());
        assert!(at("result/trials.jsonl").exists() && !at("result").join(MARK).exists());
        assert!(at("runs/study.toml").exists() && at("x/pilot-1/study.toml").exists());
        assert!(at("x/pilot-2/study.toml").exists() && at("adopted/study.toml").exists());
        assert!(at("looks-alike/machine.json").exists());
        drop((runs, pilot_runs));
    }

    #[test]
    fn a_start_that_was_killed_in_the_folder_itself_does_not_block_it() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("case");
        killed(Case::create(&dir, resolved()).unwrap());
        assert!(Case::is_free(&dir).is_err());
        sweep(&dir);
        drop(Case::create(&dir, resolved()).unwrap());
    }

    #[test]
    fn a_folder_with_something_of_others_stays_until_that_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("case");
        killed(Case::create(&dir, resolved()).unwrap());
        // As a swap file of a session that is not undone yet.
        fs::write(dir.join("pinwise-1-2-0.swap"), "").unwrap();
        sweep(&dir);
        assert_eq!(names(&dir), [MARK, "pinwise-1-2-0.swap"]);
        fs::remove_file(dir.join("pinwise-1-2-0.swap")).unwrap();
        sweep(&dir);
        assert!(!dir.exists());
    }
}
