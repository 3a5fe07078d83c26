//! The landscapes against what was published.

use machine::CpuSet;

use super::*;

fn landscapes() -> Vec<Landscape> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/landscapes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files.sort();
    let read = |file: &std::path::PathBuf| {
        Landscape::parse(&file.display().to_string(), &std::fs::read_to_string(file).unwrap()).unwrap()
    };
    files.iter().map(read).collect()
}

fn named(name: &str) -> Truth {
    landscapes().into_iter().find(|landscape| landscape.name == name).unwrap().truth()
}

fn figure(truth: &Truth, cpus: &str) -> f64 {
    truth.figure(&CpuSet::from_list(cpus).unwrap(), &CpuSet::new(), MemoryPolicy::Local)
}

#[test]
fn the_truth_is_what_was_published() {
    let mut compared = 0;
    for landscape in landscapes() {
        let truth = landscape.truth();
        for published in &landscape.published {
            let found = truth.figure(&published.cpus, &CpuSet::new(), published.policy);
            let off = found / published.figure - 1.0;
            let (name, cpus) = (&landscape.name, &published.cpus);
            assert!(
                off.abs() <= published.within,
                "{name}, CPUs {cpus}: {found} is {:.2} % off",
                off * 100.0
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 17 + 3 + 3 * 4);
}

#[test]
fn all_eight_cores_for_the_server_are_worse_than_seven() {
    let truth = named("opteron-875-authenticate");
    assert!(figure(&truth, "1-7") > 54_000.0 && figure(&truth, "0-7") < figure(&truth, "1-7"));
    // From six cores on the driver is the limit.
    assert!(figure(&truth, "1-7") < 1.02 * figure(&truth, "1-6"));
}

#[test]
fn the_xeon_is_fastest_alone_and_last_from_two_on() {
    let of = |name: &str, cpus: &str| figure(&named(name), cpus);
    for (cpus, fastest) in [("0", true), ("0-1", false), ("0-2", false), ("0-3", false)] {
        let xeon = of("xeon-5345-scan", cpus);
        for other in ["opteron-875-scan", "opteron-2347-scan"] {
            assert_eq!(xeon > of(other, cpus), fastest, "CPUs {cpus}, {other}");
        }
    }
}

#[test]
fn trials_scatter_as_they_should_and_a_seed_repeats_them() {
    let noise = Noise { drift: 0.0, ..Noise::default() };
    let draw = |seed| {
        let mut trials = Trials::new(noise, seed);
        (0..4000).map(|_| trials.run(100.0)).collect::<Vec<f64>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let slow = draw(1).iter().filter(|figure| **figure < 91.0).count();
    // 8 % lose 10 to 20 %, most of them below 91.
    assert!((200..330).contains(&slow), "{slow}");
}

#[test]
fn a_wrong_key_is_refused_with_its_place() {
    let fault = Landscape::parse("x.toml", "name = \"a\"\nabout = \"\"\nshpae = 1\n").unwrap_err();
    assert!(fault.to_string().contains("shpae") && fault.to_string().contains("x.toml"), "{fault}");
}

#[test]
fn load_beside_its_server_is_nearer_and_shares_cores() {
    let mut landscape = landscapes().into_iter().find(|l| l.name == "cpus-64").unwrap();
    landscape.workload.talk = 0.3;
    let truth = landscape.truth();
    let of = |server: &str, load: &str| {
        let set = |list| CpuSet::from_list(list).unwrap();
        truth.figure(&set(server), &set(load), MemoryPolicy::Local)
    };
    assert!(of("0-1", "2-3") > of("0-1", "16-17"), "the cache of the server is nearer than another node");
    assert!(of("0-1", "2-3") > of("0-1", "32-33"), "siblings share cores");
}
