//! Who is the target of programs that take stacks.

use aya::maps::{HashMap, MapData};
use machine::Missing;

use super::symbolization::Naming;
use crate::account::Target;
use crate::account::collect::target::full;

/// BPF_NOEXIST: an entry that is there stays as it is, and the kernel says so.
const NEW_ONLY: u64 = 1;

/// Names a target to the programs, and remembers where its processes have their functions.
///
/// # Errors
/// The processes or threads are more than there is room for.
pub(crate) fn want(
    wanted: &mut HashMap<MapData, u32, u32>,
    target: &Target,
    naming: &mut Naming,
) -> Result<(), Missing> {
    let (named, meant) = target.numbers();
    for number in named {
        wanted.insert(number, meant, 0).map_err(full)?;
        naming.remember(process_of(*number));
    }
    Ok(())
}

/// Names a process that came to the target later. Returns whether the programs did not know it yet.
///
/// # Errors
/// There is no room for it.
pub(super) fn want_too(wanted: &mut HashMap<MapData, u32, u32>, pid: u32) -> Result<bool, Missing> {
    let (_, meant) = Target::Processes(Vec::new()).numbers();
    match wanted.insert(pid, meant, NEW_ONLY) {
        Ok(()) => Ok(true),
        Err(why) if wanted.get(&pid, 0).is_err() => Err(full(why)),
        Err(_) => Ok(false),
    }
}

/// The process of a thread: Tgid of /proc/TID/status.
fn process_of(tid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    process.unwrap_or(tid)
}
