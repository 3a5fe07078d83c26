//! Knobs: settings that can be described, read, and turned into acts. They do nothing themselves.
//!
//! One file a knob. To add one: write the file, name it in [`ALL`]; the tests below and those in
//! `change/tests/knobs.rs` hold it to its promises. A setting that is one file a target is a
//! [`FileKnob`](file::FileKnob): what it is, where its files are, and in which form they hold the value. One that ethtool sets is
//! an [`EthtoolKnob`](ethtool::EthtoolKnob); one of a kind of threads of guests is a [`GuestKnob`](guest::GuestKnob).

use serde::Serialize;

use crate::{Act, Class, CpuSet, Fault, Root, Setting};

mod autogroup;
mod autogroup_nice;
mod boot_parameters;
mod busy_poll;
mod busy_read;
mod channels;
mod coalescing;
mod cpu_dma_latency;
mod cpu_resume_latency;
mod cpuset;
mod cpuset_mems;
mod device_irqs;
mod dirty_background_bytes;
mod dirty_background_ratio;
mod dirty_bytes;
mod dirty_expire;
mod dirty_ratio;
mod dirty_writeback;
mod emulator_affinity;
mod energy_performance_preference;
pub mod ethtool;
pub mod file;
mod frequency_governor;
mod frequency_max;
mod frequency_min;
mod gro;
mod gro_flush_timeout;
mod gro_hw;
mod gro_list;
pub mod guest;
mod huge_pages;
mod idle_state;
mod interleave_weight;
mod io_priority;
mod iothread_affinity;
mod irq_affinity;
mod irq_default_affinity;
mod irqbalance_banned_irqs;
mod kernel_thread_affinity;
mod memory_policy;
mod napi_defer_hard_irqs;
mod napi_threaded;
mod netdev_budget;
mod netdev_budget_us;
mod netdev_max_backlog;
mod nmi_watchdog;
mod numa_balancing;
mod oom_score;
mod process_affinity;
mod process_memory_nodes;
mod rps_cpus;
mod rps_flow_count;
mod rps_sock_flow_entries;
mod rt_runtime;
mod scheduling_policy;
mod soft_watchdog;
mod swappiness;
mod timer_migration;
mod transparent_huge_pages;
mod transparent_huge_pages_defrag;
mod turbo;
mod unit_command;
mod unit_drop_in;
mod unit_environment;
mod utilization_clamp;
mod vcpu_affinity;
mod vhost_affinity;
mod vm_stat_interval;
mod watchdog_cpus;
mod workqueue_cpus;
mod writeback_cpus;
mod writeback_numa;
mod xps_cpus;
mod zone_reclaim;

/// What a knob is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct About {
    /// Name in plans and recipes: the file's name with dashes.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does and when it helps.
    pub docs: &'static str,
    /// Unit or form of its values.
    pub unit: &'static str,
    /// What one target covers: an IRQ, a receive queue, a process.
    pub scope: &'static str,
    /// Who else may own the file.
    pub owner: &'static str,
    /// What can go wrong.
    pub risk: &'static str,
    /// Who may set it.
    pub may_set: MaySet,
    /// Kernel documentation or man page.
    pub source: &'static str,
}

/// Who may set a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaySet {
    /// Root alone, or who has its capabilities.
    Root,
    /// Anybody, for processes of their own; for those of others, and to raise a priority, root.
    OwnProcesses,
}

impl std::fmt::Display for MaySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            MaySet::Root => "root",
            MaySet::OwnProcesses => "own processes",
        })
    }
}

/// One object that a knob can be set for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The name that settings use.
    pub id: String,
    /// What it is, for people.
    pub what: String,
}

/// A setting.
pub trait Knob: Sync {
    /// What it is.
    fn about(&self) -> &About;

    /// The objects that it can be set for, in natural order. A machine without any has an empty list.
    ///
    /// Errors: their folder is there and cannot be read.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault>;

    /// Its present value, in the form that [`change`](Knob::change) takes.
    ///
    /// Errors: no such target; a file that cannot be read or is malformed.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault>;

    /// The acts that would set it.
    ///
    /// Errors: no such target; a value that is malformed or names a CPU that is not online.
    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault>;
}

