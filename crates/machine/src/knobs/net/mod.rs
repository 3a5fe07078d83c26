//! Network cards and their receive and transmit work.

pub mod busy_poll;
pub mod busy_read;
pub mod channels;
pub mod coalescing;
pub mod ethtool;
pub mod gro;
pub mod gro_flush_timeout;
pub mod gro_hw;
pub mod gro_list;
pub mod napi_defer_hard_irqs;
pub mod napi_threaded;
pub mod netdev_budget;
pub mod netdev_budget_us;
pub mod netdev_max_backlog;
pub mod rps_cpus;
pub mod rps_flow_count;
pub mod rps_sock_flow_entries;
pub mod xps_cpus;
