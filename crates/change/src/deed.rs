//! How each act is read, done and read back: the one place that knows what an [`Act`] means to the kernel.

use std::io;

use machine::{Act, Class, Fault, ProcessRef, Scheduling, ThreadRef};

use crate::form;
use crate::kernel::Kernel;
use crate::record::Value;
use crate::refusal::refusal;

/// What an act is about, in words.
pub fn object(act: &Act) -> String {
    let thread = |thread: &ThreadRef, what: &str| match thread.tid == thread.pid {
        true => format!("process {}: {what}", thread.pid),
        false => format!("thread {} of process {}: {what}", thread.tid, thread.pid),
    };
    match act {
        Act::WriteFile { path, netns: Some(netns), .. } => format!("{} in {netns}", path.display()),
        Act::WriteFile { path, .. } => path.display().to_string(),
        Act::SetAffinity { thread: t, .. } => thread(t, "CPU affinity"),
        Act::SetScheduling { thread: t, .. } => thread(t, "scheduling"),
        Act::CreateCgroup { path } => format!("cgroup {}", path.display()),
        Act::JoinCgroup { process, .. } => format!("process {}: cgroup", process.pid),
        Act::Launch { argv } => format!("process group of {}", argv.join(" ")),
    }
}

/// What an act asks for, in words.
pub fn asked(act: &Act) -> String {
    match act {
        Act::WriteFile { value, .. } => Value::Text(value.trim_end().to_string()).to_string(),
        Act::SetAffinity { cpus, .. } => format!("CPUs {cpus}"),
        Act::SetScheduling { scheduling, .. } => scheduling_words(scheduling),
        Act::CreateCgroup { .. } => "there".into(),
        Act::JoinCgroup { path, .. } => path.display().to_string(),
        Act::Launch { .. } => "running".into(),
    }
}

/// A policy in the text form that the knob `scheduling_policy` takes.
pub fn scheduling_words(scheduling: &Scheduling) -> String {
    match scheduling {
        Scheduling::Other { nice } => format!("other:{nice}"),
        Scheduling::Batch { nice } => format!("batch:{nice}"),
        Scheduling::Idle => "idle".into(),
        Scheduling::Fifo { priority } => format!("fifo:{priority}"),
        Scheduling::RoundRobin { priority } => format!("rr:{priority}"),
    }
}

/// The thread that an act is about.
pub fn thread(act: &Act) -> Option<ThreadRef> {
    match act {
        Act::SetAffinity { thread, .. } | Act::SetScheduling { thread, .. } => Some(*thread),
        _ => None,
    }
}

/// Whether two acts change the same thing.
pub fn same_object(a: &Act, b: &Act) -> bool {
    match (a, b) {
        (Act::WriteFile { path: a, netns: a_netns, .. }, Act::WriteFile { path: b, netns: b_netns, .. }) => {
            a == b && a_netns == b_netns
        }
        (Act::SetAffinity { thread: a, .. }, Act::SetAffinity { thread: b, .. })
        | (Act::SetScheduling { thread: a, .. }, Act::SetScheduling { thread: b, .. }) => a == b,
        (Act::JoinCgroup { process: a, .. }, Act::JoinCgroup { process: b, .. }) => a == b,
        _ => false,
    }
}

/// The same act for another thread.
pub fn for_thread(act: &Act, thread: ThreadRef) -> Option<Act> {
    match act {
        Act::SetAffinity { cpus, .. } => Some(Act::SetAffinity { thread, cpus: cpus.clone() }),
        Act::SetScheduling { scheduling, .. } => Some(Act::SetScheduling { thread, scheduling: *scheduling }),
        _ => None,
    }
}

