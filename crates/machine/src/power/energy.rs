//! Energy counters of packages and their memory (RAPL), from /sys/class/powercap (Documentation/power/powercap/powercap.rst,
//! Documentation/ABI/testing/sysfs-class-powercap). AMD's zones have the names of Intel's.
//!
//! What is within what, and so what may be added up: a package's counter holds its `core` and `uncore` planes, and not the memory that
//! hangs on it, although the kernel shows `dram` below the package (Intel SDM volume 3, "Package RAPL Domain", "DRAM RAPL Domain").
//! `psys` holds the packages. The same package may be counted by registers and by memory (`intel-rapl-mmio`): it is one package.

use serde::{Deserialize, Serialize};

use crate::{Missing, Notes, ReadError, Root};

/// Folder of the zones.
const ZONES: &str = "/sys/class/powercap";

/// Kinds of zones that count the energy of hardware, in the order in which they are believed. Others (`dtpm`) are computed.
const KINDS: [&str; 2] = ["intel-rapl", "intel-rapl-mmio"];

/// Why there may be none, and what helps.
const NONE: &str = "there is no intel-rapl zone in /sys/class/powercap: virtual machines and containers have none; on hardware: modprobe \
                    intel_rapl_msr";

/// A part of the machine whose energy is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EnergyZone {
    /// Name of its folder: `intel-rapl:0:1`.
    pub id: String,
    /// What it counts: `package-0`, `package-0-die-1`, `dram`, `core`, `uncore`, `psys`.
    pub name: String,
    /// The zone below which the kernel shows it. That its energy is a part of that zone's is not said by it: see `in_sum`.
    pub within: Option<String>,
    /// The package that it belongs to.
    pub package: Option<u32>,
    /// After this value the counter begins again at 0, uJ.
    pub max_energy_range_uj: Option<u64>,
    /// Whether its power limits are in force; the energy is counted all the same.
    pub enabled: Option<bool>,
    /// Whether it is added up for the energy of the machine: packages and their memory, each once.
    pub in_sum: bool,
}

impl EnergyZone {
    /// The file that counts, uJ since some moment before; root alone may read it since Linux 5.10 (CVE-2020-8694).
    pub fn counter(&self) -> String {
        format!("{ZONES}/{}/energy_uj", self.id)
    }

    /// `package-0`, `dram of package-0`, `package-0 (intel-rapl-mmio:0)`.
    fn words(&self, zones: &[Self]) -> String {
        let above = self.within.as_ref().and_then(|id| zones.iter().find(|zone| zone.id == *id));
        let name = match above {
            Some(above) => format!("{} of {}", self.name, above.name),
            None => self.name.clone(),
        };
        if self.id.starts_with(KINDS[1]) { format!("{name} ({})", self.id) } else { name }
    }
}

/// The zones that there are, packages before what lies below them.
///
/// # Errors
/// There is none, or they cannot be listed: why, and what helps.
pub fn zones(root: &Root) -> Result<Vec<EnergyZone>, Missing> {
    let listed = match root.list(ZONES) {
        Err(e) if e.is_absent() => Vec::new(),
        other => other.map_err(|e| Missing::new(FACT, e))?,
    };
    let mut ids: Vec<(Place, &String)> = listed.iter().filter_map(|id| Some((Place::of(id)?, id))).collect();
    ids.sort();
    let mut zones: Vec<EnergyZone> =
        ids.into_iter().filter_map(|(place, id)| one(root, &place, id)).collect();
    if zones.is_empty() {
        return Err(Missing::new(FACT, NONE));
    }
    let named: Vec<(&str, &str)> = zones.iter().map(|zone| (zone.id.as_str(), zone.name.as_str())).collect();
    let in_sum = in_sum(&named);
    for at in 0..zones.len() {
        zones[at].in_sum = in_sum[at];
        let above = zones[at].within.as_ref().and_then(|id| zones.iter().find(|zone| zone.id == *id));
        zones[at].package = package(above.map_or(zones[at].name.as_str(), |above| above.name.as_str()));
    }
    Ok(zones)
}

/// Name of the fact where there is none at all.
const FACT: &str = "energy counters (RAPL)";

