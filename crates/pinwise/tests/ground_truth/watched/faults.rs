//! Page faults: pages that are touched for the first time, and pages that have to be read.

use std::mem::MaybeUninit;
use std::sync::mpsc::{Sender, channel};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};

use super::actor::{Actor, Slice, now_ns};
use super::control::{Counters, Window};
use super::figures::{assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

const PAGES: usize = 20_000;
const PAGE: usize = 4096;

/// Touches so many pages once, in memory that is fresh.
fn touch_all() -> Slice {
    let mut memory: Vec<u8> = Vec::with_capacity(PAGES * PAGE);
    let from_ns = now_ns();
    for page in memory.spare_capacity_mut().chunks_mut(PAGE) {
        page[0] = MaybeUninit::new(1);
    }
    std::hint::black_box(&memory);
    Slice { from_ns, to_ns: now_ns() }
}

/// A thread that does something once on request, and lives on: its counters are read at the end of the window.
fn once<T: Send + 'static>(cpu: u32, job: impl FnOnce() -> T + Send + 'static) -> (Actor<T>, Sender<()>) {
    let (go, goes) = channel::<()>();
    let actor = Actor::start("toucher", cpu, move |until| {
        goes.recv().unwrap();
        let done = job();
        while until.goes_on() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        done
    });
    (actor, go)
}

/// What watch and the kernel's counters say of a thread that did something once in the window.
struct Observed<T> {
    tid: u32,
    sheet: Sheet,
    window: Window,
    /// The same of a window in which it did nothing.
    quiet: Window,
    done: T,
}

impl<T: Send + 'static> Observed<T> {
    /// Watches with these words beside the usual ones; the job says what it did, and when.
    fn of(stage: &Stage, more: &[&str], job: impl FnOnce() -> (T, Slice) + Send + 'static) -> Self {
        let (toucher, go) = once(stage.cpu, job);
        let (tid, words) = (toucher.tid, toucher.tid.to_string());
        let flags = [&["--thread", &words, "--for", "5s"], more].concat();
        let quiet = Window::quiet(stage, &flags, Some(tid));
        let counters = Counters::now(Some(tid));
        let watching = stage.begin(&flags);
        go.send(()).unwrap();
        let sheet = watching.end();
        let window = Window::of(&sheet, &counters, Some(tid));
        let (done, touched) = toucher.stop();
        let inside = sheet.has(touched.from_ns) && sheet.has(touched.to_ns);
        assert!(inside, "the window ended before the touching: a machine too busy");
        Self { tid, sheet, window, quiet, done }
    }
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_page_that_is_touched_is_a_page_fault() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let thp = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if thp.contains("[always]") {
            return eprintln!(
                "skipped: huge pages take many pages at a fault (transparent_hugepage is always)"
            );
        }
        let Observed { tid, sheet, window, quiet, .. } = Observed::of(&stage, &[], || ((), touch_all()));
        assert_near("page faults", number(&sheet.thread(tid)["page_faults"]), PAGES as u64, 0.02, 0);
        assert_near("minor faults", number(&sheet.thread(tid)["minor_faults"]), PAGES as u64, 0.0, 20);
        window.rises_only_in(&["page_faults", "minor_faults"], PAGES as u64, &quiet);
    });
}

/// Pages of a file that is not in the page cache; one of 16 is touched, and nothing is read ahead.
const FILE_PAGES: usize = 4_096;
const STRIDE: usize = 16;

/// A file of our own that is mapped and of which nothing is in memory.
struct OnDisk {
    _file: tempfile::NamedTempFile,
    at: *const u8,
}

// SAFETY: it is only read, by one thread.
unsafe impl Send for OnDisk {}

impl OnDisk {
    fn new() -> Self {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(file.path(), vec![7; FILE_PAGES * PAGE]).unwrap();
        file.as_file().sync_all().unwrap();
        rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice, of a file as long as that.
        let at = unsafe {
            mmap(std::ptr::null_mut(), FILE_PAGES * PAGE, read, shared, file.as_file(), 0).unwrap()
        };
        // SAFETY: it is that mapping, and it stays.
        unsafe { madvise(at, FILE_PAGES * PAGE, Advice::Random).unwrap() };
        Self { _file: file, at: at.cast() }
    }

    /// Whether a page is in memory: the kernel may have kept some, and others may have read the file.
    fn has(&self, page: usize) -> bool {
        let mut in_memory = 0_u8;
        // SAFETY: a page of the mapping, and one byte for its answer.
        let asked =
            unsafe { libc::mincore(self.at.add(page * PAGE).cast_mut().cast(), PAGE, &mut in_memory) };
        assert_eq!(asked, 0, "mincore: {}", std::io::Error::last_os_error());
        in_memory & 1 == 1
    }

    /// Touches one page of each stride; how many of them were not in memory, how often the thread waited for one, and when that was.
    fn touch(&self) -> ((u64, u64), Slice) {
        let (mut missing, from_ns, waited_before) = (0, now_ns(), voluntary_switches());
        for page in (0..FILE_PAGES).step_by(STRIDE) {
            missing += u64::from(!self.has(page));
            // SAFETY: within the mapping.
            std::hint::black_box(unsafe { self.at.add(page * PAGE).read_volatile() });
        }
        ((missing, voluntary_switches() - waited_before), Slice { from_ns, to_ns: now_ns() })
    }
}

/// How often this thread has left its CPU to wait for something, by the kernel's own count (getrusage(2)).
fn voluntary_switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it writes a whole `rusage`, of which zeros are a value, too.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    u64::try_from(usage.ru_nvcsw).unwrap()
}

fn each_page_that_is_read_is_a_major_fault(more: &[&str]) {
    let Some(stage) = Stage::new() else { return };
    let on_disk = OnDisk::new();
    let Observed { tid, sheet, window, quiet, done: (missing, waited) } =
        Observed::of(&stage, more, move || on_disk.touch());
    assert!(missing > 50, "{missing} pages only were not in memory");
    let row = sheet.thread(tid);
    // The first page of the code that comes back from the disk may be such a fault as well.
    assert_near("major faults", number(&row["major_faults"]), missing, 0.0, 2);
    // A major fault is a page fault as well, and what is read comes by the disk's line: that is held to its counter.
    window.rises_only_in(&["page_faults", "major_faults"], missing, &quiet);
    // Not for each: a fast disk has answered before the thread goes to sleep.
    assert_near("waits for the disk", number(&row["blocked"]["count"]), waited, 0.05, 3);
}

#[test]
#[ignore = "ground truth: needs root, BPF and a disk; run by `make test`"]
fn each_page_that_is_read_from_the_disk_is_a_major_fault() {
    retried_where_switches_are_missed(|| {
        each_page_that_is_read_is_a_major_fault(&[]);
    });
}

#[test]
#[ignore = "ground truth: needs root, BPF and a disk; run by `make test`"]
fn raw_trace_points_show_the_same_major_faults() {
    retried_where_switches_are_missed(|| {
        each_page_that_is_read_is_a_major_fault(&["--raw"]);
    });
}
