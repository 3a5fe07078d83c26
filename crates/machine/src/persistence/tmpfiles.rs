//! Lines of tmpfiles.d(5): `w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise`.

use super::Line;
use crate::processes::has_systemd;
use crate::{PlatformFile, Root};

/// Why interrupts are not kept.
pub(super) const NUMBERS: &str = "interrupts get new numbers at every boot, and no file of the platform sets them by device; apply the plan again after each boot \
     (--banmod in the settings of irqbalance keeps it off the interrupts of a driver)";

/// The line for any file of the kernel whose path is the same after a reboot.
pub(super) fn line(root: &Root, session: &str, path: &str, value: &str) -> Result<Line, String> {
    let text = tmpfiles_text(path, value)?;
    if !has_systemd(root) {
        return Err("systemd, whose tmpfiles.d would write such files at boot, does not run here".into());
    }
    let file = PlatformFile::Tmpfiles { session: session.into() };
    Ok(Line { file, lines: vec![text] })
}

/// The text of the line for a file of the kernel. Errors: why there is none.
pub fn tmpfiles_text(path: &str, value: &str) -> Result<String, String> {
    passes(path)?;
    // In tmpfiles.d, percent signs begin specifiers and backslashes begin escapes.
    let value = value.trim().replace('%', "%%").replace('\\', "\\\\");
    if path.contains(['%', ' ', '"', '\\', '*', '?', '[']) {
        return Err(format!("tmpfiles.d cannot name {path} literally"));
    }
    Ok(format!("w {path} - - - - {value}"))
}

/// Whether the path names the same file after a reboot. The error says why not.
fn passes(path: &str) -> Result<(), String> {
    let irq = path.strip_prefix("/proc/irq/").and_then(|rest| rest.split('/').next());
    if irq.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(NUMBERS.into());
    }
    match path.starts_with("/sys/fs/cgroup/") {
        true => {
            Err("cgroups are created anew at each boot; set it for the unit or container that creates it"
                .into())
        }
        false => Ok(()),
    }
}
