//! Frames taken from trees in memory: what a window says when counters wrap, CPUs leave and files are missing.

use machine::Tree;

use super::*;
use crate::observation::Observation;
use crate::recording::Interval;

/// A machine at one moment: interrupt table, CPU time, and what else a test adds.
fn machine(interrupts: &str, online: &str) -> Tree {
    Tree::new().file("/proc/interrupts", interrupts).file("/sys/devices/system/cpu/online", online)
}

fn root(tree: Tree) -> Root {
    Root::from_tree(tree)
}

/// One frame from each root, in this order, then the window over all of them.
fn observe(watch: Option<ProcessRef>, roots: &[Root]) -> Observation {
    let recording = record(watch, roots);
    let (from_ns, to_ns) = (recording.frames[0].end_ns(), recording.frames[roots.len() - 1].at_ns);
    recording.window(from_ns, to_ns)
}

fn record(watch: Option<ProcessRef>, roots: &[Root]) -> Recording {
    let mut collector = Collector { rows: Rows::new(&roots[0], watch), probes: ALL.to_vec() };
    for root in roots {
        collector.take(root, 0, true);
    }
    collector.rows.into_recording()
}

fn why(observation: &Observation, fact: &str) -> String {
    let missing = observation.missing.iter().find(|missing| missing.fact == fact);
    missing.unwrap_or_else(|| panic!("{fact} is not among {:#?}", observation.missing)).why.clone()
}

const LOC: &str = "   Local timer interrupts\n";

#[test]
fn moved_still_and_unknown_stay_apart() {
    let table = |loc0: u64, loc1: u64| {
        format!("  CPU0 CPU1\n 24: 5 0 IO-APIC 5-edge  disk\nLOC: {loc0} {loc1}{LOC}ERR: 3\n")
    };
    let seen = observe(None, &[root(machine(&table(10, 20), "0-1")), root(machine(&table(17, 20), "0-1"))]);
    let loc = seen.counter("interrupts", "LOC").unwrap();
    assert_eq!((loc.label.as_str(), loc.unit.as_str()), ("Local timer interrupts", "events"));
    assert_eq!(loc.by_cpu, BTreeMap::from([(0, 7), (1, 0)]));
    assert_eq!(seen.still, ["interrupts/24"]);
    assert_eq!(seen.rate("interrupts", "24", 1), Some(0.0));
    assert_eq!(seen.rate("interrupts", "85", 1), None);
    assert_eq!(seen.system("interrupts", "ERR").unwrap().value, 0);
    assert_eq!(seen.samples, 2);
    assert!(why(&seen, "/proc/softirqs").contains("no such file"));
}

#[test]
fn a_wrapped_count_goes_on_and_one_that_began_again_is_missing() {
    let table =
        |a: u64, b: u64| format!("  CPU0\n 24: {a} IO-APIC 5-edge  disk\n 25: {b} IO-APIC 6-edge  net\n");
    let top = u64::from(u32::MAX);
    let seen = observe(None, &[root(machine(&table(top - 1, 900), "0")), root(machine(&table(3, 2), "0"))]);
    assert_eq!(seen.counter("interrupts", "24").unwrap().by_cpu, BTreeMap::from([(0, 5)]));
    assert_eq!(seen.rate("interrupts", "25", 0), None);
    assert!(why(&seen, "interrupts/25 on CPU 0").contains("began again"));
}

#[test]
fn a_cpu_that_goes_away_is_absent_and_named() {
    let both = format!("  CPU0 CPU1\nLOC: 10 20{LOC}");
    let one = format!("  CPU0\nLOC: 15{LOC}");
    let seen = observe(None, &[root(machine(&both, "0-1")), root(machine(&one, "0"))]);
    assert_eq!(seen.counter("interrupts", "LOC").unwrap().by_cpu, BTreeMap::from([(0, 5)]));
    assert!(why(&seen, "CPU 1").contains("went away"));
    let back = observe(None, &[root(machine(&one, "0")), root(machine(&both, "0-1"))]);
    assert!(why(&back, "CPU 1").contains("came within"));
    assert!(back.counter("interrupts", "LOC").is_none());
}

