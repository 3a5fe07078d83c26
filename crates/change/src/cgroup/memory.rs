//! What keeps a launched process, and all that it starts, within so much memory.

use std::path::Path;

use machine::{Class, Fault};

use super::placement::{self, Place};
use crate::executor::Hand;
use crate::kernel::processes::launch::MemoryLimit;

/// The controller, and what to do without it.
pub(crate) const WANTED: (&str, &str) = (
    "memory",
    "mount a cgroup hierarchy with the memory controller (cgroup_enable=memory), or leave the limit out",
);

/// Files of memory and swap, by version.
const FILES_V1: [&str; 2] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
const FILES_V2: [&str; 2] = ["memory.max", "memory.swap.max"];

/// Gives the new cgroup `path` that limit.
///
/// Errors: a file rejects it; no swap at all is requested, and this kernel does not limit swap.
pub(crate) fn limit(hand: &mut Hand, place: &Place, path: &Path, limit: &MemoryLimit) -> Result<(), Fault> {
    let remedy = "choose a multiple of the page size, above what the cgroup uses";
    let [memory, swap] = if place.v1 { FILES_V1 } else { FILES_V2 };
    placement::write(hand, path.join(memory), limit.memory_bytes.to_string(), remedy)?;
    let Some(swap_bytes) = limit.swap_bytes else { return Ok(()) };
    let file = path.join(swap);
    let there = hand.kernel.exists(&file, None);
    match (there.map_err(|e| Fault::io(file.display(), &e, "check that it is mounted"))?, swap_bytes) {
        (true, _) => {
            // Version 1 limits both together.
            let value = if place.v1 { limit.memory_bytes + swap_bytes } else { swap_bytes };
            placement::write(hand, file, value.to_string(), remedy)
        }
        (false, 0) => {
            let cause = "this kernel does not limit the swap of a cgroup (CONFIG_SWAP, swapaccount=1)";
            let remedy = "switch all swap off for the study, or leave server.swap_mb out";
            Err(Fault::new(Class::MachineLacks, file.display(), cause, remedy))
        }
        // Then the area is the limit.
        (false, _) => Ok(()),
    }
}
