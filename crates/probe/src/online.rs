//! Which CPUs are online, for probes whose files list offline ones too.

use machine::{CpuSet, Missing, Root};

/// The kernel's list (Documentation/admin-guide/cputopology.rst).
pub(crate) const ONLINE: &str = "/sys/devices/system/cpu/online";

/// CPUs that are online now.
pub(crate) fn online(root: &Root) -> Result<CpuSet, Missing> {
    let text = root.read(ONLINE).map_err(|e| Missing::new(ONLINE, &e.why))?;
    CpuSet::from_list(&text).map_err(|e| Missing::new(ONLINE, e))
}
