//! What an act is about: which thread, whether it is still there, and whether another act is about the same.

use std::io;
use std::path::Path;

use machine::{Act, GuestPin, PinScope, ProcessFile, ProcessRef, ThreadRef};

use crate::form;
use crate::kernel::Kernel;
use crate::pktgen;

/// The thread that an act is about, whose children inherit the change; the first one of a process for what holds for all
/// of it.
pub fn thread(act: &Act) -> Option<ThreadRef> {
    match act {
        Act::SetAffinity { thread, .. }
        | Act::SetScheduling { thread, .. }
        | Act::SetIoPriority { thread, .. }
        | Act::SetUtilClamp { thread, .. } => Some(*thread),
        Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, .. } => {
            let ProcessRef { pid, start_time_ticks } = *process;
            Some(ThreadRef { pid, tid: pid, start_time_ticks })
        }
        _ => None,
    }
}

/// The process that is told of an act by another one of the same setting, and keeps its hands off.
pub fn who_is_told(act: &Act) -> Option<u32> {
    match act {
        Act::SetIrqBan { process, banned: true, .. } => Some(process.pid),
        _ => None,
    }
}

/// Whether two acts change the same kind of thing.
pub fn same_kind(a: &Act, b: &Act) -> bool {
    match (a, b) {
        (Act::WriteProcessFile { file: a, .. }, Act::WriteProcessFile { file: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Whether two acts change the same thing; files that set each other to 0 are one.
pub fn same_object(this: &Act, other: &Act) -> bool {
    match (this, other) {
        (Act::WriteFile { path: a, netns: a_netns, .. }, Act::WriteFile { path: b, netns: b_netns, .. }) => {
            a_netns == b_netns && (a == b || form::twin(a).as_ref() == Some(b))
        }
        (Act::SetAffinity { thread: a, .. }, Act::SetAffinity { thread: b, .. })
        | (Act::SetScheduling { thread: a, .. }, Act::SetScheduling { thread: b, .. })
        | (Act::SetIoPriority { thread: a, .. }, Act::SetIoPriority { thread: b, .. })
        | (Act::SetUtilClamp { thread: a, .. }, Act::SetUtilClamp { thread: b, .. }) => a == b,
        (Act::WriteProcessFile { process: a, .. }, Act::WriteProcessFile { process: b, .. }) => {
            same_kind(this, other) && a == b
        }
        (Act::JoinCgroup { process: a, .. }, Act::JoinCgroup { process: b, .. })
        | (Act::MigratePages { process: a, .. }, Act::MigratePages { process: b, .. }) => a == b,
        (Act::PlaceFile { file: a, .. }, Act::PlaceFile { file: b, .. }) => a == b,
        (Act::AddBootWords { .. }, Act::AddBootWords { .. }) => true,
        (Act::AttachPktgen { cpu: a, .. }, Act::AttachPktgen { cpu: b, .. }) => a == b,
        (Act::SwapOn { path: a }, Act::SwapOn { path: b }) => a == b,
        (
            Act::SetEthtool { device: a, netns: a_netns, setting: a_setting },
            Act::SetEthtool { device: b, netns: b_netns, setting: b_setting },
        ) => (a, a_netns, a_setting.topic()) == (b, b_netns, b_setting.topic()),
        (Act::SetIrqBan { process: a, irq: a_irq, .. }, Act::SetIrqBan { process: b, irq: b_irq, .. }) => {
            (a, a_irq) == (b, b_irq)
        }
        (Act::PinGuest { pin: a, .. }, Act::PinGuest { pin: b, .. }) => a == b,
        (Act::HoldLatency { .. }, Act::HoldLatency { .. }) => true,
        _ => false,
    }
}

/// Whether taking `act` back has to wait until `later`, of another session, is taken back.
pub fn is_held_by(act: &Act, later: &Act) -> bool {
    match (act, later) {
        // Each holder is a request of its own.
        (Act::HoldLatency { .. }, _) => false,
        // irqbalance would move what the later one has put there.
        (Act::SetIrqBan { irq, .. }, Act::WriteFile { path, .. }) => {
            path.starts_with(format!("/proc/irq/{irq}"))
        }
        _ => same_object(act, later),
    }
}

/// The same act for another thread.
pub fn for_thread(act: &Act, thread: ThreadRef) -> Option<Act> {
    match act {
        Act::SetAffinity { cpus, .. } => Some(Act::SetAffinity { thread, cpus: cpus.clone() }),
        Act::SetScheduling { scheduling, .. } => Some(Act::SetScheduling { thread, scheduling: *scheduling }),
        Act::SetIoPriority { priority, .. } => Some(Act::SetIoPriority { thread, priority: *priority }),
        Act::SetUtilClamp { clamp, .. } => Some(Act::SetUtilClamp { thread, clamp: *clamp }),
        // Holds for the whole process, which its first thread stands for.
        Act::WriteProcessFile { file, value, .. } if thread.tid == thread.pid => {
            let process = ProcessRef { pid: thread.pid, start_time_ticks: thread.start_time_ticks };
            Some(Act::WriteProcessFile { process, file: *file, value: *value })
        }
        _ => None,
    }
}

/// Whether the thread or process that an act names is still that one. Acts on files are always about what they name.
pub fn is_there(kernel: &dyn Kernel, act: &Act) -> io::Result<()> {
    let (pid, tid, start) = match act {
        Act::SetAffinity { thread: t, .. }
        | Act::SetScheduling { thread: t, .. }
        | Act::SetIoPriority { thread: t, .. }
        | Act::SetUtilClamp { thread: t, .. } => (t.pid, t.tid, t.start_time_ticks),
        Act::JoinCgroup { process: ProcessRef { pid, start_time_ticks }, .. }
        | Act::MigratePages { process: ProcessRef { pid, start_time_ticks }, .. }
        | Act::WriteProcessFile { process: ProcessRef { pid, start_time_ticks }, .. }
        | Act::SetIrqBan { process: ProcessRef { pid, start_time_ticks }, .. } => {
            (*pid, *pid, *start_time_ticks)
        }
        Act::PinGuest { pin: GuestPin { scope: PinScope::Running { process }, .. }, .. } => {
            (process.pid, process.pid, process.start_time_ticks)
        }
        Act::WriteFile { .. }
        | Act::PinGuest { .. }
        | Act::CreateCgroup { .. }
        | Act::AttachPktgen { .. }
        | Act::MakeNetnsPair { .. }
        | Act::MakeSwapFile { .. }
        | Act::SwapOn { .. }
        | Act::PlaceFile { .. }
        | Act::AddBootWords { .. }
        | Act::Launch { .. }
        | Act::SetEthtool { .. }
        | Act::HoldLatency { .. } => {
            return Ok(());
        }
    };
    match kernel.start_time(pid, tid)? == start {
        true => Ok(()),
        // The number was given to another one.
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// Whether an error about an act means that what the act changed is not there any more, and not merely that it cannot be had at the
/// moment: drivers answer ENODEV for a device that is there and sleeps, and the folder to go back to may be missing.
///
/// # Errors
/// Why that cannot be determined.
pub fn is_gone(kernel: &dyn Kernel, act: &Act, error: &io::Error) -> io::Result<bool> {
    let absent = |path: &Path, netns: Option<&str>| match says_ended(error)
        || error.raw_os_error() == Some(libc::ENODEV)
    {
        true => kernel.exists(path, netns).map(|there| !there),
        false => Ok(false),
    };
    match act {
        Act::WriteFile { path, netns, .. } => absent(path, netns.as_deref()),
        Act::CreateCgroup { path } => absent(path, None),
        // The module was taken out.
        Act::AttachPktgen { cpu, .. } => absent(&pktgen::thread_file(*cpu), None),
        Act::SetEthtool { device, netns, .. } => {
            absent(&Path::new("/sys/class/net").join(device), netns.as_deref())
        }
        Act::PinGuest { pin: GuestPin { scope: PinScope::Definition, .. }, .. } => Ok(says_ended(error)),
        // The kernel knows no such thread, or it is another one by now.
        _ if error.raw_os_error() == Some(libc::ESRCH) => Ok(true),
        _ => Ok(says_ended(error) && is_there(kernel, act).is_err_and(|error| says_ended(&error))),
    }
}

/// Whether an error about a process or thread says that it has ended.
pub fn says_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}
