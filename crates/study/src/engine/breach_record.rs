//! What is on disk of a breach before its trial is: a file in the trial's folder, written while the arm is taken back.
//!
//! Until its trial is on disk pinwise takes the arm back and reads what was measured, and may be killed. Without the file the harmful arm
//! would run again.

use load::guard::Breach;
use machine::untrusted::file::read_found;
use machine::{Class, Fault, Missing, OwnFolder};
use serde::{Deserialize, Serialize};

use super::Planned;
use crate::boots::{self, Booted, Next};
use crate::case::Case;
use crate::schedule::Slot;
use crate::trial::Trial;

/// Name of the file.
const NAME: &str = "breach.json";

/// One that pinwise writes has some hundred bytes; a guard is a line of a recipe.
const MOST_BYTES: u64 = 64 << 10;

const REMEDY: &str =
    "check it; if its arm did no harm, remove the file, and 'pinwise resume' runs the trial again";

/// A trial that a guard ended, as far as it was known then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    index: usize,
    block: usize,
    position: usize,
    attempt: usize,
    arm: String,
    began_unix_s: f64,
    breach: Breach,
}

impl Record {
    /// Whether it is of the trial that would be run at `slot` of a case with so many trials.
    fn is_of(&self, case: &Case, slot: Slot) -> bool {
        let arm = case.study.arms.get(slot.arm).map(|arm| arm.name.as_str());
        let numbers = (self.index, self.block, self.position, self.attempt);
        let of_slot = (case.trials.len(), slot.block, slot.position, slot.attempt);
        numbers == of_slot && arm == Some(self.arm.as_str())
    }

    /// The trial with what is left of it.
    fn into_trial(self) -> Trial {
        let why = "pinwise was killed, or failed, when the guard had ended it and nothing was written down";
        let Self { index, block, position, attempt, arm, began_unix_s, breach } = self;
        let missing = vec![Missing::new("all figures of the trial", why)];
        let breach = Some(breach);
        Trial { index, block, position, attempt, arm, began_unix_s, breach, missing, ..Trial::default() }
    }
}

/// Writes the breach of a trial into its folder, through to the disk; `above` is the folder of all trials. The arm must not have to wait
/// for it.
///
/// # Errors
/// It cannot be written.
pub(super) fn keep(
    trial: &OwnFolder,
    above: &OwnFolder,
    planned: &Planned<'_>,
    began_unix_s: f64,
    breach: &Breach,
) -> Result<(), Fault> {
    let record = Record {
        index: planned.index,
        block: planned.block,
        position: planned.position,
        attempt: planned.attempt,
        arm: planned.arm.name.clone(),
        began_unix_s,
        breach: breach.clone(),
    };
    let path = trial.path().join(NAME);
    let bytes = serde_json::to_vec(&record)
        .map_err(|e| Fault::new(Class::Storage, path.display(), e, machine::IS_A_BUG))?;
    // The folder itself is new.
    let written = trial.replace(NAME, &bytes).and_then(|()| above.sync());
    written.map_err(|e| Fault::io(path.display(), &e, "free some space, then continue with pinwise resume"))
}

/// The trial that a guard ended and that is in no list yet: the one that would be run next, if its breach is on disk.
///
/// # Errors
/// The file is of another trial, is malformed, or cannot be read: whether its arm may run again is not known then.
pub(super) fn unlisted(case: &Case, booted: Option<&Booted>) -> Result<Option<Trial>, Fault> {
    match boots::next(&case.study, &case.trials, booted) {
        Next::Run(slot) => unlisted_at(case, slot),
        _ => Ok(None),
    }
}

/// The same, where `slot` is what would be run next.
///
/// # Errors
/// As [`unlisted`].
pub(super) fn unlisted_at(case: &Case, slot: Slot) -> Result<Option<Trial>, Fault> {
    if !case.study.recipe.has_own_traffic() {
        return Ok(None);
    }
    let dir = case.trial_dir(case.trials.len());
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let above = case.trials_folder()?;
    if !above.holds(&name) {
        return Ok(None);
    }
    let folder = above.folder(&name)?;
    if !folder.holds(NAME) {
        return Ok(None);
    }
    let record = read(&folder)?;
    match record.is_of(case, slot) {
        true => Ok(Some(record.into_trial())),
        false => Err(amiss(&folder, "it is of another trial than the one that comes next")),
    }
}

