//! The scans of E4 on simulated machines, on one sheet: what was published must be read from it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use load::LoadSpec;
use machine::power::FrequencyPolicy;

use super::*;
use crate::engine::{self, prepare::resolve};
use crate::simulated::{Landscape, Studied};
use crate::{Case, Recipe};

const SCANS: [&str; 3] = ["opteron-875-scan", "opteron-2347-scan", "xeon-5345-scan"];

const SCALING: &str = "seed = 3\n[budget]\nblocks = 8\n[[factors]]\nkind = \"cores\"\n";

/// The facts of a study of `recipe` on a simulated machine, with the clock that was published.
fn facts(dir: &Path, landscape: &str, recipe: &str, base_khz: Option<u64>) -> Facts {
    let path = format!("{}/../../fixtures/landscapes/{landscape}.toml", env!("CARGO_MANIFEST_DIR"));
    let truth = Landscape::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap().truth();
    let mut machine = truth.machine().clone();
    let policy = FrequencyPolicy { cpus: machine.usable(), base_khz, ..FrequencyPolicy::default() };
    machine.power.frequency = base_khz.map(|_| policy).into_iter().collect();
    let study = resolve(Recipe::from_toml(recipe, "recipe").unwrap(), &machine).unwrap();
    let beside = |case: &Case| case.write_json("machine.json", &machine).map(drop);
    let mut case = Case::create_with(dir, study, beside).unwrap();
    let mut trials = Studied::new(truth, 7);
    engine::run(&mut case, &mut trials, &AtomicBool::new(false), &mut |_| {}).unwrap();
    Facts::read(&case).unwrap()
}

fn scans(recipe: &str) -> Vec<Facts> {
    let dir = tempfile::tempdir().unwrap();
    let clocks = [Some(2_200_000), Some(1_900_000), None];
    let of = |(name, khz): (&&str, Option<u64>)| facts(&dir.path().join(name), name, recipe, khz);
    SCANS.iter().zip(clocks).map(of).collect()
}

fn sides(facts: &[Facts]) -> Vec<Side<'_>> {
    SCANS.iter().zip(facts).map(|(name, facts)| Side { name, facts, dir: Path::new(name) }).collect()
}

#[test]
fn the_xeon_is_fastest_alone_and_last_from_two_on() {
    let facts = scans(SCALING);
    let sheet = compare(&sides(&facts)).unwrap();
    assert_eq!(sheet.curves.len(), 3);
    let at = |case: usize, cpus: usize| {
        let point = sheet.curves[case].points.iter().find(|point| point.cpus == cpus).unwrap();
        (point.figure.value, *point)
    };
    assert!(at(2, 1).0 > at(0, 1).0 && at(2, 1).0 > at(1, 1).0);
    for cpus in [2, 3, 4] {
        assert!(at(2, cpus).0 < at(0, cpus).0 && at(2, cpus).0 < at(1, cpus).0, "{cpus} CPUs");
        assert!(at(1, cpus).0 > at(0, cpus).0, "the 2347 leads the 875 at {cpus} CPUs");
        assert!(at(2, cpus).1.to_first.is_some_and(|ratio| ratio < 1.0));
    }
    // Published: 3.1 s for one scan, 18.1 s for four at once.
    let left = at(0, 4).1.efficiency.unwrap();
    assert!((left / (3.1 / 18.1) - 1.0).abs() < 0.25, "{left}");
    assert!(sheet.curves.iter().all(|curve| curve.law.is_some()), "{:?}", sheet.curves);
    let (point, ghz) = (at(0, 2).1, sheet.cases[0].ghz.unwrap());
    assert_eq!(point.per_cpu, Some(point.figure.value / 2.0));
    assert_eq!((ghz, point.per_cpu_ghz), (2.2, point.per_cpu.map(|figure| figure / 2.2)));
    assert_eq!(at(0, 2).1.to_first, None, "the first is compared with nothing");
    assert!(at(2, 2).1.per_cpu_ghz.is_none() && sheet.cases[2].ghz_missing.is_some());
    assert_eq!((sheet.notes.len(), sheet.recipes.len()), (0, 0), "{:?} {:?}", sheet.notes, sheet.recipes);
    let (low, high) = point.figure.interval.unwrap();
    assert!(low < point.figure.value && point.figure.value < high);
}

