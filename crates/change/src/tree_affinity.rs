//! Confining a process that already runs: every thread of it, and of its descendants.

use std::collections::BTreeSet;

use machine::{Act, Class, CpuSet, Fault, ProcessRef, ThreadRef};
use serde::Serialize;

use crate::hand::{Hand, Receipt};
use crate::kernel::{Kernel, descendants};
use crate::procfs::says_ended;

/// How often new threads are looked for: a process that starts threads faster than that is not waited for.
const PASSES: usize = 50;

/// What came of confining a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinnedTree {
    /// One receipt a thread.
    pub receipts: Vec<Receipt>,
    /// Threads that stay where they were, and why: the kernel pins them itself (PF_NO_SETAFFINITY), or no CPU of the
    /// set is allowed to them.
    pub refused: Vec<(ThreadRef, Fault)>,
    /// Whether a last look found no thread that was new. If not, later ones may run elsewhere.
    pub settled: bool,
}

impl Hand {
    /// Sets the CPUs of every thread of `process`, and of its descendants where asked, until no new thread appears
    /// (threads inherit the affinity of the one that starts them, so that this comes to an end).
    ///
    /// Errors: the process is gone, the ledger cannot be written, or every single thread refused.
    pub fn pin_tree(
        &mut self,
        process: ProcessRef,
        cpus: &CpuSet,
        with_descendants: bool,
    ) -> Result<PinnedTree, Fault> {
        if !self.kernel.alive(&process) {
            let remedy = "check its number with ps: it may have ended, and another have got its number";
            return Err(Fault::new(
                Class::MachineLacks,
                format!("process {}", process.pid),
                "it does not run",
                remedy,
            ));
        }
        let mut tree = PinnedTree { receipts: Vec::new(), refused: Vec::new(), settled: false };
        let mut seen = BTreeSet::new();
        for _ in 0..PASSES {
            let threads = threads(&*self.kernel, process, with_descendants);
            let new: Vec<ThreadRef> = threads.into_iter().filter(|thread| seen.insert(*thread)).collect();
            if new.is_empty() {
                tree.settled = true;
                break;
            }
            for thread in new {
                self.pin_one(thread, cpus, &mut tree)?;
            }
        }
        match tree.refused.first() {
            Some((_, fault)) if tree.receipts.is_empty() => Err(fault.clone()),
            _ => Ok(tree),
        }
    }

    fn pin_one(&mut self, thread: ThreadRef, cpus: &CpuSet, tree: &mut PinnedTree) -> Result<(), Fault> {
        let act = Act::SetAffinity { thread, cpus: cpus.clone() };
        match self.perform(&act) {
            Ok(receipt) => tree.receipts.push(receipt),
            Err(fault) if fault.class == Class::Storage => return Err(fault),
            // A thread that ended meanwhile is no refusal.
            Err(_) if self.kernel.start_time(thread.pid, thread.tid).is_err_and(|e| says_ended(&e)) => {}
            Err(fault) => tree.refused.push((thread, fault)),
        }
        Ok(())
    }
}

/// Every thread of the process and, where asked, of its descendants; what ends while we look is left out.
fn threads(kernel: &dyn Kernel, process: ProcessRef, with_descendants: bool) -> Vec<ThreadRef> {
    let mut processes = vec![process];
    if with_descendants {
        processes.extend(descendants(&kernel.processes().unwrap_or_default(), process.pid));
    }
    let threads_of = |pid: u32| {
        let tids = kernel.threads(pid).unwrap_or_default().into_iter();
        tids.filter_map(move |tid| {
            Some(ThreadRef { pid, tid, start_time_ticks: kernel.start_time(pid, tid).ok()? })
        })
    };
    processes.iter().flat_map(|process| threads_of(process.pid)).collect()
}
