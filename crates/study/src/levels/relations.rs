//! Where the load is, seen from the server's CPU: relations that the map of a machine offers. Pure.
//!
//! Apart is what trying each CPU in turn does by itself. Whether it pays depends on the machine: a wake-up of another CPU is dear on
//! some (an idle one of a virtual machine above all), and there server and load together on one CPU can be the best placement.

use machine::{CpuSet, Machine};

use super::Level;

/// Up to this many CPUs that are tried, each has an arm with the load on it too: with two CPUs that is every pair of server and load,
/// so that a CPU that is slow for the server and one that is slow for the load are distinguished.
const TOGETHER_EACH_UP_TO: usize = 2;

/// The load beside the server on the first of `tried` (on each of them where they are few): on the same CPU, on its SMT sibling, under
/// the same last-level cache, on another node. Only what differs from the load on all CPUs that the server leaves.
pub(super) fn of(tried: &CpuSet, machine: &Machine) -> Vec<Level> {
    let usable = machine.usable();
    // With one CPU there is no other place for the load than the server's.
    let Some(first) = tried.first().filter(|_| usable.iter().count() > 1) else { return Vec::new() };
    let is_few = tried.iter().count() <= TOGETHER_EACH_UP_TO;
    let together: Vec<u32> = if is_few { tried.iter().collect() } else { vec![first] };
    let mut levels: Vec<Level> = together
        .into_iter()
        .map(|cpu| related(format!("both on cpu {cpu}"), cpu, CpuSet::single(cpu)))
        .collect();
    let rest = usable.difference(&CpuSet::single(first));
    for (name, cpus) in near_and_far(first, machine) {
        let load = cpus.intersection(&rest);
        let is_new = levels.iter().all(|level| level.load.as_ref() != Some(&load));
        if !load.is_empty() && load != rest && is_new {
            levels.push(related(name, first, load));
        }
    }
    levels
}

fn related(name: String, cpu: u32, load: CpuSet) -> Level {
    Level { server: Some(CpuSet::single(cpu)), load: Some(load), ..Level::named(name) }
}

/// Names and CPUs of what is near a CPU, nearest first, and of what is far from it.
fn near_and_far(cpu: u32, machine: &Machine) -> Vec<(String, CpuSet)> {
    let own = machine.cpus.iter().find(|own| own.id == cpu);
    let core = own.and_then(|own| own.siblings.clone()).unwrap_or_else(|| CpuSet::single(cpu));
    let sibling = ("load on sibling".into(), core.clone());
    let cache = machine
        .last_level_cache(cpu)
        .map(|cache| (format!("load under L{}", cache.level), cache.cpus.difference(&core)));
    let node = own.and_then(|own| own.node);
    let node = machine.nodes.iter().find(|of| Some(of.id) == node);
    let far = node.map(|node| ("load on far node".into(), machine.usable().difference(&node.cpus)));
    std::iter::once(sibling).chain(cache).chain(far).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::two_nodes_of_two_cores_of_two_threads;
    use super::*;
    use crate::arm::tests::alike;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn listed(tried: &str, machine: &Machine) -> Vec<(String, String, String)> {
        let list = |cpus: Option<CpuSet>| cpus.map(|cpus| cpus.to_list()).unwrap_or_default();
        let levels = of(&set(tried), machine).into_iter();
        levels.map(|level| (level.name, list(level.server), list(level.load))).collect()
    }

    #[test]
    fn on_two_cpus_server_and_load_are_tried_in_every_pair() {
        let expected = [("both on cpu 0", "0", "0"), ("both on cpu 1", "1", "1")];
        let expected = expected.map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()));
        assert_eq!(listed("0-1", &alike(2)), expected);
    }

    #[test]
    fn relations_follow_the_map_and_what_is_no_other_place_is_left_out() {
        let expected = [
            ("both on cpu 0", "0", "0"),
            ("load on sibling", "0", "4"),
            ("load on far node", "0", "1,3,5,7"),
        ];
        let expected = expected.map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()));
        assert_eq!(listed("0-7", &two_nodes_of_two_cores_of_two_threads()), expected);
    }

    #[test]
    fn one_cpu_alone_has_no_relation() {
        assert!(listed("0", &alike(1)).is_empty());
    }
}