/// The same with every counter read once: for a machine that is about to be asked for its energy.
///
/// # Errors
/// There is no zone, or one that the sum needs cannot be read: why, and what helps.
pub fn readable(root: &Root) -> Result<Vec<EnergyZone>, ReadError> {
    let zones = zones(root).map_err(|missing| ReadError::absent(ZONES, missing.why))?;
    let needed = zones.iter().filter(|zone| zone.in_sum);
    for zone in needed {
        root.number::<u64>(zone.counter()).map_err(told)?;
    }
    match zones.iter().any(|zone| zone.in_sum) {
        true => Ok(zones),
        false => Err(ReadError::absent(ZONES, "none of its zones is a package")),
    }
}

/// The zones for the map. That the counters cannot be read is reported once for all that cannot.
pub(crate) fn read(root: &Root, notes: &mut Notes) -> Vec<EnergyZone> {
    let zones = match zones(root) {
        Ok(zones) => zones,
        Err(missing) => {
            notes.add(missing);
            return Vec::new();
        }
    };
    let failed: Vec<(String, ReadError)> = zones
        .iter()
        .filter_map(|zone| Some((zone.words(&zones), root.number::<u64>(zone.counter()).err()?)))
        .collect();
    if let Some((_, first)) = failed.first() {
        let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        notes.missing(format_args!("energy of {}", names.join(", ")), told(first.clone()));
    }
    zones
}

/// A refused counter says since when that is so.
fn told(error: ReadError) -> ReadError {
    match error.is_denied() {
        true => {
            ReadError { why: format!("{} (root alone may read it since Linux 5.10)", error.why), ..error }
        }
        false => error,
    }
}

/// One zone; `None` for one that has no name any more: it went away, or a container hides it.
fn one(root: &Root, place: &Place, id: &str) -> Option<EnergyZone> {
    let file = |name: &str| format!("{ZONES}/{id}/{name}");
    let within = (place.numbers.len() > 1).then(|| id.rsplit_once(':').map(|(above, _)| above.to_string()));
    Some(EnergyZone {
        id: id.to_string(),
        name: root.line(file("name")).ok().filter(|name| !name.is_empty())?,
        within: within.flatten(),
        package: None,
        max_energy_range_uj: root.number(file("max_energy_range_uj")).ok(),
        enabled: root.number::<u32>(file("enabled")).ok().map(|n| n != 0),
        in_sum: false,
    })
}

/// Which of these zones (folder, name) make up the machine, each part of it once: in the order given.
pub fn in_sum(zones: &[(&str, &str)]) -> Vec<bool> {
    let above = |id: &str| {
        let (above, _) = id.rsplit_once(':')?;
        zones.iter().find(|(id, _)| *id == above).map(|(_, name)| *name)
    };
    let part = |(id, name): (&str, &str)| match above(id) {
        None if package(name).is_some() => Some(name.to_string()),
        Some(package_above) if name == "dram" && package(package_above).is_some() => {
            Some(format!("{package_above} dram"))
        }
        _ => None,
    };
    let rank =
        |id: &str| KINDS.iter().position(|kind| Place::of(id).is_some_and(|place| place.kind == *kind));
    let told_better = |id: &str, of: &str| {
        zones.iter().any(|zone| rank(zone.0) < rank(id) && part(*zone).as_deref() == Some(of))
    };
    zones.iter().map(|zone| part(*zone).is_some_and(|of| !told_better(zone.0, &of))).collect()
}

/// The number in `package-0`, `package-0-die-1`.
fn package(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("package-")?;
    rest.split('-').next()?.parse().ok()
}

/// Where a zone stands: `intel-rapl:0:1`. Ordered as it is believed, then by number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: usize,
    numbers: Vec<u32>,
    kind: &'static str,
}

