//! Rebooting the machine: the one change that no ledger undoes, so that it needs an explicit request.

use machine::{Class, Fault};

use crate::kernel::program;

/// Has systemd reboot the machine. Returns at once; this process is ended with all others.
///
/// # Errors
/// systemctl(1) is not installed, or refuses.
pub fn reboot() -> Result<(), Fault> {
    rustix::fs::sync();
    program::run("systemctl", &["reboot"])
        .map(drop)
        .map_err(|e| Fault::new(Class::MachineLacks, "systemctl reboot", e, "reboot the machine manually"))
}