/// Whether the thread or process that an act names is still that one. Acts on files are always about what they name.
pub fn is_there(kernel: &dyn Kernel, act: &Act) -> io::Result<()> {
    let (pid, tid, start) = match act {
        Act::SetAffinity { thread: t, .. } | Act::SetScheduling { thread: t, .. } => {
            (t.pid, t.tid, t.start_time_ticks)
        }
        Act::JoinCgroup { process: ProcessRef { pid, start_time_ticks }, .. } => {
            (*pid, *pid, *start_time_ticks)
        }
        Act::WriteFile { .. } | Act::CreateCgroup { .. } | Act::Launch { .. } => return Ok(()),
    };
    match kernel.start_time(pid, tid)? == start {
        true => Ok(()),
        // The number was given to another one.
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// What there is now of the thing that an act changes.
pub fn read(kernel: &dyn Kernel, act: &Act) -> io::Result<Value> {
    is_there(kernel, act)?;
    Ok(match act {
        Act::WriteFile { path, netns, .. } => {
            Value::Text(kernel.read_file(path, netns.as_deref())?.trim_end_matches(['\n', '\0']).to_string())
        }
        Act::SetAffinity { thread, .. } => Value::Cpus(kernel.affinity(thread.pid, thread.tid)?),
        Act::SetScheduling { thread, .. } => Value::Scheduling(kernel.scheduling(thread.tid)?),
        Act::CreateCgroup { path } => {
            if kernel.is_dir(path) {
                Value::Present
            } else {
                Value::Absent
            }
        }
        Act::JoinCgroup { process, path } => {
            Value::Cgroup { path: kernel.process_cgroup(process.pid, path)?, affinity: Vec::new() }
        }
        Act::Launch { .. } => Value::Absent,
    })
}

/// What an act finds, with all that is needed to put it back.
pub fn read_old(kernel: &dyn Kernel, act: &Act) -> Result<Value, Fault> {
    let mut old = read(kernel, act).map_err(|e| refusal(act, &e))?;
    match (act, &mut old) {
        (Act::CreateCgroup { path }, Value::Present) => {
            let remedy = "choose another name: what pinwise did not make, it may not remove";
            return Err(Fault::new(Class::Usage, path.display(), "the cgroup is there already", remedy));
        }
        (Act::JoinCgroup { process, .. }, Value::Cgroup { affinity, .. }) => {
            for tid in kernel.threads(process.pid).map_err(|e| refusal(act, &e))? {
                // A thread that ends in between needs nothing put back.
                if let Ok(cpus) = kernel.affinity(process.pid, tid) {
                    affinity.push((tid, cpus));
                }
            }
        }
        (Act::SetScheduling { scheduling, .. }, Value::Scheduling(state))
            if state.is_lowered_by(&state.with(*scheduling)) && !kernel.may_raise_priority() =>
        {
            let cause = format!(
                "lowering it from {} could not be undone without CAP_SYS_NICE",
                scheduling_words(&state.scheduling)
            );
            return Err(Fault::new(
                Class::NotPermitted,
                object(act),
                cause,
                "run as root, or leave the priority as it is",
            ));
        }
        _ => {}
    }
    Ok(old)
}

/// Does it. `now` is what was read last.
pub fn act(kernel: &dyn Kernel, act: &Act, now: &Value) -> io::Result<()> {
    match (act, now) {
        (Act::WriteFile { path, value, netns }, _) => kernel.write_file(path, value, netns.as_deref()),
        (Act::SetAffinity { thread, cpus }, _) => kernel.set_affinity(thread.tid, cpus),
        (Act::SetScheduling { thread, scheduling }, Value::Scheduling(state)) => {
            kernel.set_scheduling(thread.tid, &state.with(*scheduling))
        }
        (Act::CreateCgroup { path }, _) => kernel.make_dir(path),
        (Act::JoinCgroup { process, path }, _) => kernel.join_cgroup(process.pid, path),
        _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// Puts back what was there. `now` is what was read last.
pub fn restore(kernel: &dyn Kernel, act: &Act, old: &Value, now: &Value) -> io::Result<()> {
    match (act, old, now) {
        (Act::WriteFile { path, netns, .. }, Value::Text(old), Value::Text(now)) => {
            kernel.write_file(path, &form::restoring(path, old, now), netns.as_deref())
        }
        (Act::SetAffinity { thread, .. }, Value::Cpus(cpus), _) => kernel.set_affinity(thread.tid, cpus),
        (Act::SetScheduling { thread, .. }, Value::Scheduling(old), _) => {
            kernel.set_scheduling(thread.tid, old)
        }
        (Act::CreateCgroup { path }, Value::Absent, _) => kernel.remove_dir(path),
        (Act::JoinCgroup { process, .. }, Value::Cgroup { path, affinity }, _) => {
            kernel.join_cgroup(process.pid, path)?;
            // Kernels before 6.2 forget a thread's own affinity when its cpuset changes.
            for (tid, cpus) in affinity {
                if kernel.affinity(process.pid, *tid).is_ok_and(|now| now != *cpus) {
                    kernel.set_affinity(*tid, cpus)?;
                }
            }
            Ok(())
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the ledger's old value does not fit its act")),
    }
}

/// Whether two readings of what an act changes mean the same.
pub fn same(act: &Act, a: &Value, b: &Value) -> bool {
    match (act, a, b) {
        (Act::WriteFile { path, .. }, Value::Text(a), Value::Text(b)) => form::same(path, a, b),
        (_, Value::Cgroup { path: a, .. }, Value::Cgroup { path: b, .. }) => a == b,
        _ => a == b,
    }
}

/// Whether a reading is what the act asked for.
pub fn took_effect(act: &Act, read_back: &Value) -> bool {
    match (act, read_back) {
        (Act::WriteFile { path, value, .. }, Value::Text(text)) => form::took_effect(path, value, text),
        (Act::SetAffinity { cpus, .. }, Value::Cpus(now)) => cpus == now,
        (Act::SetScheduling { scheduling, .. }, Value::Scheduling(state)) => *scheduling == state.scheduling,
        (Act::CreateCgroup { .. }, Value::Present) => true,
        (Act::JoinCgroup { path, .. }, Value::Cgroup { path: now, .. }) => path == now,
        _ => false,
    }
}

/// Whether a reading can be the work of an act whose end was never recorded.
///
/// The kernel leaves out CPUs that a thread may not use; any part of what was asked is therefore ours.
pub fn may_be_ours(act: &Act, now: &Value) -> bool {
    match (act, now) {
        (Act::SetAffinity { cpus, .. }, Value::Cpus(now)) => !now.is_empty() && now.is_subset(cpus),
        _ => took_effect(act, now),
    }
}
