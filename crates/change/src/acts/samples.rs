//! For the tests that cover every kind of act: samples, the emulated machine that they are performed on, and what has to be known of each.
//!
//! Every kind says this beside what it means to the kernel, so that no test has a list of kinds of its own.

use std::path::PathBuf;

use machine::{Act, Fault, ProcessRef, ThreadRef};

use super::{SAMPLES, operation};
use crate::executor::{Hand, Receipt};
use crate::kernel::EmulatedKernel;
use crate::kernel::emulated::{EmulatedState, EmulatedThread};
use crate::launch::Launch;

/// "Operation is not supported", of the kernel alone (include/linux/errno.h).
pub(super) const ENOTSUPP: i32 = 524;

/// What files on disks may be refused with.
pub(super) const ERRNOS_OF_DISKS: &[i32] = &[
    libc::EDQUOT,
    libc::EEXIST,
    libc::EFBIG,
    libc::EIO,
    libc::ENOENT,
    libc::ENOSPC,
    libc::ENOTDIR,
    libc::EROFS,
];

/// What the scheduler may refuse (kernel/sched/syscalls.c).
pub(super) const ERRNOS_OF_SCHEDULER: &[i32] = &[libc::EBUSY, libc::EINVAL, libc::ESRCH, libc::E2BIG];

/// What requests to sockets and tools may be refused with; those say in words why.
pub(super) const ERRNOS_OF_TOOLS: &[i32] =
    &[libc::EAGAIN, libc::EBUSY, libc::EINVAL, libc::EIO, libc::ENOENT, libc::ESRCH, libc::ETIMEDOUT];

/// What the start of a process may be refused with.
pub(super) const ERRNOS_OF_STARTS: &[i32] = &[libc::EAGAIN, libc::EINVAL, libc::ENOENT];

/// The process that acts change.
const SERVER: u32 = 50;

/// What the tests that cover every kind have to know of an act.
pub trait Sampled {
    /// What distinguishes it from other samples of its kind, as the table of docs/undo.md says it.
    fn variety(&self) -> Option<String> {
        None
    }

    /// The numbers that the kernel may refuse it with, by its source, beside those that every act may meet.
    fn errnos(&self) -> &'static [i32];

    /// Whether a refusal of it may say that a process has ended.
    fn is_of_process(&self) -> bool {
        false
    }

    /// Adds what an earlier act would have made.
    fn prepare(&self, _state: &mut EmulatedState) {}

    /// The file that it writes, where the kernel may do a part of that; `None` where the kernel does all or nothing.
    fn in_part(&self) -> Option<InPart> {
        None
    }

    /// Whether its object is renamed with its interface.
    fn is_renamed_with_interface(&self) -> bool {
        false
    }

    /// Changes its object as another program would; false where no other program can.
    fn change_by_others(&self, state: &mut EmulatedState) -> bool;

    /// Removes what it changed; false where that cannot go.
    fn remove(&self, kernel: &EmulatedKernel) -> bool;
}

/// A file in which the kernel may set less than it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPart {
    /// Its path.
    pub path: PathBuf,
    /// What it reads when the act was done in part.
    pub done: &'static str,
    /// What it reads when that was undone.
    pub undone: &'static str,
}

/// What the tests that cover every kind have to know of this act.
pub fn of(act: &Act) -> Box<dyn Sampled + '_> {
    operation(act)
}

/// Performs an act; `None` for one that starts a process, which outlives us as one that ignores our death would.
///
/// Errors: those of [`Hand::perform`] and [`Hand::launch`].
pub fn perform(hand: &mut Hand, act: &Act) -> Result<Option<Receipt>, Fault> {
    match act {
        Act::Launch { argv } => {
            let launch = Launch { argv: argv.clone(), ..Launch::default() };
            std::mem::forget(hand.launch(&launch)?);
            Ok(None)
        }
        _ => hand.perform(act).map(Some),
    }
}

/// An emulated machine that offers something to every act, and those acts.
#[derive(Debug)]
pub struct Machine {
    /// The machine.
    pub kernel: EmulatedKernel,
    /// A process that acts change.
    pub server: ProcessRef,
    /// The first thread of that process.
    pub first: ThreadRef,
    /// Its second thread.
    pub second: ThreadRef,
    acts: Vec<Act>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// The machine before any act.
    pub fn new() -> Self {
        let kernel = EmulatedKernel::new();
        let server = kernel.add_process(SERVER, 1);
        let ProcessRef { pid, start_time_ticks } = server;
        let first = ThreadRef { pid, tid: pid, start_time_ticks };
        let second = kernel.add_thread(pid, pid + 1);
        let mut machine = Self { kernel, server, first, second, acts: Vec::new() };
        let acts = SAMPLES.iter().flat_map(|acts| acts(&machine)).collect();
        machine.acts = acts;
        machine
    }

    /// The machine with what the act needs and an earlier one would have made: a cgroup, a swap file.
    pub fn for_act(act: &Act) -> Self {
        let machine = Self::new();
        let mut state = machine.kernel.state();
        of(act).prepare(&mut state);
        machine.kernel.set_state(state);
        machine
    }

    /// Acts of every kind, in an order in which they can be performed.
    pub fn acts(&self) -> Vec<Act> {
        self.acts.clone()
    }

    /// Performs them all.
    ///
    /// Panics where one is refused, or does not take effect.
    pub fn perform_all(&self, hand: &mut Hand) {
        for act in &self.acts {
            match perform(hand, act) {
                Ok(Some(receipt)) => assert!(receipt.took_effect, "{act:?} reads {:?}", receipt.read_back),
                Ok(None) => {}
                Err(fault) => panic!("{act:?}: {fault}"),
            }
        }
    }
}

/// Changes a thread as another program would; false where it is not there.
pub(super) fn alter_thread(
    state: &mut EmulatedState,
    tid: u32,
    change: impl FnOnce(&mut EmulatedThread),
) -> bool {
    state.threads.get_mut(&tid).map(change).is_some()
}

/// Ends a thread.
pub(super) fn end_thread(kernel: &EmulatedKernel, tid: u32) -> bool {
    kernel.remove_thread(tid);
    true
}

/// Ends a process with its second thread.
pub(super) fn end_process(kernel: &EmulatedKernel, pid: u32) -> bool {
    kernel.remove_thread(pid + 1);
    end_thread(kernel, pid)
}

/// Changes the machine; whether it is another one then.
pub(super) fn alter(kernel: &EmulatedKernel, change: impl FnOnce(&mut EmulatedState)) -> bool {
    let before = kernel.state();
    let mut now = before.clone();
    change(&mut now);
    let is_altered = now != before;
    kernel.set_state(now);
    is_altered
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_of_act_has_a_sample() {
        let kind = |act: &Act| serde_json::to_value(act).unwrap()["act"].as_str().map(String::from).unwrap();
        let sampled: BTreeSet<String> = Machine::new().acts().iter().map(kind).collect();
        // serde lists the kinds when it is given an unknown one.
        let error = serde_json::from_str::<Act>(r#"{"act": "none of them"}"#).unwrap_err().to_string();
        let (_, known) = error.split_once("expected one of").unwrap();
        let known: BTreeSet<String> = known.split('`').skip(1).step_by(2).map(String::from).collect();
        assert_eq!(sampled, known);
    }
}
