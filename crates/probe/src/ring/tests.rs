use std::fs::OpenOptions;
use std::path::Path;

use super::entry::{Entry, Known};
use super::frame::{Head, Kind, MAGIC};
use super::replay::Tables;
use super::segment;
use super::*;
use crate::account::{
    Account, CpuAccount, Detail, FromIdle, Interruptions, LineAccount, Migrations, Part, Route, Source,
    Stretches, TaskAccount, ThreadAccount,
};

const SECOND_NS: u64 = 1_000_000_000;
const UNIX_NS: u64 = 1_795_255_200 * SECOND_NS;

fn session(boot: &str, began_ns: u64, target: &str) -> Session {
    Session {
        format: 1,
        pinwise: "0.1.0".into(),
        boot_id: boot.into(),
        began_ns,
        title: format!("process {target}"),
        target: serde_json::json!({ "asked": target }),
        everything: false,
        how: "tp_btf".into(),
        every_ns: SECOND_NS,
    }
}

fn stretches(count: u64, total_ns: u64) -> Stretches {
    let mean_ns = (count > 0).then(|| total_ns as f64 / count as f64);
    Stretches { count, total_ns, mean_ns, ..Stretches::default() }
}

/// Second `second` of a server: one thread works, many sleep, of which one wakes up each tenth second.
fn interval(second: u64, sleepers: u32) -> Account {
    let worker = ThreadAccount {
        tid: 1,
        comm: "worker".into(),
        wall_ns: SECOND_NS,
        on_cpu: stretches(second, SECOND_NS - second),
        preempted: stretches(1, second),
        ..ThreadAccount::default()
    };
    let sleepers = (2..2 + sleepers).map(|tid| {
        let wakes = tid == 5 && second.is_multiple_of(10);
        let on_cpu = if wakes { stretches(1, 10) } else { Stretches::default() };
        let asleep = Stretches { total_ns: SECOND_NS - on_cpu.total_ns, ..stretches(u64::from(wakes), 0) };
        ThreadAccount {
            tid,
            comm: "sleeper".into(),
            wall_ns: SECOND_NS,
            on_cpu,
            asleep,
            ..ThreadAccount::default()
        }
    });
    let thief = TaskAccount { tid: 9, slices: 3, took: stretches(3, second), ..TaskAccount::default() };
    Account {
        window_s: 1.0,
        from_ns: second * SECOND_NS,
        to_ns: (second + 1) * SECOND_NS,
        threads: std::iter::once(worker).chain(sleepers).collect(),
        cpus: vec![CpuAccount { cpu: 3, wall_ns: SECOND_NS, switches: second, ..CpuAccount::default() }],
        tasks: vec![thief],
        ..Account::default()
    }
    .filled_up()
}

fn ends_unix_ns(second: u64) -> u64 {
    UNIX_NS + (second + 1) * SECOND_NS
}

fn record(folder: &Path, bound_bytes: u64, session: Session, seconds: std::ops::Range<u64>) {
    let mut recorder = Recorder::open(folder, bound_bytes, session).unwrap();
    for second in seconds {
        recorder.add(&interval(second, 20), ends_unix_ns(second)).unwrap();
        let there: u64 = segment::list(folder).unwrap().iter().map(|(_, bytes)| bytes).sum();
        assert!(there <= bound_bytes, "{there} bytes are there, {bound_bytes} were allowed");
        assert_eq!(there, recorder.bytes());
    }
}

fn replay(folder: &Path, range: Range) -> Replayed {
    Ring::open(folder).unwrap().replay(range, |_| ()).unwrap()
}

/// The same seconds without a file.
fn added_up(seconds: impl Iterator<Item = u64>) -> Account {
    let mut whole = crate::account::IntervalSum::default();
    seconds.for_each(|second| whole.add(interval(second, 20)));
    whole.account()
}

fn facts(replayed: &Replayed) -> Vec<String> {
    replayed.account.missing.iter().map(|missing| format!("{}: {}", missing.fact, missing.why)).collect()
}

const PLENTY: u64 = 1 << 30;

