//! Crash safety: whatever the point at which pinwise dies, undo brings the emulated machine back exactly.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use machine::{
    Act, BootLoader, CpuSet, IoPriority, NetnsPair, ProcessFile, ProcessRef, Scheduling, ThreadRef,
};
use pinwise_change::emulated_kernel::{Crash, EmulatedState, When};
use pinwise_change::ledger::{Session, sessions};
use pinwise_change::record::Record;
use pinwise_change::{EmulatedKernel, Hand, How, Launch, UndoOptions, Undone, undo};
use proptest::prelude::*;

const FILES: [&str; 4] = [
    "/sys/class/net/eth0/queues/rx-0/rps_cpus",
    "/proc/irq/38/smp_affinity_list",
    "/proc/sys/kernel/numa_balancing",
    "/sys/fs/cgroup/cpuset/cpuset.cpus",
];

/// One step of a session, as small numbers that proptest can shrink.
#[derive(Debug, Clone)]
enum Step {
    Write { file: usize, cpu: u32 },
    Affinity { thread: usize, cpu: u32 },
    Scheduling { thread: usize, priority: i32 },
    Cgroup { name: u32 },
    Namespaces { name: u32 },
    Join { process: usize, name: u32 },
    Launch { cpu: u32, confined: bool },
    Pair { ratio: bool, value: u32 },
    Autogroup { process: usize, nice: i32 },
    IoPriority { thread: usize, level: u8 },
    BootWords { number: u32, fresh: bool },
    UndoLast,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..FILES.len(), 0..4u32).prop_map(|(file, cpu)| Step::Write { file, cpu }),
        3 => (0..4usize, 0..4u32).prop_map(|(thread, cpu)| Step::Affinity { thread, cpu }),
        1 => (0..4usize, 1..99i32).prop_map(|(thread, priority)| Step::Scheduling { thread, priority }),
        1 => (0..3u32).prop_map(|name| Step::Cgroup { name }),
        1 => (0..2u32).prop_map(|name| Step::Namespaces { name }),
        1 => (0..2usize, 0..3u32).prop_map(|(process, name)| Step::Join { process, name }),
        1 => (0..4u32, any::<bool>()).prop_map(|(cpu, confined)| Step::Launch { cpu, confined }),
        2 => (any::<bool>(), 1..4u32).prop_map(|(ratio, value)| Step::Pair { ratio, value }),
        1 => (0..2usize, 0..19i32).prop_map(|(process, nice)| Step::Autogroup { process, nice }),
        1 => (0..4usize, 0..8u8).prop_map(|(thread, level)| Step::IoPriority { thread, level }),
        1 => (0..3u32, any::<bool>()).prop_map(|(number, fresh)| Step::BootWords { number, fresh }),
        1 => Just(Step::UndoLast),
    ]
}

/// In memory where that can be had: thousands of fsyncs on a disk take minutes.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

struct Machine {
    kernel: EmulatedKernel,
    threads: Vec<ThreadRef>,
    processes: Vec<ProcessRef>,
}

fn machine() -> Machine {
    let kernel = EmulatedKernel::new();
    FILES.iter().for_each(|file| kernel.add_file(*file, "0\n"));
    kernel
        .add_file("/proc/self/mountinfo", "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset");
    kernel.add_file("/proc/self/cgroup", "3:cpuset:/");
    kernel.add_file("/sys/fs/cgroup/cpuset/cpuset.mems", "0");
    kernel.add_file("/proc/sys/vm/dirty_ratio", "2\n");
    kernel.add_file("/proc/sys/vm/dirty_bytes", "0\n");
    // Of one session.
    kernel.add_file("/proc/50/autogroup", "/autogroup-7 nice 0\n");
    kernel.add_file("/proc/60/autogroup", "/autogroup-7 nice 0\n");
    let processes = vec![kernel.add_process(50, 1), kernel.add_process(60, 1)];
    let leader = |p: &ProcessRef| ThreadRef { pid: p.pid, tid: p.pid, start_time_ticks: p.start_time_ticks };
    let mut threads: Vec<ThreadRef> = processes.iter().map(leader).collect();
    threads.push(kernel.add_thread(50, 51));
    threads.push(kernel.add_thread(60, 61));
    Machine { kernel, threads, processes }
}

