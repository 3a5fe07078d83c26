//! Where the latency of a request is spent on the server's side, as the kernel saw it in observed trials.

use serde::Serialize;

use super::TrialPair;
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
    let means: Option<Vec<_>> = pairs
        .iter()
        .map(|(arm, against)| {
            let of = |observed: &study::Observed| observed.situation.requests.as_ref()?.means_us();
            of(arm.observed).zip(of(against.observed))
        })
        .collect();
    let means = means.filter(|means| !means.is_empty())?;
    let waited: Vec<(f64, f64)> = means.iter().map(|(arm, against)| (arm.0, against.0)).collect();
    let served: Vec<(f64, f64)> = means.iter().map(|(arm, against)| (arm.1, against.1)).collect();
    Some(Latency { waited: Change::of(&waited), served: Change::of(&served) })
}
