//! The names by which options and recipes take CPUs.

use machine::cpu_groups::{self, CpuGroup, GroupKind};
use machine::{CpuSet, Machine};

use super::lines::wrapped;
use super::quantities::list;
use crate::visible::one_line;

/// Most groups of a kind that are shown one by one.
const MOST_SHOWN: usize = 16;

/// A longer list of CPUs is abridged, characters.
const LONGEST: usize = 40;

/// A line for each kind of group; those of many groups have the first and the last. A last-level cache that is of level 3 everywhere has
/// one name here.
pub(super) fn section(machine: &Machine) -> String {
    let mut text = String::new();
    let third_level = cpu_groups::of_kind(GroupKind::L3, machine);
    for kind in GroupKind::ALL {
        let mut groups = cpu_groups::of_kind(kind, machine);
        groups.retain(|group| !group.cpus.is_empty());
        let is_repeated = kind == GroupKind::Llc && sets(&groups) == sets(&third_level);
        if !groups.is_empty() && !is_repeated {
            text.push_str(&wrapped(&format!("  {:9}", kind.word()), &named(&groups), 11));
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("Names of CPUs, for --cpus, --cpu and recipes (docs/cpus.md)\n{text}"),
    }
}

fn sets(groups: &[CpuGroup]) -> Vec<&CpuSet> {
    groups.iter().map(|group| &group.cpus).collect()
}

/// `node:0=0-7 node:1=8-15`, in words that are never broken.
fn named(groups: &[CpuGroup]) -> String {
    let one = |group: &CpuGroup| {
        let name = group.also.first().unwrap_or(&group.name);
        one_line(&format!("{name}={}", abridged(&group.cpus))).into_owned()
    };
    match groups {
        [first, second, .., last] if groups.len() > MOST_SHOWN => {
            format!("{} {} ... {}", one(first), one(second), one(last))
        }
        _ => groups.iter().map(one).collect::<Vec<_>>().join(" "),
    }
}

fn abridged(cpus: &CpuSet) -> String {
    let whole = list(cpus);
    let ends = cpus.first().zip(cpus.last()).filter(|_| whole.len() > LONGEST);
    ends.map_or(whole, |(first, last)| format!("{first},...,{last}({}-CPUs)", cpus.len()))
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::cpus::Cpu;
    use machine::topology::nodes::Node;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn of(cores: u32) -> Machine {
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            siblings: Some([id % cores, id % cores + cores].into_iter().collect()),
            ..Cpu::default()
        };
        let halves = |first: u32| (0..cores * 2).filter(|id| id % 2 == first).collect::<CpuSet>();
        let node = |id: u32| Node { id, cpus: halves(id), ..Node::default() };
        let l3 = |first| Cache { level: 3, kind: CacheType::Unified, bytes: None, cpus: halves(first) };
        Machine {
            cpus: (0..cores * 2).map(cpu).collect(),
            nodes: vec![node(0), node(1)],
            caches: vec![l3(0), l3(1)],
            ..Machine::default()
        }
    }

    #[test]
    fn each_kind_has_a_line_and_every_name_means_its_cpus() {
        let machine = of(4);
        let text = section(&machine);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "  node     node:0=0,2,4,6 node:1=1,3,5,7",
                "  l3       l3:0=0,2,4,6 l3:1=1,3,5,7",
                "  core     core:0=0,4 core:1=1,5 core:2=2,6 core:3=3,7",
                "  smt      smt:0=0-3 smt:1=4-7",
            ]
        );
        let named =
            lines.iter().flat_map(|line| line.split_whitespace()).filter_map(|word| word.split_once('='));
        for (name, cpus) in named {
            assert_eq!(machine::cpu_choice::resolve(name, &machine).unwrap(), set(cpus), "{name}");
        }
    }

    #[test]
    fn many_groups_and_long_lists_are_abridged() {
        let mut machine = of(64);
        machine.nodes[0].cpus.insert(1);
        machine.nodes[1].cpus = set("3,5,7");
        let text = section(&machine);
        assert!(text.contains("  core     core:0=0,64 core:1=1,65 ... core:63=63,127\n"), "{text}");
        assert!(text.contains("node:0=0,...,126(65-CPUs) node:1=3,5,7\n"), "{text}");
        assert!(text.contains("l3:0=0,2,4,...,126"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::super::lines::WIDTH), "{text}");
        assert_eq!(section(&Machine::default()), "");
    }

    #[test]
    fn a_last_level_that_is_not_the_third_has_its_own_names() {
        let mut machine = of(4);
        machine.caches[0].level = 2;
        let text = section(&machine);
        assert!(
            text.contains("\n  llc      llc:0=0,2,4,6 llc:1=1,3,5,7\n  l3       l3:0=1,3,5,7\n"),
            "{text}"
        );
    }
}
