//! Fleets of captured machines with differences put in.

mod injections;
mod simulated;

use std::sync::LazyLock;

use machine::devices::DeviceKind;
use machine::processes::Inside;
use machine::{CpuSet, FactId, Machine, Missing};
use proptest::prelude::*;

use super::{Column, FeatureId, Fleet, Grouper, Processor, Shape};
use injections::{card, without_cpus};
use simulated::{base, hosts_of, processor};

/// Groups hosts of the same model.
fn fleet(machines: &[Machine]) -> Fleet {
    let mut grouper = Grouper::default();
    for (number, machine) in machines.iter().enumerate() {
        grouper.add_with(&format!("host{number}"), machine, &processor("A"));
    }
    grouper.finish()
}

/// The shape of hosts that must be of one.
fn one_shape(machines: &[Machine]) -> Shape {
    let mut fleet = fleet(machines);
    assert_eq!(
        fleet.shapes.len(),
        1,
        "{:?}",
        fleet.shapes.iter().map(|shape| &shape.title).collect::<Vec<_>>()
    );
    fleet.shapes.remove(0)
}

fn differences(shape: &Shape) -> Vec<(FeatureId, &str, &str, &str)> {
    shape
        .differences
        .iter()
        .map(|d| (d.feature, d.subject.as_str(), d.usual.as_str(), d.here.as_str()))
        .collect()
}

fn three_and(other: Machine) -> Vec<Machine> {
    let usual = base("two-node-smt");
    vec![usual.clone(), usual.clone(), usual, other]
}

#[test]
fn hosts_of_one_kind_are_one_shape_whatever_is_switched() {
    let off = |cpus: &str| without_cpus(base("two-node-smt"), &cpus.parse().unwrap());
    let mut without_smt = off("4-7");
    without_smt.kernel.smt = Some("off".into());
    let shape = one_shape(&three_and(without_smt));
    assert_eq!(differences(&shape), [(FeatureId::Smt, "", "on", "off")]);
    assert_eq!(shape.title, "2 packages, 4 cores, 8 CPUs, 2 nodes, Model A, guest");
    assert_eq!(shape.hosts, ["host0", "host1", "host2", "host3"]);
    assert_eq!(shape.features["card-node eth0"], "node 1");
    let shape = one_shape(&three_and(off("3,7")));
    assert_eq!(differences(&shape), [(FeatureId::CpusOffline, "", "none", "3,7")]);
    assert_eq!((shape.differences[0].shared_by, shape.differences[0].host.as_str()), (3, "host3"));
    let shape = one_shape(&three_and(off("2-3,6-7")));
    assert_eq!(differences(&shape)[0], (FeatureId::CpusOffline, "", "none", "2-3,6-7"), "all of a package");
}

#[test]
fn smt_that_firmware_switched_off_is_a_difference_and_not_a_shape() {
    let mut without_smt = without_cpus(base("two-node-smt"), &"4-7".parse().unwrap());
    without_smt.cpus.retain(|cpu| cpu.online);
    without_smt.kernel.smt = Some("notsupported".into());
    assert_eq!(differences(&one_shape(&three_and(without_smt))), [(FeatureId::Smt, "", "on", "none")]);
}

#[test]
fn hosts_of_another_model_or_with_more_cores_are_another_shape() {
    let mut grouper = Grouper::default();
    let machine = base("two-node-smt");
    for (host, model) in [("a1", "A"), ("b1", "B"), ("a2", "A")] {
        grouper.add_with(host, &machine, &processor(model));
    }
    grouper.add_with("c1", &base("deep-idle"), &processor("A"));
    let fleet = grouper.finish();
    let hosts: Vec<&Vec<String>> = fleet.shapes.iter().map(|shape| &shape.hosts).collect();
    assert_eq!(hosts[0], &["a1", "a2"], "most hosts come first");
    assert_eq!(hosts.len(), 3);
    let ids: std::collections::BTreeSet<&String> = fleet.shapes.iter().map(|shape| &shape.id).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| id.len() == 8));
    // The digits are those of the kind alone.
    assert_eq!(fleet.shapes[0].id, one_shape(&[machine]).id);
}

#[test]
fn without_models_hosts_are_grouped_by_the_rest_of_their_hardware() {
    let mut grouper = Grouper::default();
    for (number, fixture) in ["two-node-smt", "artemis", "deep-idle", "artemis"].iter().enumerate() {
        grouper.add_with(&format!("host{number}"), &base(fixture), &Processor::default());
    }
    grouper.add_with("empty", &Machine::default(), &Processor::default());
    let fleet = grouper.finish();
    assert_eq!((fleet.shapes.len(), fleet.shapes[0].hosts.len()), (4, 2));
    assert!(
        fleet.shapes[0].title.starts_with("2 packages, 24 cores, 24 CPUs, 4 nodes"),
        "{}",
        fleet.shapes[0].title
    );
    let empty = fleet.shapes.iter().find(|shape| shape.hosts == ["empty"]).unwrap();
    assert_eq!(empty.title, "nothing is known of its hardware");
}

