//! Reads that go to the disk: the thread is blocked for them, and the disk's line fires.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::mpsc::channel;

use super::actor::{Actor, Slice, now_ns, switches};
use super::control::{Counters, Window};
use super::figures::{assert_between, assert_near, handed_over, interrupts, number, softirqs};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

const O_DIRECT: i32 = 0o40000;
const BLOCK: usize = 4096;
const FILE_BLOCKS: u64 = 1024;
const READS: u64 = 1_500;

/// A block whose address is as O_DIRECT wants it.
#[repr(align(4096))]
struct Aligned([u8; BLOCK]);

/// A file of our own on the disk of the build; none where the file system has no O_DIRECT.
fn file() -> Option<std::fs::File> {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.write_all(&vec![7; BLOCK * FILE_BLOCKS as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    OpenOptions::new().read(true).custom_flags(O_DIRECT).open(file.path()).ok()
}

/// How often the calling thread gave the CPU away by itself.
fn voluntary_switches() -> u64 {
    switches("voluntary_ctxt_switches")
}

/// Lines that fired on any CPU, according to the sheet.
fn lines(sheet: &Sheet) -> Vec<(u64, u64)> {
    let mut lines: Vec<(u64, u64)> = Vec::new();
    for row in sheet.rows("lines") {
        let (irq, count) = (number(&row["irq"]), number(&row["count"]));
        match lines.iter_mut().find(|line| line.0 == irq) {
            Some(line) => line.1 += count,
            None => lines.push((irq, count)),
        }
    }
    lines
}

#[test]
#[ignore = "ground truth: needs root, BPF and a disk; run by `make test`"]
fn reads_of_the_disk_block_the_reader_and_show_in_the_line_of_the_disk() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(file) = file() else { return eprintln!("skipped: this file system has no O_DIRECT") };
        let both = [stage.aside, stage.cpu];
        let rows: Vec<String> = (0..256).map(|irq| irq.to_string()).collect();
        let fired = || -> Vec<u64> {
            rows.iter().map(|row| both.iter().map(|cpu| interrupts(row, *cpu)).sum()).collect()
        };
        let block = || both.map(|cpu| softirqs("BLOCK", cpu));
        let ((go, goes), (finished, done)) = (channel::<()>(), channel());
        let reader = Actor::start_fifo("reader", stage.cpu, 5, move |_| {
            goes.recv().unwrap();
            let slept_before = voluntary_switches();
            let mut into = Aligned([0; BLOCK]);
            let mut reads = Vec::with_capacity(READS as usize);
            for read in 0..READS {
                let from_ns = now_ns();
                file.read_exact_at(&mut into.0, read * 7919 % FILE_BLOCKS * BLOCK as u64).unwrap();
                reads.push(Slice { from_ns, to_ns: now_ns() });
            }
            let slept = voluntary_switches() - slept_before;
            finished.send(()).unwrap();
            // It lives on: its page faults are read at the end of the window.
            let _ = goes.recv();
            (reads, slept)
        });
        let tid = reader.tid;
        let words = tid.to_string();
        let flags = ["--thread", &words, "--for", "4s", "--full"];
        let quiet = Window::quiet(&stage, &flags, Some(tid));
        let counters = Counters::now(Some(tid));
        let (fired_around, block_around) = (fired(), block());
        let watching = stage.begin(&flags);
        let (fired_inside, block_inside) = (fired(), block());
        let sent_ns = now_ns();
        go.send(()).unwrap();
        done.recv().unwrap();
        let done_ns = now_ns();
        let (fired_then, block_then) = (fired(), block());
        let sheet = watching.end();
        let window = Window::of(&sheet, &counters, Some(tid));
        drop(go);
        let (reads, slept) = reader.stop();
        let (fired_after, block_after) = (fired(), block());

        assert!(
            sheet.has(reads[0].from_ns) && sheet.has(reads[reads.len() - 1].to_ns),
            "a disk too slow for the window"
        );
        let (mut most, mut disk) = (0, 0);
        for (irq, count) in lines(&sheet) {
            let irq = irq as usize;
            let (inside, around) =
                (fired_then[irq] - fired_inside[irq], fired_after[irq] - fired_around[irq]);
            assert_between(&format!("line {irq}"), count, handed_over(inside), around);
            if inside > most {
                (most, disk) = (inside, irq);
            }
        }
        assert!(most >= READS / 2, "the busiest line, {disk}, fired {most} times for {READS} reads");
        for (at, cpu) in both.into_iter().enumerate() {
            let (inside, around) = (block_then[at] - block_inside[at], block_after[at] - block_around[at]);
            assert_between(
                &format!("softirq BLOCK on CPU {cpu}"),
                sheet.came(cpu, "softirq_block"),
                handed_over(inside),
                around,
            );
        }
        // Softirq BLOCK runs where the line fired, and each is held to its counter above.
        let line = format!("line {disk} on CPU ");
        window.rises_only_in(&[&line, "device on CPU ", "softirq_block on CPU "], READS, &quiet);
        blocked_while_it_read(&sheet, tid, &reads, slept, done_ns - sent_ns);
    });
}

/// A read is submitting it (on the CPU), being blocked, waiting for the CPU, and returning. From the word to begin until it was gone
/// (`all_ns`) the reader did nothing else. A read that is answered before the reader has gone to sleep does not block it: `slept` is how
/// often it did, by the kernel.
fn blocked_while_it_read(sheet: &Sheet, tid: u32, reads: &[Slice], slept: u64, all_ns: u64) {
    let row = sheet.thread(tid);
    let total = |kind: &str| number(&row[kind]["total_ns"]);
    let reading: u64 = reads.iter().map(|read| read.to_ns - read.from_ns).sum();
    assert_near("times blocked", number(&row["blocked"]["count"]), slept, 0.02, 0);
    assert!(slept > READS / 10, "of {READS} reads {slept} blocked: this disk is too fast for the test");
    assert!(
        total("blocked") <= reading,
        "blocked for {} ns, of {reading} that the reads took",
        total("blocked")
    );
    let all = total("blocked")
        + total("on_cpu")
        + number(&row["interrupted_ns"])
        + total("preempted")
        + total("run_queue");
    let (first, last) = (reads[0].from_ns, reads[reads.len() - 1].to_ns);
    assert_between("blocked, on a CPU and in its run queue, ns", all, last - first, all_ns);
    eprintln!("blocked for {} ns of {reading}", total("blocked"));
}
