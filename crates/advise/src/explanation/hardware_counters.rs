//! What the server did by the CPU's own counters, where there are any: more work, or the same work more slowly.

use serde::Serialize;

use super::trial_pair::{TrialPair, change};
use super::waterfall::Change;

/// Work of the server in observed trials, by block. *Not verified on hardware.*
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    /// Instructions a request.
    pub instructions: Change,
    /// Instructions a cycle.
    pub per_cycle: Change,
    /// Misses of the last-level cache a request; `None` where the CPU has no such counter.
    pub cache_misses: Option<Change>,
}

/// Of two arms; `None` where the work of a block was not counted, or the load does not report its requests.
pub(super) fn work(pairs: &[TrialPair<'_, '_>]) -> Option<Work> {
    let a_request = |observed: &study::Observed, of: f64| {
        observed.requests.filter(|requests| *requests >= 1.0).map(|requests| of / requests)
    };
    Some(Work {
        instructions: change(pairs, |observed| a_request(observed, observed.situation.work?.instructions))?,
        per_cycle: change(pairs, |observed| observed.situation.work?.per_cycle())?,
        cache_misses: change(pairs, |observed| a_request(observed, observed.situation.work?.cache_misses?)),
    })
}
