//! Readings of made-up machines, and the frames that come of them on terminals of several sizes.

use std::fmt::Write;
use std::path::Path;

use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine, Root};
use probe::Meter;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::screen::{Focus, View};
use super::*;
use crate::map::live::now::Sort;

/// Writes the counters of a machine after `second` seconds: CPU n is busy for n % 5 fifths of the time; line 100 + n comes to
/// CPU n 10 * n times a second.
fn write(dir: &Path, cpus: u32, second: u64) {
    let header: String = (0..cpus).map(|cpu| format!("CPU{cpu:<8}")).collect();
    let row =
        |count: &dyn Fn(u32) -> u64| (0..cpus).map(|cpu| format!(" {:>10}", count(cpu))).collect::<String>();
    let mut interrupts = format!("     {header}\n");
    for line in 0..cpus.min(64) {
        let count = |cpu: u32| if cpu == line { 1_000 + second * u64::from(line) * 10 } else { 0 };
        let _ =
            writeln!(interrupts, "{:>4}:{} PCI-MSI {line}-edge      eth0-rx-{line}", 100 + line, row(&count));
    }
    let _ = writeln!(interrupts, " LOC:{}   Local timer interrupts", row(&|_| 5 + 250 * second));
    let softirqs =
        format!("     {header}\n      NET_RX:{}\n", row(&|cpu| if cpu == 1 { 70 * second } else { 0 }));
    let mut stat = String::from("cpu  1 0 0 0 0 0 0 0 0 0\n");
    for cpu in 0..cpus {
        let busy = u64::from(cpu % 5) * 20 * second;
        let steal = if cpu == 3 { 10 * second } else { 0 };
        let idle = (100 * second).saturating_sub(busy + steal);
        let _ = writeln!(stat, "cpu{cpu} {busy} 0 0 {idle} 0 0 0 {steal} 0 0");
    }
    for (name, text) in [
        ("proc/interrupts", interrupts),
        ("proc/softirqs", softirqs),
        ("proc/stat", stat),
        ("sys/devices/system/cpu/online", format!("0-{}\n", cpus - 1)),
    ] {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// 32 CPUs a node, two nodes a package, threads of a core half a machine apart.
fn machine(cpus: u32) -> Machine {
    let half = (cpus / 2).max(1);
    let cpu = |id: u32| Cpu {
        id,
        online: true,
        package: Some(id % half / 32),
        node: Some(id % half / 16),
        siblings: Some([id % half, id % half + half].into_iter().filter(|id| *id < cpus).collect::<CpuSet>()),
        ..Cpu::default()
    };
    Machine { cpus: (0..cpus).map(cpu).collect(), ..Machine::default() }
}

/// The live map after `seconds` readings, each a second after the other (but read at once: rates are not looked at).
fn live(cpus: u32, seconds: u64) -> Live {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), cpus, 0);
    let mut meter = Meter::new(Root::at(dir.path()).unwrap(), &PROBES);
    let mut live = Live::new(&machine(cpus));
    for second in 0..=seconds {
        write(dir.path(), cpus, second);
        live.take(&meter.read());
    }
    live
}

/// What a terminal of this size shows, row by row.
fn drawn(now: &Now, view: &View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|screen| screen::draw(screen, now, view, "web7, Linux 6.12, 12:00:00")).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
    (0..height).map(row).collect()
}

/// A frame whose window is one second, for rates that can be compared.
fn of_a_second(now: Now) -> Now {
    Now { window_s: 1.0, ..now }
}

#[test]
fn the_last_interval_and_the_totals() {
    let mut live = live(4, 3);
    let (last, all) = (live.rates(), live.totals());
    let line = |now: &Now, name: &str| now.lines.iter().find(|line| line.name == name).cloned();
    assert_eq!(line(&last, "103").unwrap().count, 30);
    assert_eq!(line(&all, "103").unwrap().count, 90);
    assert_eq!(line(&last, "100"), None, "it did not come");
    assert_eq!((line(&last, "LOC").unwrap().count, line(&last, "NET_RX").unwrap().softirq), (1000, true));
    let cpu3 = last.cpus().find(|cpu| cpu.cpu == 3).unwrap();
    let time = cpu3.time.unwrap();
    assert!(
        (time.busy - 0.6).abs() < 1e-9 && (time.steal - 0.1).abs() < 1e-9 && (time.idle - 0.3).abs() < 1e-9
    );
    assert_eq!((cpu3.interrupts, cpu3.softirqs), (Some(280), Some(0)));
    live.reset();
    assert!(live.totals().lines.is_empty());
}

#[test]
fn before_the_second_reading_nothing_is_claimed() {
    let live = live(2, 0);
    let now = live.rates();
    assert_eq!((now.window_s, now.lines.len(), now.cpus().count()), (0.0, 0, 2));
    assert!(now.cpus().all(|cpu| cpu.time.is_none() && cpu.interrupts.is_none() && cpu.softirqs.is_none()));
    let shown = drawn(&now, &View::default(), 80, 24).join("\n");
    assert!(shown.contains('?') && !shown.contains("NaN"), "{shown}");
}