#[test]
fn what_was_recorded_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..30);
    let mut seen = Vec::new();
    let all =
        Ring::open(folder.path()).unwrap().replay(Range::ALL, |one| seen.push(one.account.threads.len()));
    let all = all.unwrap();
    let mut expected = added_up(0..30);
    let mut reported = all.account.clone();
    for account in [&mut expected, &mut reported] {
        account.threads.sort_by_key(|thread| thread.tid);
        account.together = None;
    }
    assert_eq!(reported, expected);
    assert_eq!(
        (all.intervals, all.sessions, all.from_unix_ns, all.to_unix_ns),
        (30, 1, UNIX_NS, ends_unix_ns(29))
    );
    assert_eq!(facts(&all), Vec::<String>::new());
    // Who slept all the time has no row of its own, but for the first second of those that wake up.
    assert_eq!((seen.len(), seen[1], seen[10]), (30, 1, 2));
}

#[test]
fn a_part_of_the_time_is_chosen_by_the_wall_clock() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..30);
    let range = Range { from_unix_ns: UNIX_NS + 10 * SECOND_NS + 1, to_unix_ns: UNIX_NS + 20 * SECOND_NS };
    let part = replay(folder.path(), range);
    assert_eq!((part.intervals, part.from_unix_ns), (10, UNIX_NS + 10 * SECOND_NS));
    assert_eq!(part.account.cpus, added_up(10..20).cpus);
    let slept = |account: &Account| account.threads.iter().map(|thread| thread.asleep.total_ns).sum::<u64>();
    assert_eq!(slept(&part.account), slept(&added_up(10..20)));
    let none = Range { from_unix_ns: 0, to_unix_ns: UNIX_NS };
    assert!(Ring::open(folder.path()).unwrap().replay(none, |_| ()).is_none());
}

#[test]
fn the_oldest_make_room_and_the_bound_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 16_384, session("a", 0, "7"), 0..400);
    let rest = replay(folder.path(), Range::ALL);
    assert!(rest.intervals > 20 && rest.intervals < 400, "{}", rest.intervals);
    let first = 400 - rest.intervals;
    assert_eq!(rest.account.cpus, added_up(first..400).cpus);
    assert_eq!(facts(&rest), Vec::<String>::new(), "what was removed is no gap");
}

#[test]
fn an_entry_that_is_too_long_is_refused_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 4_096, session("a", 0, "7"), 0..3);
    let mut recorder = Recorder::open(folder.path(), 4_096, session("a", 9, "7")).unwrap();
    let mut large = interval(3, 4_000);
    large
        .threads
        .iter_mut()
        .for_each(|thread| thread.began_ns = u64::from(thread.tid).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let fault = recorder.add(&large, ends_unix_ns(3)).unwrap_err().to_string();
    assert!(fault.contains("does not fit into the ring") && fault.contains("larger --size"), "{fault}");
    recorder.add(&interval(4, 20), ends_unix_ns(4)).unwrap();
    let rest = replay(folder.path(), Range::ALL);
    assert_eq!((rest.intervals, rest.sessions), (4, 2));
}

#[test]
fn a_torn_end_is_told_and_costs_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..10);
    let path = segment::path(folder.path(), 1);
    let length = std::fs::metadata(&path).unwrap().len();
    for cut in [1, 30] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
        let rest = replay(folder.path(), Range::ALL);
        assert_eq!((rest.intervals, rest.account.window_s), (9, 9.0));
        assert!(facts(&rest)[0].contains("00000001.segment: it ends in the middle"), "{:?}", facts(&rest));
    }
    // Another recorder goes on in another file.
    record(folder.path(), PLENTY, session("a", 9, "7"), 20..30);
    let both = replay(folder.path(), Range::ALL);
    assert_eq!((both.intervals, both.sessions), (19, 2));
    let gap = "2026-11-21 10:00:09 UTC to 2026-11-21 10:00:20 UTC: nobody recorded";
    assert!(facts(&both).iter().any(|fact| fact.starts_with(gap)), "{:?}", facts(&both));
}

