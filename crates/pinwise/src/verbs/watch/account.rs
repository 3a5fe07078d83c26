//! The account of what was counted, with what is left out of it.

use machine::{CpuSet, Machine, Missing, Root};
use probe::account::{Account, Counting, Names, Nearness, Snapshot};

use super::new_processes::NewProcesses;
use super::target::Watched;

/// What was counted up to now, by name and with how near the target's memory is; on these CPUs alone if any are named.
pub(in crate::verbs) fn account(
    counting: &mut Counting,
    new_processes: &NewProcesses,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    cpus: Option<&CpuSet>,
) -> Account {
    let snapshot = counting.read();
    let account = of_snapshot(snapshot, counting, &mut Names::of(machine), new_processes, watched, cpus);
    let nearness = Nearness::read(root, machine, || watched.processes_now(root), &account.cpus);
    account.with_nearness(nearness)
}

/// The same of the last reading of a counting, without how near memory is: for one of many, of which `names` learns from each.
pub(super) fn of_snapshot(
    snapshot: Snapshot,
    counting: &Counting,
    names: &mut Names,
    new_processes: &NewProcesses,
    watched: &Watched,
    cpus: Option<&CpuSet>,
) -> Account {
    let snapshot = match cpus {
        Some(cpus) => snapshot.on(cpus),
        None => snapshot,
    };
    names.learn(&snapshot);
    let not_counted = not_counted(counting, new_processes, watched);
    let account = Account::of(&snapshot, watched.is_everything(), names, &not_counted);
    counting.with_counted(account, cpus)
}

/// What is left out from the beginning: what the kernel cannot count, processes that could not be added, and what the flags exclude.
fn not_counted(counting: &Counting, new_processes: &NewProcesses, watched: &Watched) -> Vec<Missing> {
    let missing = counting.missing().iter().chain(new_processes.refused()).cloned();
    missing.chain(watched.elsewhere()).collect()
}
