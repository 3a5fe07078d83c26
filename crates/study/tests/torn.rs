//! A recorded case one of whose files was lost: cut off, overwritten, emptied or removed. It is read all the same, the file is named
//! as missing, and the evidence, which rests on whole lines of `trials.jsonl`, stays as it was.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use pinwise_study::{Case, Facts};
use proptest::prelude::*;

/// Files that a case can do without.
const OF_THE_CASE: [&str; 4] = ["machine.json", "as_found.json", "calibration.json", "proofs.json"];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// What happens to a file.
#[derive(Debug, Clone)]
enum Loss {
    CutAt(prop::sample::Index),
    Garbage(Vec<u8>),
    Removed,
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(Loss::CutAt),
        2 => prop::collection::vec(any::<u8>(), 0..64).prop_map(Loss::Garbage),
        1 => Just(Loss::Removed),
    ]
}

fn lose(path: &Path, loss: &Loss) {
    let whole = fs::read(path).unwrap();
    match loss {
        Loss::CutAt(at) => fs::write(path, &whole[..at.index(whole.len())]).unwrap(),
        Loss::Garbage(bytes) => fs::write(path, bytes).unwrap(),
        Loss::Removed => fs::remove_file(path).unwrap(),
    }
}

/// A copy of the recorded case, its files by name, and what it says undamaged.
struct Recorded {
    folder: tempfile::TempDir,
    files: Vec<String>,
    sound: Facts,
}

impl Recorded {
    fn new() -> Self {
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases/receive-work-on-cpu-1");
        let folder = tempfile::tempdir().unwrap();
        copy(&fixture, folder.path());
        let sound = Facts::read(&Case::open(folder.path()).unwrap()).unwrap();
        let mut files: Vec<String> = OF_THE_CASE.map(String::from).to_vec();
        for seen in &sound.trials {
            let of_trial = ["observation.json", "outcome.json"].into_iter();
            files.extend(of_trial.map(|name| format!("trials/{:04}/{name}", seen.trial.index)));
        }
        files.retain(|name| folder.path().join(name).is_file());
        Self { folder, files, sound }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Reads the case after `name` was lost, and puts the file back.
    fn without(&self, name: &str, loss: &Loss) -> Facts {
        let whole = fs::read(self.path(name)).unwrap();
        lose(&self.path(name), loss);
        let facts = Facts::read(&Case::open(self.folder.path()).unwrap()).unwrap();
        fs::write(self.path(name), whole).unwrap();
        facts
    }

    fn holds(&self, name: &str, loss: &Loss) {
        let facts = self.without(name, loss);
        assert_eq!(facts.evidence, self.sound.evidence, "{name} {loss:?}");
        let of_trials = facts.trials.iter().flat_map(|seen| &seen.trial.missing);
        let named = facts.missing.iter().chain(of_trials).filter(|missing| missing.fact == name).count();
        // Nothing but the curves of a report rests on it, which reads it itself.
        let read_elsewhere = name.ends_with("outcome.json");
        // No file of proofs is a case without proofs.
        let may_be_absent = name == "proofs.json" && matches!(loss, Loss::Removed);
        assert_eq!(named, usize::from(!read_elsewhere && !may_be_absent), "{name} {loss:?}");
        let lost =
            facts.trials.iter().zip(&self.sound.trials).filter(|(a, b)| a.observation != b.observation);
        assert_eq!(lost.count(), usize::from(name.ends_with("observation.json")), "{name} {loss:?}");
    }
}

#[test]
fn files_of_the_case_itself_are_not_indispensable() {
    let recorded = Recorded::new();
    assert!(recorded.sound.missing.is_empty(), "{:?}", recorded.sound.missing);
    for name in OF_THE_CASE {
        for loss in [
            Loss::Garbage(Vec::new()),
            Loss::Garbage(b"{".to_vec()),
            Loss::Garbage(b"\xff".to_vec()),
            Loss::Removed,
        ] {
            recorded.holds(name, &loss);
        }
    }
}

#[test]
fn an_empty_observation_is_named_with_its_reason() {
    let recorded = Recorded::new();
    let facts = recorded.without("trials/0003/observation.json", &Loss::Garbage(Vec::new()));
    let missing = &facts.trials[3].trial.missing;
    assert!(
        missing.iter().any(|m| m.fact == "trials/0003/observation.json" && m.why.contains("empty")),
        "{missing:?}"
    );
}

#[test]
fn any_file_of_a_case_may_be_lost() {
    let recorded = Recorded::new();
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(at in any::<prop::sample::Index>(), loss in loss())| {
        recorded.holds(&recorded.files[at.index(recorded.files.len())], &loss);
    });
}
