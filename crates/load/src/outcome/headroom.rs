//! Whether the load generator had room left: a figure of a client that was the limit says nothing about the server.

use machine::wording::whole_percent;

use crate::outcome::Headroom;

/// Busier than this, a process has no room left, share of one CPU.
pub const FULL: f64 = 0.9;

/// Judges by how busy both sides were, shares from 0 to 1; none where unknown. Of the client: its busiest thread, share of one CPU.
/// Of the server: what its busiest thread had or wanted of one CPU, or what all its threads used of the CPUs that they may use, whichever
/// is more. `crowded`: both ran on the same CPU, on purpose or for want of another.
pub fn headroom(client_busy: Option<f64>, server_busy: Option<f64>, crowded: bool) -> Headroom {
    let (client_limits, note) = match (client_busy, server_busy) {
        _ if crowded => (
            None,
            "load and server shared a CPU: together they were the limit, and the two cannot be distinguished. \
             Give the load a CPU of its own for figures of the server alone"
                .to_string(),
        ),
        (None, _) => (None, "how busy the load was is not known: the limit is not known either".to_string()),
        (Some(client), _) if client <= FULL => {
            let server = server_busy.map(|s| format!(", the server {}", whole_percent(s))).unwrap_or_default();
            (Some(false), format!("the load was {} busy{server}: it had room left", whole_percent(client)))
        }
        (Some(client), None) => (
            None,
            format!(
                "the load was {} busy and how busy the server was is not known: the load may be the limit. {MORE_ROOM}",
                whole_percent(client)
            ),
        ),
        (Some(client), Some(server)) if server <= FULL => (
            Some(true),
            format!(
                "the load was {} busy, the server only {}: the load was the limit, and the figures are the load's. \
                 {MORE_ROOM}",
                whole_percent(client),
                whole_percent(server)
            ),
        ),
        (Some(client), Some(server)) => (
            Some(false),
            format!(
                "the load was {} busy and the server {}: both are near their limit. {MORE_ROOM}",
                whole_percent(client),
                whole_percent(server)
            ),
        ),
    };
    Headroom { client_busy, server_busy, client_limits, note }
}

const MORE_ROOM: &str = "Give the server more work a request, the load more CPUs or threads, fewer connections, or keep them alive";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_with_the_remedy() {
        let limits = headroom(Some(0.98), Some(0.6), false);
        assert_eq!(limits.client_limits, Some(true));
        assert!(
            limits.note.contains("98 %") && limits.note.contains("60 %") && limits.note.contains("more work")
        );
        assert_eq!(headroom(Some(0.7), Some(0.99), false).client_limits, Some(false));
        assert_eq!(headroom(Some(0.7), None, false).client_limits, Some(false));
        let both = headroom(Some(0.95), Some(0.99), false);
        assert!(both.client_limits == Some(false) && both.note.contains("both"));
    }

    #[test]
    fn an_unknown_limit_is_not_guessed() {
        assert_eq!(headroom(None, Some(0.9), false).client_limits, None);
        assert_eq!(headroom(Some(0.95), None, false).client_limits, None);
        let crowded = headroom(Some(0.5), Some(0.5), true);
        assert!(crowded.client_limits.is_none() && crowded.note.contains("shared"));
    }
}
