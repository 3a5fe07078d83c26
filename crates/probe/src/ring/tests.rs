use std::fs::OpenOptions;
use std::path::Path;

use super::segment;
use super::*;
use crate::account::{Account, CpuAccount, Stretches, TaskAccount, ThreadAccount};

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
    let mut whole = crate::account::Whole::default();
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
    let mut told = all.account.clone();
    for account in [&mut expected, &mut told] {
        account.threads.sort_by_key(|thread| thread.tid);
        account.together = None;
    }
    assert_eq!(told, expected);
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
    let told = "2026-11-21 10:00:00 UTC to 2026-11-21 10:00:05 UTC: process 7: another target";
    assert!(facts(&last)[0].starts_with(told), "{:?}", facts(&last));
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
