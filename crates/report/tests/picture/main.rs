//! Pictures of many machines: those of real trees (../shared, third-party data that the repository does not carry),
//! our own fixture, and made-up ones. `PINWISE_PICTURES=DIR` writes all of them to files, to be looked at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The crate's own name has the workspace's prefix; the rest of the house knows it as `report`.
extern crate pinwise_report as report;

mod checks;
mod machines;
mod random;

use std::path::PathBuf;

use machine::topology::cpus::Cpu;
use machine::{Machine, Root};
use report::map::picture::layout::{Item, What};
use report::map::picture::{self, Bar, CellNote, Heat, Overlay, Sign};

fn snapshots() -> Vec<(String, Machine)> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/snapshots/hwloc"));
    let Ok(entries) = dir.read_dir() else {
        eprintln!("skipped: {} is absent, and with it the trees of real machines", dir.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    paths.sort();
    let name =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().trim_end_matches(".tar.bz2").to_string();
    paths.iter().map(|path| (name(path), Machine::read(&Root::at(path).unwrap()))).collect()
}

fn all() -> Vec<(String, Machine)> {
    let fixture = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-2cpu"));
    let mut all = snapshots();
    all.extend([
        ("live".to_string(), Machine::read(&Root::live())),
        ("vm-2cpu".into(), Machine::read(&Root::at(&fixture).unwrap())),
        ("leviathan".into(), machines::leviathan()),
        ("artemis".into(), machines::artemis()),
        ("made-64".into(), machines::big(64, 2, 4)),
        ("made-1024".into(), machines::big(1024, 4, 16)),
        ("made-4096".into(), machines::big(4096, 8, 16)),
    ]);
    all
}

#[test]
fn every_cpu_is_drawn_once_nothing_overlaps_and_all_is_inside() {
    for (name, machine) in all() {
        let scene = checks::checked(&name, &machine);
        checks::all_is_there(&name, &machine, &scene);
        let widest = if machine.cpus.len() <= 512 { 1200.0 } else { 2400.0 };
        assert!(scene.width <= widest, "{name}: {} wide", scene.width);
    }
}

#[test]
fn files_need_nothing_else_and_are_the_same_each_time() {
    for (name, machine) in all() {
        let heat = Heat::interrupts(&machine);
        let svg = picture::svg(&machine, heat.as_ref());
        checks::well_formed(&name, &svg);
        assert!(svg == picture::svg(&machine.clone(), heat.as_ref()), "{name} differs");
    }
}

fn svg_of(machine: &Machine) -> String {
    picture::svg(machine, Heat::interrupts(machine).as_ref())
}

#[test]
fn devices_hang_on_their_node_and_nodes_stand_in_order() {
    let machine = machines::artemis();
    let scene = checks::checked("artemis", &machine);
    let at = |wanted: &str| {
        let named = |item: &&Item| match &item.what {
            What::Strip { name, .. } | What::Chip { name, .. } => name == wanted,
            _ => false,
        };
        scene.items.iter().find(named).unwrap()
    };
    assert_eq!(at("eth1").parent, at("node 0").parent);
    let (first, second) = (at("node 2").area, at("node 3").area);
    assert!(first.top == second.top && first.left < second.left);
    let svg = svg_of(&machine);
    assert!(svg.contains("interrupts: CPUs 0-23"), "{svg}");
    assert!(svg.contains("CPU 0, core 0, node 0, package 0: 7,204,447 interrupts"), "{svg}");
}

#[test]
fn equal_cores_are_told_once_and_threads_stand_together() {
    let machine = machines::big(1024, 4, 16);
    let scene = checks::checked("made-1024", &machine);
    let said =
        |text: &str| scene.items.iter().filter(|i| matches!(&i.what, What::Line(_, t) if t == text)).count();
    assert_eq!(said("each core: L1d 48 KiB, L1i 32 KiB, L2 2 MiB"), 1);
    assert_eq!(scene.items.iter().filter(|i| i.what == What::Core).count(), 512);
    let cell = |wanted: u32| {
        scene.items.iter().find(|i| matches!(i.what, What::Cell { cpu, .. } if cpu == wanted)).unwrap()
    };
    assert_eq!(cell(3).parent, cell(515).parent);
}

#[test]
fn marks_are_drawn_and_explained_and_unknown_heat_is_not_cold() {
    let mut machine = machines::leviathan();
    machine.kernel.isolated = Some(machines::set("2"));
    machine.kernel.nohz_full = Some(machines::set("2-3"));
    machine.cpus[4].allowed = Some(false);
    machine.cpus[5].online = false;
    let heat = Heat { what: "load".into(), unit: "%".into(), values: [(0, 10.0), (1, 99.5)].into() };
    let svg = picture::svg(&machine, Some(&heat));
    for words in [
        "isolated from the scheduler",
        "without tick (nohz_full)",
        "not allowed to this process",
        "offline",
        "CPU without a figure",
        "load:",
        "node 1, package 1: 99.50 %",
        "most on CPU 1",
    ] {
        assert!(svg.contains(words), "{words} in {svg}");
    }
    assert!(svg.contains("class=\"cell h8\"") && svg.contains("class=\"cell\""), "{svg}");
    checks::checked("marked", &machine);
}

/// A note of every kind, in every cell.
fn notes(machine: &Machine) -> Overlay {
    let note = |cpu: u32| CellNote {
        sign: Some(Sign::ALL[cpu as usize % Sign::ALL.len()]),
        is_best: cpu.is_multiple_of(5),
        lines: vec!["(-23.7 %)".into(), "irq 100 %".into()],
        letters: vec![(0, Sign::Down), (2, Sign::Up)],
        bar: Some(Bar { share: 0.5, shade: 9 }),
        title: "the server there: worse".into(),
    };
    Overlay { cells: machine.cpus.iter().map(|cpu| (cpu.id, note(cpu.id))).collect(), letters: 3 }
}

#[test]
fn cells_have_room_for_their_notes_on_small_machines_and_on_large_ones() {
    for (name, machine, with_lines) in [
        ("leviathan", machines::leviathan(), true),
        ("made-64", machines::big(64, 2, 4), true),
        ("made-1024", machines::big(1024, 4, 16), false),
    ] {
        let overlay = notes(&machine);
        let scene = checks::checked_noted(name, &machine, &overlay);
        assert_eq!(scene.with_lines, with_lines, "{name}");
        let picture = picture::noted(&machine, &overlay, "title", "words").into_string();
        checks::well_formed(name, &picture);
        assert_eq!(picture.contains("irq 100 %"), with_lines, "{name}");
        let count = |part: &str| picture.matches(part).count();
        let cpus = machine.cpus.len();
        assert_eq!((count("class=\"track\""), count("class=\"letter down\"")), (cpus, cpus), "{name}");
        assert!(scene.width <= 2400.0, "{name}: {} wide", scene.width);
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut machine = machines::artemis();
    machine.devices[0].name = "</svg><script>alert(1)</script>\u{ffff}\u{1b}[2J".into();
    machine.devices[0].driver = Some("x".repeat(4000));
    machine.irqs[0].name = "<img src=x>".into();
    machine.kernel.release = Some("& <b>".into());
    let svg = svg_of(&machine);
    checks::well_formed("hostile", &svg);
    checks::checked("hostile", &machine);
    let page = picture::page(&machine, None);
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains('\u{1b}'));
}

#[test]
fn a_machine_of_which_nothing_is_known_says_so() {
    let machine = Machine::read(&Root::from_tree(machine::Tree::new()));
    checks::checked("nothing", &machine);
    let svg = svg_of(&machine);
    checks::well_formed("nothing", &svg);
    assert!(svg.contains("CPUs not known: "), "{svg}");
    let bare = Machine {
        cpus: (0..3).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect(),
        ..Machine::default()
    };
    checks::checked("bare", &bare);
    let svg = svg_of(&bare);
    for words in ["place unknown", "NUMA nodes unknown", "core of CPUs 0-2 unknown", "caches unknown"] {
        assert!(svg.contains(words), "{words} in {svg}");
    }
    assert!(picture::page(&machine, None).contains("No count of any line is known"));
}

#[test]
fn the_page_has_picture_sheet_interrupts_and_what_is_missing() {
    let machine = machines::artemis();
    let page = picture::page(&machine, Heat::interrupts(&machine).as_ref());
    for part in
        ["<svg", "<details", "Interrupt lines, the busiest first", "CPU 0 100 %", "Not known, and why"]
    {
        assert!(page.contains(part), "{part}");
    }
    let rows: Vec<usize> = ["eth1</td>", "ahci</td>"].iter().map(|name| page.find(name).unwrap()).collect();
    assert!(rows[0] < rows[1], "the busiest line first");
}

#[test]
fn what_the_tab_key_reaches_on_the_page_has_a_role_and_a_name() {
    let page = picture::page(&machines::artemis(), None);
    let reached: Vec<&str> = page.split('<').filter(|tag| tag.contains("tabindex=\"0\"")).collect();
    assert!(reached.len() >= 3, "picture, sheet and interrupt lines: {reached:?}");
    for tag in reached {
        assert!(tag.contains(" role=\"") && tag.contains(" aria-label=\""), "{tag}");
    }
    let frame = "<div class=\"drawing\" role=\"group\" aria-label=\"Picture of the machine\"";
    assert!(page.contains(frame), "{page}");
}

#[test]
fn counts_without_bound_are_shown() {
    let mut machine = machines::artemis();
    for counts in machine.irqs.iter_mut().filter_map(|irq| irq.counts.as_mut()) {
        counts.insert(0, u64::MAX);
        counts.insert(1, u64::MAX);
    }
    let page = picture::page(&machine, Heat::interrupts(&machine).as_ref());
    assert!(page.contains("CPU 0 100 %, CPU 1 100 %"), "the sum ends at the end of its type");
}

#[test]
fn pictures_to_look_at() {
    let Some(dir) = std::env::var_os("PINWISE_PICTURES").map(PathBuf::from) else {
        eprintln!("skipped: PINWISE_PICTURES names no folder to write the pictures to");
        return;
    };
    for (name, machine) in all() {
        let heat = Heat::interrupts(&machine);
        std::fs::write(dir.join(format!("{name}.svg")), picture::svg(&machine, heat.as_ref())).unwrap();
        std::fs::write(dir.join(format!("{name}.html")), picture::page(&machine, heat.as_ref())).unwrap();
    }
}
