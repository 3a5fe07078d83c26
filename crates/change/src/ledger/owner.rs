//! Whether the process that performs a session's acts is still there, and whether a second one undoes them where it is not.

use std::io;

use crate::kernel::Kernel;
use crate::ledger::{Session, is_followed};

/// Whether the machine has not been rebooted since; taken for granted where a boot id is not known.
pub(crate) fn same_boot(session: &Session, kernel: &dyn Kernel) -> bool {
    let then = session.header.as_ref().map(|header| header.boot_id.as_str()).unwrap_or_default();
    let now = kernel.boot_id().unwrap_or_default();
    then.is_empty() || now.is_empty() || then == now
}

/// Whether the process that performs the session's acts is seen to be still there. One of another PID namespace cannot be seen: whether it
/// is at work, the lock of the ledgers shows.
pub(crate) fn owner_alive(session: &Session, kernel: &dyn Kernel) -> bool {
    owner_runs(session, kernel) == Some(true)
}

/// The same; `None` where it could not be read (/proc, for want of descriptors or of the right to look), which does not say that it has ended.
pub(crate) fn owner_runs(session: &Session, kernel: &dyn Kernel) -> Option<bool> {
    if !same_boot(session, kernel) {
        return Some(false);
    }
    let Some(header) = &session.header else { return Some(false) };
    let is_of_here = is_of_here(session, kernel).ok()?;
    if is_of_here { kernel.sees_alive(&header.owner).ok() } else { Some(false) }
}

/// Whether its process has ended, as far as can be seen, with changes in force, and a second process is about to undo them or is at it.
pub(crate) fn is_being_taken_back(session: &Session, kernel: &dyn Kernel) -> bool {
    session.armed.is_none()
        && session.outstanding().next().is_some()
        && same_boot(session, kernel)
        && sees_owner(session, kernel)
        && !owner_alive(session, kernel)
        && is_followed(&session.path).unwrap_or(false)
}

/// Whether the number of the session's process means the same process here.
pub(crate) fn sees_owner(session: &Session, kernel: &dyn Kernel) -> bool {
    is_of_here(session, kernel).unwrap_or(false)
}

/// The same.
///
/// # Errors
/// What a number means here cannot be read now.
fn is_of_here(session: &Session, kernel: &dyn Kernel) -> io::Result<bool> {
    match session.header.as_ref().and_then(|header| header.view) {
        Some(then) => Ok(kernel.process_view()?.sees_same_processes(&then)),
        None => Ok(true),
    }
}
