//! How each act is read, done and read back: the one place that knows what an [`Act`] means to the kernel.

use std::io;
use std::path::Path;

use machine::{
    Act, Class, Fault, GuestPin, IoPriority, PinScope, PlatformFile, ProcessFile, ProcessRef, Scheduling,
    ThreadRef,
};

use crate::form;
use crate::hold;
use crate::irq_bans;
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
        Act::SetIoPriority { thread: t, .. } => thread(t, "rank of disk requests"),
        Act::SetUtilClamp { thread: t, .. } => thread(t, "utilization clamp"),
        Act::WriteProcessFile { process, file, .. } => format!("process {}: {}", process.pid, file.name()),
        Act::CreateCgroup { path } => format!("cgroup {}", path.display()),
        Act::JoinCgroup { process, .. } => format!("process {}: cgroup", process.pid),
        Act::PlaceFile { file, .. } => place(file),
        Act::Launch { argv } => format!("process group of {}", argv.join(" ")),
        Act::SetEthtool { device, netns, setting } => {
            let within = netns.as_ref().map(|netns| format!(" in {netns}")).unwrap_or_default();
            format!("{} of {device}{within}", setting.topic())
        }
        Act::PinGuest { pin, .. } => pin.to_string(),
        Act::HoldLatency { .. } => "exit latency of idle CPUs".into(),
        Act::SetIrqBan { process, irq, .. } => format!("irqbalance (process {}): IRQ {irq}", process.pid),
    }
}

/// Where a file of the platform lies, in words.
pub fn place(file: &PlatformFile) -> String {
    file.path()
        .map_or_else(|| "a file of a name that there cannot be".into(), |path| path.display().to_string())
}

