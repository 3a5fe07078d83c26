//! How each act is read, done and read back: the one place that knows what an [`Act`] means to the kernel.

mod subject;
mod words;

use std::io;
use std::path::Path;

use machine::{Act, Class, CpuSet, Fault, IoPriority, ProcessFile};

use crate::boot_words::{self, Held};
use crate::form;
use crate::hold;
use crate::irq_bans;
use crate::kernel::Kernel;
use crate::node_memory::shares;
use crate::pktgen;
use crate::record::Value;
use crate::refusal::refusal;

pub use subject::{
    for_thread, is_gone, is_held_by, is_there, same_kind, same_object, says_ended, thread, who_is_told,
};
pub use words::{asked, object, place, scheduling_words, still_in_force};

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
        Act::MigratePages { process, .. } => Value::Memory(shares::of(kernel.node_memory(process)?)),
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
        // Half a pair is one that has to go as well.
        Act::MakeNetnsPair { pair } => presence(pair.names.iter().any(|name| kernel.has_netns(name))),
        Act::CreateCgroup { path } => presence(kernel.is_dir(path)),
        Act::MakeSwapFile { path, .. } => presence(kernel.exists(path, None)?),
        Act::SwapOn { path } => presence(kernel.swaps_to(path)?),
        Act::JoinCgroup { process, path } => {
            Value::Cgroup { path: kernel.process_cgroup(process.pid, path)?, affinity: Vec::new() }
        }
        Act::AttachPktgen { cpu, .. } => Value::Text(pktgen::devices(kernel, *cpu)?),
        Act::PlaceFile { file, .. } => kernel.platform_file(file)?,
        Act::AddBootWords { loader, .. } => kernel.boot_lines(*loader)?,
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

