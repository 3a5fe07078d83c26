//! Threads that were started after an act on their process, and inherited the change: no ledger names them.

use std::collections::BTreeSet;

use machine::{Act, ProcessFile, ThreadRef};

use crate::deed;
use crate::form;
use crate::kernel::{Kernel, descendants};
use crate::record::{Entry, Value};

/// Whether two acts change the same thing about threads of the same process.
pub fn of_same_process(a: &Entry, b: &Entry) -> bool {
    match (deed::thread(&a.act), deed::thread(&b.act)) {
        (Some(thread), Some(other)) => deed::same_kind(&a.act, &b.act) && thread.pid == other.pid,
        _ => false,
    }
}

/// Restores the heirs of an act, which is the oldest of its kind on its process; gives how many there were.
///
/// An heir belongs to that process or a descendant of it, started after the act, is named by no act in `all`, and is
/// still as the act left the thread.
pub fn restore(kernel: &dyn Kernel, entry: &Entry, all: &[Entry]) -> usize {
    if let (Act::WriteProcessFile { file: ProcessFile::Autogroup, .. }, Value::Text(old)) =
        (&entry.act, &entry.old)
    {
        return restore_session(kernel, entry, old);
    }
    let Some(of) = deed::thread(&entry.act) else { return 0 };
    let same_kind = |other: &&Entry| deed::same_kind(&other.act, &entry.act);
    let threads = all.iter().filter(same_kind).filter_map(|other| deed::thread(&other.act));
    let known: BTreeSet<(u32, u64)> = threads.map(|thread| (thread.tid, thread.start_time_ticks)).collect();
    // A process that began after the act has only taken the number over.
    if !kernel.start_time(of.pid, of.pid).is_ok_and(|start| start <= entry.at_ticks) {
        return 0;
    }
    let processes = kernel.processes().unwrap_or_default();
    let children = descendants(&processes, of.pid);
    let children =
        children.iter().filter(|child| child.start_time_ticks >= entry.at_ticks).map(|child| child.pid);
    let mut restored = 0;
    for pid in std::iter::once(of.pid).chain(children) {
        for tid in kernel.threads(pid).unwrap_or_default() {
            let Ok(start_time_ticks) = kernel.start_time(pid, tid) else { continue };
            if start_time_ticks < entry.at_ticks || known.contains(&(tid, start_time_ticks)) {
                continue;
            }
            let heir = deed::for_thread(&entry.act, ThreadRef { pid, tid, start_time_ticks });
            restored += usize::from(heir.is_some_and(|act| restore_one(kernel, &act, entry)));
        }
    }
    restored
}

fn restore_one(kernel: &dyn Kernel, act: &Act, entry: &Entry) -> bool {
    let Ok(now) = deed::read(kernel, act) else { return false };
    let ours = match &entry.read_back {
        Some(left) => deed::same(act, &now, left),
        None => deed::may_be_ours(act, &now),
    };
    ours && !deed::same(act, &now, &entry.old) && deed::restore(kernel, act, &entry.old, &now).is_ok()
}

/// Restores the nice value of a session whose process has ended, by way of another one in it.
fn restore_session(kernel: &dyn Kernel, entry: &Entry, old: &str) -> usize {
    let name = form::autogroup(old).map(|(name, _)| name);
    for seen in kernel.processes().unwrap_or_default() {
        let Ok(text) = kernel.read_process_file(&seen.process, ProcessFile::Autogroup) else { continue };
        let Act::WriteProcessFile { file, value, .. } = entry.act else { return 0 };
        if name.is_some() && form::autogroup(&text).map(|(name, _)| name) == name {
            let act = Act::WriteProcessFile { process: seen.process, file, value };
            return usize::from(restore_one(kernel, &act, entry));
        }
    }
    0
}
