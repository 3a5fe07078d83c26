//! Where the latency of a request is spent on the server's side, as the kernel saw it in observed trials.

use serde::Serialize;

use super::trial_pair::{TrialPair, change};
use super::waterfall::Change;

/// The two parts of a request's latency that a placement changes, us: means over requests, by block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// From the arrival of its bytes to the server's read: the wake-up of the thread, and the work before it.
    pub waited: Change,
    /// From the read to the answer.
    pub served: Change,
}

/// Of two arms; `None` where the requests of a block were not seen.
pub(super) fn latency(pairs: &[TrialPair<'_, '_>]) -> Option<Latency> {
    let means_us = |observed: &study::Observed| observed.situation.requests.as_ref()?.means_us();
    Some(Latency {
        waited: change(pairs, |observed| Some(means_us(observed)?.0))?,
        served: change(pairs, |observed| Some(means_us(observed)?.1))?,
    })
}