fn read(folder: &OwnFolder) -> Result<Record, Fault> {
    let path = folder.path().join(NAME);
    let bytes = read_found(&path, MOST_BYTES).map_err(|e| Fault::io(path.display(), &e, REMEDY))?;
    serde_json::from_slice(&bytes).map_err(|why| amiss(folder, &format!("malformed: {why}")))
}

fn amiss(folder: &OwnFolder, why: &str) -> Fault {
    Fault::new(Class::Storage, folder.path().join(NAME).display(), why, REMEDY)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use machine::own_folder::Reach;

    use super::*;
    use crate::arm::{Arm, Role};
    use crate::own_traffic::harm::ended_arms;
    use crate::own_traffic::harm::tests::{breach, own_traffic};

    fn planned<'a>(case: &Case, slot: Slot, arm: &'a Arm) -> Planned<'a> {
        let Slot { block, position, attempt, .. } = slot;
        Planned { index: case.trials.len(), block, position, attempt, arm, observed: false }
    }

    /// A case of which the first trials of the baseline are on disk, up to the first arm that is tried.
    fn before_an_arm(dir: &Path) -> (Case, Slot, Arm) {
        let mut case = Case::create(dir, own_traffic()).unwrap();
        loop {
            let slot = case.next().unwrap();
            let arm = case.study.arms[slot.arm].clone();
            if arm.role != Role::Baseline {
                return (case, slot, arm);
            }
            let Planned { index, block, position, attempt, .. } = planned(&case, slot, &arm);
            let trial = Trial { index, block, position, attempt, arm: arm.name, ..Trial::default() };
            case.append(trial).unwrap();
        }
    }

    /// As a guard ends a trial of the arm, up to the moment when pinwise is killed.
    fn killed(case: &Case, slot: Slot, arm: &Arm) {
        let above = case.trials_folder().unwrap();
        let folder = above.fresh_folder(&format!("{:04}", case.trials.len()), Reach::Passable).unwrap();
        keep(&folder, &above, &planned(case, slot, arm), 5.0, &breach(31_000.0)).unwrap();
    }

    fn file(case: &Case) -> std::path::PathBuf {
        case.trial_dir(case.trials.len()).join(NAME)
    }

    #[test]
    fn a_breach_that_is_in_no_list_ends_its_arm_and_is_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        let (case, slot, arm) = before_an_arm(dir.path());
        assert_eq!(unlisted(&case, None).unwrap(), None);
        killed(&case, slot, &arm);
        drop(case);

        let mut again = Case::resume(dir.path()).unwrap();
        let trial = unlisted(&again, None).unwrap().unwrap();
        assert_eq!((trial.arm.as_str(), trial.index), (arm.name.as_str(), again.trials.len()));
        assert!(trial.failed.is_none() && !trial.missing.is_empty());
        assert_eq!(trial.breach, Some(breach(31_000.0)));
        again.append(trial).unwrap();
        assert_eq!(unlisted(&again, None).unwrap(), None, "both are there now");
        assert_eq!(again.trials.iter().filter(|trial| trial.breach.is_some()).count(), 1);
        assert!(ended_arms(&again.study, &again.trials).contains_key(&slot.arm));
    }

    #[test]
    fn a_trial_that_was_merely_cut_off_runs_again() {
        let dir = tempfile::tempdir().unwrap();
        let (case, ..) = before_an_arm(dir.path());
        fs::create_dir(case.trial_dir(case.trials.len())).unwrap();
        assert_eq!(unlisted(&case, None).unwrap(), None);
    }

    #[test]
    fn what_no_pinwise_writes_is_refused_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let (case, slot, arm) = before_an_arm(dir.path());
        killed(&case, slot, &arm);
        let written = fs::read_to_string(file(&case)).unwrap();
        let refused = |content: String, words: &str| {
            fs::write(file(&case), content).unwrap();
            let fault = unlisted(&case, None).unwrap_err();
            assert!(fault.object.ends_with(NAME) && fault.cause.contains(words), "{words}: {fault}");
        };
        refused(written[..written.len() / 2].to_string(), "malformed");
        refused(written.replacen('{', "{\"more\":1,", 1), "malformed");
        refused(written.replace(&arm.name, "none of these"), "another trial");
        refused(format!("{written}{}", " ".repeat(MOST_BYTES as usize)), "longer");
        fs::remove_file(file(&case)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", file(&case)).unwrap();
        unlisted(&case, None).unwrap_err();
    }
}