fn presence(there: bool) -> Value {
    if there { Value::Present } else { Value::Absent }
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
        (Act::AttachPktgen { cpu, .. }, Value::Text(devices)) if devices.is_empty() => {
            let other = pktgen::elsewhere(kernel, *cpu).map_err(|e| refusal(act, &e))?;
            if let Some((other, devices)) = other {
                let cause = format!(
                    "the generator's thread on CPU {other} has {devices}, and would be started with ours"
                );
                let remedy = "take them away (rem_device_all) if nobody needs them";
                return Err(Fault::new(Class::MachineLacks, object(act), cause, remedy));
            }
        }
        (Act::AttachPktgen { .. }, Value::Text(devices)) => {
            let cause = format!("it sends through {devices} already");
            let remedy = "choose another CPU, or take them away (rem_device_all) if nobody needs them";
            return Err(Fault::new(Class::MachineLacks, object(act), cause, remedy));
        }
        (Act::MakeNetnsPair { .. }, Value::Present) => {
            let cause = "one of them is there already: another study's, or that of one that was killed";
            let remedy = "wait for that study, or run 'pinwise undo'; what pinwise did not make it does not remove (ip netns del)";
            return Err(Fault::new(Class::No, object(act), cause, remedy));
        }
        (Act::MakeSwapFile { path, .. }, Value::Present) => {
            let remedy = "choose another folder: what pinwise did not make, it may not remove";
            return Err(Fault::new(Class::Usage, path.display(), "there is a file of this name", remedy));
        }
        (Act::SwapOn { path }, Value::Present) => {
            let remedy = "leave it: what pinwise did not switch on, it may not switch off";
            return Err(Fault::new(Class::Usage, path.display(), "the kernel swaps to it already", remedy));
        }
        (Act::PlaceFile { file, .. }, Value::Text(_)) => {
            let remedy = "see 'pinwise status' whose it is, and undo that first; what pinwise did not place, it may not replace";
            return Err(Fault::new(Class::No, place(file), "the file is there already", remedy));
        }
        (Act::AddBootWords { words, line, .. }, old) => {
            let lines = match old {
                Value::Text(text) => text.as_str(),
                _ => line.as_deref().unwrap_or_default(),
            };
            if let Some(theirs) = boot_words::names_in(words, lines) {
                let cause = format!(
                    "'{theirs}' stands there already, and what of it would be pinwise's could not be told"
                );
                let remedy = "leave the parameter out, or take it out of the boot loader's line first";
                return Err(Fault::new(Class::No, object(act), cause, remedy));
            }
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

/// Whether what an act finds is read once more after the intent is on disk. Not of what differs with each reading, and not where
/// the act itself fails if somebody else has made the object meanwhile.
pub fn is_read_again(act: &Act) -> bool {
    match act {
        Act::WriteFile { .. }
        | Act::SetAffinity { .. }
        | Act::SetScheduling { .. }
        | Act::SetIoPriority { .. }
        | Act::SetUtilClamp { .. }
        | Act::WriteProcessFile { .. }
        | Act::SetEthtool { .. }
        | Act::SetIrqBan { .. }
        | Act::PinGuest { .. } => true,
        Act::MigratePages { .. }
        | Act::CreateCgroup { .. }
        | Act::JoinCgroup { .. }
        | Act::PlaceFile { .. }
        | Act::AddBootWords { .. }
        | Act::Launch { .. }
        | Act::AttachPktgen { .. }
        | Act::MakeNetnsPair { .. }
        | Act::MakeSwapFile { .. }
        | Act::SwapOn { .. }
        | Act::HoldLatency { .. } => false,
    }
}

/// Whether an act makes something that has an identity of its own once it is there.
pub fn makes(act: &Act) -> bool {
    matches!(act, Act::CreateCgroup { .. } | Act::MakeNetnsPair { .. })
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
        (Act::MigratePages { process, nodes }, Value::Memory(now)) => {
            let from: CpuSet = now.iter().map(|(node, _)| *node).collect();
            kernel.migrate_pages(process.pid, &from.difference(nodes), nodes)
        }
        (Act::WriteProcessFile { process, file, value }, _) => {
            kernel.write_process_file(process, *file, *value)
        }
        (Act::CreateCgroup { path }, _) => kernel.make_dir(path),
        (Act::MakeNetnsPair { pair }, _) => kernel.make_netns_pair(pair),
        (Act::JoinCgroup { process, path }, _) => kernel.join_cgroup(process.pid, path),
        (Act::AttachPktgen { cpu, device, orders }, _) => pktgen::attach(kernel, *cpu, device, orders),
        (Act::MakeSwapFile { path, bytes }, _) => kernel.make_swap_file(path, *bytes),
        (Act::SwapOn { path }, _) => kernel.swap_on(path),
        (Act::PlaceFile { file, content, .. }, _) => kernel.place(file, content),
        (Act::AddBootWords { loader, words, line }, _) => {
            kernel.add_boot_words(*loader, words, line.as_deref())
        }
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
        (Act::MigratePages { process, .. }, Value::Memory(old), _) => {
            kernel.spread_pages(process, &old.iter().copied().collect())
        }
        (Act::WriteProcessFile { process, file, .. }, Value::Text(old), _) => {
            kernel.write_process_file(process, *file, number_in(*file, old).ok_or_else(unfit)?)
        }
        (Act::CreateCgroup { path }, Value::Absent, _) => kernel.remove_dir(path),
        (Act::MakeNetnsPair { pair }, Value::Absent, _) => {
            let mut there = pair.names.iter().filter(|name| kernel.has_netns(name));
            there.try_for_each(|name| kernel.remove_netns(name))
        }
        (Act::MakeSwapFile { path, .. }, Value::Absent, _) => kernel.remove_swap_file(path),
        (Act::SwapOn { path }, Value::Absent, _) => kernel.swap_off(path),
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
        // It had none.
        (Act::AttachPktgen { cpu, .. }, Value::Text(_), _) => pktgen::detach(kernel, *cpu),
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
        (_, Value::Memory(a), Value::Memory(b)) => shares::are_same(a, b),
        (Act::AddBootWords { words, .. }, a, b) => boot_words::held(words, a) == boot_words::held(words, b),
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
        (Act::MigratePages { nodes, .. }, Value::Memory(now)) => shares::lie_on(now, nodes),
        (Act::WriteProcessFile { file, value, .. }, Value::Text(now)) => {
            number_in(*file, now) == Some(*value)
        }
        (Act::SetAffinity { cpus, .. } | Act::PinGuest { cpus, .. }, Value::Cpus(now)) => cpus == now,
        (Act::SetScheduling { scheduling, .. }, Value::Scheduling(state)) => *scheduling == state.scheduling,
        (
            Act::CreateCgroup { .. }
            | Act::MakeNetnsPair { .. }
            | Act::MakeSwapFile { .. }
            | Act::SwapOn { .. },
            Value::Present,
        ) => true,
        (Act::PlaceFile { content, .. }, Value::Text(now)) => content == now,
        (Act::AddBootWords { words, .. }, now) => boot_words::held(words, now) == Held::All,
        (Act::AttachPktgen { device, .. }, Value::Text(now)) => device == now,
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

/// Whether a reading is still the work of an act that left `left`; the end of one that was killed was never recorded.
pub fn is_ours(act: &Act, left: Option<&Value>, now: &Value) -> bool {
    match (act, left) {
        // One that was killed may have moved any part.
        (Act::MigratePages { .. }, None) => true,
        // A process that runs takes memory from other nodes as well.
        (Act::MigratePages { .. }, _) | (_, None) => may_be_ours(act, now),
        (_, Some(left)) => same(act, now, left),
    }
}

/// Whether a reading can be the work of an act whose end was never recorded.
///
/// The kernel leaves out CPUs that a thread may not use; any part of what was asked is therefore ours.
pub fn may_be_ours(act: &Act, now: &Value) -> bool {
    match (act, now) {
        (Act::SetAffinity { cpus, .. }, Value::Cpus(now)) => !now.is_empty() && now.is_subset(cpus),
        (Act::MigratePages { nodes, .. }, Value::Memory(now)) => shares::lie_mostly_on(now, nodes),
        _ => took_effect(act, now),
    }
}
