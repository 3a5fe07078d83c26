//! What a flight recorder kept, also when it was killed: the same as if it had been watched then.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::actor::{Actor, spin};
use super::figures::number;
use super::ring::replay;
use super::thief::{compare, steal};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

fn intervals(sheet: &Sheet) -> u64 {
    number(&sheet.json["recorded"]["intervals"])
}

/// What is reported of intervals that do not follow each other.
fn gap(sheet: &Sheet) -> Option<&serde_json::Value> {
    sheet.rows("missing").iter().find(|missing| missing["why"] == "entries are missing")
}

fn segments(ring: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(ring).unwrap().map(|entry| entry.unwrap().path());
    let mut segments: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "segment")).collect();
    segments.sort();
    segments
}

fn bytes(ring: &Path) -> u64 {
    // One can be removed between the two calls.
    segments(ring).iter().filter_map(|path| std::fs::metadata(path).ok()).map(|about| about.len()).sum()
}

/// Waits until the ring has so many bytes more; false when the recorder writes nothing.
fn grows(ring: &Path, by: u64) -> bool {
    let (from, deadline) = (bytes(ring), Instant::now() + Duration::from_secs(10));
    while bytes(ring) < from + by {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_recorder_that_was_killed_has_recorded_what_the_thief_took() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring");
        let at = ring.display().to_string();
        let victim = Actor::start_fifo("victim", stage.cpu, 5, spin);
        let thief = Actor::start_fifo("thief", stage.cpu, 20, steal);
        let tid = victim.tid.to_string();
        let recorder = stage.begin_to(&["--thread", &tid, "--record", &at, "--every", "250ms"]);
        std::thread::sleep(Duration::from_secs(3));
        assert!(grows(&ring, 1), "nothing is recorded");
        recorder.kill();
        let stolen = thief.stop();
        victim.stop();

        let whole = replay(&stage, &ring, &["--full"]);
        eprintln!("{} intervals, {} bytes", intervals(&whole), bytes(&ring));
        assert_eq!(gap(&whole), None);
        compare(&whole, &stolen);
        assert_eq!(whole.rows("threads").len(), 1);
        let victim = &whole.rows("threads")[0];
        let states = ["on_cpu", "preempted", "run_queue", "throttled", "asleep", "blocked"];
        let parts: u64 = states.iter().map(|state| number(&victim[*state]["total_ns"])).sum();
        let (parts, wall) = (parts + number(&victim["interrupted_ns"]), number(&victim["wall_ns"]));
        assert!(wall.abs_diff(parts) <= wall / 1_000, "{victim:#}");

        // Half of an entry is reported, and costs that entry only.
        let last = segments(&ring).pop().unwrap();
        let length = std::fs::metadata(&last).unwrap().len();
        OpenOptions::new().write(true).open(&last).unwrap().set_len(length - 7).unwrap();
        let torn = replay(&stage, &ring, &["--full"]);
        assert_eq!(intervals(&torn) + 1, intervals(&whole));
        assert!(torn.losses().iter().any(|fact| fact.contains("last entry")), "{:?}", torn.losses());
        compare(&torn, &stolen);

        // Another recorder goes on in the same ring, and the time between is reported.
        let again = stage.begin_to(&["--cpu", &stage.cpu.to_string(), "--record", &at, "--for", "1s"]);
        again.ends();
        let other = replay(&stage, &ring, &[]);
        assert!(
            other.losses().iter().any(|fact| fact.ends_with(&format!("thread {tid}"))),
            "{:?}",
            other.losses()
        );
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_ring_keeps_its_bound_and_can_be_read_meanwhile() {
    retried_where_switches_are_missed(|| {
        const BOUND_BYTES: u64 = 64 << 10;
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring");
        let at = ring.display().to_string();
        let busy = Actor::start("busy", stage.cpu, spin);
        let recorder =
            stage.begin_to(&["--record", &at, "--size", "64KiB", "--every", "100ms", "--for", "60s"]);
        let deadline = Instant::now() + Duration::from_secs(40);
        let is_first = |path: &PathBuf| path.ends_with("00000001.segment");
        while segments(&ring).first().is_none_or(is_first) && Instant::now() < deadline {
            // Files are looked at one after the other: one that is removed meanwhile may be counted beside what took its room.
            assert!(bytes(&ring) <= BOUND_BYTES + BOUND_BYTES / 4, "{} bytes", bytes(&ring));
            let seen =
                if bytes(&ring) > BOUND_BYTES / 4 { intervals(&replay(&stage, &ring, &[])) } else { 1 };
            assert!(seen > 0);
            std::thread::sleep(Duration::from_millis(100));
        }
        recorder.kill();
        busy.stop();
        assert!(!segments(&ring).first().is_none_or(is_first), "the oldest segment is still there");
        assert!(bytes(&ring) <= BOUND_BYTES, "{} bytes", bytes(&ring));
        let rest = replay(&stage, &ring, &["--full"]);
        eprintln!("{} intervals in {} bytes", intervals(&rest), bytes(&ring));
        // Intervals follow each other without a gap, and the time of the CPU adds up over all of them.
        assert_eq!(gap(&rest), None);
        let cpu = rest.cpu(stage.cpu);
        let parts = ["target_ns", "other_ns", "idle_ns", "interrupted_ns", "unknown_ns"];
        let parts: u64 = parts.iter().map(|part| number(&cpu[*part])).sum();
        let wall = number(&cpu["wall_ns"]);
        assert!(wall.abs_diff(parts) <= wall / 1_000, "{cpu:#}");
    });
}
