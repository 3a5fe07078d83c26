//! Which CPUs are online, for probes whose files list offline ones too.

use std::sync::Arc;

use machine::{CpuSet, Missing, Root};

use crate::rows::Rows;

/// The kernel's list (Documentation/admin-guide/cputopology.rst).
pub(crate) const ONLINE: &str = "/sys/devices/system/cpu/online";

/// CPUs that are online now.
pub(crate) fn online(root: &Root) -> Result<CpuSet, Missing> {
    let text = root.read(ONLINE).map_err(|e| Missing::new(ONLINE, &e.why))?;
    CpuSet::from_list(&text).map_err(|e| Missing::new(ONLINE, e))
}

/// The same in the frame that is open, read once for all probes.
pub(crate) fn online_now(root: &Root, into: &mut Rows) -> Result<Arc<CpuSet>, Missing> {
    let number = into.frame_number();
    let mut known = into.recall::<Known>();
    if let Some(online) = known.online.as_ref().filter(|_| known.frame == number) {
        let online = online.clone();
        into.remember(known);
        return Ok(online);
    }
    let text = into.read(root, ONLINE)?;
    let online = Arc::new(CpuSet::from_list(&text).map_err(|e| Missing::new(ONLINE, e))?);
    (known.frame, known.online) = (number, Some(online.clone()));
    into.remember(known);
    Ok(online)
}

/// The set of a frame.
#[derive(Default)]
struct Known {
    frame: usize,
    online: Option<Arc<CpuSet>>,
}
