//! What a network driver reports of its channels, its interrupt coalescing and its rings (ethtool -l, -c, -g).

use serde::{Deserialize, Serialize};

use crate::root::ETHTOOL;
use crate::{Notes, Root};

/// Settings of a network card that decide how many CPUs it interrupts, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ethtool {
    /// Queue pairs and their limits; `None` when the driver does not report it.
    pub channels: Option<Channels>,
    /// How long interrupts are held back; `None` when the driver does not report it.
    pub coalesce: Option<Coalesce>,
    /// Descriptors of each ring; `None` when the driver does not report it.
    pub rings: Option<Rings>,
}

/// Channels: each has an interrupt of its own. Figures that the driver does not have are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Channels {
    /// Channels that receive only.
    pub rx: Option<u32>,
    /// Channels that send only.
    pub tx: Option<u32>,
    /// Channels that do both.
    pub combined: Option<u32>,
    /// Most `rx` possible.
    pub rx_max: Option<u32>,
    /// Most `tx` possible.
    pub tx_max: Option<u32>,
    /// Most `combined` possible.
    pub combined_max: Option<u32>,
}

/// Interrupt coalescing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Coalesce {
    /// An interrupt waits this long for more packets that arrive, us.
    pub rx_usecs: Option<u32>,
    /// And no longer than for this many packets.
    pub rx_max_frames: Option<u32>,
    /// The same for packets that were sent, us.
    pub tx_usecs: Option<u32>,
    /// And packets.
    pub tx_max_frames: Option<u32>,
    /// 1 when the driver chooses for itself by load, receiving.
    pub adaptive_rx: Option<u32>,
    /// The same, sending.
    pub adaptive_tx: Option<u32>,
}

/// Ring sizes, descriptors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rings {
    /// Receive.
    pub rx: Option<u32>,
    /// Transmit.
    pub tx: Option<u32>,
    /// Most `rx` possible.
    pub rx_max: Option<u32>,
    /// Most `tx` possible.
    pub tx_max: Option<u32>,
}

/// Asks about one interface. Trees of other tools do not know it, and that is nothing to note.
pub(super) fn read(root: &Root, interface: &str, notes: &mut Notes) -> Option<Ethtool> {
    match root.json_fact(&format!("{ETHTOOL}{interface}")) {
        Err(e) if e.is_absent() => None,
        reported => notes.keep(format!("channels and coalescing of {interface}"), reported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn what_no_driver_said_is_not_zero() {
        let text = r#"{"channels":{"combined":4,"combined_max":8},"coalesce":{}}"#;
        let told: Ethtool = serde_json::from_str(text).unwrap();
        assert_eq!(told.channels.unwrap().combined, Some(4));
        assert_eq!((told.coalesce.unwrap().rx_usecs, told.rings), (None, None));
        let mut notes = Notes::new();
        assert_eq!(read(&Root::from_tree(Tree::new()), "eth0", &mut notes), None);
        assert_eq!(notes.into_vec(), []);
    }
}
