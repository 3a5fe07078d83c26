//! The table of docs/undo.md: every act under everything that can happen to it, over the emulated kernel. Never is a change lost in
//! silence: it is restored, or gone with its object, or refused and kept.
//!
//! `UPDATE_DOCS=1 cargo test -p pinwise-change --test undo_table` writes the table anew.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use machine::Act;
use pinwise_change::act_samples::{self, Machine};
use pinwise_change::emulated_kernel::{Crash, EmulatedState, When};
use pinwise_change::ledger::sessions;
use pinwise_change::{Hand, How, UndoOptions, UndoReport, undo};

/// What happens between the act and its undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// pinwise is killed when the intent is on disk, and nothing is done yet.
    KilledBefore,
    /// It is killed when the first of several writes is done.
    KilledBetween,
    /// It is killed when all is done, and the end is not on disk.
    KilledAfter,
    /// The kernel has done it in part, and the end is not on disk.
    InPart,
    /// Undo gets EIO at its first try.
    Eio,
    /// Undo cannot write to the ledger: the disk is full or read-only.
    NoDisk,
    /// Undo runs in other PID, mount and network namespaces, under another root directory.
    Elsewhere,
    /// Its interface is renamed.
    Renamed,
    /// Its object is removed.
    Removed,
    /// Somebody else changes the object.
    ByOthers,
    /// The machine is restarted.
    Reboot,
}

const EVENTS: [(Event, &str); 11] = [
    (Event::KilledBefore, "killed before"),
    (Event::KilledBetween, "between"),
    (Event::KilledAfter, "after"),
    (Event::InPart, "in part"),
    (Event::Eio, "EIO, then not"),
    (Event::NoDisk, "no disk"),
    (Event::Elsewhere, "elsewhere"),
    (Event::Renamed, "renamed"),
    (Event::Removed, "removed"),
    (Event::ByOthers, "by others"),
    (Event::Reboot, "reboot"),
];

/// Runs until the crash, if there is one.
fn until_crash(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work))
        && !payload.is::<Crash>()
    {
        std::panic::resume_unwind(payload);
    }
}

/// Crashes are expected here: they print nothing.
fn quiet_crashes() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Crash>() {
            usual(info);
        }
    }));
}

/// The machine with all that the act needs, and an interface that has an index.
fn machine_for(act: &Act) -> Machine {
    let machine = Machine::for_act(act);
    machine.kernel.add_interface(None, "eth0", 2);
    machine.kernel.add_interface(Some("box"), "eth0", 2);
    machine.kernel.set_line(38, "524288");
    machine
}

/// What came of an act.
fn outcome(report: &UndoReport) -> String {
    let how = report.sessions.iter().flat_map(|session| &session.undone).next();
    match how.map(|undone| &undone.how) {
        None => "nothing to do",
        Some(How::Restored) => "restored",
        Some(How::Already) => "as before",
        Some(How::Gone) => "gone",
        Some(How::Expired) => "expired",
        Some(How::GivenUp { .. } | How::Forgotten) => "given up",
        Some(_) => "kept",
    }
    .into()
}

/// Performs the act, lets the event happen, and undoes it: what came of it. `None` where the event cannot happen to the act.
fn run(act: &Act, event: Event) -> Option<String> {
    let (machine, sampled) = (machine_for(act), act_samples::of(act));
    let kernel = &machine.kernel;
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let before = kernel.state();
    let in_part = sampled.in_part().filter(|_| event == Event::InPart);
    match &in_part {
        Some(file) => kernel.lie(&file.path, file.done),
        None if event == Event::InPart => return None,
        None => {}
    }
    let crash = match event {
        Event::KilledBefore => Some((0, When::Before)),
        Event::KilledBetween => Some((0, When::After)),
        Event::KilledAfter | Event::InPart => Some((changes_of(act).checked_sub(1)?, When::After)),
        _ => None,
    };
    if event == Event::KilledBetween && changes_of(act) < 2 {
        return None;
    }
    let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), "table").unwrap();
    kernel.crash_at(crash.map(|(change, when)| (kernel.changes() + change, when)));
    until_crash(|| perform(&mut hand, act));
    kernel.crash_at(None);
    std::mem::forget(hand);
    kernel.remove_thread(1000);
    if let Some(file) = &in_part {
        kernel.lie(&file.path, file.undone);
    }
    let changed = kernel.state();
    let possible = match event {
        Event::Elsewhere => {
            kernel.stand_on(7, 7, 9);
            kernel.stand_in_network(Some("elsewhere"));
            true
        }
        Event::Renamed => {
            kernel.rename_interface(None, "eth0", "lan0");
            kernel.rename_interface(Some("box"), "eth0", "lan0");
            sampled.is_renamed_with_interface()
        }
        Event::Removed => sampled.remove(kernel),
        Event::ByOthers => {
            let mut state = changed.clone();
            let possible = sampled.change_by_others(&mut state);
            kernel.set_state(state);
            possible
        }
        Event::Reboot => {
            kernel.reboot();
            true
        }
        _ => true,
    };
    if !possible {
        return None;
    }
    let undo = || undo(dir.path(), kernel, &UndoOptions::default()).unwrap();
    if event == Event::Eio {
        kernel.refuse_every_change(Some(libc_eio()));
        let first = undo();
        assert!(!first.is_clean() && !sessions(dir.path()).unwrap().is_empty(), "{act:?}: {first}");
        kernel.refuse_every_change(None);
    }
    let limited = (event == Event::NoDisk).then(|| FileSizeLimit::set(0));
    let report = undo();
    drop(limited);
    let outcome = outcome(&report);
    let is_kept = !sessions(dir.path()).unwrap().is_empty();
    never_lost(&Seen { act, event, before, machine: &machine, outcome: &outcome, is_kept });
    Some(outcome)
}