#[test]
fn a_cpu_that_comes_back_keeps_counting_and_is_named() {
    let both = |loc0: u64, loc1: u64| machine(&format!("  CPU0 CPU1\nLOC: {loc0} {loc1}{LOC}"), "0-1");
    let one = machine(&format!("  CPU0\nLOC: 15{LOC}"), "0");
    let seen = observe(None, &[root(both(10, 20)), root(one), root(both(16, 24))]);
    assert_eq!(seen.counter("interrupts", "LOC").unwrap().by_cpu, BTreeMap::from([(0, 6), (1, 4)]));
    assert!(why(&seen, "CPU 1").contains("for a part of the window"));
    let [changed] = seen.changed_cpus.as_slice() else { panic!("{:?}", seen.changed_cpus) };
    assert_eq!((changed.cpu, changed.left, changed.came), (1, 1, 1));
    assert_eq!(changed.wall_ns, seen.to_ns - seen.from_ns);
    assert!(changed.offline_ns > 0 && changed.offline_ns < changed.wall_ns, "{changed:?}");
    assert!(seen.online_share(1) < 1.0 && seen.online_share(0) == 1.0);
}

#[test]
fn how_often_a_cpu_changed_is_counted_and_a_sample_of_nothing_is_no_change() {
    let both = || root(machine(&format!("  CPU0 CPU1\nLOC: 10 20{LOC}"), "0-1"));
    let one = || root(machine(&format!("  CPU0\nLOC: 15{LOC}"), "0"));
    let changes = |roots: &[Root]| -> Vec<(u32, u64, u64)> {
        observe(None, roots).changed_cpus.iter().map(|cpu| (cpu.cpu, cpu.left, cpu.came)).collect()
    };
    assert_eq!(changes(&[both(), one(), one(), both(), one()]), [(1, 2, 1)]);
    assert_eq!(changes(&[one(), both(), one()]), [(1, 1, 1)]);
    assert!(changes(&[both(), root(Tree::new()), both()]).is_empty());
    assert!(changes(&[both(), both()]).is_empty());
}

#[test]
fn rows_that_come_go_or_change_hands_are_missing_not_zero() {
    let table = |row: &str| machine(&format!("  CPU0\n{row}LOC: 1{LOC}"), "0");
    let disk = " 24: 900 IO-APIC 5-edge  disk\n";
    let seen = observe(None, &[root(table(disk)), root(table(""))]);
    assert!(why(&seen, "interrupts/24").contains("'disk' went away"));
    let seen = observe(None, &[root(table(disk)), root(table(" 24: 950 IO-APIC 5-edge  net\n"))]);
    assert_eq!(seen.rate("interrupts", "24", 0), None);
    assert_eq!(seen.missing.iter().filter(|m| m.fact == "interrupts/24").count(), 2);
    // The same device, but its driver was loaded again in between: what it counted is not known.
    let seen =
        observe(None, &[root(table(disk)), root(table("")), root(table(" 24: 950 IO-APIC 5-edge  disk\n"))]);
    assert!(why(&seen, "interrupts/24 on CPU 0").contains("began again"));
    assert_eq!(seen.rate("interrupts", "24", 0), None);
}

#[test]
fn offline_cpus_of_softirqs_are_left_out() {
    let at = |n: u64| {
        let text = format!("  CPU0 CPU1 CPU2\n NET_RX: {n} 0 {}\n TIMER: 4 0 4\n", n + n);
        root(Tree::new().file("/proc/softirqs", text).file("/sys/devices/system/cpu/online", "0,2"))
    };
    let seen = observe(None, &[at(10), at(13)]);
    assert_eq!(seen.counter("softirqs", "NET_RX").unwrap().by_cpu, BTreeMap::from([(0, 3), (2, 6)]));
    assert_eq!(seen.rate("softirqs", "NET_RX", 1), None);
    assert_eq!(seen.still, ["softirqs/TIMER"]);
}

#[test]
fn cpu_time_is_in_us_and_old_kernels_lack_columns() {
    let at = |user: u64, idle: u64| {
        root(Tree::new().file("/proc/stat", format!("cpu  9 9 9 9\ncpu0 {user} 0 0 {idle}\nctxt {user}00\n")))
    };
    let seen = observe(None, &[at(10, 500), at(14, 499)]);
    assert_eq!(seen.counter("stat", "user").unwrap().by_cpu, BTreeMap::from([(0, 40_000)]));
    assert!(why(&seen, "stat/steal").contains("does not print"));
    assert!(why(&seen, "stat/idle on CPU 0").contains("backwards"));
    assert_eq!(seen.system("stat", "ctxt").unwrap().value, 400);
}

