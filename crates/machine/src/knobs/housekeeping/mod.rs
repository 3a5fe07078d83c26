//! Which CPUs do the kernel's own work, and how often.

pub mod kernel_thread_affinity;
pub mod nmi_watchdog;
pub mod soft_watchdog;
pub mod vm_stat_interval;
pub mod watchdog_cpus;
pub mod workqueue_cpus;
pub mod writeback_cpus;