fn perform(hand: &mut Hand, act: &Act) {
    act_samples::perform(hand, act).unwrap();
}

fn libc_eio() -> i32 {
    rustix::io::Errno::IO.raw_os_error()
}

/// How many changes of the kernel an act takes.
fn changes_of(act: &Act) -> u64 {
    let machine = machine_for(act);
    let dir = tempfile::tempdir().unwrap();
    let mut hand = Hand::with(Arc::new(machine.kernel.clone()), dir.path(), "table").unwrap();
    let before = machine.kernel.changes();
    perform(&mut hand, act);
    let after = machine.kernel.changes();
    std::mem::forget(hand);
    after - before
}

struct Seen<'a> {
    act: &'a Act,
    event: Event,
    before: EmulatedState,
    machine: &'a Machine,
    outcome: &'a str,
    is_kept: bool,
}

/// The machine is as it was, or its object is gone, or the ledger is kept.
fn never_lost(seen: &Seen) {
    let what = format!("{:?} {:?}: {}", seen.act, seen.event, seen.outcome);
    match seen.outcome {
        "restored" | "as before" | "nothing to do" => {
            let (mut before, mut now) = (seen.before.clone(), seen.machine.kernel.state());
            before.threads.remove(&1000);
            for state in [&mut before, &mut now] {
                // Its orders go with a device of the generator; the names of interfaces are part of what happened.
                state.files.retain(|(_, path), _| !path.starts_with("/proc/net/pktgen"));
                let renamed = |path: &Path| path.to_str().unwrap().replace("/lan0/", "/eth0/").into();
                state.files = std::mem::take(&mut state.files)
                    .into_iter()
                    .map(|((netns, path), text)| ((netns, renamed(&path)), text))
                    .collect();
            }
            if seen.event != Event::Removed {
                assert_eq!(now, before, "{what}");
            }
        }
        "kept" => assert!(seen.is_kept, "{what}: and its ledger is gone"),
        "gone" => assert_eq!(seen.event, Event::Removed, "{what}"),
        "expired" => assert_eq!(seen.event, Event::Reboot, "{what}"),
        _ => panic!("{what}"),
    }
}

/// While it lives no file of this process grows: what a full disk does to the ledger.
struct FileSizeLimit(rustix::process::Rlimit);

impl FileSizeLimit {
    fn set(bytes: u64) -> Self {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        // SAFETY: SIGXFSZ is ignored, so that the write fails instead.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let before = getrlimit(Resource::Fsize);
        setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum: before.maximum }).unwrap();
        Self(before)
    }
}

impl Drop for FileSizeLimit {
    fn drop(&mut self) {
        rustix::process::setrlimit(rustix::process::Resource::Fsize, self.0).unwrap();
    }
}

/// What the row of an act is called.
fn name(act: &Act) -> String {
    let kind = serde_json::to_value(act).unwrap()["act"].as_str().unwrap().to_string();
    match act_samples::of(act).variety() {
        Some(variety) => format!("{kind}: {variety}"),
        None => kind,
    }
}

fn table() -> String {
    let mut text = String::from("| act |");
    EVENTS.iter().for_each(|(_, title)| write!(text, " {title} |").unwrap());
    text += "\n|---|";
    EVENTS.iter().for_each(|_| text += "---|");
    text += "\n";
    let mut rows = std::collections::BTreeMap::new();
    for act in Machine::new().acts() {
        let cells = EVENTS.iter().map(|(event, _)| run(&act, *event).unwrap_or_else(|| "-".into()));
        let cells: Vec<String> = cells.collect();
        rows.entry(name(&act)).or_insert(cells);
    }
    for (name, cells) in rows {
        writeln!(text, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    text
}

const BEGINNING: &str = "<!-- made by: UPDATE_DOCS=1 cargo test -p pinwise-change --test undo_table -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_table_of_the_documentation_is_what_happens() {
    quiet_crashes();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/undo.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGINNING).expect("the beginning of the table");
    let (there, after) = rest.split_once(END).expect("the end of the table");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGINNING}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(there, table, "write it anew: UPDATE_DOCS=1 cargo test -p pinwise-change --test undo_table");
}