/// The last interval of three readings of four CPUs whose files are changed on their way.
fn of_changed(file: &str, change: impl Fn(&str, u64) -> String) -> Now {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 4, 0);
    let mut meter = Meter::new(Root::at(dir.path()).unwrap(), &PROBES);
    let mut live = Live::new(&machine(4));
    for second in 0..3 {
        write(dir.path(), 4, second);
        let path = dir.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, change(&text, second)).unwrap();
        live.take(&meter.read());
    }
    of_a_second(live.rates())
}

#[test]
fn what_was_not_read_is_a_question_mark_and_no_zero() {
    for (file, shown, heading) in [
        (
            "proc/interrupts",
            "    3    60 %    10 %    30 %        ?          0",
            "interrupts not known, 70 softirqs/s",
        ),
        (
            "proc/softirqs",
            "    3    60 %    10 %    30 %      280          ?",
            "1,060 interrupts/s, softirqs not known",
        ),
        (
            "proc/stat",
            "    3       ?       ?       ?      280          0",
            "CPU use not known, 1,060 interrupts/s",
        ),
    ] {
        let now = of_changed(file, |_, _| "garbage\n".into());
        let frame = text::render(&now, "web7", Sort::Rate);
        assert!(frame.lines().any(|line| line == shown), "{file}\n{frame}");
        assert!(frame.contains("  not known: "), "{frame}");
        let drawn = drawn(&now, &View::default(), 80, 24);
        assert!(drawn[1].contains(heading), "{drawn:#?}");
    }
}

#[test]
fn an_odd_row_or_time_takes_nothing_else_with_it() {
    let sound = of_changed("proc/stat", |text, _| text.into());
    let total = of_changed("proc/stat", |text, _| format!("{text}processes -2045677862\n"));
    assert_eq!(total.groups, sound.groups);
    assert_eq!(total.missing.len(), 1);
    let row = of_changed("proc/softirqs", |text, _| format!("{text}TASKLET: x\n"));
    assert_eq!((&row.groups, &row.lines), (&sound.groups, &sound.lines));
    let time = of_changed("proc/stat", |text, _| {
        let line = text.lines().find(|line| line.starts_with("cpu2 ")).unwrap();
        text.replace(line, &line.replace(" 0 0 0 0", " 0 -1 0 0"))
    });
    let known: Vec<u32> = time.cpus().filter(|cpu| cpu.time.is_some()).map(|cpu| cpu.cpu).collect();
    assert_eq!(known, [0, 1, 3], "a time of CPU 2 is not known, and so no share of it is: {time:?}");
    let back = of_changed("proc/stat", |text, second| {
        let line = text.lines().find(|line| line.starts_with("cpu3 ")).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        text.replace(
            line,
            &format!("{} 0 0 {} 0 0 0 {} 0 0", words[..2].join(" "), words[4], 900 - 100 * second),
        )
    });
    assert!(
        back.cpus().all(|cpu| cpu.time.is_some() == (cpu.cpu != 3)),
        "stolen time ran backwards: {back:?}"
    );
}

#[test]
fn cpus_stand_in_the_order_of_the_machine() {
    let now = live(128, 1).rates();
    let names: Vec<String> = now.groups.iter().map(Group::name).collect();
    assert_eq!(names, ["package 0, node 0", "package 0, node 1", "package 1, node 2", "package 1, node 3"]);
    let first: Vec<u32> = now.groups[0].cpus.iter().take(4).map(|cpu| cpu.cpu).collect();
    assert_eq!(first, [0, 64, 1, 65], "threads of a core beside each other");
}

#[test]
fn a_small_machine_has_a_row_for_each_cpu_on_80_by_24() {
    let now = of_a_second(live(4, 1).rates());
    let rows = drawn(&now, &View::default(), 80, 24);
    let text = rows.join("\n");
    assert_eq!(rows[0], "web7, Linux 6.12, 12:00:00");
    assert_eq!(rows[1], "1.2 of 4 CPUs busy, 1,060 interrupts/s, 70 softirqs/s");
    assert!(rows.iter().any(|row| row.starts_with("    3 ████████████") && row.contains("60 %    10 %    30 %      280")), "{text}");
    assert!(
        rows.iter().any(|row| row == "  LOC          1,000  4 CPUs evenly          Local timer interrupts"),
        "{text}"
    );
    assert!(rows.iter().any(|row| row == "  103             30  CPU 3                  eth0-rx-3"), "{text}");
    assert!(rows[23].starts_with("q quit"), "{text}");
}

