//! What the server waits for voluntarily, or in the kernel.

pub mod blocked;
pub mod busy_polling;
pub mod listen_queue;
pub mod lock;
pub mod own_sleep;
pub mod slow_client;
pub mod slow_reader;
pub mod stopped;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] = &[
    &stopped::Stopped,
    &blocked::Blocked,
    &lock::Lock,
    &own_sleep::OwnSleep,
    &slow_client::SlowClient,
    &slow_reader::SlowReader,
    &listen_queue::ListenQueue,
    &busy_polling::BusyPolling,
];
