//! Energy of packages and memory (RAPL), from /sys/class/powercap.

use machine::power::energy::{self, EnergyZone};
use machine::{FactId, Missing, Root};

use super::{About, Probe};
use crate::rows::{Kind, Row, Rows};

/// The probe `energy`.
pub(super) struct Energy;

/// The zones that were there when they were looked up.
#[derive(Default)]
struct Known(Vec<EnergyZone>);

impl Probe for Energy {
    fn about(&self) -> &About {
        &About {
            id: "energy",
            title: "energy of each package, of its memory and its parts (RAPL)",
            docs: "System rows in uJ, named by the zone's folder ('intel-rapl:0:1') and labelled with what it counts ('dram'). Zones \
                overlap: 'core' and 'uncore' are parts of their package, 'psys' holds the packages. The counters move about a thousand \
                times a second. Each reading interrupts one CPU of the package, since the counter is a register of it: ten a second \
                and zone. They begin again at 0 after max_energy_range_uj (minutes to hours); that is seen from one reading to the \
                next, so a window may be of any length.",
            files: &["/sys/class/powercap/intel-rapl*:*/{name,energy_uj,max_energy_range_uj}"],
            dear: true,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        let refused = |e: machine::ReadError| Missing::new(e.path.display(), &e);
        energy::readable(root).err().map(refused).into_iter().collect()
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut known = into.recall::<Known>();
        if known.0.is_empty() {
            known.0 = energy::zones(root)?;
        }
        let mut of_zone = |zone: &EnergyZone| {
            let missing = book(root, zone, into).err()?;
            // The sum has all of its parts without it.
            Some(if zone.in_sum { missing } else { missing.identified(FactId::EnergyWithin) })
        };
        let refused: Vec<Missing> = known.0.iter().filter_map(&mut of_zone).collect();
        if refused.len() == known.0.len() {
            let first = refused.into_iter().next();
            return Err(first.unwrap_or_else(|| Missing::new("energy", "no zone could be read")));
        }
        // A zone that went away may be another one when it comes back.
        if !refused.is_empty() {
            known.0.clear();
        }
        refused.into_iter().for_each(|missing| into.note(missing));
        into.remember(known);
        Ok(())
    }
}

fn book(root: &Root, zone: &EnergyZone, into: &mut Rows) -> Result<(), Missing> {
    let path = zone.counter();
    let text = into.read(root, &path)?;
    let uj = text.trim().parse::<u64>().map_err(|_| Missing::new(&path, "is not a number"))?;
    let kind = zone.max_energy_range_uj.map_or(Kind::Grows, Kind::EnergyUpTo);
    into.system(Row { name: &zone.id, label: &zone.name, unit: "uJ", kind }, uj);
    Ok(())
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;
    use crate::observation::Observation;
    use crate::sampler::Collector;

    const RANGE_UJ: u64 = 262_143_328_850;

    /// Packages with these counters; one whose counter is `None` is there and refuses.
    fn root(packages: &[(u32, Option<u64>)]) -> Root {
        let tree = packages.iter().fold(Tree::new(), |tree, (number, uj)| {
            let file = |name: &str| format!("/sys/class/powercap/intel-rapl:{number}/{name}");
            let tree = tree
                .file(&file("name"), format!("package-{number}\n"))
                .file(&file("max_energy_range_uj"), format!("{RANGE_UJ}\n"));
            match uj {
                Some(uj) => tree.file(&file("energy_uj"), format!("{uj}\n")),
                None => tree.denied(&file("energy_uj")),
            }
        });
        Root::from_tree(tree)
    }

    /// What a window sees that reaches over all these readings.
    fn seen(roots: &[Root]) -> Observation {
        let mut collector = Collector::of(Rows::new(&roots[0], None), &roots[0], &[&Energy]);
        roots.iter().for_each(|root| collector.take(root, 0, true));
        let recording = collector.rows.into_recording();
        let (from_ns, to_ns) = recording.span_ns().unwrap();
        recording.window(from_ns, to_ns)
    }

    fn uj(seen: &Observation) -> Vec<(&str, &str, u64)> {
        seen.system.iter().map(|row| (row.name.as_str(), row.label.as_str(), row.value)).collect()
    }

    #[test]
    fn a_counter_that_wraps_within_the_window_is_told_whole() {
        let at = |a: u64, b: u64| root(&[(0, Some(a)), (1, Some(b))]);
        let seen = seen(&[at(RANGE_UJ - 100, 5), at(RANGE_UJ - 40, 5), at(60, 5), at(70, 25)]);
        assert_eq!(uj(&seen), [("intel-rapl:0", "package-0", 170), ("intel-rapl:1", "package-1", 20)]);
        assert!(!seen.missing.iter().any(|m| m.fact.contains("energy")), "{:?}", seen.missing);
    }

    #[test]
    fn a_zone_that_goes_away_is_missing_and_the_others_are_told() {
        let both = root(&[(0, Some(1)), (1, Some(1))]);
        let seen = seen(&[both, root(&[(0, Some(9))]), root(&[(0, Some(11))])]);
        assert_eq!(uj(&seen), [("intel-rapl:0", "package-0", 10)]);
        let of_zone = |m: &&Missing| m.fact == "energy/intel-rapl:1" && m.why.contains("went away");
        assert!(seen.missing.iter().any(|m| of_zone(&m)), "{:?}", seen.missing);
    }

    #[test]
    fn one_that_refuses_is_named_and_where_all_refuse_the_probe_is_left_out() {
        let seen_some = seen(&[root(&[(0, Some(1)), (1, None)]), root(&[(0, Some(3)), (1, None)])]);
        assert_eq!(uj(&seen_some), [("intel-rapl:0", "package-0", 2)]);
        assert!(seen_some.missing.iter().any(|m| m.fact.contains("intel-rapl:1/energy_uj")));
        let none = seen(&[root(&[(0, None)]), root(&[(0, None)])]);
        assert!(none.system.is_empty() && none.missing.iter().any(|m| m.why.contains("permission denied")));
        assert!(
            !Energy.needs(&root(&[(0, None)])).is_empty() && Energy.needs(&root(&[(0, Some(1))])).is_empty()
        );
    }

    #[test]
    fn a_malformed_counter_is_no_number_and_no_zero() {
        let file = |name: &str| format!("/sys/class/powercap/intel-rapl:0/{name}");
        let bad = Tree::new().file(&file("name"), "package-0\n").file(&file("energy_uj"), "12a\n");
        let mut rows = Rows::new(&Root::from_tree(bad.clone()), None);
        rows.begin_frame(1, 1, 0, true);
        assert_eq!(Energy.read(&Root::from_tree(bad), &mut rows).unwrap_err().why, "is not a number");
    }
}
