//! Whether a server has come to a stop: it answers nothing, while requests lie unread in its sockets. Pure.

use probe::requests::Unread;

use super::slices::Span;
use crate::guard::{Breach, Certainty};

/// A server that answers nothing for so long, while requests lie unread in its sockets for as long, has come to a stop: certainly so, without
/// a baseline that shows what waits anyway. ns.
const SILENCE_NS: u64 = 1_000_000_000;

/// What is known of it, by the ends of slices.
#[derive(Default)]
pub(super) struct Silence {
    /// The end of the last slice in which something was answered, CLOCK_MONOTONIC ns.
    answered_ns: u64,
    /// What lay unread at the last look.
    unread: Unread,
    /// The end of the slice at which that was, likewise: what it did not see arrived later.
    looked_ns: u64,
}

impl Silence {
    /// Of a server whose requests are seen from then on: nothing that lies unread arrived earlier.
    pub(super) fn begin(from_ns: u64) -> Self {
        Self {
            answered_ns: from_ns,
            unread: Unread { is_whole: true, ..Unread::default() },
            looked_ns: from_ns,
        }
    }

    /// Something was answered in the slice that ended then.
    pub(super) fn answered(&mut self, to_ns: u64) {
        self.answered_ns = to_ns;
    }

    /// What a look saw that began at the end of a slice, `to_ns`, or after it.
    pub(super) fn looked(&mut self, to_ns: u64, unread: Unread) {
        (self.looked_ns, self.unread) = (to_ns, unread);
    }

    /// The breach of a server that has come to a stop by the end of this slice. `look` goes through all connections, so that it is called
    /// only where something may have lain unread for long enough: in a lull of the traffic once a second at most, and never while
    /// [`Silence::looked`] is called at the end of each slice.
    pub(super) fn breach(&mut self, span: Span, look: impl FnOnce() -> Unread) -> Option<Breach> {
        let silent_ns = span.to_ns.saturating_sub(self.answered_ns);
        if silent_ns < SILENCE_NS || span.to_ns < self.due_ns() {
            return None;
        }
        if self.looked_ns < span.to_ns {
            self.looked(span.to_ns, look());
        }
        let lain_ns = span.to_ns.saturating_sub(self.unread.since_ns?);
        silent(span, silent_ns.min(lain_ns), self.unread.connections)
    }

    /// Nothing can have lain unread for long enough before: what the last look saw, and what has arrived since.
    fn due_ns(&self) -> u64 {
        let Unread { since_ns, is_whole, .. } = self.unread;
        match is_whole {
            true => since_ns.unwrap_or(self.looked_ns).saturating_add(SILENCE_NS),
            // There may have been more, for however long.
            false => self.looked_ns,
        }
    }
}

/// The breach of a server that has answered nothing for so long, with so many requests unread; none where that is not long enough.
fn silent(span: Span, silent_ns: u64, requests: u64) -> Option<Breach> {
    let limit_s = SILENCE_NS as f64 / 1e9;
    (silent_ns >= SILENCE_NS).then(|| Breach {
        guard: format!("silence_s <= {limit_s}"),
        figure: "silence_s".into(),
        value: silent_ns as f64 / 1e9,
        limit: limit_s,
        requests,
        seen_ns: span.to_ns,
        slice_began_ns: span.from_ns,
        certainty: Certainty::Counted,
    })
}

#[cfg(test)]
mod tests;
