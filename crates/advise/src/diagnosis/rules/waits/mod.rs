//! What the server waits for of its own will, or in the kernel.

pub mod blocked;
pub mod busy_polling;
pub mod listen_queue;
pub mod lock;
pub mod own_sleep;
pub mod slow_client;
pub mod slow_reader;
pub mod stopped;

use probe::account::SleepReason;

use super::{About, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// Sleep for one reason below this share of the time of the threads at work is that of any server.
const MUCH: f64 = 0.1;

/// The share of the time of the threads at work in which they slept for this, where that is much; else what a rule says to it.
fn much_sleep(scene: &Scene<'_>, about: &About, reason: SleepReason) -> Result<f64, Looked> {
    match scene.time.asleep_share(reason) {
        None => Err(Looked::needs_account(about)),
        Some(share) if share < MUCH => Err(Looked::Fine),
        Some(share) => Ok(share),
    }
}

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
