//! What each act means to the kernel: one file a kind, behind one trait.
//!
//! A new act is a variant of [`Act`](machine::Act), a file here, a line in [`operation`], and a case in the table of tests.

mod boot_words;
mod cgroup_creation;
mod cgroup_membership;
mod cpu_affinity;
mod ethtool;
mod guest_pin;
mod io_priority;
mod irq_ban;
mod kernel_file;
mod latency_limit;
mod launch;
mod lifetime;
mod netns_pair;
mod operation;
mod page_migration;
mod pktgen;
mod placed_file;
mod process_file;
mod reference;
mod refusal;
mod scheduling;
mod swap_file;
mod swapping;
mod util_clamp;

use std::io;
use std::path::Path;

use machine::Act;

use crate::kernel::Kernel;
use crate::procfs::says_ended;

pub use kernel_file::form;
pub use lifetime::outlives_boots;
pub use operation::{Lifetime, Operation, TakenBack};
pub use refusal::refusal;

/// What an act means to the kernel.
pub fn operation(act: &Act) -> Box<dyn Operation + '_> {
    match act {
        Act::WriteFile { path, value, netns } => {
            Box::new(kernel_file::KernelFile { path, value, netns: netns.as_deref() })
        }
        Act::SetAffinity { thread, cpus } => Box::new(cpu_affinity::CpuAffinity { thread: *thread, cpus }),
        Act::SetScheduling { thread, scheduling } => {
            Box::new(scheduling::ThreadScheduling { thread: *thread, scheduling: *scheduling })
        }
        Act::WriteProcessFile { process, file, value } => {
            Box::new(process_file::OwnFile { process: *process, file: *file, value: *value })
        }
        Act::SetIoPriority { thread, priority } => {
            Box::new(io_priority::DiskPriority { thread: *thread, priority: *priority })
        }
        Act::SetUtilClamp { thread, clamp } => Box::new(util_clamp::Clamp { thread: *thread, clamp: *clamp }),
        Act::MigratePages { process, nodes } => {
            Box::new(page_migration::PageMigration { process: *process, nodes })
        }
        Act::CreateCgroup { path } => Box::new(cgroup_creation::CgroupCreation { path }),
        Act::JoinCgroup { process, path } => {
            Box::new(cgroup_membership::CgroupMembership { process: *process, path })
        }
        Act::PlaceFile { file, content, .. } => Box::new(placed_file::PlacedFile { file, content }),
        Act::AddBootWords { loader, words, line } => {
            Box::new(boot_words::BootWords { loader: *loader, words, line: line.as_deref() })
        }
        Act::Launch { argv } => Box::new(launch::ProcessGroup { argv }),
        Act::SetEthtool { device, netns, setting } => {
            Box::new(ethtool::DriverSetting { device, netns: netns.as_deref(), setting })
        }
        Act::SetIrqBan { process, irq, banned } => {
            Box::new(irq_ban::IrqBan { process: *process, irq: *irq, banned: *banned })
        }
        Act::PinGuest { pin, cpus } => Box::new(guest_pin::Pinned { pin, cpus }),
        Act::AttachPktgen { cpu, device, orders } => {
            Box::new(pktgen::Generator { cpu: *cpu, device, orders })
        }
        Act::MakeNetnsPair { pair } => Box::new(netns_pair::NamespacePair { pair }),
        Act::MakeSwapFile { path, bytes } => Box::new(swap_file::SwapFile { path, bytes: *bytes }),
        Act::SwapOn { path } => Box::new(swapping::Swapping { path }),
        Act::HoldLatency { limit_us } => Box::new(latency_limit::LatencyLimit { limit_us: *limit_us }),
    }
}

/// Whether an error means that a file or folder is gone. Drivers answer ENODEV for a device that is there and sleeps.
fn is_path_gone(
    kernel: &dyn Kernel,
    error: &io::Error,
    path: &Path,
    netns: Option<&str>,
) -> io::Result<bool> {
    match says_ended(error) || error.raw_os_error() == Some(libc::ENODEV) {
        true => kernel.exists(path, netns).map(|there| !there),
        false => Ok(false),
    }
}

/// An old value that does not belong to its act: the ledger is damaged.
fn unfit() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the ledger's old value does not fit its act")
}

/// In which network namespace, as a part of a sentence.
fn within(netns: Option<&str>) -> String {
    netns.map(|name| format!(" in network namespace {name}")).unwrap_or_default()
}

/// The first thread of a process, which stands for it.
fn first_thread(process: machine::ProcessRef) -> machine::ThreadRef {
    machine::ThreadRef { pid: process.pid, tid: process.pid, start_time_ticks: process.start_time_ticks }
}

/// `process 7: what`, `thread 9 of process 7: what`.
fn of_thread(thread: &machine::ThreadRef, what: &str) -> String {
    match thread.tid == thread.pid {
        true => format!("process {}: {what}", thread.pid),
        false => format!("thread {} of process {}: {what}", thread.tid, thread.pid),
    }
}
