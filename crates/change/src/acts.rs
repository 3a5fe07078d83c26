//! What each act means to the kernel: one file a kind, behind one trait.
//!
//! A new act is a variant of [`Act`](machine::Act), a file here, and a line in each list of this module. The file says what the act means
//! to the kernel ([`Operation`]) and, in its module `sample`, what the tests that cover every kind have to know of it (`Sampled`).

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
#[cfg(any(test, feature = "emulated"))]
pub mod samples;
mod scheduling;
mod swap_file;
mod swapping;
mod util_clamp;

use machine::Act;

pub use cpu_affinity::{DEADLINE, PINNED_BY_KERNEL};
pub use kernel_file::form;
pub use lifetime::outlives_boots;
use operation::OwnerRule;
use operation::netns::within;
use operation::path::is_path_gone;
pub use operation::refusal::refusal;
use operation::thread::{first_thread, of_thread};
use operation::unfit;
pub use operation::{Lifetime, Operation, TakenBack};

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

/// The samples of each kind, in the order in which they are performed: a later one may use what an earlier one makes.
#[cfg(any(test, feature = "emulated"))]
const SAMPLES: &[fn(&samples::Machine) -> Vec<Act>] = &[
    kernel_file::sample::acts,
    cpu_affinity::sample::acts,
    scheduling::sample::acts,
    process_file::sample::acts,
    io_priority::sample::acts,
    util_clamp::sample::acts,
    page_migration::sample::acts,
    cgroup_creation::sample::acts,
    cgroup_membership::sample::acts,
    placed_file::sample::acts,
    boot_words::sample::acts,
    ethtool::sample::acts,
    irq_ban::sample::acts,
    guest_pin::sample::acts,
    pktgen::sample::acts,
    netns_pair::sample::acts,
    swap_file::sample::acts,
    swapping::sample::acts,
    latency_limit::sample::acts,
    launch::sample::acts,
];
