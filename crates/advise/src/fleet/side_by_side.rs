//! A few machines side by side, whatever hardware each is: nothing is usual of them, and their order is that of whoever asks.

use serde::Serialize;

use super::FeatureId;
use super::cards::Matched;
use super::consequences::Differing;
use super::feature::{Comparison, heaviest_first};
use super::judge::{Bench, Cell, is_far, size};
use super::kind;
use super::reduced::Reduced;
use super::symbols::Symbols;
use super::values::Key;

/// Machines side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideBySide {
    /// The hardware of each machine in words, in the order in which they were taken; none where all are of one shape.
    pub hardware: Vec<String>,
    /// What is known of two and not the same in all that know it, the heaviest first. What follows from another one of them, or from
    /// the hardware, is left out.
    pub differences: Vec<Apart>,
}

/// A feature in which machines differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Apart {
    /// Which.
    pub feature: FeatureId,
    /// What of: `eth0`, `node 1`, the name of a boot parameter; empty for what a machine has once.
    pub subject: String,
    /// What each machine has, in the order in which they were taken; `None` where that is not known.
    pub values: Vec<Option<String>>,
}

/// Puts the hosts side by side.
pub(super) fn of(hosts: &[Reduced], symbols: &Symbols) -> SideBySide {
    let is_one_kind = kind::group(hosts, symbols).len() < 2;
    let listed: Vec<&Reduced> = hosts.iter().collect();
    let bench = Bench::of(&listed, symbols);
    let columns = Matched::of(&listed, symbols).columns(&listed);
    let mut apart: Vec<(Key, Vec<Cell>)> = columns.into_iter().collect();
    apart.retain_mut(|(key, cells)| {
        bench.complete(key.feature, cells);
        cells.sort_by_key(|(place, _)| *place);
        (is_one_kind || !follows_from_hardware(key.feature))
            && differ(&bench, key.feature.comparison(), cells)
    });
    let differing = Differing::of(apart.iter().map(|(key, _)| (0, *key)));
    let mut differences: Vec<Apart> = apart
        .iter()
        .filter(|(key, _)| !differing.explains(0, *key, symbols))
        .map(|(key, cells)| in_words(*key, cells, hosts.len(), symbols))
        .collect();
    differences.sort_by(|a, b| heaviest_first((a.feature, &a.subject), (b.feature, &b.subject)));
    let title = |host: &Reduced| host.kind.title(host.cpus, host.nodes, symbols);
    SideBySide {
        hardware: if is_one_kind { Vec::new() } else { hosts.iter().map(title).collect() },
        differences,
    }
}

fn differ(bench: &Bench<'_>, how: Comparison, cells: &[Cell]) -> bool {
    let Some((first, others)) = cells.split_first() else { return false };
    others.iter().any(|other| !is_one_value(bench, how, *first, *other))
}

fn is_one_value(bench: &Bench<'_>, how: Comparison, one: Cell, other: Cell) -> bool {
    one.1 == other.1
        || match how {
            Comparison::Exact => false,
            Comparison::Near => {
                size(one.1).zip(size(other.1)).is_some_and(|(one, other)| !is_far(one, other))
            }
            Comparison::OfOnline => {
                bench.is_same_but_for_offline(one.1, other) || bench.is_same_but_for_offline(other.1, one)
            }
        }
}

fn in_words(key: Key, cells: &[Cell], hosts: usize, symbols: &Symbols) -> Apart {
    let mut values: Vec<Option<String>> = vec![None; hosts];
    for (place, value) in cells {
        if let Some(slot) = values.get_mut(*place) {
            *slot = Some(value.words(key.feature, symbols));
        }
    }
    Apart { feature: key.feature, subject: symbols.text(key.subject).to_string(), values }
}

