use std::path::Path;

use super::*;

/// A directory in the place of /proc, whose files a test writes anew between the ends of a window.
struct Proc(tempfile::TempDir);

impl Proc {
    fn new(interrupts: &str, stat: &str) -> Self {
        let proc = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(proc.0.path().join("proc")).unwrap();
        // A single folder at the top would be entered.
        std::fs::create_dir(proc.0.path().join("sys")).unwrap();
        proc.write(interrupts, stat);
        proc
    }

    fn write(&self, interrupts: &str, stat: &str) {
        let proc: &Path = &self.0.path().join("proc");
        std::fs::write(proc.join("interrupts"), interrupts).unwrap();
        std::fs::write(proc.join("stat"), stat).unwrap();
    }

    fn begin(&self, cpus: &str, nohz_full: Option<&str>) -> TickWindow {
        let list = |text: &str| CpuSet::from_list(text).unwrap();
        let kernel = Kernel { hz: Some(250), nohz_full: nohz_full.map(list), ..Kernel::default() };
        TickWindow::begin(Root::at(self.0.path()).unwrap(), list(cpus), &kernel)
    }
}

const BEFORE: [&str; 2] = [
    "       CPU0 CPU2\nLOC:   1000   4294967290   Local timer interrupts\n",
    "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 5 0 5 100 10 0 0 0 0 0\ncpu2 5 0 5 100 10 0 0 0 0 0\n",
];

#[test]
fn ticks_are_what_moved_and_a_count_that_wraps_goes_on() {
    let proc = Proc::new(BEFORE[0], BEFORE[1]);
    let window = proc.begin("0,2", Some("2"));
    proc.write(
        "       CPU0 CPU2\nLOC:   1250   4   Local timer interrupts\n",
        // Much longer than the window lasts: CPU 0 was idle all the time.
        "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 5 0 5 100000 100000 0 0 0 0 0\ncpu2 9 0 5 100 10 0 0 0 0 0\n",
    );
    let seen = window.end();
    let of: Vec<_> = seen.cpus.iter().map(|cpu| (cpu.ticks.cpu, cpu.ticks.ticks, cpu.ticks.busy)).collect();
    assert_eq!(of, [(0, Some(250), Some(0.0)), (2, Some(10), Some(1.0))]);
    assert_eq!(
        seen.cpus.iter().map(|cpu| cpu.ticks.nohz_full).collect::<Vec<_>>(),
        [Some(false), Some(true)]
    );
    assert!(seen.window_s > 0.0 && seen.hz == Some(250));
    let [reasons] = &seen.missing[..] else { panic!("{:?}", seen.missing) };
    assert!(reasons.fact == REASONS && reasons.why.contains("on the running system only"), "{reasons:?}");
    assert_eq!(seen.cpus[1].ticks.kept, None);
}

#[test]
fn a_cpu_that_came_or_went_and_a_count_that_began_again_are_missing_and_not_zero() {
    let proc = Proc::new(BEFORE[0], BEFORE[1]);
    let window = proc.begin("0-2", None);
    proc.write(
        "       CPU0 CPU1\nLOC:   3   4294967   Local timer interrupts\n",
        "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 5 0 5 100 10 0 0 0 0 0\ncpu1 9 0 5 100 10 0 0 0 0 0\n",
    );
    let seen = window.end();
    for cpu in &seen.cpus {
        assert_eq!((cpu.ticks.ticks, cpu.ticks.ticks_per_s, cpu.verdict), (None, None, Verdict::NotKnown));
    }
    let why =
        |cpu: u32| seen.missing.iter().find(|m| m.fact == format!("ticks of CPU {cpu}")).unwrap().why.clone();
    assert!(why(0).contains("began again"), "{}", why(0));
    assert!(why(1).contains("not online at both ends") && why(2).contains("not online at both ends"));
    assert!(seen.to_string().contains("CPU 2          ? ticks/s"), "{seen}");
}

