//! Whether the process that performs a session's acts is still there.

use crate::kernel::Kernel;
use crate::ledger::Session;

/// Whether the machine has not been rebooted since; taken for granted where a boot id is not known.
pub(crate) fn same_boot(session: &Session, kernel: &dyn Kernel) -> bool {
    let then = session.header.as_ref().map(|header| header.boot_id.as_str()).unwrap_or_default();
    let now = kernel.boot_id().unwrap_or_default();
    then.is_empty() || now.is_empty() || then == now
}

/// Whether the process that performs the session's acts is still there. One of another PID namespace cannot be seen: whether it is at
/// work, the lock of the ledgers shows.
pub(crate) fn owner_alive(session: &Session, kernel: &dyn Kernel) -> bool {
    same_boot(session, kernel)
        && sees_owner(session, kernel)
        && session.header.as_ref().is_some_and(|header| kernel.alive(&header.owner))
}

/// Whether the number of the session's process means the same process here.
pub(crate) fn sees_owner(session: &Session, kernel: &dyn Kernel) -> bool {
    let then = session.header.as_ref().and_then(|header| header.view);
    then.is_none_or(|then| kernel.process_view().is_ok_and(|now| now.sees_same_processes(&then)))
}
