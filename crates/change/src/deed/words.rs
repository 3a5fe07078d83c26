//! What an act is about and asks for, in words.

use machine::boot_loader::COMMAND_LINE;
use machine::{Act, BootLoader, PinScope, PlatformFile, Scheduling, ThreadRef};

use crate::hold;
use crate::irq_bans;
use crate::record::Value;

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
        Act::MigratePages { process, .. } => format!("process {}: memory by node", process.pid),
        Act::WriteProcessFile { process, file, .. } => format!("process {}: {}", process.pid, file.name()),
        Act::CreateCgroup { path } => format!("cgroup {}", path.display()),
        Act::MakeNetnsPair { pair } => format!("network namespaces {}", pair.names.join(" and ")),
        Act::JoinCgroup { process, .. } => format!("process {}: cgroup", process.pid),
        Act::MakeSwapFile { path, .. } => format!("swap file {}", path.display()),
        Act::SwapOn { path } => format!("swapping to {}", path.display()),
        Act::PlaceFile { file, .. } => place(file),
        Act::AddBootWords { loader: BootLoader::Grubby, .. } => {
            "command lines of the boot entries (grubby)".into()
        }
        Act::AddBootWords { loader: BootLoader::KernelInstall, .. } => COMMAND_LINE.into(),
        Act::AttachPktgen { cpu, .. } => format!("pktgen on CPU {cpu}"),
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
        Act::MigratePages { nodes, .. } => format!("on nodes {nodes}"),
        Act::WriteProcessFile { value, .. } => value.to_string(),
        Act::CreateCgroup { .. } | Act::MakeNetnsPair { .. } => "there".into(),
        Act::JoinCgroup { path, .. } => path.display().to_string(),
        Act::AttachPktgen { device, .. } => device.clone(),
        Act::MakeSwapFile { bytes, .. } => format!("{} MiB", bytes >> 20),
        Act::SwapOn { .. } => "there".into(),
        Act::PlaceFile { content, .. } => format!("{} lines", content.lines().count()),
        Act::AddBootWords { words, .. } => format!("with {}", words.join(" ")),
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

/// What goes on as a file of the platform had it started although the file is gone.
pub fn still_in_force(act: &Act) -> Option<String> {
    match act {
        Act::PlaceFile {
            file: PlatformFile::UnitDropIn { unit, .. } | PlatformFile::UnitStart { unit, .. },
            ..
        } => Some(format!("what {unit} has started with it keeps it until: systemctl restart {unit}")),
        Act::AddBootWords { line: Some(_), .. } => Some(
            "a kernel that was started with it keeps it until the next start, and one that is installed before takes it over from there"
                .into(),
        ),
        Act::PlaceFile { file: PlatformFile::GrubDefaults, .. } | Act::AddBootWords { .. } => {
            Some("a kernel that was started with it keeps it until the next start".into())
        }
        Act::PinGuest { pin, .. } if pin.scope == PinScope::Definition => {
            Some("a guest that was started with it keeps it until it is started again".into())
        }
        _ => None,
    }
}