/// In a forged ring; its sums are wrong, as its numbers are.
#[test]
fn numbers_without_bound_are_added_up() {
    let most = |ns: u64| Stretches { count: ns, total_ns: ns, longest_ns: Some(ns), ..Stretches::default() };
    let part = Part { count: u64::MAX, total_ns: u64::MAX };
    let seen = Interruptions {
        all: most(u64::MAX),
        on_target: part,
        while_waiting: part,
        ..Interruptions::default()
    };
    let account = |second: u64| {
        let mut account = interval(second, 20);
        for thread in &mut account.threads {
            let (on_cpu, preempted) = (most(u64::MAX), most(u64::MAX));
            (thread.wall_ns, thread.interrupted_ns, thread.unaccounted_ns) = (u64::MAX, u64::MAX, i64::MIN);
            (thread.on_cpu, thread.preempted, thread.page_faults) = (on_cpu, preempted, Some(u64::MAX));
            thread.migrations =
                Migrations { same_core: u64::MAX, unknown: u64::MAX, ..Migrations::default() };
            let state =
                FromIdle { state: 1, name: None, exit_latency_us: None, count: u64::MAX, total_ns: u64::MAX };
            thread.from_idle = vec![state];
        }
        let cpu = &mut account.cpus[0];
        (cpu.cpu, cpu.wall_ns, cpu.target_ns, cpu.other_ns) = (u32::MAX, u64::MAX, u64::MAX, u64::MAX);
        (cpu.idle_while_waited_ns, cpu.steal_ns) = (u64::MAX, Some(u64::MAX));
        cpu.sources.insert(Source::Tick, seen.clone());
        let task = &mut account.tasks[0];
        (task.slices, task.took, task.on_cpu_ns) = (u64::MAX, most(u64::MAX), Some(u64::MAX));
        task.took_by_cpu = [(u32::MAX, u64::MAX)].into();
        account.lines = vec![LineAccount { irq: 1, name: None, cpu: u32::MAX, seen: seen.clone() }];
        account.routes = vec![Route { from: 0, to: 1, times: u64::MAX }];
        account.taken_by_unknown_ns = u64::MAX;
        account.detail_of = Some(Detail { from_ns: u64::MAX, to_ns: 0 });
        account
    };
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    (0..3).for_each(|second| recorder.add(&account(second), ends_unix_ns(second)).unwrap());
    let ring = Ring::open(folder.path()).unwrap();
    let all = ring.replay(Range::ALL, |one| drop(one.account_filled_up())).unwrap().account;
    let together = all.together.unwrap();
    assert_eq!(
        (together.wall_ns, together.had_ns(), together.migrations.count()),
        (u64::MAX, u64::MAX, u64::MAX)
    );
    assert_eq!((all.cpus[0].wall_ns, all.routes[0].times), (u64::MAX, u64::MAX));
    assert!(all.cpus[0].unaccounted_ns() <= 0 && all.takers.iter().any(|taker| taker.took_ns == u64::MAX));
}

#[test]
fn any_cut_leaves_what_is_before_it() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..4);
    let path = segment::path(folder.path(), 1);
    let bytes = std::fs::read(&path).unwrap();
    let mut last = 0;
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let intervals = Ring::open(folder.path()).ok().and_then(|ring| ring.replay(Range::ALL, |_| ()));
        let intervals = intervals.map_or(0, |replayed| replayed.intervals);
        assert!(intervals == last || intervals == last + 1, "{length}");
        last = intervals;
    }
    assert_eq!(last, 3);
}

#[test]
fn any_damage_is_told_or_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..4);
    let path = segment::path(folder.path(), 1);
    let bytes = std::fs::read(&path).unwrap();
    let whole = replay(folder.path(), Range::ALL).account;
    for at in (0..bytes.len()).step_by(3) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x55;
        std::fs::write(&path, &bad).unwrap();
        let Ok(ring) = Ring::open(folder.path()) else { continue };
        let Some(replayed) = ring.replay(Range::ALL, |_| ()) else { continue };
        assert!(!replayed.account.missing.is_empty() || replayed.account == whole, "byte {at}");
    }
}

#[test]
fn a_recording_of_another_target_is_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..5);
    record(folder.path(), PLENTY, session("b", 0, "8"), 10..15);
    let last = replay(folder.path(), Range::ALL);
    assert_eq!((last.intervals, last.session.title.as_str()), (5, "process 8"));
    let reported = "2026-11-21 10:00:00 UTC to 2026-11-21 10:00:05 UTC: process 7: another target";
    assert!(facts(&last)[0].starts_with(reported), "{:?}", facts(&last));
}

