//! What it costs to change things so that they can be taken back: 1,000 affinities, with and without the ledger.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use benches::blocks::{Arm, run};
use benches::cpu_time::{Cost, of_work};
use change::{Hand, Kernel, LiveKernel, Threads as _, UndoOptions, undo};
use machine::{Act, CpuSet, ThreadRef};

use crate::section::Section;

const ACTS: usize = 1_000;
const BLOCKS: usize = 12;

/// Measures apply and undo.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("Changing 1,000 things and taking them back");
    let kernel = Arc::new(LiveKernel::new());
    let sleepers = Sleepers::start(&*kernel)?;
    let allowed = kernel.affinity(std::process::id(), std::process::id())?;
    let (Some(first), true) = (allowed.first(), allowed.len() > 1) else {
        section.say("Not measured: there is one CPU only, so that nothing can be changed.");
        return Ok(section);
    };
    let one = CpuSet::single(first);
    let acts: Vec<Act> = sleepers
        .threads
        .iter()
        .map(|thread| Act::SetAffinity { thread: *thread, cpus: one.clone() })
        .collect();
    let disk = tempfile::tempdir()?;
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let arms = vec![
        Arm::new("bare: set, read back, set again", || {
            timed(|| bare(&*kernel, &sleepers.threads, &one, &allowed))
        }),
        Arm::new("hand and undo, ledger in memory", || timed(|| by_hand(&kernel, memory.path(), &acts))),
        Arm::new("hand and undo, ledger on the disk", || timed(|| by_hand(&kernel, disk.path(), &acts))),
        Arm::new("the disk alone: as many lines, each waited for", || timed(|| lines_alone(disk.path()))),
    ];
    let outcomes = run(arms, BLOCKS)?;
    section.compare(&format!("{ACTS} affinities of sleeping threads"), &outcomes);
    section.say(format!(
        "After a kill, `undo` of {ACTS} acts with the ledger on the disk: {}.",
        after_a_kill(&kernel, disk.path(), &acts)?
    ));
    Ok(section)
}

fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Cost> {
    of_work(work).map(|(cost, ())| cost)
}

/// What has to be done in any case.
fn bare(kernel: &dyn Kernel, threads: &[ThreadRef], one: &CpuSet, all: &CpuSet) -> io::Result<()> {
    for cpus in [one, all] {
        for thread in threads {
            kernel.set_affinity(thread.tid, cpus)?;
            kernel.affinity(thread.pid, thread.tid)?;
        }
    }
    Ok(())
}

fn by_hand(kernel: &Arc<LiveKernel>, dir: &Path, acts: &[Act]) -> io::Result<()> {
    let mut hand = hand(kernel, dir)?;
    for act in acts {
        hand.perform(act).map_err(io::Error::other)?;
    }
    hand.undo_all();
    hand.finish().map_err(io::Error::other)
}

fn hand(kernel: &Arc<LiveKernel>, dir: &Path) -> io::Result<Hand> {
    Hand::with(kernel.clone(), dir, "bench").map_err(io::Error::other)
}

/// The lines that the ledger has of one act: intended, done, undone.
const LINES_AN_ACT: usize = 3;

/// What the disk takes for lines of a ledger's length, each on disk before the next.
fn lines_alone(dir: &Path) -> io::Result<()> {
    use std::io::Write as _;
    let path = dir.join("lines");
    let mut file = std::fs::File::create(&path)?;
    let line = [b'x'; 200];
    for _ in 0..ACTS * LINES_AN_ACT {
        file.write_all(&line)?;
        file.sync_data()?;
    }
    drop(file);
    std::fs::remove_file(path)
}

/// A hand that is forgotten, as SIGKILL forgets it, and the undo that finds its ledger.
fn after_a_kill(kernel: &Arc<LiveKernel>, dir: &Path, acts: &[Act]) -> io::Result<String> {
    let mut hand = hand(kernel, dir)?;
    for act in acts {
        hand.perform(act).map_err(io::Error::other)?;
    }
    std::mem::forget(hand);
    // This process is the one that made the changes, and lives.
    let options = UndoOptions { owned_too: true, ..UndoOptions::default() };
    let begun = Instant::now();
    let report = undo(dir, &**kernel, &options).map_err(io::Error::other)?;
    let took = begun.elapsed();
    match report.is_clean() {
        true => Ok(format!("{:.2} s", took.as_secs_f64())),
        false => Err(io::Error::other(report.to_string())),
    }
}

/// Threads that sleep until this is dropped.
struct Sleepers {
    threads: Vec<ThreadRef>,
    stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
}

impl Sleepers {
    fn start(kernel: &dyn Kernel) -> io::Result<Self> {
        let pid = std::process::id();
        let before = kernel.threads(pid)?;
        let stop = Arc::new(AtomicBool::new(false));
        let sleeper = || {
            let stop = stop.clone();
            let sleep = move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_secs(60));
                }
            };
            std::thread::Builder::new().stack_size(64 << 10).spawn(sleep)
        };
        let handles = (0..ACTS).map(|_| sleeper()).collect::<io::Result<Vec<_>>>()?;
        let tids = kernel.threads(pid)?.into_iter().filter(|tid| !before.contains(tid));
        let of = |tid| Ok(ThreadRef { pid, tid, start_time_ticks: kernel.start_time(pid, tid)? });
        let threads = tids.map(of).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { threads, stop, handles })
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for handle in self.handles.drain(..) {
            handle.thread().unpark();
            let _ = handle.join();
        }
    }
}