#[test]
fn large_machines_are_strips_that_fit() {
    for (cpus, width, height) in [(256, 200, 50), (256, 80, 24), (1024, 200, 50), (1024, 80, 24)] {
        let now = of_a_second(live(cpus, 1).rates());
        let rows = drawn(&now, &View::default(), width, height);
        let text = rows.join("\n");
        assert!(rows[3].starts_with("p0 n0      busy ·"), "{cpus} on {width}x{height}\n{text}");
        assert!(rows[4].starts_with("CPU 0..     irq "), "{text}");
        assert!(
            rows.iter().any(|row| row.trim_start().starts_with("LOC")),
            "the lines keep their room\n{text}"
        );
        assert!(rows.last().unwrap().starts_with("q quit"), "{text}");
        if std::env::var_os("PINWISE_SHOW").is_some() {
            println!("{cpus} CPUs on {width}x{height}\n{text}\n");
        }
    }
}

#[test]
fn sorting_scrolling_pausing_and_totals() {
    let live = live(64, 2);
    let now = of_a_second(live.rates());
    let first = |view: &View| {
        let rows = drawn(&now, view, 80, 24);
        let head = rows.iter().position(|row| row.contains("TAKEN BY")).unwrap();
        rows[head + 1].split_whitespace().next().unwrap().to_string()
    };
    let mut view = View::default();
    assert_eq!(first(&view), "LOC");
    view.scroll(1, &now);
    assert_eq!(first(&view), "163");
    view.scroll(-9, &now);
    view.sort = view.sort.next();
    assert_eq!((view.sort, first(&view).as_str()), (Sort::Cpu, "LOC"));
    view.sort = view.sort.next();
    assert_eq!((view.sort, first(&view).as_str()), (Sort::Name, "101"));
    view.scroll(10_000, &now);
    assert_eq!(view.lines_from, now.lines.len() - 1);
    view.focus = Focus::Cpus;
    view.scroll(2, &now);
    assert_eq!(view.cpus_from, 2);
    let paused = View { paused: true, ..View::default() };
    assert!(drawn(&now, &paused, 80, 24)[0].ends_with("PAUSED"));
    let totals = View { totals: true, ..View::default() };
    let shown = drawn(&Now { window_s: 2.0, ..live.totals() }, &totals, 80, 24);
    assert!(shown[0].contains("totals of 2 s") && shown[1].contains("72,320 interrupts,"), "{shown:#?}");
}

#[test]
fn no_size_of_a_terminal_and_no_name_breaks_the_screen() {
    let mut now = of_a_second(live(64, 1).rates());
    now.lines[0].label = "\x1b[2Jbad\nname ".repeat(40);
    now.missing = vec!["/proc/softirqs: permission\x1b denied".into(); 50];
    for (width, height) in [(1, 1), (2, 2), (10, 3), (20, 5), (80, 7), (300, 100)] {
        for totals in [false, true] {
            let view = View { totals, colour: true, ..View::default() };
            let text = drawn(&now, &view, width, height).join("\n");
            assert!(!text.contains('\x1b'), "{width}x{height}");
        }
    }
}

#[test]
fn plain_frames_and_json() {
    let now = of_a_second(live(4, 1).rates());
    let frame = text::render(&now, "web7 12:00:00", Sort::Rate);
    let lines: Vec<&str> = frame.lines().collect();
    assert_eq!(lines[0], "web7 12:00:00");
    assert!(lines.contains(&"    3    60 %    10 %    30 %      280          0"), "{frame}");
    assert!(lines.contains(&"  NET_RX          70  CPU 1                  softirq"), "{frame}");
    assert!(frame.ends_with("\n\n"));
    let json = serde_json::to_string(&now).unwrap();
    assert!(!json.contains('\n'));
    assert_eq!(serde_json::from_str::<Now>(&json).unwrap(), now);
}

#[test]
fn devices_are_named_before_what_the_kernel_calls_a_line() {
    let line = |devices: &[&str], label: &str| LineNow {
        devices: devices.iter().map(|name| name.to_string()).collect(),
        label: label.into(),
        ..LineNow::default()
    };
    assert_eq!(line(&["eth0"], "virtio2-input.0").title(), "eth0  virtio2-input.0");
    assert_eq!(line(&[], "Local timer interrupts").title(), "Local timer interrupts");
    assert_eq!(line(&["sda", "sdb"], "").title(), "sda, sdb");
}

#[test]
fn a_cpu_that_went_offline_is_shown_as_such_and_has_no_figures() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 4, 0);
    let mut meter = Meter::new(Root::at(dir.path()).unwrap(), &PROBES);
    let mut live = Live::new(&machine(4));
    for (cpus, second) in [(4, 0), (3, 1), (4, 2)] {
        write(dir.path(), cpus, second);
        live.take(&meter.read());
        let now = of_a_second(live.rates());
        let is_there = cpus == 4;
        assert_eq!(now.offline, if is_there { Vec::new() } else { vec![3] });
        assert_eq!(now.cpus().any(|cpu| cpu.cpu == 3), is_there);
        let shown = drawn(&now, &View::default(), 80, 24).join("\n");
        assert_eq!(shown.contains("  offline: CPU 3"), !is_there, "{shown}");
    }
}