#[test]
fn one_folder_has_one_recorder_and_nothing_else_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    let fault = Recorder::open(folder.path(), PLENTY, session("a", 1, "7")).err().unwrap();
    assert!(fault.to_string().contains("another pinwise"), "{fault}");
    drop(first);
    Recorder::open(folder.path(), PLENTY, session("a", 1, "7")).unwrap();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("precious.txt"), "").unwrap();
    let fault = Recorder::open(other.path(), PLENTY, session("a", 0, "7")).err().unwrap();
    assert!(fault.to_string().contains("none is of a ring"), "{fault}");
    assert!(Ring::open(other.path()).err().unwrap().to_string().contains("nothing is recorded"));
}

#[test]
fn links_in_a_ring_are_not_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join("lock")).unwrap();
    let fault = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).err().unwrap();
    assert!(fault.object.ends_with("lock") && fault.cause.contains("symbolic link"), "{fault}");
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    std::os::unix::fs::symlink(&precious, segment::path(folder.path(), 1)).unwrap();
    let fault = recorder.add(&interval(0, 1), ends_unix_ns(0)).unwrap_err();
    assert!(fault.object.ends_with("00000001.segment") && fault.remedy.contains("somebody else"), "{fault}");
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn a_ring_of_another_user_is_not_written_to() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root may give files away");
    }
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..2);
    std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
    let fault = Recorder::open(folder.path(), PLENTY, session("a", 2, "7")).err().unwrap();
    assert!(
        fault.class == machine::Class::NotPermitted && fault.cause.contains("dubious ownership"),
        "{fault}"
    );
    assert_eq!(replay(folder.path(), Range::ALL).account.threads.len(), 21, "and can be read");
}

#[test]
fn thousands_of_sleepers_take_little_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    recorder.add(&interval(1, 2_000), ends_unix_ns(1)).unwrap();
    let first = recorder.bytes();
    (2..10).for_each(|second| recorder.add(&interval(second, 2_000), ends_unix_ns(second)).unwrap());
    let each = (recorder.bytes() - first) / 8;
    assert!(each < 1_000, "{first} bytes for the first entry, {each} for each more");
    assert_eq!(replay(folder.path(), Range::ALL).account.threads.len(), 2_001);
}

#[test]
fn errors_name_the_file_and_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ring");
    record(&place, PLENTY, session("a", 0, "7"), 0..2);
    let first = segment::path(&place, 1);
    let whole = std::fs::read(&first).unwrap();
    let refused = || Ring::open(&place).err().unwrap().to_string();
    std::fs::write(&first, b"something else").unwrap();
    assert!(
        refused().contains("00000001.segment: it is no segment") && refused().contains("copy"),
        "{}",
        refused()
    );
    std::fs::write(&first, &whole[..12]).unwrap();
    assert!(
        refused().contains("00000001.segment") && refused().contains("record for longer"),
        "{}",
        refused()
    );

    let mut recorder = Recorder::open(&place, PLENTY, session("a", 0, "7")).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let fault = recorder.add(&interval(0, 1), ends_unix_ns(0)).unwrap_err();
    assert!(fault.object.ends_with("00000002.segment") && fault.remedy.contains("was removed"), "{fault}");
}

/// Writes a segment with frames of anybody's own making: each line is compressed and has a sound head.
fn forge(path: &Path, session: &str, entries: &[(Kind, Vec<u8>)]) {
    let mut stream = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    stream.window_log(segment::WINDOW_BITS).unwrap();
    let mut bytes = MAGIC.to_vec();
    let session = (Kind::Session, session.as_bytes().to_vec());
    for (number, (kind, line)) in std::iter::once(&session).chain(entries).enumerate() {
        std::io::copy(&mut &line[..], &mut stream).unwrap();
        std::io::Write::flush(&mut stream).unwrap();
        let piece = std::mem::take(stream.get_mut());
        let second = number as u64 * SECOND_NS;
        let head = Head::of(*kind, second, second + SECOND_NS, UNIX_NS + second + SECOND_NS, &piece);
        bytes.extend([&head.bytes()[..], &piece].concat());
    }
    std::fs::write(path, bytes).unwrap();
}

fn session_line() -> String {
    serde_json::to_string(&session("a", 0, "7")).unwrap()
}