#[test]
fn notes_say_what_makes_equal_numbers_mean_different_things() {
    let mut facts = scans(SCALING);
    facts[0].machine.power.turbo = Some(true);
    // All CPUs are threads of one core there; elsewhere each is a core.
    for (at, case) in facts.iter_mut().enumerate() {
        let all = case.machine.online();
        for cpu in &mut case.machine.cpus {
            cpu.siblings = Some(if at == 1 { all.clone() } else { CpuSet::single(cpu.id) });
        }
    }
    let notes = compare(&sides(&facts)).unwrap().notes;
    let [turbo, cores] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(turbo.contains("turbo is on in opteron-875-scan:"), "{turbo}");
    assert!(cores.contains("2 CPUs: in opteron-2347-scan some of them are threads"), "{cores}");
    assert!(cores.contains("in opteron-875-scan, xeon-5345-scan each"), "{cores}");
    facts[2].study.recipe.load = LoadSpec::named("own-traffic").unwrap();
    let notes = compare(&sides(&facts)).unwrap().notes;
    assert!(notes[0].contains("the load of xeon-5345-scan is the server's own traffic"), "{notes:?}");
}

#[test]
fn arms_by_name_with_their_ratios_and_what_differs_in_the_recipes() {
    let dir = tempfile::tempdir().unwrap();
    let each = "seed = 1\n[budget]\nblocks = 8\n[[factors]]\nkind = \"each-cpu\"\n";
    let some =
        "seed = 2\nwork_us = 90.0\n[budget]\nblocks = 8\n[[factors]]\nkind = \"each-cpu\"\ncpus = \"1-2\"\n";
    let one = facts(&dir.path().join("a"), SCANS[0], each, None);
    let two = facts(&dir.path().join("b"), SCANS[2], some, None);
    let both = [one, two];
    let sheet = compare(&sides(&both)).unwrap();
    assert!(sheet.curves.is_empty());
    let names: Vec<&str> = sheet.arms.iter().map(|arm| arm.arm.as_str()).collect();
    assert!(names.contains(&"cpu 1") && names.contains(&"cpu 2") && !names.contains(&"cpu 3"), "{names:?}");
    let arm = sheet.arms.iter().find(|arm| arm.arm == "cpu 1").unwrap();
    let ratio = arm.figures[1].unwrap().value / arm.figures[0].unwrap().value;
    assert_eq!(arm.to_first, [None, Some(ratio)]);
    assert!(ratio > 1.5, "the Xeon alone does 0.62 scans a second, the Opteron 0.32: {ratio}");
    let keys: Vec<&str> = sheet.recipes.iter().map(|differs| differs.key.as_str()).collect();
    assert!(keys.contains(&"work_us") && keys.contains(&"factors") && !keys.contains(&"seed"), "{keys:?}");
}

#[test]
fn what_no_ratio_can_be_taken_of_is_refused() {
    let mut facts = scans(SCALING);
    assert!(compare(&sides(&facts)[..1]).unwrap_err().to_string().contains("two or more"));
    facts[1].evidence.better = Direction::Lower;
    let fault = compare(&sides(&facts)).unwrap_err();
    assert_eq!((fault.class, fault.object.as_str()), (Class::Usage, SCANS[1]));
    assert!(fault.cause.contains("lower is better") && fault.cause.contains("higher is better"), "{fault}");
    facts[1].evidence.better = Direction::Higher;
    facts[1].evidence.unit = "scans".into();
    assert!(compare(&sides(&facts)).unwrap_err().cause.contains("in scans"));
    facts[1].evidence.unit.clear();
    facts[2].evidence.arms.clear();
    assert!(compare(&sides(&facts)).unwrap_err().cause.contains("no trial"));
}

#[test]
fn of_a_latency_no_cpu_has_a_share_and_efficiency_is_turned_over() {
    let mut facts = scans(SCALING);
    for case in &mut facts {
        case.evidence.better = Direction::Lower;
    }
    let sheet = compare(&sides(&facts)).unwrap();
    let [one, two, ..] = sheet.curves[0].points.as_slice() else { panic!("{sheet:?}") };
    assert_eq!((one.per_cpu, two.per_cpu_ghz), (None, None));
    assert_eq!(two.efficiency, Some(one.figure.value / two.figure.value / 2.0));
}
