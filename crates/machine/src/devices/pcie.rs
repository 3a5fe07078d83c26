//! PCIe links above a device: the rate at which each runs, and the highest that either end supports (drivers/pci/pci-sysfs.c).

use serde::{Deserialize, Serialize};

use crate::{Notes, ReadError, Root};

/// A link between a port (of the root complex, or of a switch) and the function or switch in its slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PcieLink {
    /// PCI address of the port, the upper end: it stands for the slot.
    pub port: String,
    /// PCI address of the lower end: the device itself, or a bridge above it.
    pub function: String,
    /// The rate when it was read. Some devices lower it while they are idle.
    pub current: LinkRate,
    /// The highest rate of the port.
    pub port_max: LinkRate,
    /// The highest rate of the lower end.
    pub function_max: LinkRate,
}

/// How much a PCIe link transfers in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkRate {
    /// Transfers on each lane, millions a second: 8000 for PCIe 3.0, which is called 8.0 GT/s.
    pub megatransfers_per_s: u32,
    /// Lanes.
    pub lanes: u32,
}

impl PcieLink {
    /// The highest rate that both ends support.
    pub fn could(&self) -> LinkRate {
        let (port, function) = (self.port_max, self.function_max);
        LinkRate {
            megatransfers_per_s: port.megatransfers_per_s.min(function.megatransfers_per_s),
            lanes: port.lanes.min(function.lanes),
        }
    }

    /// Whether it ran below what both ends support, in speed or in lanes.
    pub fn is_below(&self) -> bool {
        let could = self.could();
        self.current.megatransfers_per_s < could.megatransfers_per_s || self.current.lanes < could.lanes
    }
}

impl LinkRate {
    /// Bytes a second in each direction, as they are left by the line code. Headers of packets take a part of them: a tenth to a
    /// half, by the size of the packets.
    pub fn bytes_per_s(&self) -> f64 {
        // 8b/10b up to PCIe 2.0, 128b/130b up to 5.0, then flits, of which 236 bytes in 256 are packets (PCI Express Base
        // Specification 6.0).
        let share = match self.megatransfers_per_s {
            0..=5_000 => 8.0 / 10.0,
            5_001..=32_000 => 128.0 / 130.0,
            _ => 236.0 / 256.0,
        };
        f64::from(self.megatransfers_per_s) * 1e6 / 8.0 * share * f64::from(self.lanes)
    }
}

impl std::fmt::Display for LinkRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, tenth) = (self.megatransfers_per_s / 1_000, self.megatransfers_per_s % 1_000 / 100);
        write!(f, "{whole}.{tenth} GT/s x{}", self.lanes)
    }
}

/// The links above a function, from the root port down; `functions` are the folders of the PCI functions from the device upwards.
///
/// Every second function of the path is the upper end of a link: within a switch there is none. A function that was split off
/// (SR-IOV) has no link of its own, nor has one within the root complex.
pub(super) fn links(root: &Root, functions: &[&String], notes: &mut Notes) -> Vec<PcieLink> {
    let Some(device) = functions.first() else { return Vec::new() };
    if root.link(format!("{device}/physfn")).is_ok() {
        return Vec::new();
    }
    // Of PCIe functions alone, and since Linux 4.13.
    let is_pcie = |dir: &&&String| root.exists(format!("{dir}/max_link_speed"));
    let ends: Vec<&&String> = functions.iter().filter(is_pcie).collect();
    let mut links = Vec::new();
    for (function, port) in ends.chunks_exact(2).map(|pair| (pair[0], pair[1])) {
        let [function_name, port_name] = [function, port].map(|dir| super::place::pci_address(dir));
        let (Some(function_name), Some(port_name)) = (function_name, port_name) else { continue };
        let link = read(root, port, function).map(|[current, port_max, function_max]| PcieLink {
            port: port_name.to_string(),
            function: function_name.to_string(),
            current,
            port_max,
            function_max,
        });
        links.extend(notes.keep(format!("PCIe link from {port_name} to {function_name}"), link));
    }
    links.reverse();
    links
}

/// The rate of a link, and the highest of its upper and of its lower end.
fn read(root: &Root, port: &str, function: &str) -> Result<[LinkRate; 3], ReadError> {
    let current = rate(root, function, "current")?;
    if rate(root, port, "current")? != current {
        let why = format!("{port} says something else");
        return Err(ReadError::malformed(format!("{function}/current_link_speed"), why));
    }
    Ok([current, rate(root, port, "max")?, rate(root, function, "max")?])
}

