//! Hosts that are reached now: the capture of each comes over the wire, is read, and stays where the user wants it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use advise::environment::Captured;
use hosts::{HostSpec, survey};
use machine::own_folder::Reach;
use machine::{Fault, OwnFolder};

use super::gathered::Gathered;
use crate::run_case::own_binary;
use crate::verbs::compare::machine_at;

/// Reads all hosts, `at_most` at the same time; their captures are kept in the folder `keep`.
///
/// # Errors
/// The list of hosts makes no sense, a folder cannot be made, or a signal stopped it.
pub(super) fn read_all(
    hosts: &[HostSpec],
    keep: Option<&Path>,
    at_most: usize,
    interrupted: &AtomicBool,
    gathered: &Gathered,
) -> Result<(), Fault> {
    let kept = match keep {
        Some(folder) => Kept::In(OwnFolder::make(folder, Reach::Everybody)?),
        None => Kept::Briefly(Scratch::make()?),
    };
    let take = |host: &str, capture: Result<Vec<u8>, Fault>| {
        gathered.take(host, capture.and_then(|capture| kept.read(host, &capture)));
    };
    survey::captures(hosts, &own_binary()?, at_most, interrupted, &take)
}

/// Where captures go: they are read from files.
enum Kept {
    /// The user's folder.
    In(OwnFolder),
    /// Each goes once it was read.
    Briefly(Scratch),
}

impl Kept {
    fn read(&self, host: &str, capture: &[u8]) -> Result<Captured, Fault> {
        let folder = match self {
            Self::In(folder) => folder,
            Self::Briefly(scratch) => &scratch.folder,
        };
        // The name of a host has no slash: the survey has checked it.
        let name = format!("{host}.tar.zst");
        let path = folder.path().join(&name);
        let remedy = "free some space, or choose another folder with --captures";
        folder.replace(&name, capture).map_err(|e| Fault::io(path.display(), &e, remedy))?;
        let read = machine_at(&path);
        if matches!(self, Self::Briefly(_)) {
            let _ = folder.remove(&name);
        }
        read
    }
}

/// A temporary folder of our own, which goes with this.
struct Scratch {
    folder: OwnFolder,
}

impl Scratch {
    fn make() -> Result<Self, Fault> {
        let unique = format!("pinwise-fleet-{}-{}", std::process::id(), load::monotonic_ns());
        let path = std::env::temp_dir().join(unique);
        Ok(Self { folder: OwnFolder::make(&path, Reach::Owner)? })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.folder.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> Vec<u8> {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/two-node-smt/capture.tar.zst");
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_capture_is_kept_where_the_user_wants_it_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        let kept = Kept::In(OwnFolder::make(&taken, Reach::Everybody).unwrap());
        assert!(!kept.read("web1", &capture()).unwrap().machine.cpus.is_empty());
        assert_eq!(std::fs::read(taken.join("web1.tar.zst")).unwrap(), capture());

        let scratch = Scratch::make().unwrap();
        let path = scratch.folder.path().to_path_buf();
        let briefly = Kept::Briefly(scratch);
        assert!(!briefly.read("web1", &capture()).unwrap().machine.cpus.is_empty());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        drop(briefly);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_host_sends_that_is_no_capture_is_a_fault_of_that_host() {
        let kept = Kept::Briefly(Scratch::make().unwrap());
        let fault = kept.read("web1", b"no archive").unwrap_err().to_string();
        assert!(fault.contains("web1.tar.zst"), "{fault}");
    }
}
