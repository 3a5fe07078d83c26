//! Knobs: settings that can be described, read, and turned into acts. They do nothing themselves.
//!
//! One file a knob, in a folder by field. To add one: write the file, declare it in the `mod.rs` of its folder, and list it in
//! [`ALL`]; the tests below and those in `change/tests/knobs.rs` hold it to its promises. A setting that is one file a target is a
//! [`FileKnob`](file::FileKnob): what it is, where its files are, and in which form they hold the value. One that ethtool sets is
//! an [`EthtoolKnob`](net::ethtool::EthtoolKnob); one of a kind of threads of guests is a [`GuestKnob`](guest::GuestKnob).

pub use crate::processes::OwnerId;
use crate::{Act, Class, Fault, Root, Setting};

mod boot;
pub mod file;
pub mod guest;
mod housekeeping;
mod irq;
mod knob;
mod memory;
pub mod net;
mod power;
mod process;
mod scheduling;
mod service;

pub use knob::{About, Knob, MaySet, Target};
use knob::{cpus, no_such};
pub use process::io_priority::parse as io_priority_of;
pub use scheduling::scheduling_policy::parse as scheduling_of;

/// Every knob that there is.
pub static ALL: &[&dyn Knob] = &[
    &scheduling::autogroup::KNOB,
    &scheduling::autogroup_nice::AutogroupNice,
    &boot::boot_parameters::BootParameters,
    &net::busy_poll::KNOB,
    &net::busy_read::KNOB,
    &net::channels::KNOB,
    &net::coalescing::KNOB,
    &power::cpu_dma_latency::CpuDmaLatency,
    &power::cpu_resume_latency::KNOB,
    &process::cpuset::Cpuset,
    &memory::cpuset_mems::CpusetMems,
    &irq::device_irqs::DeviceIrqs,
    &memory::dirty_background_bytes::KNOB,
    &memory::dirty_background_ratio::KNOB,
    &memory::dirty_bytes::KNOB,
    &memory::dirty_expire::KNOB,
    &memory::dirty_ratio::KNOB,
    &memory::dirty_writeback::KNOB,
    &guest::emulator_affinity::KNOB,
    &power::energy_performance_preference::KNOB,
    &power::frequency_governor::KNOB,
    &power::frequency_max::KNOB,
    &power::frequency_min::KNOB,
    &net::gro::KNOB,
    &net::gro_flush_timeout::KNOB,
    &net::gro_hw::KNOB,
    &net::gro_list::KNOB,
    &memory::huge_pages::KNOB,
    &power::idle_state::KNOB,
    &memory::interleave_weight::InterleaveWeight,
    &process::io_priority::IoPriorityKnob,
    &guest::iothread_affinity::KNOB,
    &irq::irq_affinity::IrqAffinity,
    &irq::irq_default_affinity::KNOB,
    &irq::irqbalance_banned_irqs::IrqbalanceBannedIrqs,
    &housekeeping::kernel_thread_affinity::KernelThreadAffinity,
    &service::memory_policy::MemoryPolicy,
    &net::napi_defer_hard_irqs::KNOB,
    &net::napi_threaded::KNOB,
    &net::netdev_budget::KNOB,
    &net::netdev_budget_us::KNOB,
    &net::netdev_max_backlog::KNOB,
    &housekeeping::nmi_watchdog::KNOB,
    &memory::numa_balancing::KNOB,
    &process::oom_score::OomScore,
    &process::process_affinity::ProcessAffinity,
    &memory::process_memory_nodes::ProcessMemoryNodes,
    &net::rps_cpus::KNOB,
    &net::rps_flow_count::KNOB,
    &net::rps_sock_flow_entries::KNOB,
    &scheduling::rt_runtime::KNOB,
    &scheduling::scheduling_policy::SchedulingPolicy,
    &housekeeping::soft_watchdog::KNOB,
    &memory::swappiness::KNOB,
    &scheduling::timer_migration::KNOB,
    &memory::transparent_huge_pages::KNOB,
    &memory::transparent_huge_pages_defrag::KNOB,
    &power::turbo::KNOB,
    &service::unit_command::KNOB,
    &service::unit_environment::KNOB,
    &scheduling::utilization_clamp::UtilizationClamp,
    &guest::vcpu_affinity::KNOB,
    &guest::vhost_affinity::KNOB,
    &housekeeping::vm_stat_interval::KNOB,
    &housekeeping::watchdog_cpus::KNOB,
    &housekeeping::workqueue_cpus::KNOB,
    &housekeeping::writeback_cpus::KNOB,
    &memory::writeback_numa::KNOB,
    &net::xps_cpus::KNOB,
    &memory::zone_reclaim::KNOB,
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

/// The setting that writing `text` to the file at `path` is, by the knobs' own files; the error says why the text is no value of the knob.
/// `None` where no knob has this file.
pub fn of_file(root: &Root, path: &str, text: &str) -> Option<Result<Setting, String>> {
    ALL.iter().find_map(|knob| {
        let (target, value) = knob.of_file(root, path, text)?;
        Some(value.map(|value| Setting { knob: knob.about().id.into(), target, value }))
    })
}

/// The knob of that id.
pub fn find(id: &str) -> Option<&'static dyn Knob> {
    ALL.iter().copied().find(|knob| knob.about().id == id)
}

#[cfg(test)]
mod tests;
