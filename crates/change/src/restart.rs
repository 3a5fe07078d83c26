//! Starting the machine again: the one change that no ledger takes back, so that only who was asked to by name does it.

use machine::{Class, Fault};

use crate::kernel::program;

/// Has systemd end everything and start the machine again. Returns at once; this process is ended with all others.
///
/// Errors: systemctl is not there, or refuses.
pub fn restart() -> Result<(), Fault> {
    rustix::fs::sync();
    program::run("systemctl", &["reboot"])
        .map(drop)
        .map_err(|e| Fault::new(Class::MachineLacks, "systemctl reboot", e, "restart the machine by hand"))
}