fn entry_line(entry: &Entry) -> Vec<u8> {
    serde_json::to_vec(entry).unwrap()
}

#[test]
fn an_entry_that_unpacks_to_any_length_is_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let sound = entry_line(&Entry::of(&interval(1, 2), &mut Known::default()));
    let path = segment::path(folder.path(), 1);
    let entries = [(Kind::Entry, sound), (Kind::Entry, vec![b' '; 1 << 30])];
    forge(&path, &session_line(), &entries);
    assert!(std::fs::metadata(&path).unwrap().len() < 200_000);
    let rest = replay(folder.path(), Range::ALL);
    assert_eq!(rest.intervals, 1);
    assert!(
        facts(&rest).iter().any(|fact| fact.contains("unpacks to more than 128 MiB")),
        "{:?}",
        facts(&rest)
    );
}

#[test]
fn entries_that_unpack_to_more_than_any_recorders_are_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut blank = entry_line(&Entry::of(&interval(1, 2), &mut Known::default()));
    blank.resize(100 << 20, b' ');
    let entries: Vec<(Kind, Vec<u8>)> = (0..4).map(|_| (Kind::Entry, blank.clone())).collect();
    forge(&segment::path(folder.path(), 1), &session_line(), &entries);
    let rest = replay(folder.path(), Range::ALL);
    assert!(rest.intervals < 4, "{}", rest.intervals);
    assert!(
        facts(&rest).iter().any(|fact| fact.contains("more than those of any recorder")),
        "{:?}",
        facts(&rest)
    );
}

#[test]
fn a_session_that_unpacks_to_any_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    forge(&segment::path(folder.path(), 1), &" ".repeat(64 << 20), &[]);
    let fault = Ring::open(folder.path()).err().unwrap();
    assert!(
        fault.object.ends_with("00000001.segment") && fault.cause.contains("unpacks to more than 1 MiB"),
        "{fault}"
    );
}

#[test]
fn sleepers_that_are_named_again_and_again_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut known, mut entry) = (Known::default(), Entry::of(&interval(1, 20), &mut Known::default()));
    let honest = Entry::of(&interval(1, 20), &mut known);
    // Each pair names four billion threads; there are 20.
    entry.asleep = vec![(0, u32::MAX); 100_000];
    let [once, often] = [honest, entry].map(|entry| {
        forge(
            &segment::path(folder.path(), 1),
            &session_line(),
            &[(Kind::EntryWithThreads, entry_line(&entry))],
        );
        replay(folder.path(), Range::ALL).account.threads
    });
    assert_eq!(once, often);
}

#[test]
fn tables_that_grow_without_end_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    for second in 1..100 {
        let mut fresh = interval(second, 0);
        fresh.threads = (0..100)
            .map(|n| ThreadAccount { tid: second as u32 * 100 + n, ..fresh.threads[0].clone() })
            .collect();
        recorder.add(&fresh, ends_unix_ns(second)).unwrap();
    }
    let ring = Ring::open(folder.path()).unwrap();
    let of = |most_bytes: u64| {
        ring.replay_within(Tables { most_bytes, each_bytes: 1 << 20 }, Range::ALL, |_| ()).unwrap()
    };
    assert_eq!((of(64 << 20).intervals, facts(&of(64 << 20)).len()), (99, 0));
    let part = of(3 << 20);
    assert!(part.intervals < 99 && part.account.threads.len() < 9_900, "{}", part.intervals);
    assert!(facts(&part).iter().any(|fact| fact.contains("choose a shorter time")), "{:?}", facts(&part));
}

#[test]
fn many_gaps_are_told_by_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 0, "7")).unwrap();
    for second in 0..3_000 {
        recorder.add(&interval(second * 2, 1), ends_unix_ns(second * 2)).unwrap();
    }
    let reported = facts(&replay(folder.path(), Range::ALL));
    assert_eq!(reported.len(), 1_001);
    assert!(
        reported.iter().any(|fact| fact.starts_with("1999 more stretches of time")),
        "{:?}",
        reported.last()
    );
}

