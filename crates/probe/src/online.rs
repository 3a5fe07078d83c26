//! Which CPUs are online, for probes whose files list offline ones too, and for who has to know whether that changes.

mod looks;

use std::sync::Arc;

use machine::{CpuSet, Missing, Root};

use crate::rows::Rows;
#[cfg(test)]
pub(crate) use looks::tests::looks as looks_made_up;
pub(crate) use looks::{OfflineLooks, OnlineLooks};

/// The kernel's list (Documentation/admin-guide/cputopology.rst).
pub(crate) const ONLINE: &str = "/sys/devices/system/cpu/online";

/// CPUs that are online now.
pub(crate) fn online(root: &Root) -> Result<CpuSet, Missing> {
    let text = root.read(ONLINE).map_err(|e| Missing::new(ONLINE, &e.why))?;
    CpuSet::from_list(&text).map_err(|e| Missing::new(ONLINE, e))
}

/// The same for who looks again and again.
///
/// # Errors
/// It is not known whether that changes.
pub(crate) fn online_to_compare(root: &Root) -> Result<CpuSet, Missing> {
    let some = online(root).and_then(|online| match online.is_empty() {
        // One reads it.
        true => Err(Missing::new(ONLINE, "it names no CPU")),
        false => Ok(online),
    });
    some.map_err(|why| {
        let fact = "whether CPUs went offline or came online";
        Missing::new(fact, format_args!("{}: {}", why.fact, why.why))
    })
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
    // The answer stays the same object for as long as the text does, which is nearly always.
    let Known { frame, text, before, online } = &mut *known;
    let answer = into.read_into(root, ONLINE, text).and_then(|()| match online.take() {
        Some(online) if text == before => Ok(online),
        _ => parsed(text),
    });
    std::mem::swap(text, before);
    (*frame, *online) = (number, answer.as_ref().ok().cloned());
    into.remember(known);
    answer
}

fn parsed(text: &[u8]) -> Result<Arc<CpuSet>, Missing> {
    let text = String::from_utf8_lossy(text);
    CpuSet::from_list(&text).map(Arc::new).map_err(|e| Missing::new(ONLINE, e))
}

/// The set of a frame, and the text that it was read from.
#[derive(Default)]
struct Known {
    frame: usize,
    text: Vec<u8>,
    before: Vec<u8>,
    online: Option<Arc<CpuSet>>,
}