impl Machine {
    fn hand(&self, dir: &Path) -> Hand {
        Hand::with(Arc::new(self.kernel.clone()), dir, "crash test").unwrap()
    }

    /// Performs one step; refusals (a cgroup that exists, one that does not) are part of the game.
    fn perform(&self, hand: &mut Hand, step: &Step) {
        let group = |name: &u32| format!("/sys/fs/cgroup/cpuset/g{name}").into();
        let act = match step {
            Step::Write { file, cpu } => {
                Act::WriteFile { path: FILES[*file].into(), value: cpu.to_string(), netns: None }
            }
            Step::Affinity { thread, cpu } => {
                Act::SetAffinity { thread: self.threads[*thread], cpus: CpuSet::single(*cpu) }
            }
            Step::Scheduling { thread, priority } => Act::SetScheduling {
                thread: self.threads[*thread],
                scheduling: Scheduling::Fifo { priority: *priority },
            },
            Step::Pair { ratio, value } => {
                let path = if *ratio { "/proc/sys/vm/dirty_ratio" } else { "/proc/sys/vm/dirty_bytes" };
                Act::WriteFile { path: path.into(), value: value.to_string(), netns: None }
            }
            Step::Autogroup { process, nice } => Act::WriteProcessFile {
                process: self.processes[*process],
                file: ProcessFile::Autogroup,
                value: *nice,
            },
            Step::IoPriority { thread, level } => Act::SetIoPriority {
                thread: self.threads[*thread],
                priority: IoPriority::BestEffort { level: *level },
            },
            Step::BootWords { number, fresh } => Act::AddBootWords {
                loader: BootLoader::KernelInstall,
                words: vec![format!("nohz_full={number}"), format!("word{number}")],
                line: fresh.then(|| "root=/dev/vda1".to_string()),
            },
            Step::Cgroup { name } => Act::CreateCgroup { path: group(name) },
            Step::Namespaces { name } => {
                Act::MakeNetnsPair { pair: NetnsPair { names: ["s", "l"].map(|end| format!("{end}{name}")) } }
            }
            Step::Join { process, name } => {
                Act::JoinCgroup { process: self.processes[*process], path: group(name) }
            }
            Step::Launch { cpu, confined } => {
                let launch = Launch {
                    argv: vec!["server".into()],
                    cpus: Some(CpuSet::single(*cpu)),
                    cpuset_cgroup: *confined,
                    ..Launch::default()
                };
                // It outlives us as a process that ignores our death would.
                let _ = hand.launch(&launch).map(std::mem::forget);
                return;
            }
            Step::UndoLast => {
                let last = hand.mark();
                let _ =
                    hand.perform(&Act::WriteFile { path: FILES[0].into(), value: "3".into(), netns: None });
                hand.undo_to(last);
                return;
            }
        };
        let _ = hand.perform(&act);
    }

    fn undo(&self, dir: &Path) -> Result<(), TestCaseError> {
        let report = undo(dir, &self.kernel, &UndoOptions::default()).unwrap();
        prop_assert!(report.is_clean(), "{}", report);
        prop_assert!(sessions(dir).unwrap().is_empty());
        Ok(())
    }
}

/// What undo has to arrive at: the machine as it was, without us.
fn expected(state: &EmulatedState) -> EmulatedState {
    let mut state = state.clone();
    state.threads.remove(&1000);
    state
}

fn same_machine(now: &EmulatedState, before: &EmulatedState) -> Result<(), TestCaseError> {
    prop_assert_eq!(now, &expected(before));
    Ok(())
}

/// Runs until the crash, if there is one; returns whether there was.
fn until_crash(work: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(()) => false,
        Err(payload) if payload.is::<Crash>() => true,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Crashes are expected here: they print nothing.
fn quiet_crashes() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Crash>() {
                usual(info);
            }
        }));
    });
}

/// Runs the steps with a crash around change number `at`; false when there are not that many changes.
fn crash_once(steps: &[Step], at: u64, when: When) -> Result<bool, TestCaseError> {
    let dir = folder();
    let machine = machine();
    let before = machine.kernel.state();
    let mut hand = machine.hand(dir.path());
    machine.kernel.crash_at(Some((at, when)));
    let crashed = until_crash(|| steps.iter().for_each(|step| machine.perform(&mut hand, step)));
    // Dead processes run no destructors.
    hand.die();
    machine.kernel.crash_at(None);
    machine.kernel.remove_thread(1000);
    machine.undo(dir.path())?;
    same_machine(&machine.kernel.state(), &before)?;
    Ok(crashed)
}

