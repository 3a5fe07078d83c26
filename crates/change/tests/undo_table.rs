//! The table of docs/undo.md: every act under everything that can happen to it, over the emulated kernel. Never is a change lost in
//! silence: it is restored, or gone with its object, or refused and kept.
//!
//! `UPDATE_DOCS=1 cargo test -p pinwise-change --test undo_table` writes the table anew.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

mod every_act;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use every_act::{HUGE_PAGES, Machine};
use machine::ethtool::{ChannelKind, Feature, Figure, Topic};
use machine::{Act, EthtoolState, PinScope, Scheduling, UtilClamp};
use pinwise_change::emulated_kernel::{Crash, EmulatedState, When};
use pinwise_change::ledger::sessions;
use pinwise_change::{Hand, How, Launch, UndoOptions, UndoReport, undo};

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

/// Has somebody else change what the act changed; false where nobody else can.
fn by_others(state: &mut EmulatedState, act: &Act) -> bool {
    match act {
        Act::WriteFile { path, netns, .. } => {
            let other = match path.to_str().unwrap() {
                path if path.ends_with("enabled") => "[always] madvise never\n",
                path if path.ends_with("cpuset.cpus") || path.ends_with("smp_affinity_list") => "2-3\n",
                _ => "8\n",
            };
            state.files.insert((netns.clone(), path.clone()), other.into());
        }
        Act::SetAffinity { thread, .. } => {
            state.threads.get_mut(&thread.tid).unwrap().affinity = "0,3".parse().unwrap();
        }
        Act::SetScheduling { thread, .. } => {
            state.threads.get_mut(&thread.tid).unwrap().scheduling.scheduling = Scheduling::Idle;
        }
        Act::SetIoPriority { thread, .. } => {
            state.threads.get_mut(&thread.tid).unwrap().io_priority = 3 << 13;
        }
        Act::SetUtilClamp { thread, .. } => {
            state.threads.get_mut(&thread.tid).unwrap().util_clamp = UtilClamp { min: 7, max: 9 };
        }
        Act::WriteProcessFile { process, file, .. } => {
            let text = if file.name() == "autogroup" { "/autogroup-7 nice 3\n" } else { "77\n" };
            state.files.insert((None, format!("/proc/{}/{}", process.pid, file.name()).into()), text.into());
        }
        Act::MigratePages { process, .. } => {
            state.memory.insert(process.pid, [(1, 16 << 20)].into());
        }
        Act::JoinCgroup { process, .. } => {
            state.threads.get_mut(&process.pid).unwrap().cgroup = "/sys/fs/cgroup/cpuset/theirs".into();
        }
        Act::PlaceFile { file, .. } => {
            state.files.insert((None, file.path().unwrap()), "theirs\n".into());
        }
        Act::AddBootWords { .. } => {
            state.files.insert((None, "/etc/kernel/cmdline".into()), "root=/dev/vda1 nohz_full=2".into());
        }
        Act::SetEthtool { setting, .. } => {
            let other = match setting.topic() {
                Topic::Channels => EthtoolState::Channels { counts: [(ChannelKind::Combined, 1)].into() },
                Topic::Coalescing => EthtoolState::Coalescing { figures: [(Figure::RxUsecs, 200)].into() },
                // A switch has two places.
                Topic::Feature(Feature::Gro | _) => return false,
            };
            state.ethtool.insert((None, "eth0".into(), setting.topic()), other);
        }
        Act::PinGuest { pin, .. } => {
            state.guest_pins.get_mut(pin).unwrap().0 = "3".parse().unwrap();
        }
        Act::AttachPktgen { .. }
        | Act::CreateCgroup { .. }
        | Act::Launch { .. }
        | Act::SetIrqBan { .. }
        | Act::MakeNetnsPair { .. }
        | Act::MakeSwapFile { .. }
        | Act::SwapOn { .. }
        | Act::HoldLatency { .. } => return false,
    }
    true
}

