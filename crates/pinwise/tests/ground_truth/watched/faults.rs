//! Pages that are touched for the first time are page faults of the thread that touches them.

use std::mem::MaybeUninit;

use super::actor::{Actor, now_ns};
use super::figures::{assert_near, number};
use super::watching::Stage;

const PAGES: usize = 20_000;
const PAGE: usize = 4096;

/// What watch counted of one touching of all pages.
fn counted(stage: &Stage) -> u64 {
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let toucher = Actor::start("toucher", stage.cpu, move |_| {
        goes.recv().unwrap();
        let mut memory: Vec<u8> = Vec::with_capacity(PAGES * PAGE);
        let from_ns = now_ns();
        for page in memory.spare_capacity_mut().chunks_mut(PAGE) {
            page[0] = MaybeUninit::new(1);
        }
        std::hint::black_box(&memory);
        (from_ns, now_ns())
    });
    let tid = toucher.tid;
    let watching = stage.begin(&["--thread", &tid.to_string(), "--for", "3s"]);
    go.send(()).unwrap();
    let (from_ns, to_ns) = toucher.stop();
    let sheet = watching.end();
    assert!(
        sheet.has(from_ns) && sheet.has(to_ns),
        "the window ended before the touching: a machine too busy"
    );
    number(&sheet.thread(tid)["page_faults"])
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_page_that_is_touched_is_a_page_fault() {
    let Some(stage) = Stage::new() else { return };
    let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if thp.contains("[always]") {
        return eprintln!("skipped: huge pages take many pages at a fault (transparent_hugepage is always)");
    }
    // On a guest some ms of a CPU's events were seen to be lost (docs/watch.md), and 1 ms is a thousand faults: never too many, and
    // all of them in one of three tries.
    let mut counts = Vec::new();
    while counts.len() < 3
        && counts.iter().all(|count: &u64| count.abs_diff(PAGES as u64) > PAGES as u64 / 50)
    {
        counts.push(counted(&stage));
    }
    eprintln!("tries: {counts:?}");
    assert_near("page faults", *counts.iter().max().unwrap(), PAGES as u64, 0.02, 0);
}