fn rate(root: &Root, function: &str, which: &str) -> Result<LinkRate, ReadError> {
    let file = format!("{function}/{which}_link_speed");
    let text = root.line(&file)?;
    let malformed = || ReadError::malformed(&file, "the link is down, or its speed is not known");
    let megatransfers_per_s = speed(&text).ok_or_else(malformed)?;
    let file = format!("{function}/{which}_link_width");
    let lanes = root.number::<u32>(&file)?;
    // 0: no link; 255: PCIE_LNK_WIDTH_UNKNOWN of include/linux/pci.h.
    match (1..=32).contains(&lanes) {
        true => Ok(LinkRate { megatransfers_per_s, lanes }),
        false => Err(ReadError::malformed(file, "the link is down, or its width is not known")),
    }
}

/// `8.0 GT/s PCIe`, before Linux 5.7 `8 GT/s`: millions of transfers a second.
fn speed(text: &str) -> Option<u32> {
    let (number, rest) = text.split_once(" GT/s")?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_known = matches!(rest, "" | " PCIe") && digits(whole) && digits(tenth) && tenth.len() == 1;
    let (whole, tenth) = (whole.parse::<u32>().ok()?, tenth.parse::<u32>().ok()?);
    (is_known && (1..1_000).contains(&whole)).then(|| whole * 1_000 + tenth * 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    const ROOT_PORT: &str = "/sys/devices/pci0000:3a/0000:3a:00.0";
    const CARD: &str = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";

    /// A PCIe function: the rate at which its link runs, and the highest of this end.
    fn function(tree: Tree, dir: &str, current: (&str, &str), max: (&str, &str)) -> Tree {
        tree.file(&format!("{dir}/current_link_speed"), format!("{}\n", current.0))
            .file(&format!("{dir}/current_link_width"), format!("{}\n", current.1))
            .file(&format!("{dir}/max_link_speed"), format!("{}\n", max.0))
            .file(&format!("{dir}/max_link_width"), format!("{}\n", max.1))
    }

    const GEN3: &str = "8.0 GT/s PCIe";

    fn card_in_slot(current: (&str, &str), slot: (&str, &str), card: (&str, &str)) -> Tree {
        function(function(Tree::new(), ROOT_PORT, current, slot), CARD, current, card)
    }

    /// Links above the lowest folder, and facts that are missing.
    fn of(tree: Tree, dirs: &[&str]) -> (Vec<PcieLink>, Vec<String>) {
        let mut notes = Notes::new();
        let dirs: Vec<String> = dirs.iter().rev().map(|dir| (*dir).to_string()).collect();
        let links = links(&Root::from_tree(tree), &dirs.iter().collect::<Vec<_>>(), &mut notes);
        (links, notes.into_vec().into_iter().map(|missing| missing.fact).collect())
    }

    #[test]
    fn a_card_on_fewer_lanes_than_both_ends_have() {
        let (links, missing) =
            of(card_in_slot((GEN3, "4"), (GEN3, "16"), ("16.0 GT/s PCIe", "8")), &[ROOT_PORT, CARD]);
        assert_eq!(missing, Vec::<String>::new());
        assert_eq!((links[0].port.as_str(), links[0].function.as_str()), ("0000:3a:00.0", "0000:3b:00.0"));
        assert_eq!(
            (links[0].current.to_string(), links[0].could().to_string()),
            ("8.0 GT/s x4".into(), "8.0 GT/s x8".into())
        );
        assert!(links[0].is_below());
    }

    #[test]
    fn a_slot_that_has_no_more_is_no_fault() {
        let (links, _) = of(card_in_slot((GEN3, "4"), (GEN3, "4"), (GEN3, "8")), &[ROOT_PORT, CARD]);
        assert!(!links[0].is_below());
        let (links, _) =
            of(card_in_slot(("5.0 GT/s PCIe", "8"), ("5 GT/s", "8"), (GEN3, "8")), &[ROOT_PORT, CARD]);
        assert!(!links[0].is_below());
    }

    #[test]
    fn a_switch_has_a_link_on_each_side_and_none_within() {
        let up = format!("{ROOT_PORT}/0000:3b:00.0");
        let down = format!("{up}/0000:3c:04.0");
        let disk = format!("{down}/0000:3d:00.0");
        let mut tree = Tree::new();
        for (dir, width) in [(ROOT_PORT, "16"), (&up, "16"), (&down, "4"), (&disk, "4")] {
            tree = function(tree, dir, (GEN3, width), (GEN3, "16"));
        }
        let (links, missing) = of(tree, &[ROOT_PORT, &up, &down, &disk]);
        let found: Vec<(&str, &str, u32)> = links
            .iter()
            .map(|link| (link.port.as_str(), link.function.as_str(), link.current.lanes))
            .collect();
        assert_eq!(found, [("0000:3a:00.0", "0000:3b:00.0", 16), ("0000:3c:04.0", "0000:3d:00.0", 4)]);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn what_has_no_link_of_its_own_has_none() {
        let full = || card_in_slot((GEN3, "8"), (GEN3, "8"), (GEN3, "8"));
        let none = |tree: Tree, dirs: &[&str]| assert_eq!(of(tree, dirs), (Vec::new(), Vec::new()));
        none(full().link(&format!("{CARD}/physfn"), "../0000:3b:00.1"), &[ROOT_PORT, CARD]);
        none(full(), &[CARD]);
        none(Tree::new().dir(CARD), &[ROOT_PORT, CARD]);
        none(full(), &[]);
        // Below a bridge to PCI the functions are no PCIe ones: the link is that of the bridge.
        let below = format!("{CARD}/0000:3c:01.0");
        assert_eq!(of(full().dir(&below), &[ROOT_PORT, CARD, &below]).0[0].function, "0000:3b:00.0");
        // A function of the root complex above the root port (VMD) is on no link.
        let vmd = "/sys/devices/pci0000:00/0000:00:0e.0";
        let tree = function(full(), vmd, ("Unknown", "0"), ("Unknown", "255"));
        assert_eq!(of(tree, &[vmd, ROOT_PORT, CARD]).0.len(), 1);
    }

    #[test]
    fn what_cannot_be_known_is_missing() {
        let both = |current, max| card_in_slot(current, max, max);
        for tree in [
            both(("Unknown", "8"), (GEN3, "8")),
            both((GEN3, "0"), (GEN3, "8")),
            both((GEN3, "8"), (GEN3, "255")),
            both((GEN3, "8"), ("133 MHz PCI-X", "8")),
            both((GEN3, "8"), (GEN3, "8")).denied(&format!("{ROOT_PORT}/max_link_width")),
            both((GEN3, "8"), (GEN3, "8")).file(&format!("{ROOT_PORT}/current_link_width"), "4\n"),
        ] {
            let (links, missing) = of(tree, &[ROOT_PORT, CARD]);
            assert_eq!(
                (links.len(), missing.as_slice()),
                (0, &["PCIe link from 0000:3a:00.0 to 0000:3b:00.0".to_string()][..])
            );
        }
    }

    #[test]
    fn speeds_of_each_kernel_and_their_malformed_twins() {
        for (text, wanted) in
            [("2.5 GT/s", 2_500), ("8 GT/s", 8_000), (GEN3, 8_000), ("64.0 GT/s PCIe", 64_000)]
        {
            assert_eq!(speed(text), Some(wanted), "{text}");
        }
        for text in [
            "",
            "Unknown",
            "Unknown speed",
            "8.0",
            "GT/s",
            "-8 GT/s",
            "8.0 GT/s PCI",
            "8.00 GT/s",
            "0 GT/s",
            "4294968 GT/s",
            "8.42949673 GT/s",
            "99999999999 GT/s",
        ] {
            assert_eq!(speed(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_link_carries() {
        let of = |megatransfers_per_s, lanes| LinkRate { megatransfers_per_s, lanes }.bytes_per_s();
        assert_eq!(of(2_500, 1), 250e6);
        assert_eq!((of(8_000, 8) / 1e9 * 100.0).round(), 788.0);
        assert_eq!((of(64_000, 4) / 1e9).round(), 30.0);
        assert!(of(u32::MAX, u32::MAX).is_finite());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([0-9.]{0,12}| GT/s| PCIe|.){0,4}") {
            let _ = speed(&text);
        }
    }
}
