//! Who is the target of programs that take stacks.

use aya::maps::{HashMap, MapData};
use machine::Missing;

use super::symbolization::Naming;
use crate::account::Target;
use crate::account::collect::target::full;

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

/// The process of a thread: Tgid of /proc/TID/status.
fn process_of(tid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    process.unwrap_or(tid)
}
