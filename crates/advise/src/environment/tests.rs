//! Environments of cases that differ in what is said, and those that only look as if they did.

use machine::CpuSet;
use machine::devices::path::{InterfaceKind, PathEnd};
use machine::topology::cpus::Cpu;

use super::*;

fn machine(release: &str) -> Machine {
    let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
    let mut machine = Machine { cpus: (0..4).map(cpu).collect(), ..Machine::default() };
    machine.kernel.release = Some(release.into());
    machine
}

/// A case in parts, that [`Surroundings`] are taken of.
struct Parts {
    name: &'static str,
    machine: Machine,
    processor: Result<Processor, String>,
    pinwise: &'static str,
    hosts: Vec<LoadHost>,
    paths: Vec<NetworkPath>,
}

impl Parts {
    fn new(name: &'static str, machine: Machine) -> Self {
        let processor = Ok(Processor::default());
        Self { name, machine, processor, pinwise: "1.0", hosts: Vec::new(), paths: Vec::new() }
    }

    fn with_host(mut self, machine: Machine, mtu_bytes: u32) -> Self {
        let captured = Captured { machine, processor: Processor::default() };
        self.hosts.push(LoadHost { name: "b".into(), captured: Ok(captured) });
        let end = PathEnd {
            kind: Some(InterfaceKind::Card),
            mtu_bytes: Some(mtu_bytes),
            offloads: [(Offload::Gro, true)].into(),
            ..PathEnd::default()
        };
        self.paths.push(NetworkPath { host: "b".into(), server: end.clone(), load: end });
        self
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            case: self.name,
            machine: &self.machine,
            processor: &self.processor,
            pinwise: self.pinwise,
            hosts: &self.hosts,
            paths: &self.paths,
        }
    }
}

fn compared(cases: &[Parts], recipes: &[KeyDifference]) -> Environment {
    let cases: Vec<Surroundings<'_>> = cases.iter().map(Parts::surroundings).collect();
    compare(&cases, recipes)
}

fn feature(of: &Difference) -> Option<FeatureId> {
    match of.what {
        What::Feature { feature, .. } => Some(feature),
        _ => None,
    }
}

#[test]
fn equal_cases_are_the_same_and_nothing_else_is_said() {
    let case = |name| Parts::new(name, machine("6.1")).with_host(machine("6.1"), 1500);
    let same = compared(&[case("a"), case("b")], &[]);
    assert!(same.is_same() && same.cannot_tell.is_empty(), "{same:?}");
}

#[test]
fn what_bears_most_on_the_figures_comes_first() {
    let keys = ["budget.blocks", "load.rate_per_s"]
        .map(|key| KeyDifference { key: key.into(), values: vec![Some("1".into()), None] });
    let mut other = Parts::new("b", machine("6.18")).with_host(machine("6.18"), 9000);
    other.pinwise = "2.0";
    let environment =
        compared(&[Parts::new("a", machine("6.1")).with_host(machine("6.1"), 1500), other], &keys);
    let weights: Vec<f64> = environment.differences.iter().map(|differs| differs.weight).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
    let [rate, kernel, server_mtu, load_mtu, pinwise, load_kernel, blocks] = &environment.differences[..]
    else {
        panic!("{environment:#?}")
    };
    assert_eq!(rate.what, What::RecipeKey { key: "load.rate_per_s".into() });
    assert_eq!(rate.values, [Some("1".to_string()), Some("not given".to_string())]);
    assert_eq!((feature(kernel), kernel.host.as_deref()), (Some(FeatureId::Kernel), None));
    assert_eq!(server_mtu.what, What::Path { end: End::Server, fact: PathFact::Mtu });
    assert_eq!(load_mtu.values, [Some("1500".to_string()), Some("9000".to_string())]);
    assert_eq!(pinwise.what, What::Pinwise);
    assert_eq!((feature(load_kernel), load_kernel.host.as_deref()), (Some(FeatureId::Kernel), Some("b")));
    assert_eq!(blocks.what, What::RecipeKey { key: "budget.blocks".into() });
}

#[test]
fn other_hardware_stands_before_everything() {
    let mut large = machine("6.1");
    large.packages = vec![(0..4).collect()];
    large.cpus.iter_mut().for_each(|cpu| cpu.siblings = Some(CpuSet::single(cpu.id)));
    let mut small = large.clone();
    small.cpus.truncate(2);
    small.packages = vec![(0..2).collect()];
    small.kernel.release = Some("6.18".into());
    let environment = compared(&[Parts::new("a", large), Parts::new("b", small)], &[]);
    let [hardware, kernel] = &environment.differences[..] else { panic!("{environment:#?}") };
    assert_eq!(hardware.what, What::Hardware);
    assert_eq!(hardware.values[1].as_deref(), Some("1 package, 2 cores, 2 CPUs"));
    assert_eq!(feature(kernel), Some(FeatureId::Kernel));
}

#[test]
fn a_machine_that_is_not_known_is_no_difference_and_not_the_same_either() {
    let cases = [Parts::new("a", machine("6.1")), Parts::new("b", Machine::default())];
    let environment = compared(&cases, &[]);
    assert!(environment.differences.is_empty() && !environment.is_same(), "{environment:?}");
    let [unknown] = &environment.cannot_tell[..] else { panic!("{environment:?}") };
    assert_eq!((&unknown.unknown, &unknown.cases[..]), (&Unknown::Machine, &["b".to_string()][..]));
}

#[test]
fn captures_that_are_missing_are_named_together_with_their_cases() {
    let mut cases =
        ["a", "b", "c"].map(|name| Parts::new(name, machine("6.1")).with_host(machine("6.1"), 1500));
    for case in &mut cases[..2] {
        case.processor = Err("no capture".into());
        case.paths.clear();
    }
    cases[2].hosts[0].captured = Err("cut off".into());
    let environment = compared(&cases, &[]);
    assert!(environment.is_same(), "what is known does not differ: {environment:?}");
    let unknown: Vec<(&Unknown, usize)> =
        environment.cannot_tell.iter().map(|one| (&one.unknown, one.cases.len())).collect();
    let (host, path) = (Unknown::Host { host: "b".into() }, Unknown::Path { host: "b".into() });
    assert_eq!(unknown, [(&Unknown::Processor, 2), (&path, 2), (&host, 1)]);
}

#[test]
fn a_host_that_a_single_case_has_is_not_compared() {
    let with = Parts::new("a", machine("6.1")).with_host(machine("5.4"), 9000);
    let environment = compared(&[with, Parts::new("b", machine("6.1"))], &[]);
    assert!(environment.is_same() && environment.cannot_tell.is_empty(), "{environment:?}");
}

#[test]
fn what_is_not_known_of_a_path_is_no_difference() {
    let mut unknown = Parts::new("b", machine("6.1")).with_host(machine("6.1"), 9000);
    unknown.paths[0].server = PathEnd::unknown("no route");
    unknown.paths[0].load.mtu_bytes = None;
    let environment =
        compared(&[Parts::new("a", machine("6.1")).with_host(machine("6.1"), 1500), unknown], &[]);
    assert_eq!(environment.differences, []);
}
