//! One writer a case: a second `resume` would run the same trials beside the first.

use std::io;
use std::path::Path;
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
/// Another process has it; the folder cannot be opened again, or its file system has no locks.
pub(super) fn take(folder: &OwnFolder) -> Result<Lock, Fault> {
    take_after(folder.path(), || folder.lock(), || sleep(REST))
}

/// The lock of `folder`, for which `lock` tries, with this rest between two tries.
fn take_after<T>(
    folder: &Path,
    mut lock: impl FnMut() -> io::Result<T>,
    mut rest: impl FnMut(),
) -> Result<T, Fault> {
    for _ in 1..TRIES {
        match lock() {
            // Whatever else keeps it from us does so after a rest, too.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => rest(),
            tried => return tried.map_err(|error| refused(folder, &error)),
        }
    }
    lock().map_err(|error| refused(folder, &error))
}

/// Why the lock cannot be had.
fn refused(folder: &Path, error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::WouldBlock => Fault::new(
            Class::Usage,
            folder.display(),
            "another pinwise is running this case",
            "wait for it, or stop it with Ctrl-C there",
        ),
        _ => Fault::io(
            format!("the lock of {}", folder.display()),
            error,
            "keep the case on a file system that has locks (flock), in a folder that you may read, and raise the limit of open files \
             if that is the cause (ulimit -n)",
        ),
    }
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
        let lock = take_after(folder.path(), || folder.lock(), || drop(held.take())).unwrap();
        let mut rests = 0;
        let refused = take_after(other.path(), || other.lock(), || rests += 1).unwrap_err();
        assert_eq!((refused.cause.as_str(), rests), ("another pinwise is running this case", TRIES - 1));
        drop(lock);
        assert!(take(&other).is_ok());
    }

    #[test]
    fn what_is_no_lock_of_another_process_is_reported_as_it_is_and_at_once() {
        let folder = Path::new("/cases/one");
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NOLCK, rustix::io::Errno::ACCESS] {
            let error = io::Error::from(errno);
            let tried = take_after(folder, || Err::<(), _>(errno.into()), || panic!("it rests"));
            let fault = tried.unwrap_err();
            assert_eq!((fault.cause.as_str(), fault.errno()), (error.to_string().as_str(), Some(errno)));
            assert!(fault.object.contains("/cases/one") && !fault.remedy.is_empty(), "{fault}");
            assert_ne!(fault.class, Class::Usage);
        }
        let would_block = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
        let held = take_after(folder, would_block, || {}).unwrap_err();
        assert!(held.class == Class::Usage && held.cause.contains("another pinwise"), "{held}");
    }
}
