//! Bytes that have arrived and that the server has not read. Pure.

use crate::bpf::Connection;

/// TCP connections with bytes that have arrived and that the server has not read. The default knows of none, nor that there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unread {
    /// How many there are.
    pub connections: u64,
    /// Since when those lie there that have lain longest, CLOCK_MONOTONIC ns; `None`: there are none.
    pub since_ns: Option<u64>,
    /// Whether all connections were looked at: else there may be more, which may lie there for longer.
    pub is_whole: bool,
}

impl Unread {
    /// Those among these connections; `is_whole`: these are all.
    pub(super) fn of<'a>(connections: impl Iterator<Item = &'a Connection>, is_whole: bool) -> Self {
        let mut unread = Self { is_whole, ..Self::default() };
        for arrived_ns in connections.map(|of| of.arrived_ns).filter(|arrived_ns| *arrived_ns > 0) {
            unread.connections += 1;
            unread.since_ns = Some(unread.since_ns.map_or(arrived_ns, |since_ns| since_ns.min(arrived_ns)));
        }
        unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::waiting::connection;

    #[test]
    fn those_that_have_lain_longest_count_and_what_was_read_does_not() {
        let none = Unread { is_whole: true, ..Unread::default() };
        // What is read and not answered, and an idle connection whose last request has been answered.
        let mut connections = vec![connection(0, 6, 5), connection(0, 0, 5)];
        assert_eq!(Unread::of(connections.iter(), true), none);
        connections.extend([connection(9, 0, 0), connection(7, 6, 5)]);
        let unread = Unread::of(connections.iter(), false);
        assert_eq!(unread, Unread { connections: 2, since_ns: Some(7_000_000), is_whole: false });
    }
}
