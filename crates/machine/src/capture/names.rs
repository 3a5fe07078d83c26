//! Names that identify a host or its guests: interfaces named after their MAC address, and guests in the names of
//! cgroups. Such a name stands in listings, links, paths and texts, so each is given another one that is the same
//! everywhere, and things still lead to each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::procfs::escapes;

/// What the names of interfaces begin with that systemd names after their MAC address (systemd.net-naming-scheme(7)):
/// Ethernet, InfiniBand, SLIP, WLAN, WWAN.
const OF_MAC: [&str; 5] = ["enx", "ibx", "slx", "wlx", "wwx"];
const MAC_DIGITS: usize = 12;

/// Around the name of a guest: `machine-qemu\x2d1\x2dNAME.scope` (libvirt with systemd), `qemu-1-NAME.libvirt-qemu`
/// (without). Number and name are joined as number and `qemu` are.
const OF_GUEST: [(&str, &str, &str); 2] =
    [("machine-qemu", "\\x2d", ".scope"), ("qemu", "-", ".libvirt-qemu")];

/// The names of a capture, each with what stands in its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    interfaces: BTreeMap<String, String>,
    guests: BTreeMap<String, String>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Plain(&'a str),
    /// An interface's whole name.
    Interface(&'a str),
    /// A guest's name as it is written, with its escapes.
    Guest(&'a str),
}

impl Names {
    /// Those of these texts. They are numbered in their order, so that what was sorted stays sorted.
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut interfaces, mut guests) = (BTreeSet::new(), BTreeSet::new());
        for part in texts.flat_map(parts) {
            match part {
                Part::Interface(name) => drop(interfaces.insert(name)),
                Part::Guest(name) => drop(guests.insert(plain(name))),
                Part::Plain(_) => {}
            }
        }
        let interface =
            |(n, name): (usize, &str)| (name.to_string(), format!("{}{:012x}", &name[..3], n + 1));
        let guest = |(n, name): (usize, String)| (name, format!("guest{:03}", n + 1));
        Self {
            interfaces: interfaces.into_iter().enumerate().map(interface).collect(),
            guests: guests.into_iter().enumerate().map(guest).collect(),
        }
    }

    /// Whether there is nothing to rename.
    pub(super) fn is_empty(&self) -> bool {
        self.interfaces.is_empty() && self.guests.is_empty()
    }

    /// The text with the other names.
    pub(super) fn rename(&self, text: &str) -> String {
        let other = |part| match part {
            Part::Plain(text) => text.to_string(),
            Part::Interface(name) => self.interfaces.get(name).cloned().unwrap_or_default(),
            Part::Guest(name) => self.guests.get(&plain(name)).cloned().unwrap_or_default(),
        };
        parts(text).into_iter().map(other).collect()
    }
}

/// Without the escapes of unit names (systemd-escape(1)).
fn plain(name: &str) -> String {
    escapes::unescape(name, |code| u8::from_str_radix(code.strip_prefix('x')?, 16).ok())
}

/// Cuts a text at the names in it.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let begins = text[..at].chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric());
        let found = begins.then(|| interface(&text[at..]).or_else(|| guest(&text[at..]))).flatten();
        match found {
            Some((start, end, name)) => {
                parts.push(Part::Plain(&text[from..at + start]));
                parts.push(name);
                (from, at) = (at + end, at + end);
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    parts.push(Part::Plain(&text[from..]));
    parts
}

/// The name that a text begins with, and where it ends.
fn interface(text: &str) -> Option<(usize, usize, Part<'_>)> {
    let digits = OF_MAC.iter().find_map(|start| text.strip_prefix(start))?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let count = digits.bytes().take_while(is_digit).count();
    let end = text.len() - digits.len() + MAC_DIGITS;
    (count == MAC_DIGITS).then(|| (0, end, Part::Interface(&text[..end])))
}

/// The name in the folder that a text begins with, and where it stands.
fn guest(text: &str) -> Option<(usize, usize, Part<'_>)> {
    OF_GUEST.iter().find_map(|(start, joint, last)| {
        let rest = text.strip_prefix(start)?.strip_prefix(joint)?;
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(joint)?;
        let folder = rest.split(['/', '\n', '\0']).next()?;
        let name = folder.strip_suffix(last).filter(|name| !name.is_empty())?;
        let begin = text.len() - rest.len();
        Some((begin, begin + name.len(), Part::Guest(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(texts: &[&str]) -> Vec<String> {
        let names = Names::of(texts.iter().copied());
        texts.iter().map(|text| names.rename(text)).collect()
    }

    #[test]
    fn a_name_is_the_same_wherever_it_stands() {
        let texts = [
            "/sys/class/net/enx00e04c680001/queues",
            " 38: 1 2 PCI-MSI enx00e04c680001-rx-0, wlx0123456789ab\n",
            "0::/machine.slice/machine-qemu\\x2d3\\x2ddb\\x2d1.scope/libvirt/emulator\n",
            "machine-qemu\\x2d14\\x2dweb.scope",
            "4:cpu:/machine/qemu-3-db-1.libvirt-qemu/vcpu0",
        ];
        assert_eq!(
            renamed(&texts),
            [
                "/sys/class/net/enx000000000001/queues",
                " 38: 1 2 PCI-MSI enx000000000001-rx-0, wlx000000000002\n",
                "0::/machine.slice/machine-qemu\\x2d3\\x2dguest001.scope/libvirt/emulator\n",
                "machine-qemu\\x2d14\\x2dguest002.scope",
                "4:cpu:/machine/qemu-3-guest001.libvirt-qemu/vcpu0",
            ]
        );
    }

    #[test]
    fn other_names_stay() {
        for text in [
            "enx00e04c68000",
            "enx00e04c6800012",
            "xenx00e04c680001",
            "enp3s0",
            "machine-lxc\\x2d1\\x2dx.scope",
            "machine-qemu\\x2d3\\x2d.scope",
            "qemu-3-db/x.libvirt-qemu",
            "qemu-system-x86",
            "",
        ] {
            let names = Names::of([text].into_iter());
            assert!(names.is_empty() && names.rename(text) == text, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_and_renaming_twice_is_renaming_once(
            text in "(enx|0011223344|qemu-|1-|machine-qemu|\\\\x2d|.scope|.libvirt-qemu|/|é|[a-f]){0,12}"
        ) {
            let [once] = &renamed(&[&text])[..] else { unreachable!() };
            let [twice] = &renamed(&[once])[..] else { unreachable!() };
            proptest::prop_assert_eq!(once, twice);
            let whole: String = parts(&text).iter().map(|part| match part {
                Part::Plain(text) | Part::Interface(text) | Part::Guest(text) => *text,
            }).collect();
            proptest::prop_assert_eq!(whole, text);
        }
    }
}
