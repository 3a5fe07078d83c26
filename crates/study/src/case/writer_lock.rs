//! One writer a case: a second `resume` would run the same trials beside the first.

use std::thread::sleep;
use std::time::Duration;

use machine::own_folder::Lock;
use machine::{Class, Fault, OwnFolder};

/// How often the lock is tried for: whoever only looks whether a case is being run has it for a moment.
const TRIES: u32 = 5;

/// The rest between two tries.
const REST: Duration = Duration::from_millis(20);

/// Takes the lock of a case.
///
/// # Errors
/// Another process has it.
pub(super) fn take(folder: &OwnFolder) -> Result<Lock, Fault> {
    take_after(folder, || sleep(REST))
}

/// As [`take`], with this rest between two tries.
fn take_after(folder: &OwnFolder, mut rest: impl FnMut()) -> Result<Lock, Fault> {
    for _ in 1..TRIES {
        if let Ok(lock) = folder.lock() {
            return Ok(lock);
        }
        rest();
    }
    folder.lock().map_err(|_| {
        Fault::new(
            Class::Usage,
            folder.path().display(),
            "another pinwise is running this case",
            "wait for it, or stop it with Ctrl-C there",
        )
    })
}

#[cfg(test)]
mod tests {
    use machine::own_folder::Reach;

    use super::*;

    #[test]
    fn who_only_looked_keeps_nobody_from_the_case_and_who_runs_it_does() {
        let above = tempfile::tempdir().unwrap();
        let folder = OwnFolder::make(&above.path().join("case"), Reach::Owner).unwrap();
        let other = OwnFolder::open(folder.path()).unwrap();
        let mut held = Some(other.lock().unwrap());
        let lock = take_after(&folder, || drop(held.take())).unwrap();
        let mut rests = 0;
        let refused = take_after(&other, || rests += 1).unwrap_err();
        assert_eq!((refused.cause.as_str(), rests), ("another pinwise is running this case", TRIES - 1));
        drop(lock);
        assert!(take(&other).is_ok());
    }
}
