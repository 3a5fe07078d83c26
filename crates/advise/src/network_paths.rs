//! What differs between the two ends of the path to a host that drives load, and may decide what is measured through it.

use machine::devices::path::{InterfaceKind, NetworkPath, PathEnd};
use machine::ethtool::Offload;
use machine::wording::link_speed;
use serde::Serialize;

/// An end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// That of the server's host.
    Server,
    /// That of the host that drives load.
    Load,
}

impl End {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Server, Self::Load];

    /// This end of a path.
    pub fn of(self, path: &NetworkPath) -> &PathEnd {
        match self {
            Self::Server => &path.server,
            Self::Load => &path.load,
        }
    }

    /// In words: `at the server's end`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Server => "at the server's end",
            Self::Load => "at the load's end",
        }
    }
}

/// What stands behind an interface, in words.
pub fn kind_words(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Loopback => "loopback",
        InterfaceKind::Veth => "a pair within the host",
        InterfaceKind::Card => "a card",
        InterfaceKind::Virtual => "a virtual interface",
    }
}

/// In what the ends of a path are not alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "differ", rename_all = "kebab-case")]
pub enum UnequalEnds {
    /// The largest packets that the interfaces send.
    Mtu {
        /// The host that drives load.
        host: String,
        /// At the server's end, bytes.
        server_bytes: u32,
        /// At the other, bytes.
        load_bytes: u32,
    },
    /// Receive offload of the stack is off at one end alone.
    Gro {
        /// The host that drives load.
        host: String,
        /// Where it is off.
        off_at: End,
    },
    /// The speed of the cards.
    Speed {
        /// The host that drives load.
        host: String,
        /// At the server's end, Mbit/s.
        server_mbit: u64,
        /// At the other, Mbit/s.
        load_mbit: u64,
    },
}

impl UnequalEnds {
    /// In words, as a sentence without its end.
    pub fn words(&self) -> String {
        match self {
            Self::Mtu { host, server_bytes, load_bytes } => {
                let least = server_bytes.min(load_bytes);
                format!(
                    "load host {host}: the MTU is {server_bytes} at the server's end and {load_bytes} at the load's end: no packet \
                     between them can be larger than {least} bytes"
                )
            }
            Self::Gro { host, off_at } => format!(
                "load host {host}: receive offload (gro) is off {} alone: the stack handles each packet by itself there, which takes \
                 more CPU time",
                off_at.words()
            ),
            Self::Speed { host, server_mbit, load_mbit } => format!(
                "load host {host}: the card runs at {} at the server's end and at {} at the load's end: the slower one may be the limit",
                link_speed(*server_mbit),
                link_speed(*load_mbit)
            ),
        }
    }
}

/// What differs between the ends of each path. What is not known of one end is no difference.
pub fn unequal_ends(paths: &[NetworkPath]) -> Vec<UnequalEnds> {
    paths.iter().flat_map(of_path).collect()
}

fn of_path(path: &NetworkPath) -> Vec<UnequalEnds> {
    let (server, load, host) = (&path.server, &path.load, &path.host);
    let mtus = different(server.mtu_bytes, load.mtu_bytes)
        .map(|(server_bytes, load_bytes)| UnequalEnds::Mtu { host: host.clone(), server_bytes, load_bytes });
    // A card that joins packets itself leaves nothing to join.
    let joins = |end: &PathEnd| {
        let is_on = |offload| end.offloads.get(&offload).copied();
        if is_on(Offload::Lro) == Some(true) { Some(true) } else { is_on(Offload::Gro) }
    };
    let off = different(joins(server), joins(load)).map(|(on_at_server, _)| {
        let off_at = if on_at_server { End::Load } else { End::Server };
        UnequalEnds::Gro { host: host.clone(), off_at }
    });
    // The speed that a veth, a bridge or a tunnel reports is nominal.
    let speed = |end: &PathEnd| end.speed_mbit.filter(|_| end.kind == Some(InterfaceKind::Card));
    let speeds = different(speed(server), speed(load)).map(|(server_mbit, load_mbit)| UnequalEnds::Speed {
        host: host.clone(),
        server_mbit,
        load_mbit,
    });
    [mtus, off, speeds].into_iter().flatten().collect()
}

/// Both values, where both are known and not the same.
fn different<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<(T, T)> {
    one.zip(other).filter(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end() -> PathEnd {
        PathEnd {
            kind: Some(InterfaceKind::Card),
            speed_mbit: Some(25_000),
            mtu_bytes: Some(1500),
            offloads: [(Offload::Gro, true), (Offload::Lro, false)].into(),
            ..PathEnd::default()
        }
    }

    fn found(server: PathEnd, load: PathEnd) -> Vec<UnequalEnds> {
        unequal_ends(&[NetworkPath { host: "b".into(), server, load }])
    }

    #[test]
    fn equal_ends_are_not_mentioned() {
        assert_eq!(found(end(), end()), []);
    }

    #[test]
    fn an_mtu_a_speed_and_an_offload_that_differ_are_named_with_both_ends() {
        let load = PathEnd {
            speed_mbit: Some(1000),
            mtu_bytes: Some(9000),
            offloads: [(Offload::Gro, false)].into(),
            ..end()
        };
        let found = found(end(), load);
        let words: Vec<String> = found.iter().map(UnequalEnds::words).collect();
        let [mtu, gro, speed] = &words[..] else { panic!("{words:?}") };
        assert!(
            mtu.contains("1500 at the server's end and 9000") && mtu.contains("larger than 1500"),
            "{mtu}"
        );
        assert!(gro.contains("load host b") && gro.contains("off at the load's end alone"), "{gro}");
        assert!(speed.contains("25 Gbit/s at the server's end and at 1 Gbit/s"), "{speed}");
    }

    #[test]
    fn what_one_end_does_not_know_is_no_difference() {
        for unknown in [PathEnd::default(), PathEnd::unknown("no route")] {
            assert_eq!(found(unknown.clone(), end()), []);
            assert_eq!(found(end(), unknown), []);
        }
    }

    #[test]
    fn another_offload_than_gro_and_the_nominal_speed_of_what_is_no_card_are_no_difference() {
        let offloads = [(Offload::Gro, true), (Offload::Lro, true), (Offload::Tso, false)].into();
        assert_eq!(found(end(), PathEnd { offloads, ..end() }), []);
        let veth = PathEnd { kind: Some(InterfaceKind::Veth), speed_mbit: Some(10_000), ..end() };
        assert_eq!(found(end(), veth), []);
    }

    #[test]
    fn gro_that_is_off_at_both_ends_is_no_difference() {
        let off = || PathEnd { offloads: [(Offload::Gro, false)].into(), ..end() };
        assert_eq!(found(off(), off()), []);
        let by_card = PathEnd { offloads: [(Offload::Gro, false), (Offload::Lro, true)].into(), ..end() };
        assert_eq!(found(end(), by_card), [], "the card joins packets");
    }
}