impl Place {
    /// `None` for the folder of a kind itself, for other kinds, and for what has another form.
    fn of(id: &str) -> Option<Self> {
        let (kind, numbers) = id.split_once(':')?;
        let rank = KINDS.iter().position(|known| *known == kind)?;
        let numbers = numbers.split(':').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>()?;
        Some(Self { rank, numbers, kind: KINDS[rank] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn zone(tree: Tree, id: &str, name: &str, uj: &str) -> Tree {
        let file = |of: &str| format!("{ZONES}/{id}/{of}");
        tree.file(&file("name"), format!("{name}\n"))
            .file(&file("energy_uj"), format!("{uj}\n"))
            .file(&file("max_energy_range_uj"), "262143328850\n")
            .file(&file("enabled"), "1\n")
    }

    /// Two packages with memory, one of them counted by memory too, and the platform.
    fn server() -> Tree {
        let zones = [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl:0:1", "dram"),
            ("intel-rapl:1", "package-1"),
            ("intel-rapl:1:0", "dram"),
            ("intel-rapl:2", "psys"),
            ("intel-rapl-mmio:0", "package-0"),
            ("intel-rapl-mmio:0:0", "dram"),
        ];
        zones
            .iter()
            .fold(Tree::new(), |tree, (id, name)| zone(tree, id, name, "5"))
            .file(&format!("{ZONES}/intel-rapl/enabled"), "1\n")
            .file(&format!("{ZONES}/dtpm:0/name"), "dtpm\n")
    }

    #[test]
    fn packages_and_their_memory_make_the_sum_each_once() {
        let zones = zones(&Root::from_tree(server())).unwrap();
        let told: Vec<_> = zones.iter().filter(|z| z.in_sum).map(|z| z.words(&zones)).collect();
        assert_eq!(told, ["package-0", "dram of package-0", "package-1", "dram of package-1"]);
        let of: Vec<_> = zones.iter().map(|z| (z.id.as_str(), z.package)).collect();
        assert_eq!(of[0], ("intel-rapl:0", Some(0)));
        assert_eq!(of[4], ("intel-rapl:1:0", Some(1)));
        assert_eq!(of[5], ("intel-rapl:2", None));
        assert_eq!(of.len(), 8, "neither the kind itself nor what is computed");
        assert_eq!(zones[1].within.as_deref(), Some("intel-rapl:0"));
        assert_eq!((zones[1].max_energy_range_uj, zones[1].enabled), (Some(262_143_328_850), Some(true)));
    }

    #[test]
    fn what_only_memory_counts_is_taken_and_dies_count_each() {
        assert_eq!(in_sum(&[("intel-rapl-mmio:0", "package-0")]), [true]);
        let dies = [("intel-rapl:0", "package-0-die-0"), ("intel-rapl:1", "package-0-die-1")];
        assert_eq!(in_sum(&dies), [true, true]);
        assert_eq!(in_sum(&[("intel-rapl:0", "psys"), ("intel-rapl:0:0", "dram")]), [false, false]);
        assert_eq!(in_sum(&[("intel-rapl:x", "package-0"), ("intel-rapl:0", "package-")]), [true, false]);
    }

    #[test]
    fn without_zones_without_root_and_malformed_are_distinguished() {
        let missing = |tree: Tree| {
            let mut notes = Notes::new();
            read(&Root::from_tree(tree), &mut notes);
            notes.into_vec().into_iter().map(|m| format!("{}: {}", m.fact, m.why)).collect::<Vec<_>>()
        };
        let none = missing(Tree::new().file(&format!("{ZONES}/intel-rapl/enabled"), "0\n"));
        assert!(none.len() == 1 && none[0].contains("modprobe"), "{none:?}");
        assert_eq!(none, missing(Tree::new()));
        let base = || Tree::new().file(&format!("{ZONES}/intel-rapl:0/name"), "package-0\n");
        let denied = missing(base().denied(&format!("{ZONES}/intel-rapl:0/energy_uj")));
        assert!(
            denied[0].starts_with("energy of package-0: ") && denied[0].contains("run as root"),
            "{denied:?}"
        );
        let bad = missing(zone(Tree::new(), "intel-rapl:0", "package-0", "12 uJ"));
        assert!(bad[0].contains("'12 uJ'"), "{bad:?}");
        assert_eq!(missing(server()), Vec::<String>::new());
    }

    #[test]
    fn a_machine_that_is_asked_for_its_energy_has_it_or_says_why_not() {
        readable(&Root::from_tree(server())).unwrap();
        let path = format!("{ZONES}/intel-rapl:1/energy_uj");
        assert!(readable(&Root::from_tree(server().denied(&path))).unwrap_err().is_denied());
        assert!(readable(&Root::from_tree(Tree::new())).unwrap_err().why.contains("modprobe"));
        let psys = zone(Tree::new(), "intel-rapl:0", "psys", "1");
        assert!(readable(&Root::from_tree(psys)).unwrap_err().why.contains("package"));
    }
}