#[test]
fn only_regular_files_of_a_ring_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..3);
    let outside = tempfile::tempdir().unwrap();
    record(outside.path(), PLENTY, session("a", 0, "7"), 0..3);
    let at = |number: u64| segment::path(folder.path(), number);
    rustix::fs::mknodat(rustix::fs::CWD, at(2), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    std::os::unix::fs::symlink(segment::path(outside.path(), 1), at(3)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", at(4)).unwrap();
    std::fs::File::create(at(5)).unwrap().set_len(1 << 40).unwrap();
    let rest = replay(folder.path(), Range::ALL);
    assert_eq!(rest.intervals, 3);
    let refused = |number: u64| {
        let name = format!("{number:08}.segment");
        facts(&rest).iter().any(|fact| fact.contains(&name) && fact.contains("it is no"))
    };
    assert!((2..=5).all(refused), "{:?}", facts(&rest));
}

#[test]
fn numbers_and_lengths_that_no_recorder_comes_to_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), PLENTY, session("a", 0, "7"), 0..3);
    for name in ["18446744073709551615.segment", "1.segment", "+0000002.segment"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    // Together they are longer than a number can be.
    for number in 2..6 {
        let _ = std::fs::File::create(segment::path(folder.path(), number)).unwrap().set_len(i64::MAX as u64);
    }
    let mut recorder = Recorder::open(folder.path(), PLENTY, session("a", 9, "7")).unwrap();
    recorder.add(&interval(9, 2), ends_unix_ns(9)).unwrap();
    assert!(folder.path().join("00000006.segment").exists());
}

#[test]
fn a_part_is_a_ring_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, part) = (folder.path().join("whole"), folder.path().join("part"));
    record(&whole, PLENTY, session("a", 0, "7"), 0..10);
    // What another recorder wrote at such a time after another boot is not meant.
    record(&whole, PLENTY, session("b", 0, "7"), 0..30);
    let ring = Ring::open(&whole).unwrap();
    // Second 10 lies in it with its last ns, second 20 not at all.
    let time = 11 * SECOND_NS - 1..20 * SECOND_NS;
    assert_eq!(ring.excerpt(time, &part), Ok(10));
    let range = Range { from_unix_ns: UNIX_NS + 10 * SECOND_NS, to_unix_ns: UNIX_NS + 20 * SECOND_NS };
    let kept = replay(&part, Range::ALL);
    assert_eq!((kept.intervals, kept.sessions, facts(&kept)), (10, 1, Vec::new()));
    assert_eq!((kept.from_unix_ns, kept.to_unix_ns), (range.from_unix_ns, range.to_unix_ns));
    let alone = folder.path().join("alone");
    record(&alone, PLENTY, session("b", 0, "7"), 0..30);
    assert_eq!(kept.account, replay(&alone, range).account, "with those that slept all the time");
}

#[test]
fn a_part_of_which_nothing_is_there_makes_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, part) = (folder.path().join("whole"), folder.path().join("part"));
    record(&whole, PLENTY, session("a", 0, "7"), 0..10);
    let refused = Ring::open(&whole).unwrap().excerpt(10 * SECOND_NS..20 * SECOND_NS, &part).unwrap_err();
    assert!(refused.to_string().contains("nothing of that time"), "{refused}");
    assert!(!part.exists());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Heads and compression are sound, as anybody can make them; what they hold is not.
    #[test]
    fn no_entry_makes_the_reader_panic(
        hits in proptest::collection::vec((0..4_000usize, proptest::prelude::any::<u8>()), 1..6),
        cut in 0..8_000usize,
        kind in proptest::sample::select(vec![Kind::Session, Kind::Entry, Kind::EntryWithThreads]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::default();
        let mut lines: Vec<Vec<u8>> =
            (1..4).map(|second| entry_line(&Entry::of(&interval(second, 3), &mut known))).collect();
        for (at, byte) in hits {
            let hit = at % 3;
            if let Some(place) = lines[hit].get_mut(at) {
                *place = byte;
            }
        }
        lines[1].truncate(cut);
        let entries: Vec<(Kind, Vec<u8>)> = lines.into_iter().map(|line| (kind, line)).collect();
        forge(&segment::path(folder.path(), 1), &session_line(), &entries);
        if let Ok(ring) = Ring::open(folder.path()) {
            let _ = ring.replay(Range::ALL, |interval| drop(interval.account_filled_up()));
            let _ = ring.excerpt(0..u64::MAX, &folder.path().join("part"));
        }
    }
}