#[test]
fn pressure_belongs_to_the_system() {
    let at =
        |some: u64| root(Tree::new().file("/proc/pressure/cpu", format!("some avg10=0.00 total={some}\n")));
    let seen = observe(None, &[at(100), at(350)]);
    let counter = seen.system("pressure", "cpu some").unwrap();
    assert_eq!((counter.value, counter.unit.as_str()), (250, "us"));
    assert_eq!(seen.system("pressure", "cpu full"), None);
    assert!(why(&seen, "/proc/pressure/irq").contains("needs Linux 6.1 with CONFIG_IRQ_TIME_ACCOUNTING"));
}

#[test]
fn idle_states_and_frequency() {
    let at = |usage: u64, khz: u64| {
        let state = "/sys/devices/system/cpu/cpu0/cpuidle/state1";
        let tree = Tree::new()
            .file("/sys/devices/system/cpu/online", "0-1")
            .file(&format!("{state}/name"), "C6\n")
            .file(&format!("{state}/usage"), format!("{usage}\n"))
            .file(&format!("{state}/time"), "77\n")
            .file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", format!("{khz}\n"));
        root(tree)
    };
    let seen = observe(None, &[at(5, 1000), at(8, 2000), at(9, 3000)]);
    assert_eq!(seen.counter("cpuidle", "C6 entries").unwrap().by_cpu, BTreeMap::from([(0, 4)]));
    assert_eq!(seen.still, ["cpuidle/C6 time"]);
    let khz = seen.gauges[0].by_cpu[&0];
    assert_eq!((khz.min, khz.mean, khz.max), (1000, 2000.0, 3000));
    assert!(!seen.gauges[0].by_cpu.contains_key(&1));
}

/// A process with one thread: its CPU time in ticks and ns, and the CPU that it is on.
fn thread(tree: Tree, pid: u32, start: u64, ticks: u64, on_cpu_ns: u64, cpu: u32) -> Tree {
    let dir = format!("/proc/{pid}/task/{pid}");
    let zeros = "0 ".repeat(16);
    let stat =
        format!("{pid} (a server) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 1 0 0 20 0 1 0 {start} {zeros}{cpu} 0 0\n");
    let rule = "-".repeat(30);
    let sched =
        format!("a server ({pid}, #threads: 1)\n{rule}\nse.nr_migrations : 3\nnr_switches : {ticks}\n");
    let status = format!(
        "Cpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t{ticks}\nnonvoluntary_ctxt_switches:\t2\n"
    );
    tree.file(&format!("/proc/{pid}/stat"), stat.clone())
        .file(&format!("{dir}/stat"), stat)
        .file(&format!("{dir}/children"), "")
        .file(&format!("{dir}/schedstat"), format!("{on_cpu_ns} 5000 9\n"))
        .file(&format!("{dir}/sched"), sched)
        .file(&format!("{dir}/status"), status)
}

const SERVER: ProcessRef = ProcessRef { pid: 40, start_time_ticks: 1 };

#[test]
fn a_thread_is_followed_over_the_window() {
    let at = |ticks, ns, cpu| root(thread(Tree::new(), 40, 1, ticks, ns, cpu));
    let seen = observe(Some(SERVER), &[at(10, 1_000_000, 0), at(14, 41_000_000, 1), at(14, 41_000_000, 1)]);
    let [thread] = &seen.threads[..] else { panic!("one thread: {:?}", seen.threads) };
    assert_eq!((thread.pid, thread.tid, thread.comm.as_str()), (40, 40, "a server"));
    assert_eq!((thread.user_us, thread.system_us), (Some(40_000), Some(0)));
    assert_eq!((thread.on_cpu_us, thread.waited_us), (Some(40_000), Some(0)));
    assert_eq!((thread.voluntary_switches, thread.involuntary_switches), (Some(4), Some(0)));
    assert_eq!(thread.migrations, Some(0));
    assert_eq!(thread.seen_on, BTreeMap::from([(0, 1), (1, 2)]));
    assert_eq!(thread.allowed.as_deref(), Some("0-1"));
}