/// Removes what the act changed; false where it cannot go.
fn remove(machine: &Machine, act: &Act) -> bool {
    let kernel = &machine.kernel;
    match act {
        Act::SetAffinity { thread, .. }
        | Act::SetScheduling { thread, .. }
        | Act::SetIoPriority { thread, .. }
        | Act::SetUtilClamp { thread, .. } => kernel.remove_thread(thread.tid),
        Act::WriteProcessFile { process, .. }
        | Act::MigratePages { process, .. }
        | Act::JoinCgroup { process, .. }
        | Act::SetIrqBan { process, .. } => {
            kernel.remove_thread(process.pid + 1);
            kernel.remove_thread(process.pid);
        }
        Act::WriteFile { path, netns, .. } if path.starts_with("/sys/class/net") => {
            kernel.remove_interface(netns.as_deref(), "eth0");
        }
        _ => {
            let mut state = kernel.state();
            let before = state.clone();
            match act {
                Act::WriteFile { path, netns, .. } if !path.starts_with("/proc/sys") => {
                    state.files.remove(&(netns.clone(), path.clone()));
                }
                Act::CreateCgroup { path } => {
                    state.folders.remove(path);
                    state.files.retain(|(_, file), _| !file.starts_with(path));
                }
                Act::PlaceFile { file, .. } => {
                    state.files.remove(&(None, file.path().unwrap()));
                }
                Act::AddBootWords { .. } => {
                    state.files.remove(&(None, "/etc/kernel/cmdline".into()));
                }
                Act::SetEthtool { .. } => {
                    state.ethtool.retain(|(_, device, _), _| device != "eth0");
                    kernel.remove_interface(None, "eth0");
                    state.files = kernel.state().files;
                }
                Act::PinGuest { pin, .. } => drop(state.guest_pins.remove(pin)),
                Act::MakeNetnsPair { pair } => state.namespaces.retain(|name| !pair.names.contains(name)),
                Act::MakeSwapFile { path, .. } => drop(state.files.remove(&(None, path.clone()))),
                Act::SwapOn { path } => drop(state.swaps.remove(path)),
                Act::HoldLatency { .. } | Act::Launch { .. } => {
                    state.threads.retain(|_, thread| thread.marker.is_none())
                }
                _ => {}
            }
            let gone = state != before;
            kernel.set_state(state);
            return gone;
        }
    }
    true
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
    let machine = machine_for(act);
    let kernel = &machine.kernel;
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let before = kernel.state();
    if event == Event::InPart {
        match act {
            Act::WriteFile { path, .. } if path == Path::new(HUGE_PAGES) => kernel.lie(HUGE_PAGES, "17\n"),
            _ => return None,
        }
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
    if event == Event::InPart {
        kernel.lie(HUGE_PAGES, "0\n");
    }
    let changed = kernel.state();
    let possible = match event {
        Event::Elsewhere => {
            kernel.stand_on(7, 7, 9);
            kernel.stand_in_network(Some("elsewhere"));
            true
        }
        Event::Renamed => {
            let is_of_interface =
                matches!(act, Act::WriteFile { path, .. } if path.starts_with("/sys/class/net"));
            kernel.rename_interface(None, "eth0", "lan0");
            kernel.rename_interface(Some("box"), "eth0", "lan0");
            is_of_interface
        }
        Event::Removed => remove(&machine, act),
        Event::ByOthers => {
            let mut state = changed.clone();
            let possible = by_others(&mut state, act);
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
    match act {
        Act::Launch { argv } => {
            let launch = Launch { argv: argv.clone(), ..Launch::default() };
            // It outlives us, as a process that ignores our death would.
            std::mem::forget(hand.launch(&launch).unwrap());
        }
        _ => drop(hand.perform(act).unwrap()),
    }
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
    match act {
        Act::WriteFile { path, netns, .. } => match path.to_str().unwrap() {
            path if netns.is_some() => format!("{kind}: `{path}` in another network namespace"),
            path => format!("{kind}: `{path}`"),
        },
        Act::WriteProcessFile { file, .. } => format!("{kind}: `{}`", file.name()),
        Act::SetEthtool { setting, .. } => format!("{kind}: {}", setting.topic()),
        Act::PinGuest { pin, .. } if pin.scope == PinScope::Definition => format!("{kind}: definition"),
        _ => kind,
    }
}

fn table() -> String {
    let mut text = String::from("| act |");
    EVENTS.iter().for_each(|(_, title)| write!(text, " {title} |").unwrap());
    text += "\n|---|";
    EVENTS.iter().for_each(|_| text += "---|");
    text += "\n";
    let mut rows = std::collections::BTreeMap::new();
    let launch = Act::Launch { argv: vec!["server".into()] };
    for act in Machine::new().acts().into_iter().chain([launch]) {
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