/// What happens between the crash and the undo that counts.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    /// An undo in other namespaces and under another root, which can reach some of it only.
    UndoElsewhere,
    /// An undo that the kernel refuses everything.
    UndoRefused,
    /// The interface is renamed.
    Renamed,
}

fn between() -> impl Strategy<Value = Between> {
    prop_oneof![
        Just(Between::Nothing),
        Just(Between::UndoElsewhere),
        Just(Between::UndoRefused),
        Just(Between::Renamed),
    ]
}

fn happen(machine: &Machine, dir: &Path, event: Between) {
    let kernel = &machine.kernel;
    let try_undo = || drop(undo(dir, kernel, &UndoOptions::default()).unwrap());
    match event {
        Between::Nothing => {}
        Between::UndoElsewhere => {
            kernel.stand_on(7, 7, 9);
            kernel.stand_in_network(Some("elsewhere"));
            try_undo();
            kernel.stand_on(0, 0, 0);
            kernel.stand_in_network(None);
        }
        Between::UndoRefused => {
            kernel.refuse_every_change(Some(rustix::io::Errno::IO.raw_os_error()));
            try_undo();
            kernel.refuse_every_change(None);
        }
        Between::Renamed => kernel.rename_interface(None, "eth0", "lan0"),
    }
}

const LEFT: [Step; 4] = [
    Step::Cgroup { name: 2 },
    Step::Cgroup { name: 0 },
    Step::Join { process: 0, name: 0 },
    Step::Join { process: 0, name: 2 },
];

#[test]
fn a_cgroup_stays_while_a_process_that_left_it_has_to_go_back_into_it() {
    let (dir, machine) = (folder(), machine());
    let before = machine.kernel.state();
    let mut hand = machine.hand(dir.path());
    LEFT.iter().for_each(|step| machine.perform(&mut hand, step));
    hand.die();
    machine.kernel.remove_thread(1000);
    happen(&machine, dir.path(), Between::UndoElsewhere);
    machine.undo(dir.path()).unwrap();
    same_machine(&machine.kernel.state(), &before).unwrap();
}

#[test]
fn the_same_where_a_later_session_moved_the_process() {
    let (dir, machine) = (folder(), machine());
    let before = machine.kernel.state();
    for steps in [&LEFT[1..3], &[Step::Cgroup { name: 2 }, Step::Join { process: 0, name: 2 }]] {
        let mut hand = machine.hand(dir.path());
        steps.iter().for_each(|step| machine.perform(&mut hand, step));
        hand.finish().unwrap();
    }
    machine.kernel.remove_thread(1000);
    let ids: Vec<String> = sessions(dir.path()).unwrap().iter().map(Session::id).collect();
    let first = UndoOptions { session: Some(ids[0].clone()), ..UndoOptions::default() };
    let report = undo(dir.path(), &machine.kernel, &first).unwrap();
    let held = |undone: &Undone| matches!(&undone.how, How::Held { by } if *by == ids[1]);
    assert!(report.sessions[0].undone.iter().all(held), "{report}");
    machine.undo(dir.path()).unwrap();
    same_machine(&machine.kernel.state(), &before).unwrap();
}