#[test]
fn a_thread_born_in_the_window_counts_from_zero_and_an_ended_one_keeps_what_was_seen() {
    let server = || thread(Tree::new(), 40, 1, 10, 1_000_000, 0).file("/proc/40/task/40/children", "41 ");
    let late = u64::MAX / 1_000_000_000;
    let born = root(thread(server(), 41, late, 7, 70_000_000, 1));
    let ended = root(thread(Tree::new(), 40, 1, 12, 3_000_000, 0));
    let seen = observe(Some(SERVER), &[root(server()), born, ended]);
    let child = seen.threads.iter().find(|thread| thread.pid == 41).unwrap();
    assert_eq!((child.user_us, child.on_cpu_us), (Some(70_000), Some(70_000)));
    assert_eq!(child.seen_on, BTreeMap::from([(1, 1)]));
}

#[test]
fn a_number_that_was_given_to_another_process_is_not_taken_for_the_server() {
    let other = root(thread(Tree::new(), 40, 500, 900, 9_000_000_000, 0));
    let seen = observe(Some(SERVER), &[root(thread(Tree::new(), 40, 1, 10, 1_000_000, 0)), other]);
    assert_eq!(seen.threads.len(), 1);
    assert_eq!(seen.threads[0].user_us, Some(0));
    assert!(why(&seen, "process 40").contains("ended"));
}

#[test]
fn a_thread_that_did_not_run_is_not_read_again_until_its_status_is_due() {
    let at = |list: &str| {
        let status = format!("Cpus_allowed_list:\t{list}\nvoluntary_ctxt_switches:\t1\n");
        root(thread(Tree::new(), 40, 1, 10, 1_000_000, 0).file("/proc/40/task/40/status", status))
    };
    let mut collector = Collector { rows: Rows::new(&at("0-1"), Some(SERVER)), probes: ALL.to_vec() };
    for (list, thorough) in [("0-1", true), ("1", false), ("1", true)] {
        collector.take(&at(list), 0, thorough);
    }
    let frames = collector.rows.frames();
    assert!(Arc::ptr_eq(&frames[0].threads[0], &frames[1].threads[0]));
    assert_eq!(frames[1].threads[0].allowed.as_deref(), Some("0-1"));
    assert_eq!(frames[2].threads[0].allowed.as_deref(), Some("1"));
}

#[test]
fn what_the_kernel_does_not_keep_is_unknown() {
    let dir = "/proc/40/task/40";
    let at = |ticks| {
        // No sched (a kernel without debug files), a schedstat of zeros (one without CONFIG_SCHED_INFO).
        let tree = thread(Tree::new(), 40, 1, ticks, 0, 0).file(&format!("{dir}/schedstat"), "0 0 0\n");
        root(tree.denied(&format!("{dir}/sched")))
    };
    let seen = observe(Some(SERVER), &[at(10), at(30)]);
    let thread = &seen.threads[0];
    assert_eq!((thread.user_us, thread.on_cpu_us, thread.migrations), (Some(200_000), None, None));
    assert_eq!(thread.voluntary_switches, Some(20), "status has them too");
    assert!(why(&seen, "/proc/PID/task/*/sched").contains("permission denied"));
}

#[test]
fn what_was_not_sampled_of_a_window_is_told_where_it_matters() {
    const MS: u64 = 1_000_000;
    let at = |loc: u64| root(machine(&format!("  CPU0\nLOC: {loc}{LOC}"), "0"));
    let mut recording = record(None, &[at(1), at(2), at(4)]);
    for (n, frame) in recording.frames.iter_mut().enumerate() {
        (frame.at_ns, frame.took_ns) = ((10 + 100 * n as u64) * MS, MS / 2);
    }
    let reported = |from_ns: u64, to_ns: u64| {
        let seen = recording.window(from_ns, to_ns).missing;
        let of =
            |fact: &str| seen.iter().find(|missing| missing.fact == fact).map(|missing| missing.why.clone());
        (of("window start"), of("window end"))
    };
    // Cut to the samples: the first and the last reading themselves are all that is beyond.
    let (from_ns, to_ns) = recording.span_ns().unwrap();
    assert_eq!(reported(from_ns, to_ns), (None, None));
    // A millisecond of a window of 200 is less than a hundredth of it, three are more.
    assert_eq!(reported(from_ns - MS / 2, to_ns + MS / 2), (None, None));
    let (start, end) = reported(from_ns - 5 * MS / 2, to_ns + 5 * MS / 2);
    assert_eq!(start.as_deref(), Some("sampling began 3 ms after it"));
    assert_eq!(end.as_deref(), Some("sampling ended 3 ms before it"));
    // Half a millisecond of a window of 40.
    recording.frames.iter_mut().enumerate().for_each(|(n, frame)| frame.at_ns = (10 + 20 * n as u64) * MS);
    let seen = recording.window(10 * MS, 50 * MS).missing;
    let start =
        seen.iter().find(|missing| missing.fact == "window start").map(|missing| missing.why.as_str());
    assert_eq!(start, Some("sampling began 500 us after it"));
}