#[test]
fn a_cpu_that_was_away_in_between_has_no_rate() {
    let proc = Proc::new(BEFORE[0], BEFORE[1]);
    let online = proc.0.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&online).unwrap();
    let set_online = |list: &str| std::fs::write(online.join("online"), list).unwrap();
    let mut window = proc.begin("0,2", None);
    for list in ["0-2\n", "0-1\n", "0-2\n"] {
        set_online(list);
        window.look();
    }
    proc.write("       CPU0 CPU2\nLOC:   1250   4   Local timer interrupts\n", BEFORE[1]);
    let seen = window.end();
    assert_eq!((seen.cpus[0].ticks.ticks, seen.cpus[1].ticks.ticks), (Some(250), None));
    assert_eq!((seen.cpus[1].ticks.busy, seen.cpus[1].verdict), (None, Verdict::NotKnown));
    let why =
        seen.missing.iter().find(|missing| missing.fact == "ticks of CPU 2").map(|missing| &missing.why);
    assert!(why.is_some_and(|why| why.contains("offline for a part")), "{:?}", seen.missing);
}

#[test]
fn a_machine_without_the_row_and_one_without_files_say_so() {
    let proc = Proc::new("  CPU0\n 24:  5  GICv3 5-edge  arch_timer\n", BEFORE[1]);
    let seen = proc.begin("0", None).end();
    assert!(seen.missing.iter().any(|m| m.why.contains("no row LOC")), "{:?}", seen.missing);
    let nothing =
        TickWindow::begin(Root::from_tree(machine::Tree::new()), CpuSet::single(3), &Kernel::default());
    let nothing = nothing.end();
    assert_eq!(nothing.cpus[0].verdict, Verdict::NotKnown);
    let facts: Vec<&str> = nothing.missing.iter().map(|m| m.fact.as_str()).collect();
    assert_eq!(facts, ["/proc/interrupts", "/proc/stat", REASONS, "ticks of CPU 3", "idle time of CPU 3"]);
}

#[test]
fn reasons_are_those_of_the_cpu_and_the_most_frequent_is_first() {
    let entry = |cpu, stopped, dependency, times| TickStop { cpu, stopped, dependency, times };
    let entries =
        vec![entry(2, false, 1, 3), entry(2, false, 4, 820), entry(2, true, 0, 7), entry(1, true, 0, 14)];
    let stops = TickStops { entries, dropped: 0 };
    let of = |cpu| {
        let mut ticks = CpuTicks { cpu, ..CpuTicks::default() };
        reasons(&stops, &mut ticks);
        (
            ticks.stopped,
            ticks.kept.unwrap().iter().map(|kept| (kept.dependency, kept.times)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(of(2), (Some(7), vec![(TickDependency::Sched, 820), (TickDependency::PosixTimer, 3)]));
    assert_eq!(of(1), (Some(14), vec![]));
    // Counted, and there was nothing to count.
    assert_eq!(of(3), (Some(0), vec![]));
}

#[test]
fn what_the_kernel_left_out_is_missing_beside_what_it_counted() {
    let mut missing = Vec::new();
    let stops = known(Ok(TickStops { entries: vec![], dropped: 9 }), &mut missing);
    assert!(stops.is_some() && missing[0].why.contains("9 answers"), "{missing:?}");
    assert!(known(Ok(TickStops::default()), &mut Vec::new()).is_some());
}

#[test]
fn json_gives_back_what_was_seen() {
    let ticks = CpuTicks {
        cpu: 2,
        ticks: Some(584),
        ticks_per_s: Some(116.8),
        busy: Some(1.0),
        nohz_full: Some(true),
        stopped: Some(0),
        kept: Some(vec![KeptFor { dependency: TickDependency::Sched, times: 611 }]),
    };
    let verdict = judge(&ticks, Some(250));
    let cpus = vec![CpuSeen { words: words(verdict, &ticks), verdict, ticks }];
    let seen = TicksSeen { window_s: 5.0, hz: Some(250), cpus, missing: vec![] };
    assert_eq!(
        seen.to_string(),
        "5.0 s; a busy CPU has 250 ticks a second unless its tick is stopped\nCPU 2      116.8 ticks/s  busy 100 %  in \
         nohz_full, and the tick ran: more than one task can run on this CPU (SCHED, 611 times)\n"
    );
    let json = serde_json::to_value(&seen).unwrap();
    assert_eq!(json["cpus"][0]["cpu"], 2);
    assert_eq!(json["cpus"][0]["kept"][0]["dependency"], "SCHED");
    assert_eq!(json["cpus"][0]["verdict"], "kept-in-nohz-full");
    assert_eq!(serde_json::from_value::<TicksSeen>(json).unwrap(), seen);
}