/// Every knob that there is.
pub static ALL: &[&dyn Knob] = &[
    &autogroup::KNOB,
    &autogroup_nice::AutogroupNice,
    &boot_parameters::BootParameters,
    &busy_poll::KNOB,
    &busy_read::KNOB,
    &channels::KNOB,
    &coalescing::KNOB,
    &cpu_dma_latency::CpuDmaLatency,
    &cpu_resume_latency::KNOB,
    &cpuset::Cpuset,
    &cpuset_mems::CpusetMems,
    &device_irqs::DeviceIrqs,
    &dirty_background_bytes::KNOB,
    &dirty_background_ratio::KNOB,
    &dirty_bytes::KNOB,
    &dirty_expire::KNOB,
    &dirty_ratio::KNOB,
    &dirty_writeback::KNOB,
    &emulator_affinity::KNOB,
    &energy_performance_preference::KNOB,
    &frequency_governor::KNOB,
    &frequency_max::KNOB,
    &frequency_min::KNOB,
    &gro::KNOB,
    &gro_flush_timeout::KNOB,
    &gro_hw::KNOB,
    &gro_list::KNOB,
    &huge_pages::KNOB,
    &idle_state::KNOB,
    &interleave_weight::InterleaveWeight,
    &io_priority::IoPriorityKnob,
    &iothread_affinity::KNOB,
    &irq_affinity::IrqAffinity,
    &irq_default_affinity::KNOB,
    &irqbalance_banned_irqs::IrqbalanceBannedIrqs,
    &kernel_thread_affinity::KernelThreadAffinity,
    &memory_policy::MemoryPolicy,
    &napi_defer_hard_irqs::KNOB,
    &napi_threaded::KNOB,
    &netdev_budget::KNOB,
    &netdev_budget_us::KNOB,
    &netdev_max_backlog::KNOB,
    &nmi_watchdog::KNOB,
    &numa_balancing::KNOB,
    &oom_score::OomScore,
    &process_affinity::ProcessAffinity,
    &process_memory_nodes::ProcessMemoryNodes,
    &rps_cpus::KNOB,
    &rps_flow_count::KNOB,
    &rps_sock_flow_entries::KNOB,
    &rt_runtime::KNOB,
    &scheduling_policy::SchedulingPolicy,
    &soft_watchdog::KNOB,
    &swappiness::KNOB,
    &timer_migration::KNOB,
    &transparent_huge_pages::KNOB,
    &transparent_huge_pages_defrag::KNOB,
    &turbo::KNOB,
    &unit_command::KNOB,
    &unit_environment::KNOB,
    &utilization_clamp::UtilizationClamp,
    &vcpu_affinity::KNOB,
    &vhost_affinity::KNOB,
    &vm_stat_interval::KNOB,
    &watchdog_cpus::KNOB,
    &workqueue_cpus::KNOB,
    &writeback_cpus::KNOB,
    &writeback_numa::KNOB,
    &xps_cpus::KNOB,
    &zone_reclaim::KNOB,
];

/// The knob of that id, for those who cannot do without.
///
/// Errors: there is none.
pub fn named(id: &str) -> Result<&'static dyn Knob, Fault> {
    find(id).ok_or_else(|| {
        let remedy = "see 'pinwise list knobs' for those that there are";
        Fault::new(Class::Usage, format!("knob '{id}'"), "there is no such knob", remedy)
    })
}

/// The acts that a setting asks for.
///
/// Errors: there is no such knob; as [`Knob::change`].
pub fn acts(root: &Root, setting: &Setting) -> Result<Vec<Act>, Fault> {
    named(&setting.knob)?.change(root, &setting.target, &setting.value)
}

/// The knob of that id.
pub fn find(id: &str) -> Option<&'static dyn Knob> {
    ALL.iter().copied().find(|knob| knob.about().id == id)
}

/// Reads a value that is a CPU list, and holds it against the CPUs that are online, where those are known.
fn cpus(root: &Root, about: &About, target: &str, value: &str) -> Result<CpuSet, Fault> {
    let object = || format!("{} of {target}", about.id);
    let cpus = CpuSet::from_list(value)
        .map_err(|why| Fault::new(Class::Usage, object(), why, "write a CPU list such as 0-3,8"))?;
    let Ok(online) = root.cpu_list("/sys/devices/system/cpu/online") else { return Ok(cpus) };
    let offline = cpus.difference(&online);
    match offline.is_empty() {
        true => Ok(cpus),
        false => {
            let cause = format!("CPU {offline} is not there or not online");
            Err(Fault::new(Class::Usage, object(), cause, format!("choose from {online}")))
        }
    }
}

/// A fault for a target that is none.
fn no_such(about: &About, target: &str, cause: &str) -> Fault {
    let remedy = format!("see 'pinwise list knobs' for what {} is set for: {}", about.id, about.scope);
    Fault::new(Class::Usage, format!("{} of '{target}'", about.id), cause, remedy)
}

#[cfg(test)]
mod tests;