#[test]
fn a_window_outside_of_the_recording_says_so() {
    let at = |loc: u64| root(machine(&format!("  CPU0\nLOC: {loc}{LOC}"), "0"));
    let recording = record(None, &[at(1), at(2), at(4)]);
    let all = recording.window(1, u64::MAX);
    assert_eq!(all.counter("interrupts", "LOC").unwrap().by_cpu[&0], 3);
    let wide = recording.window(1, 2 * recording.frames[2].end_ns());
    assert_eq!(wide.counter("interrupts", "LOC").unwrap().by_cpu[&0], 3);
    assert!(
        why(&wide, "window start").contains("sampling began")
            && why(&wide, "window end").contains("sampling ended")
    );
    assert_eq!(
        (wide.from_ns, wide.to_ns),
        (recording.frames[0].middle_ns(), recording.frames[2].middle_ns())
    );
    for (from_ns, to_ns) in [(5, 5), (9, 5), (1, 2), (u64::MAX - 1, u64::MAX)] {
        let nothing = recording.window(from_ns, to_ns);
        assert!(nothing.counters.is_empty() && nothing.still.is_empty() && !nothing.missing.is_empty());
    }
    let empty = record(None, &[at(1)]);
    assert!(why(&empty.window(1, 2), "window").contains("nothing to compare"));
}

#[test]
fn the_series_adds_up_to_the_window() {
    let at = |loc: u64, some: u64| {
        let tree = machine(&format!("  CPU0\nLOC: {loc}{LOC}"), "0");
        root(
            thread(tree, 40, 1, loc, loc * 1_000_000, 0)
                .file("/proc/pressure/io", format!("some total={some}\n")),
        )
    };
    let recording = record(Some(SERVER), &[at(1, 5), at(4, 5), at(4, 9), at(9, 9)]);
    let mut written = Vec::new();
    recording.write_series(&mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    let mut lines = text.lines();
    let head: crate::recording::SeriesHead = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!((head.intervals, head.rows["interrupts/LOC"].unit.as_str()), (3, "events"));
    let intervals: Vec<Interval> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(intervals.iter().filter_map(|i| i.counters.get("interrupts/LOC")?.get(&0)).sum::<i64>(), 8);
    assert_eq!(intervals[1].system["pressure/io some"], 4);
    assert_eq!(intervals[0].threads[&40].on_cpu_us, Some(3_000));
    assert_eq!(intervals, recording.series().collect::<Vec<_>>());
}

#[test]
fn late_samples_miss_deadlines_and_do_not_shift_those_to_come() {
    assert_eq!(next_deadline(1000, 100, 1010), (1100, 0));
    assert_eq!(next_deadline(1000, 100, 1099), (1100, 0));
    assert_eq!(next_deadline(1000, 100, 1370), (1400, 3));
    assert_eq!(next_deadline(1000, 100, 900), (1100, 0));
}

proptest::proptest! {
    #[test]
    fn whatever_the_start_and_the_steps_the_window_has_their_sum(
        start in 0..=u32::MAX,
        steps in proptest::collection::vec((0u32..5_000_000, 0u32..3), 1..6),
    ) {
        let (mut first, mut second) = (start, 7u32);
        let at = |a: u32, b: u32| root(machine(&format!("  CPU0 CPU9\nLOC: {a} {b}{LOC}"), "0,9"));
        let mut roots = vec![at(first, second)];
        for (a, b) in &steps {
            (first, second) = (first.wrapping_add(*a), second.wrapping_add(*b));
            roots.push(at(first, second));
        }
        let seen = observe(None, &roots);
        let wanted = (steps.iter().map(|s| u64::from(s.0)).sum(), steps.iter().map(|s| u64::from(s.1)).sum());
        let counted = match seen.counter("interrupts", "LOC") {
            Some(counter) => (counter.by_cpu[&0], counter.by_cpu[&9]),
            None if seen.still == ["interrupts/LOC"] => (0, 0),
            None => panic!("{:?}", seen.missing),
        };
        proptest::prop_assert_eq!(counted, wanted);
    }
}