#[test]
fn what_is_not_known_is_no_difference_and_a_basic_fact_is_listed_as_unread() {
    let mut unknown = base("two-node-smt");
    unknown.kernel = Default::default();
    unknown.nodes.clear();
    unknown.memory_bytes = None;
    unknown.devices.clear();
    unknown.power = Default::default();
    unknown.limits = Default::default();
    unknown.kernel_threads.clear();
    unknown.owners.clear();
    unknown.missing = vec![Missing::new("NUMA nodes", "permission denied").identified(FactId::Nodes)];
    let shape = one_shape(&three_and(unknown));
    // No driver of the clock is what the capture shows, with a driver of the idle states beside it.
    assert_eq!(
        differences(&shape),
        [
            (FeatureId::FrequencyDriver, "", "intel_pstate", "none"),
            (FeatureId::Unreadable, "nodes", "known", "permission denied"),
        ]
    );
}

#[test]
fn values_of_two_hosts_stand_side_by_side_and_those_of_many_are_cut() {
    let [mut one, other] = [base("artemis"), base("artemis")];
    one.kernel.release = Some("5.10".into());
    let shape = one_shape(&[one, other.clone()]);
    assert_eq!(shape.differences, []);
    assert_eq!((shape.varies.len(), shape.varies[0].feature), (1, FeatureId::Kernel));
    let values =
        [("5.10".to_string(), vec!["host0".to_string()]), ("6.1.0-56-amd64".into(), vec!["host1".into()])];
    assert_eq!(shape.varies[0].values, values);
    let of_release = |number: u32| {
        let mut machine = other.clone();
        machine.kernel.release = Some(format!("6.{number}"));
        machine
    };
    let shape = one_shape(&(0..20).map(of_release).collect::<Vec<_>>());
    let super::Variation { values, others, .. } = &shape.varies[0];
    let others = others.as_ref().unwrap();
    assert_eq!((values.len(), others.values, others.hosts.len()), (12, 8, 8));
    assert!(values.iter().all(|(_, hosts)| !others.hosts.contains(&hosts[0])));
    let mut each = values_of(&shape, column(&shape, FeatureId::Kernel, ""));
    let mut expected: Vec<Option<String>> = (0..20).map(|number| Some(format!("6.{number}"))).collect();
    each.sort();
    expected.sort();
    assert_eq!(each, expected, "those of the others, too");
}

/// The column of a feature that must be there.
fn column<'a>(shape: &'a Shape, feature: FeatureId, subject: &str) -> &'a Column {
    let mut columns = shape.columns.iter();
    columns.find(|column| column.order() == (feature.name(), subject)).unwrap()
}

/// What each host of a column has.
fn values_of(shape: &Shape, column: &Column) -> Vec<Option<String>> {
    (0..shape.hosts.len()).map(|host| column.value(host).map(String::from)).collect()
}

#[test]
fn a_column_has_what_each_host_has_and_nothing_where_that_is_not_known() {
    let usual = base("two-node-smt");
    let [mut more, mut unknown] = [usual.clone(), usual.clone()];
    // Less than 4 % more is as usual, and yet not the same.
    let memory_bytes = usual.memory_bytes.unwrap();
    more.memory_bytes = Some(memory_bytes + memory_bytes / 30);
    (unknown.memory_bytes, unknown.kernel.release) = (None, None);
    let shape = one_shape(&[usual.clone(), usual.clone(), usual, more, unknown]);
    assert_eq!(differences(&shape), []);
    let memory = column(&shape, FeatureId::Memory, "");
    let values = values_of(&shape, memory);
    assert_eq!(values[0].as_deref(), memory.usual());
    assert!(values[3].is_some() && values[3] != values[0] && values[4].is_none(), "{values:?}");
    let kernel = column(&shape, FeatureId::Kernel, "");
    assert_eq!(values_of(&shape, kernel)[3..], [kernel.usual().map(String::from), None]);
}

#[test]
fn every_feature_that_is_listed_has_a_column() {
    for shape in &fleet(&three_and(base("two-node-smt"))).shapes {
        let names: Vec<String> = shape.columns.iter().map(|column| column.order()).map(named).collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), shape.features.keys().collect::<Vec<_>>());
    }
}

