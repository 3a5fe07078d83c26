//! A thousand hosts: three captured machines, varied as hosts of one kind do, with differences put in by a rule.

use std::collections::BTreeSet;

use machine::Machine;
use machine::devices::pcie::{LinkRate, PcieLink};
use machine::power::FrequencyPolicy;
use machine::processes::{Owner, OwnerId};

use super::super::{FeatureId, Grouper, Processor};
use super::injections::{self, Area};

/// Each difference is put into so many hosts.
const TIMES: usize = 20;

/// The machines, by their folders below fixtures/machines.
const FIXTURES: [&str; 3] = ["two-node-smt", "artemis", "deep-idle"];

/// Numbers that are the same in every run.
struct Rule(u64);

impl Rule {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The CPUs of all hosts of a kind.
pub(super) fn processor(model: &str) -> Processor {
    Processor { model: Some(format!("Model {model}")), microcode: Some("0x1".into()) }
}

/// A captured machine, with a clock, a running irqbalance and a fast card, which the captured guests do not have.
pub(super) fn base(fixture: &str) -> Machine {
    let path = format!("{}/../../fixtures/machines/{fixture}/expected.json", env!("CARGO_MANIFEST_DIR"));
    let mut machine: Machine = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    machine.power.frequency = vec![FrequencyPolicy {
        cpus: machine.online(),
        driver: Some("intel_pstate".into()),
        governor: Some("performance".into()),
        energy_performance_preference: Some("performance".into()),
        min_khz: Some(800_000),
        max_khz: Some(3_000_000),
        hardware_min_khz: Some(800_000),
        hardware_max_khz: Some(3_000_000),
        base_khz: None,
    }];
    (machine.power.turbo, machine.power.driver_mode) = (Some(true), Some("active".into()));
    let name = "irqbalance".to_string();
    machine.owners = vec![Owner { id: Some(OwnerId::Irqbalance), name, pid: Some(700), ..Owner::default() }];
    if let Some(card) = injections::card(&mut machine) {
        card.speed_mbit = Some(25_000);
        let current = LinkRate { megatransfers_per_s: 8_000, lanes: 16 };
        card.links = vec![PcieLink { current, ..PcieLink::default() }];
    }
    machine
}

/// What differs between any two hosts, and what no host should be named for.
fn vary(machine: &mut Machine, number: usize, rule: &mut Rule) {
    let shift = rule.below(40) as u32;
    for irq in &mut machine.irqs {
        irq.irq += shift;
        irq.counts.iter_mut().flat_map(|counts| counts.values_mut()).for_each(|n| *n += rule.below(100_000));
    }
    for device in &mut machine.devices {
        device.irqs.iter_mut().for_each(|irq| *irq += shift);
        device.pci = device.pci.take().map(|pci| pci.replace("f0", &format!("{:02x}", 0x20 + shift)));
    }
    if rule.below(2) == 0 {
        machine.devices.reverse();
    }
    let mut taken = 0;
    for node in &mut machine.nodes {
        let bytes = rule.below(2 << 20);
        node.memory_bytes = node.memory_bytes.map(|memory| memory - bytes);
        node.free_bytes = Some(rule.below(100 << 20));
        taken += bytes;
    }
    machine.memory_bytes = machine.memory_bytes.map(|memory| memory - taken);
    machine.memory.free_bytes = Some(rule.below(200 << 20));
    let cmdline = machine.kernel.cmdline.get_or_insert_default();
    cmdline.push_str(&format!(" root=UUID=4711-{number} BOOT_IMAGE=/vmlinuz-{number}"));
    machine.kernel.tunables.insert("kernel.perf_event_max_sample_rate".into(), (1000 + number).to_string());
    machine.owners.iter_mut().for_each(|owner| owner.pid = Some(300 + shift));
    machine.kernel_threads.iter_mut().for_each(|threads| threads.count += number % 3);
    machine.virtualization.steal_share = Some(number as f64 / 1e4);
    machine.limits.cgroups.iter_mut().for_each(|cgroup| cgroup.path = format!("/user.slice/{number}"));
}

/// So many hosts, a third of each machine.
pub(super) fn hosts_of(count: usize) -> Vec<(String, Machine, Processor)> {
    let mut rule = Rule(20_261_128);
    let bases = FIXTURES.map(|fixture| (base(fixture), processor(fixture)));
    let host = |number: usize| {
        let (mut machine, processor) = bases[number % bases.len()].clone();
        vary(&mut machine, number, &mut rule);
        (format!("host{number:04}"), machine, processor)
    };
    (0..count).map(host).collect()
}

/// A difference: host, feature, subject.
type Put = (String, FeatureId, String);

/// Puts every kind of difference into some hosts; a host has at most one of each area, since one may follow from another.
fn put_in(hosts: &mut [(String, Machine, Processor)]) -> BTreeSet<Put> {
    let mut rule = Rule(42);
    let mut taken: BTreeSet<(usize, Area)> = BTreeSet::new();
    let mut all = BTreeSet::new();
    for (number, injection) in injections::all().iter().enumerate() {
        let mut left = TIMES;
        let count = hosts.len();
        let first = rule.below(count as u64) as usize;
        // 7 has no divisor in common with 1000: every host comes once.
        for place in (0..count).map(|step| (first + 7 * step) % count) {
            if left == 0 {
                break;
            }
            if taken.contains(&(place, injection.area)) {
                continue;
            }
            let (host, machine, processor) = &mut hosts[place];
            if let Some(differences) = (injection.put)(machine, processor) {
                all.extend(
                    differences.into_iter().map(|(feature, subject)| (host.clone(), feature, subject)),
                );
                taken.insert((place, injection.area));
                left -= 1;
            }
        }
        assert_eq!(left, 0, "no host is left for injection {number} of {:?}", injection.area);
    }
    all
}

#[test]
fn of_a_thousand_hosts_every_difference_is_found_and_no_other() {
    let mut hosts = hosts_of(1000);
    let expected = put_in(&mut hosts);
    let features: BTreeSet<FeatureId> = expected.iter().map(|(_, feature, _)| *feature).collect();
    assert!(features.len() > 50 && expected.len() >= TIMES * features.len(), "{} features", features.len());
    let mut grouper = Grouper::default();
    for (host, machine, processor) in &hosts {
        grouper.add_with(host, machine, processor);
    }
    let fleet = grouper.finish();
    let sizes: Vec<usize> = fleet.shapes.iter().map(|shape| shape.hosts.len()).collect();
    assert_eq!(sizes, [334, 333, 333]);
    let differences: Vec<_> = fleet.shapes.iter().flat_map(|shape| &shape.differences).collect();
    let found: BTreeSet<Put> =
        differences.iter().map(|d| (d.host.clone(), d.feature, d.subject.clone())).collect();
    let overlooked: Vec<&Put> = expected.difference(&found).collect();
    let false_ones: Vec<&Put> = found.difference(&expected).collect();
    assert!(
        overlooked.is_empty() && false_ones.is_empty(),
        "overlooked {overlooked:?}\nfalse {false_ones:?}"
    );
    assert_eq!(differences.len(), found.len(), "each is listed once");
    assert!(differences.iter().all(|d| d.usual != d.here && d.shared_by > 250));
    assert!(fleet.shapes.iter().all(|shape| shape.varies.is_empty()));
}