/// What other hardware has otherwise in any case. CPUs and nodes stand in its words.
fn follows_from_hardware(feature: FeatureId) -> bool {
    use FeatureId as F;
    matches!(
        feature,
        F::CpusPresent
            | F::Nodes
            | F::NodeCpus
            | F::NodeMemory
            | F::NodeDistances
            | F::PackageCpus
            | F::CacheSharing
            | F::Microcode
            | F::HardwareFrequency
            | F::FrequencyMin
            | F::IdleStates
            | F::IdleExitLatency
            | F::SettingCpus
            | F::AllowedCpus
            | F::AllowedNodes
            | F::CardNode
            | F::IrqPlacement
            | F::IrqNode
            | F::TransmitSteering
    )
}

#[cfg(test)]
mod tests {
    use machine::power::FrequencyPolicy;
    use machine::topology::cpus::Cpu;
    use machine::{CpuSet, Machine};

    use super::super::{Grouper, Processor};
    use super::*;

    fn machine(cpus: u32, release: &str, governor: &str) -> Machine {
        let all: CpuSet = (0..cpus).collect();
        let cpu = |id| Cpu { id, online: true, siblings: Some(CpuSet::single(id)), ..Cpu::default() };
        let mut machine =
            Machine { cpus: (0..cpus).map(cpu).collect(), packages: vec![all.clone()], ..Machine::default() };
        machine.kernel.release = Some(release.into());
        machine.kernel.cmdline = Some("quiet".into());
        let policy =
            FrequencyPolicy { cpus: all, governor: Some(governor.into()), ..FrequencyPolicy::default() };
        machine.power.frequency = vec![policy];
        machine
    }

    fn side_by_side(machines: &[Machine]) -> SideBySide {
        let mut grouper = Grouper::default();
        for (number, machine) in machines.iter().enumerate() {
            grouper.add_with(&format!("case {number}"), machine, &Processor::default());
        }
        grouper.side_by_side()
    }

    fn names(of: &SideBySide) -> Vec<&str> {
        of.differences.iter().map(|apart| apart.feature.name()).collect()
    }

    #[test]
    fn equal_machines_differ_in_nothing() {
        let one = machine(4, "6.1", "powersave");
        let of = side_by_side(&[one.clone(), one]);
        assert_eq!((of.hardware.len(), names(&of)), (0, Vec::<&str>::new()));
    }

    #[test]
    fn what_two_differ_in_stands_in_their_order_the_heaviest_first() {
        let (one, mut other) = (machine(4, "6.1", "powersave"), machine(4, "6.18", "performance"));
        other.kernel.hz = Some(250);
        other.kernel.cmdline = Some("quiet nohz_full=1-3".into());
        let of = side_by_side(&[one.clone(), other.clone()]);
        assert_eq!(
            names(&of),
            ["kernel", "frequency-governor", "boot-parameter"],
            "one tick rate is not known"
        );
        assert_eq!(of.differences[0].values, [Some("6.1".to_string()), Some("6.18".to_string())]);
        assert_eq!(of.differences[2].subject, "nohz_full");
        assert_eq!(of.differences[2].values, [Some("not given".to_string()), Some("1-3".to_string())]);
        let turned = side_by_side(&[other, one]);
        assert_eq!(turned.differences[0].values[0].as_deref(), Some("6.18"));
    }

    #[test]
    fn a_majority_makes_nothing_usual_and_what_one_does_not_know_is_not_known() {
        let one = machine(4, "6.1", "powersave");
        let mut unknown = machine(4, "6.18", "powersave");
        unknown.kernel.release = None;
        let of = side_by_side(&[one.clone(), machine(4, "6.18", "powersave"), one, unknown]);
        let [kernel] = &of.differences[..] else { panic!("{of:?}") };
        let values: Vec<Option<&str>> = kernel.values.iter().map(Option::as_deref).collect();
        assert_eq!(values, [Some("6.1"), Some("6.18"), Some("6.1"), None]);
    }

    #[test]
    fn other_hardware_is_said_once_and_not_what_follows_from_it() {
        let of = side_by_side(&[machine(4, "6.1", "powersave"), machine(8, "6.1", "powersave")]);
        assert_eq!(of.hardware, ["1 package, 4 cores, 4 CPUs", "1 package, 8 cores, 8 CPUs"]);
        assert_eq!(names(&of), Vec::<&str>::new());
    }
}