/// As [`Shape::features`] has it.
fn named((feature, subject): (&str, &str)) -> String {
    format!("{feature} {subject}").trim_end().to_string()
}

#[test]
fn cards_are_matched_by_name_and_else_by_driver() {
    let named = |name: &str| {
        let mut machine = base("two-node-smt");
        card(&mut machine).unwrap().name = name.into();
        machine
    };
    let mut renamed = named("enp59s0");
    card(&mut renamed).unwrap().speed_mbit = Some(10_000);
    let shape = one_shape(&three_and(renamed));
    assert_eq!(differences(&shape), [(FeatureId::CardSpeed, "enp59s0", "25 Gbit/s", "10 Gbit/s")]);
    let speed = column(&shape, FeatureId::CardSpeed, "eth0");
    let of = |host| (speed.subject(host), speed.value(host));
    assert_eq!([of(0), of(3)], [("eth0", Some("25 Gbit/s")), ("enp59s0", Some("10 Gbit/s"))]);
    let mut other_driver = named("enp59s0");
    card(&mut other_driver).unwrap().driver = Some("igb".into());
    let shape = one_shape(&three_and(other_driver));
    let cards = [
        (FeatureId::NetworkCard, "enp59s0", "not there", "igb"),
        (FeatureId::NetworkCard, "eth0", "virtio_net", "not there"),
    ];
    assert_eq!(differences(&shape), cards);
}

#[test]
fn a_capture_from_inside_a_container_does_not_show_that_a_card_is_missing() {
    let mut inside = base("two-node-smt");
    inside.devices.retain(|device| device.kind != DeviceKind::Net || device.is_virtual);
    let missing = one_shape(&three_and(inside.clone()));
    assert_eq!(differences(&missing), [(FeatureId::NetworkCard, "eth0", "virtio_net", "not there")]);
    inside.containers.inside = Some(Inside { container: true, because: "/.dockerenv".into() });
    let container = (FeatureId::Container, "", "outside of any", "inside of one");
    assert_eq!(differences(&one_shape(&three_and(inside))), [container]);
}

#[test]
fn a_heavier_difference_comes_first_and_one_from_fewer_weighs_less() {
    let mut other = base("two-node-smt");
    other.kernel.tunables.insert("vm.swappiness".into(), "1".into());
    other.kernel.isolated = Some(CpuSet::single(1));
    let mut machines = three_and(other.clone());
    let shape = one_shape(&machines);
    let weights: Vec<f64> = shape.differences.iter().map(|difference| difference.weight).collect();
    assert_eq!(weights, [7.5, 3.0]);
    machines.push(other);
    let lighter = one_shape(&machines).differences[0].weight;
    assert!((lighter - 6.0).abs() < 1e-9, "{lighter}");
}

#[test]
fn json_has_the_promised_keys() {
    let mut other = base("two-node-smt");
    other.kernel.clocksource = Some("hpet".into());
    let json = serde_json::to_value(fleet(&three_and(other))).unwrap();
    let difference = &json["shapes"][0]["differences"][0];
    assert_eq!((&difference["feature"], &difference["here"]), (&"clock-source".into(), &"hpet".into()));
    for key in ["host", "subject", "usual", "shared_by", "weight", "why"] {
        assert!(difference.get(key).is_some(), "{key}");
    }
    for key in ["id", "title", "hosts", "features", "varies"] {
        assert!(json["shapes"][0].get(key).is_some(), "{key}");
    }
}

/// Hosts of three kinds with some differences.
static HOSTS: LazyLock<Vec<(String, Machine, Processor)>> = LazyLock::new(|| {
    let mut hosts = hosts_of(18);
    hosts[3].1.kernel.release = Some("5.10".into());
    hosts[4].1 = without_cpus(hosts[4].1.clone(), &CpuSet::single(3));
    hosts[7].1.kernel.clocksource = Some("hpet".into());
    hosts[8].2 = Processor::default();
    for (number, host) in hosts.iter_mut().enumerate() {
        host.1.kernel.hz = Some(100 + number as u32 % 9);
    }
    hosts
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_order_of_the_hosts_changes_nothing(order in Just((0..18).collect::<Vec<usize>>()).prop_shuffle()) {
        let grouped = |order: &[usize]| {
            let mut grouper = Grouper::default();
            for place in order {
                let (host, machine, processor) = &HOSTS[*place];
                grouper.add_with(host, machine, processor);
            }
            grouper.finish()
        };
        let in_order: Vec<usize> = (0..18).collect();
        prop_assert_eq!(grouped(&order), grouped(&in_order));
    }
}