/// What an act asks for, in words.
pub fn asked(act: &Act) -> String {
    match act {
        Act::WriteFile { value, .. } => Value::Text(value.trim_end().to_string()).to_string(),
        Act::SetAffinity { cpus, .. } | Act::PinGuest { cpus, .. } => format!("CPUs {cpus}"),
        Act::SetScheduling { scheduling, .. } => scheduling_words(scheduling),
        Act::SetIoPriority { priority, .. } => priority.to_string(),
        Act::SetUtilClamp { clamp, .. } => Value::UtilClamp(*clamp).to_string(),
        Act::WriteProcessFile { value, .. } => value.to_string(),
        Act::CreateCgroup { .. } => "there".into(),
        Act::JoinCgroup { path, .. } => path.display().to_string(),
        Act::PlaceFile { content, .. } => format!("{} lines", content.lines().count()),
        Act::Launch { .. } => "running".into(),
        Act::SetEthtool { setting, .. } => setting.to_string(),
        Act::SetIrqBan { banned, .. } => irq_bans::words(*banned).into(),
        Act::HoldLatency { limit_us } => hold::words(*limit_us),
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
        (Act::JoinCgroup { process: a, .. }, Act::JoinCgroup { process: b, .. }) => a == b,
        (Act::PlaceFile { file: a, .. }, Act::PlaceFile { file: b, .. }) => a == b,
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

/// What goes on as a file of the platform had it started although the file is gone.
pub fn still_in_force(act: &Act) -> Option<String> {
    match act {
        Act::PlaceFile {
            file: PlatformFile::UnitDropIn { unit, .. } | PlatformFile::UnitStart { unit, .. },
            ..
        } => Some(format!("what {unit} has started with it keeps it until: systemctl restart {unit}")),
        Act::PlaceFile { file: PlatformFile::GrubDefaults, .. } => {
            Some("a kernel that was started with it keeps it until the next start".into())
        }
        Act::PinGuest { pin, .. } if pin.scope == PinScope::Definition => {
            Some("a guest that was started with it keeps it until it is started again".into())
        }
        _ => None,
    }
}

/// Whether `now`, read of what `act` changes, is what `other` found: of the same thing, or of the twin of its file.
pub fn is_what_was_found(act: &Act, now: &Value, other: &Act, found: &Value) -> bool {
    match (act, pair(now), other, pair(found)) {
        (
            Act::WriteFile { path, .. },
            Some((text, twin)),
            Act::WriteFile { path: other, .. },
            Some((found, found_twin)),
        ) if form::twin(path).as_ref() == Some(other) => (text, twin) == (found_twin, found),
        _ => same_object(act, other) && same(act, now, found),
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
        | Act::PlaceFile { .. }
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

/// What there is now of the thing that an act changes.
pub fn read(kernel: &dyn Kernel, act: &Act) -> io::Result<Value> {
    is_there(kernel, act)?;
    Ok(match act {
        Act::WriteFile { path, netns, .. } => {
            let text = text_of(kernel, path, netns.as_deref())?;
            match form::twin(path).map(|twin| text_of(kernel, &twin, netns.as_deref())) {
                Some(Ok(twin)) => Value::Paired { text, twin },
                Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => Value::Text(text),
            }
        }
        Act::SetIoPriority { thread, .. } => {
            let raw = kernel.io_priority(thread.tid)?;
            if IoPriority::from_raw(raw).is_none() {
                let why = format!("its disk requests have rank number {raw}, which has no name here");
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            Value::IoPriority(raw)
        }
        Act::SetUtilClamp { thread, .. } => Value::UtilClamp(kernel.util_clamp(thread.tid)?),
        Act::WriteProcessFile { process, file, .. } => {
            let text = kernel.read_process_file(process, *file)?.trim_end().to_string();
            if *file == ProcessFile::Autogroup && form::autogroup(&text).is_none() {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "the process is in no autogroup"));
            }
            Value::Text(text)
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
        Act::PlaceFile { file, .. } => kernel.platform_file(file)?,
        Act::Launch { .. } => Value::Absent,
        Act::SetEthtool { device, netns, setting } => {
            Value::Ethtool(kernel.ethtool(device, netns.as_deref(), setting.topic())?)
        }
        Act::PinGuest { pin, .. } => Value::Cpus(kernel.guest_pin(pin)?),
        Act::HoldLatency { .. } => Value::Text(hold::words(kernel.cpu_latency_us()?)),
        Act::SetIrqBan { process, irq, .. } => {
            Value::Text(irq_bans::words(kernel.irq_bans(process)?.contains(irq)).into())
        }
    })
}

/// The content of a file, without what ends it.
fn text_of(kernel: &dyn Kernel, path: &Path, netns: Option<&str>) -> io::Result<String> {
    Ok(kernel.read_file(path, netns)?.trim_end_matches(['\n', '\0']).to_string())
}

/// What an act finds, with all that is needed to put it back.
pub fn read_old(kernel: &dyn Kernel, act: &Act) -> Result<Value, Fault> {
    let mut old = read(kernel, act).map_err(|e| refusal(act, &e))?;
    match (act, &mut old) {
        (Act::CreateCgroup { path }, Value::Present) => {
            let remedy = "choose another name: what pinwise did not make, it may not remove";
            return Err(Fault::new(Class::Usage, path.display(), "the cgroup is there already", remedy));
        }
        (Act::PlaceFile { file, .. }, Value::Text(_)) => {
            let remedy = "see 'pinwise status' whose it is, and undo that first; what pinwise did not place, it may not replace";
            return Err(Fault::new(Class::No, place(file), "the file is there already", remedy));
        }
        (Act::JoinCgroup { process, .. }, Value::Cgroup { affinity, .. }) => {
            for tid in kernel.threads(process.pid).map_err(|e| refusal(act, &e))? {
                // A thread that ends in between needs nothing put back.
                if let Ok(cpus) = kernel.affinity(process.pid, tid) {
                    affinity.push((tid, cpus));
                }
            }
        }
        _ => {}
    }
    match gives_up(act, &old).filter(|_| !kernel.may_raise_priority()) {
        Some(what) => {
            let cause = format!("lowering it from {what} could not be undone without CAP_SYS_NICE");
            let remedy = "run as root, or leave the priority as it is";
            Err(Fault::new(Class::NotPermitted, object(act), cause, remedy))
        }
        None => Ok(old),
    }
}

/// What an act would give up that only who has CAP_SYS_NICE can give back.
fn gives_up(act: &Act, old: &Value) -> Option<String> {
    match (act, old) {
        (Act::SetScheduling { scheduling, .. }, Value::Scheduling(state))
            if state.is_lowered_by(&state.with(*scheduling)) =>
        {
            Some(scheduling_words(&state.scheduling))
        }
        (Act::SetIoPriority { .. }, Value::IoPriority(raw)) => match IoPriority::from_raw(*raw) {
            Some(real_time @ IoPriority::RealTime { .. }) => Some(real_time.to_string()),
            _ => None,
        },
        // The kernel takes any value of 0 and above from everybody.
        (Act::WriteProcessFile { file: ProcessFile::Autogroup, value, .. }, Value::Text(old)) => {
            form::autogroup(old)
                .filter(|(_, nice)| *nice < 0 && value > nice)
                .map(|(_, nice)| nice.to_string())
        }
        _ => None,
    }
}

/// Does it. `now` is what was read last.
pub fn act(kernel: &dyn Kernel, act: &Act, now: &Value) -> io::Result<()> {
    match (act, now) {
        (Act::WriteFile { path, value, netns }, _) => kernel.write_file(path, value, netns.as_deref()),
        (Act::SetAffinity { thread, cpus }, _) => kernel.set_affinity(thread.tid, cpus),
        (Act::SetScheduling { thread, scheduling }, Value::Scheduling(state)) => {
            kernel.set_scheduling(thread.tid, &state.with(*scheduling))
        }
        (Act::SetIoPriority { thread, priority }, _) => kernel.set_io_priority(thread.tid, priority.to_raw()),
        (Act::SetUtilClamp { thread, clamp }, _) => kernel.set_util_clamp(thread.tid, *clamp),
        (Act::WriteProcessFile { process, file, value }, _) => {
            kernel.write_process_file(process, *file, *value)
        }
        (Act::CreateCgroup { path }, _) => kernel.make_dir(path),
        (Act::JoinCgroup { process, path }, _) => kernel.join_cgroup(process.pid, path),
        (Act::PlaceFile { file, content, .. }, _) => kernel.place(file, content),
        (Act::SetEthtool { device, netns, setting }, _) => {
            kernel.set_ethtool(device, netns.as_deref(), setting)
        }
        (Act::PinGuest { pin, cpus }, _) => kernel.pin_guest(pin, cpus),
        (Act::SetIrqBan { process, irq, banned }, _) => irq_bans::tell(kernel, process, *irq, *banned),
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
        (Act::PinGuest { pin, .. }, Value::Cpus(cpus), _) => kernel.pin_guest(pin, cpus),
        (Act::SetScheduling { thread, .. }, Value::Scheduling(old), _) => {
            kernel.set_scheduling(thread.tid, old)
        }
        (Act::WriteFile { path, netns, .. }, Value::Paired { .. }, Value::Paired { .. }) => {
            let twin = form::twin(path).ok_or_else(unfit)?;
            let (old, now) = (pair(old).ok_or_else(unfit)?, pair(now).ok_or_else(unfit)?);
            let mut writes = form::restoring_pair(path, &twin, old, now).into_iter();
            writes.try_for_each(|(path, text)| kernel.write_file(&path, &text, netns.as_deref()))
        }
        (Act::SetIoPriority { thread, .. }, Value::IoPriority(raw), _) => {
            // Only the class of `none` is taken, whatever number older kernels show beside it.
            let none = IoPriority::from_raw(*raw) == Some(IoPriority::None);
            kernel.set_io_priority(thread.tid, if none { 0 } else { *raw })
        }
        (Act::SetUtilClamp { thread, .. }, Value::UtilClamp(clamp), _) => {
            kernel.set_util_clamp(thread.tid, *clamp)
        }
        (Act::WriteProcessFile { process, file, .. }, Value::Text(old), _) => {
            kernel.write_process_file(process, *file, number_in(*file, old).ok_or_else(unfit)?)
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
        (Act::SetEthtool { device, netns, setting }, Value::Ethtool(old), Value::Ethtool(now)) => {
            let setting = setting.restoring(old, now).ok_or_else(unfit)?;
            kernel.set_ethtool(device, netns.as_deref(), &setting)
        }
        (Act::SetIrqBan { process, irq, .. }, Value::Text(old), _) => {
            irq_bans::tell(kernel, process, *irq, old == irq_bans::words(true))
        }
        _ => Err(unfit()),
    }
}

/// Whether a reading is what an undo leaves that was cut short.
pub fn is_half_restored(act: &Act, old: &Value, now: &Value) -> bool {
    match (act, pair(old), pair(now)) {
        (Act::WriteFile { path, .. }, Some(old), Some(now)) => form::is_half_restored(path, old, now),
        _ => false,
    }
}

fn pair(value: &Value) -> Option<(&str, &str)> {
    match value {
        Value::Paired { text, twin } => Some((text, twin)),
        _ => None,
    }
}

fn unfit() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the ledger's old value does not fit its act")
}

/// The number that a file of /proc/PID tells, as it takes it.
fn number_in(file: ProcessFile, text: &str) -> Option<i32> {
    match file {
        ProcessFile::OomScoreAdj => text.trim().parse().ok(),
        ProcessFile::Autogroup => form::autogroup(text).map(|(_, nice)| nice),
    }
}

/// Whether two readings of what an act changes mean the same.
pub fn same(act: &Act, a: &Value, b: &Value) -> bool {
    match (act, a, b) {
        (Act::WriteFile { path, .. }, Value::Text(a), Value::Text(b)) => form::same(path, a, b),
        (_, Value::Cgroup { path: a, .. }, Value::Cgroup { path: b, .. }) => a == b,
        (_, Value::IoPriority(a), Value::IoPriority(b)) => {
            IoPriority::from_raw(*a) == IoPriority::from_raw(*b)
        }
        (_, Value::Ethtool(a), Value::Ethtool(b)) => a.means(b),
        _ => a == b,
    }
}

/// Whether a reading is what the act asked for.
pub fn took_effect(act: &Act, read_back: &Value) -> bool {
    match (act, read_back) {
        (Act::WriteFile { path, value, .. }, Value::Text(text)) => form::took_effect(path, value, text),
        (Act::WriteFile { path, value, .. }, Value::Paired { text, .. }) => {
            form::took_effect(path, value, text)
        }
        (Act::SetIoPriority { priority, .. }, Value::IoPriority(raw)) => {
            IoPriority::from_raw(*raw) == Some(*priority)
        }
        (Act::SetUtilClamp { clamp, .. }, Value::UtilClamp(now)) => clamp == now,
        (Act::WriteProcessFile { file, value, .. }, Value::Text(now)) => {
            number_in(*file, now) == Some(*value)
        }
        (Act::SetAffinity { cpus, .. } | Act::PinGuest { cpus, .. }, Value::Cpus(now)) => cpus == now,
        (Act::SetScheduling { scheduling, .. }, Value::Scheduling(state)) => *scheduling == state.scheduling,
        (Act::CreateCgroup { .. }, Value::Present) => true,
        (Act::PlaceFile { content, .. }, Value::Text(now)) => content == now,
        (Act::JoinCgroup { path, .. }, Value::Cgroup { path: now, .. }) => path == now,
        (Act::SetEthtool { setting, .. }, Value::Ethtool(state)) => setting.is_in_force(state),
        // Somebody else may ask for less.
        (Act::HoldLatency { limit_us }, Value::Text(now)) => {
            hold::us_of(now).is_some_and(|us| us <= *limit_us)
        }
        (Act::SetIrqBan { banned, .. }, Value::Text(now)) => now == irq_bans::words(*banned),
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
