//! Reading the counters of a large machine asks for no memory once warm, and says the same as reading them afresh.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

mod large;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use large::Large;
use machine::Root;
use pinwise_probe::Meter;

const PROBES: [&str; 3] = ["interrupts", "softirqs", "stat"];

thread_local! {
    /// Calls for memory by this thread. Constant and without a destructor: counting asks for no memory itself.
    static ASKED: AtomicUsize = const { AtomicUsize::new(0) };
}

/// The system's allocator, counting how often it is asked for memory.
struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of GlobalAlloc::alloc.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of GlobalAlloc::dealloc.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of GlobalAlloc::realloc.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

fn count() {
    let _ = ASKED.try_with(|asked| asked.fetch_add(1, Ordering::Relaxed));
}

fn asked() -> usize {
    ASKED.with(|asked| asked.load(Ordering::Relaxed))
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pinwise-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_warm_sample_of_1024_cpus_and_4096_lines_asks_for_no_memory() {
    let folder = Folder::new("warm");
    let large = Large::ISSUE;
    large.write(&folder.0, 0);
    let mut meter = Meter::new(Root::at(&folder.0).unwrap(), &PROBES);
    for step in 1..4 {
        meter.read();
        large.write(&folder.0, step);
    }
    let before = asked();
    let reading = meter.read();
    assert_eq!(asked() - before, 0, "calls for memory in one sample");
    // And it was a real one: each line that ticks moved on its CPU, each CPU's timer ticked.
    assert_eq!(reading.missing().count(), 0);
    let moved: Vec<_> = reading.moved().collect();
    let timers = moved.iter().filter(|cell| cell.row.name == "LOC" && cell.delta == 250).count();
    assert_eq!(timers, 1024);
    let lines = moved.iter().filter(|cell| cell.row.name == "501" && cell.delta == 1).map(|cell| cell.cpu);
    assert_eq!(lines.collect::<Vec<_>>(), [Some(501)]);
    assert!(moved.iter().any(|cell| cell.row.name == "ctxt" && cell.delta == 40_000));
}

#[test]
fn a_live_sample_asks_for_no_memory_either() {
    let mut meter = Meter::new(Root::live(), &PROBES);
    // Whenever more cells moved than ever before, the list of those that moved grows; most samples need no room.
    let calls = |_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let before = asked();
        let missing = meter.read().missing().count();
        (missing == 0).then(|| asked() - before)
    };
    match (0..40).map(calls).collect::<Option<Vec<usize>>>() {
        Some(calls) => assert!(calls.iter().filter(|calls| **calls == 0).count() >= 20, "{calls:?}"),
        None => eprintln!("skipped: one of the files is missing on this system"),
    }
}

/// Values since boot by probe, row and CPU.
fn values(meter: &Meter) -> BTreeMap<(String, String, Option<u32>), u64> {
    let mut values = BTreeMap::new();
    for now in meter.last().rows() {
        let key = |cpu| (now.row.probe.to_string(), format!("{} {}", now.row.name, now.row.label), cpu);
        match now.cpus {
            [] => drop(values.insert(key(None), now.values[0])),
            cpus => values.extend(cpus.iter().zip(now.values).map(|(cpu, value)| (key(Some(*cpu)), *value))),
        }
    }
    values
}

#[test]
fn a_warm_meter_reads_what_a_new_one_reads_also_when_the_machine_changes_shape() {
    let folder = Folder::new("shapes");
    let shapes =
        [(8, 30), (8, 30), (8, 30), (7, 30), (7, 30), (8, 31), (8, 31), (300, 12), (300, 12), (1, 1), (1, 1)];
    let mut warm: Option<Meter> = None;
    for (step, (cpus, irqs)) in shapes.into_iter().enumerate() {
        Large { cpus, irqs }.write(&folder.0, step as u64);
        let warm = warm.get_or_insert_with(|| Meter::new(Root::at(&folder.0).unwrap(), &PROBES));
        warm.read();
        let mut fresh = Meter::new(Root::at(&folder.0).unwrap(), &PROBES);
        fresh.read();
        assert_eq!(values(warm), values(&fresh), "step {step}");
        assert!(values(warm).len() > 20);
    }
}

#[test]
fn an_odd_row_is_missing_with_file_and_line_and_heals() {
    let folder = Folder::new("malformed");
    let large = Large { cpus: 4, irqs: 6 };
    large.write(&folder.0, 0);
    let mut meter = Meter::new(Root::at(&folder.0).unwrap(), &PROBES);
    meter.read();
    meter.read();
    let table = folder.0.join("proc/interrupts");
    std::fs::write(&table, large.interrupts(1).replace("  3:", "  3;")).unwrap();
    for _ in 0..2 {
        let why: Vec<String> = meter.read().missing().map(|m| format!("{} {}", m.fact, m.why)).collect();
        assert_eq!(why.len(), 1);
        assert!(why[0].starts_with("/proc/interrupts 3;"), "{why:?}");
        assert!(why[0].contains("malformed in line 5"), "{why:?}");
        assert_eq!(meter.last().rows().filter(|now| now.row.probe == "interrupts").count(), 6 + 12 + 2 - 1);
    }
    large.write(&folder.0, 2);
    assert_eq!(meter.read().missing().count(), 0);
    assert_eq!(meter.last().rows().filter(|now| now.row.probe == "interrupts").count(), 6 + 12 + 2);
}
