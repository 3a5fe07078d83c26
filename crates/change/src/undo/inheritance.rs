//! Threads that were started after an act on their process, and inherited the change: no ledger names them.

use std::collections::BTreeSet;

use machine::{Act, ProcessFile, ThreadRef};

use crate::acts::{form, operation};
use crate::kernel::{Kernel, descendants};
use crate::record::{Entry, Value};

/// Whether two acts change the same thing about threads of the same process.
pub fn of_same_process(a: &Entry, b: &Entry) -> bool {
    match (operation(&a.act).thread(), operation(&b.act).thread()) {
        (Some(thread), Some(other)) => same_kind(&a.act, &b.act) && thread.pid == other.pid,
        _ => false,
    }
}

/// Restores the heirs of the acts of a session from number `from_seq` on that are of the kind of `entry` and about its process, of which
/// it is the oldest; gives how many there were.
///
/// An heir belongs to that process or a descendant of it, is named by no act in `all`, and is still as one of these acts, which it is
/// younger than, left its thread. It gets what that thread had before the first of them.
pub fn restore(kernel: &dyn Kernel, entry: &Entry, all: &[Entry], from_seq: u64) -> usize {
    if let (Act::WriteProcessFile { file: ProcessFile::Autogroup, .. }, Value::Text(old)) =
        (&entry.act, &entry.old)
    {
        return restore_session(kernel, entry, old);
    }
    let Some(of) = operation(&entry.act).thread() else { return 0 };
    let of_kind = |other: &&Entry| same_kind(&other.act, &entry.act);
    let threads = all.iter().filter(of_kind).filter_map(|other| operation(&other.act).thread());
    let known: BTreeSet<(u32, u64)> = threads.map(|thread| (thread.tid, thread.start_time_ticks)).collect();
    // A process that began after the act has only taken the number over.
    if !kernel.start_time(of.pid, of.pid).is_ok_and(|start| start <= entry.at_ticks) {
        return 0;
    }
    let acts: Vec<&Entry> =
        all.iter().filter(|other| other.seq >= from_seq && of_same_process(other, entry)).collect();
    let heirs = later_threads(kernel, of.pid, entry.at_ticks);
    let heirs = heirs.into_iter().filter(|heir| !known.contains(&(heir.tid, heir.start_time_ticks)));
    heirs.filter(|heir| restore_one(kernel, *heir, &acts)).count()
}

/// Threads of a process and its descendants that were started after a moment.
fn later_threads(kernel: &dyn Kernel, pid: u32, since_ticks: u64) -> Vec<ThreadRef> {
    let processes = kernel.processes().unwrap_or_default();
    let children = descendants(&processes, pid);
    let children =
        children.iter().filter(|child| child.start_time_ticks >= since_ticks).map(|child| child.pid);
    let threads_of = |pid: u32| {
        let tids = kernel.threads(pid).unwrap_or_default().into_iter();
        tids.filter_map(move |tid| {
            Some(ThreadRef { pid, tid, start_time_ticks: kernel.start_time(pid, tid).ok()? })
        })
    };
    let threads = std::iter::once(pid).chain(children).flat_map(threads_of);
    threads.filter(|thread| thread.start_time_ticks >= since_ticks).collect()
}

/// Restores one thread, if it is an heir of one of `acts`, oldest first. Where several left the same, the oldest is taken: which of their
/// threads started this one nobody knows any more.
fn restore_one(kernel: &dyn Kernel, heir: ThreadRef, acts: &[&Entry]) -> bool {
    let act = acts.first().and_then(|entry| operation(&entry.act).for_thread(heir));
    let Some(act) = act else { return false };
    let of_heir = operation(&act);
    let Ok(now) = of_heir.read_there(kernel) else { return false };
    let left = |entry: &&&Entry| {
        entry.at_ticks <= heir.start_time_ticks
            && operation(&entry.act).is_ours(&entry.old, entry.read_back.as_ref(), &now)
    };
    let Some(inherited) = acts.iter().find(left) else { return false };
    let of_thread = |entry: &&&Entry| operation(&entry.act).is_about_same(&inherited.act);
    let old = &acts.iter().find(of_thread).unwrap_or(inherited).old;
    !of_heir.same(&now, old) && of_heir.put_back(kernel, old, &now).is_ok()
}

/// Restores the nice value of a session whose process has ended, by way of another one in it.
fn restore_session(kernel: &dyn Kernel, entry: &Entry, old: &str) -> usize {
    let name = form::autogroup(old).map(|(name, _)| name);
    for seen in kernel.processes().unwrap_or_default() {
        let Ok(text) = kernel.read_process_file(&seen.process, ProcessFile::Autogroup) else { continue };
        let Act::WriteProcessFile { file, value, .. } = entry.act else { return 0 };
        if name.is_some() && form::autogroup(&text).map(|(name, _)| name) == name {
            let act = Act::WriteProcessFile { process: seen.process, file, value };
            return usize::from(restore_as(kernel, &act, entry));
        }
    }
    0
}

fn restore_as(kernel: &dyn Kernel, act: &Act, entry: &Entry) -> bool {
    let operation = operation(act);
    let Ok(now) = operation.read_there(kernel) else { return false };
    operation.is_ours(&entry.old, entry.read_back.as_ref(), &now)
        && !operation.same(&now, &entry.old)
        && operation.put_back(kernel, &entry.old, &now).is_ok()
}

/// Whether two acts change the same kind of thing.
fn same_kind(a: &Act, b: &Act) -> bool {
    match (a, b) {
        (Act::WriteProcessFile { file: a, .. }, Act::WriteProcessFile { file: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