/// Sequences that are tried; `make soak` asks for 10,000.
fn sequences() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(64), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(sequences())]

    /// Whatever the crash and what happens after it.
    #[test]
    fn a_random_sequence_with_a_crash_and_a_mishap_is_undone(
        steps in prop::collection::vec(step(), 1..20),
        at in 0..60u64,
        after in any::<bool>(),
        event in between(),
    ) {
        quiet_crashes();
        let (dir, machine) = (folder(), machine());
        machine.kernel.add_interface(None, "eth0", 2);
        let before = machine.kernel.state();
        let mut hand = machine.hand(dir.path());
        machine.kernel.crash_at(Some((at, if after { When::After } else { When::Before })));
        until_crash(|| steps.iter().for_each(|step| machine.perform(&mut hand, step)));
        hand.die();
        machine.kernel.crash_at(None);
        machine.kernel.remove_thread(1000);
        happen(&machine, dir.path(), event);
        machine.undo(dir.path())?;
        machine.kernel.rename_interface(None, "lan0", "eth0");
        same_machine(&machine.kernel.state(), &before)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// At every change of a random sequence, right before it and right after it.
    #[test]
    fn undo_restores_everything_wherever_the_crash_strikes(steps in prop::collection::vec(step(), 1..8)) {
        quiet_crashes();
        for at in 0.. {
            let before = crash_once(&steps, at, When::Before)?;
            let after = crash_once(&steps, at, When::After)?;
            if !before && !after {
                break;
            }
        }
    }

    /// The undo itself is cut short at each of its changes; the next one completes it.
    #[test]
    fn an_undo_that_is_cut_short_is_completed_by_the_next(steps in prop::collection::vec(step(), 1..8)) {
        quiet_crashes();
        for at in 0.. {
            let dir = folder();
            let machine = machine();
            let before = machine.kernel.state();
            let mut hand = machine.hand(dir.path());
            steps.iter().for_each(|step| machine.perform(&mut hand, step));
            hand.die();
            machine.kernel.remove_thread(1000);
            let first = machine.kernel.changes();
            machine.kernel.crash_at(Some((first + at, When::After)));
            let crashed = until_crash(|| {
                undo(dir.path(), &machine.kernel, &UndoOptions::default()).unwrap();
            });
            machine.kernel.crash_at(None);
            machine.undo(dir.path())?;
            same_machine(&machine.kernel.state(), &before)?;
            if !crashed {
                break;
            }
        }
    }

    /// Cut anywhere - in a line, between lines, in the header - a ledger leads back to the start, from every state
    /// that the machine can have been in when those bytes were on disk.
    #[test]
    fn any_prefix_of_a_ledger_restores_the_machine(
        writes in prop::collection::vec((0..FILES.len(), 0..4u32, 0..4usize, 0..4u32), 1..5),
    ) {
        let dir = folder();
        let machine = machine();
        let mut hand = machine.hand(dir.path());
        // states[n]: after n acts.
        let mut states = vec![machine.kernel.state()];
        for (file, value, thread, cpu) in writes {
            for step in [Step::Write { file, cpu: value }, Step::Affinity { thread, cpu }] {
                machine.perform(&mut hand, &step);
                states.push(machine.kernel.state());
            }
        }
        hand.die();
        let path = sessions(dir.path()).unwrap()[0].path.clone();
        let bytes = std::fs::read(&path).unwrap();
        machine.kernel.remove_thread(1000);
        // It appears under its name with its first line.
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        for cut in first + 1..=bytes.len() {
            let (intended, done) = counts(&bytes[..cut]);
            // The last intended act may have been performed or not, unless its end is on disk too.
            for performed in done..=intended {
                machine.kernel.set_state(expected(&states[performed]));
                std::fs::write(&path, &bytes[..cut]).unwrap();
                machine.undo(dir.path())?;
                same_machine(&machine.kernel.state(), &states[0])?;
            }
        }
    }

    /// No file makes reading a ledger panic, and whole lines around garbage still count.
    #[test]
    fn garbage_is_listed_and_the_rest_is_read(garbage in "[^\n]{1,40}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Session::parse(Path::new("x"), &bytes);
        let intent = Record::Intent {
            seq: 0,
            at_ticks: 1,
            act: Act::WriteFile { path: FILES[0].into(), value: "1".into(), netns: None },
            old: pinwise_change::Value::Text("0".into()),
            setting: None,
            subject: None,
        };
        let line = serde_json::to_string(&intent).unwrap();
        let header = r#"{"record":"header","format":1,"session":"1-1","purpose":"","boot_id":"","owner":{"pid":1,"start_time_ticks":1},"began_unix_s":1}"#;
        let session = Session::parse(Path::new("x"), format!("{header}\n{garbage}\n{line}\n").as_bytes());
        prop_assert_eq!(session.entries.len(), 1);
        prop_assert_eq!(session.problems.len(), 1);
    }
}

/// How many acts the whole lines of a ledger announce, and how many of them they call done.
fn counts(bytes: &[u8]) -> (usize, usize) {
    let session = Session::parse(Path::new("x"), bytes);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    (session.entries.len(), session.entries.iter().filter(|entry| entry.read_back.is_some()).count())
}
