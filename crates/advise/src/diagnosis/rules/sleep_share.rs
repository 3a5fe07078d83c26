//! Sleep for one reason, where it is more than that of any server.

use probe::account::SleepReason;

use super::{About, Looked};
use crate::diagnosis::scene::Scene;

/// Sleep for one reason below this share of the time of the threads at work is that of any server.
pub(super) const MUCH: f64 = 0.1;

/// The share of the time of the threads at work in which they slept for this, where that is much; else what a rule says to it.
pub(super) fn large_sleep_share(
    scene: &Scene<'_>,
    about: &About,
    reason: SleepReason,
) -> Result<f64, Looked> {
    match scene.time.asleep_share(reason) {
        None => Err(Looked::needs_account(about)),
        Some(share) if share < MUCH => Err(Looked::Fine),
        Some(share) => Ok(share),
    }
}
