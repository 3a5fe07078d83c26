//! The hand on the running system. What needs root or tools says that it is skipped without them.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

mod deadline;
mod launching;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use machine::{Act, Class, CpuSet, ProcessRef, Root, Scheduling, ThreadRef, knobs};
use pinwise_change::{
    Files, Hand, How, Launch, LiveKernel, Processes, Stdout, Threads, UndoOptions, calling_thread,
    exit_words, undo,
};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn hand(dir: &Path) -> Hand {
    Hand::with(Arc::new(LiveKernel::new()), dir, "live test").unwrap()
}

/// A sleeping process of the test's own, ended when it goes.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn process(&self) -> ProcessRef {
        let pid = self.0.id();
        ProcessRef { pid, start_time_ticks: LiveKernel::new().start_time(pid, pid).unwrap() }
    }

    fn thread(&self) -> ThreadRef {
        let ProcessRef { pid, start_time_ticks } = self.process();
        ThreadRef { pid, tid: pid, start_time_ticks }
    }

    fn cpus(&self) -> CpuSet {
        LiveKernel::new().affinity(self.0.id(), self.0.id()).unwrap()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace with one end of a veth pair in it, deleted when it goes.
struct Namespace(String);

impl Namespace {
    fn make() -> Option<Self> {
        if !is_root() {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        // The thread too: tests of one process run side by side.
        let tid = rustix::thread::gettid().as_raw_pid();
        let name = format!("pinwise-change-{tid}");
        let ip = |args: &[&str]| {
            Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        if !ip(&["netns", "add", &name]) {
            eprintln!("skipped: 'ip netns add' does not work here");
            return None;
        }
        let namespace = Self(name);
        if !ip(&["-n", &namespace.0, "link", "add", "pin0", "type", "veth", "peer", "name", "pin1"]) {
            eprintln!("skipped: no veth devices here");
            return None;
        }
        Some(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

fn launch(argv: &[&str], dir: &Path) -> Launch {
    Launch {
        argv: argv.iter().map(|arg| arg.to_string()).collect(),
        log: dir.join("log"),
        ..Launch::default()
    }
}

/// Waits for something that another process brings about.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come about in 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_affinity_of_a_process_is_set_read_back_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let sleeper = Sleeper::start();
    let before = sleeper.cpus();
    let one = CpuSet::single(before.last().unwrap());
    let mut hand = hand(dir.path());
    let receipt = hand.perform(&Act::SetAffinity { thread: sleeper.thread(), cpus: one.clone() }).unwrap();
    assert!(receipt.took_effect);
    assert_eq!(sleeper.cpus(), one);
    assert_eq!(hand.undo_all()[0].how, How::Restored);
    assert_eq!(sleeper.cpus(), before);
    let nowhere = Act::SetAffinity { thread: sleeper.thread(), cpus: CpuSet::single(100_000) };
    let fault = hand.perform(&nowhere).unwrap_err();
    assert!(fault.object.contains(&sleeper.0.id().to_string()), "{fault}");
    assert_eq!(sleeper.cpus(), before);
    hand.finish().unwrap();
    assert!(pinwise_change::ledger::sessions(dir.path()).unwrap().is_empty());
}

#[test]
fn every_thread_of_a_process_is_confined_and_new_ones_are_restored_too() {
    // A process of our own with several threads: this one would do, but other tests run in it.
    let script = "import threading,time,sys\n\
        go=lambda: threading.Thread(target=time.sleep,args=(1000,),daemon=True).start()\n\
        go();go();print(1,flush=True);sys.stdin.readline();go();print(2,flush=True);time.sleep(1000)";
    let python =
        Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(child) = python else {
        eprintln!("skipped: no python3 to make a process with threads");
        return;
    };
    let mut process = Sleeper(child);
    let mut answers = BufReader::new(process.0.stdout.take().unwrap()).lines();
    answers.next().unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let (kernel, pid, before) = (LiveKernel::new(), process.0.id(), process.cpus());
    let all = |cpus: &CpuSet| {
        let threads = kernel.threads(pid).unwrap();
        threads.iter().all(|tid| kernel.affinity(pid, *tid).unwrap() == *cpus)
    };
    let one = CpuSet::single(before.first().unwrap());
    let threads = kernel.threads(pid).unwrap();
    assert_eq!(threads.len(), 3);
    for tid in threads {
        let thread = ThreadRef { pid, tid, start_time_ticks: kernel.start_time(pid, tid).unwrap() };
        assert!(hand.perform(&Act::SetAffinity { thread, cpus: one.clone() }).unwrap().took_effect);
    }
    assert!(all(&one));
    process.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    answers.next().unwrap().unwrap();
    assert!(all(&one), "a thread inherits the CPUs of the one that starts it");
    let heirs: usize = hand.undo_all().iter().map(|undone| undone.heirs).sum();
    assert_eq!(heirs, usize::from(before != one));
    assert!(all(&before));
}

#[test]
fn scheduling_of_a_process_is_set_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, sleeper) = (LiveKernel::new(), Sleeper::start());
    let before = kernel.scheduling(sleeper.0.id()).unwrap();
    let mut hand = hand(dir.path());
    let act = |scheduling| Act::SetScheduling { thread: sleeper.thread(), scheduling };
    assert!(hand.perform(&act(Scheduling::Batch { nice: before.nice })).unwrap().took_effect);
    let privileged = [Scheduling::Fifo { priority: 2 }, Scheduling::Other { nice: before.nice + 1 }];
    for scheduling in privileged {
        match hand.perform(&act(scheduling)) {
            Ok(receipt) => assert!(receipt.took_effect),
            Err(fault) => assert_eq!(fault.class, Class::NotPermitted, "{fault}"),
        }
    }
    assert!(hand.undo_all().iter().all(|undone| undone.how == How::Restored));
    assert_eq!(kernel.scheduling(sleeper.0.id()).unwrap(), before);
}

#[test]
fn rps_of_a_queue_in_a_network_namespace_is_set_and_restored() {
    let Some(namespace) = Namespace::make() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let knob = knobs::find("rps-cpus").unwrap();
    let target = format!("{}:pin0/rx-0", namespace.0);
    let read = || knob.read(&Root::live(), &target).unwrap();
    assert_eq!(read(), "");
    for act in knob.change(&Root::live(), &target, "0").unwrap() {
        let receipt = hand.perform(&act).unwrap();
        assert!(receipt.took_effect, "{receipt:?}");
    }
    assert_eq!(read(), "0");
    assert!(!Path::new("/sys/class/net/pin0").exists(), "our own /sys shows our own namespace");
    assert_eq!(hand.undo_all()[0].how, How::Restored);
    assert_eq!(read(), "");
    let absent = Act::WriteFile {
        path: "/sys/class/net/pin0/mtu".into(),
        value: "1400".into(),
        netns: Some("no-such".into()),
    };
    assert_eq!(hand.perform(&absent).unwrap_err().class, Class::MachineLacks);
}

#[test]
fn what_is_gone_with_its_device_needs_no_undo() {
    let Some(namespace) = Namespace::make() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let path = "/sys/class/net/pin0/queues/rx-0/rps_cpus".into();
    hand.perform(&Act::WriteFile { path, value: "1".into(), netns: Some(namespace.0.clone()) }).unwrap();
    let deleted = Command::new("ip").args(["-n", &namespace.0, "link", "delete", "pin0"]).status().unwrap();
    assert!(deleted.success());
    assert_eq!(hand.undo_all()[0].how, How::Gone);
}

#[test]
fn an_interrupt_is_moved_and_put_back() {
    if !is_root() {
        eprintln!("skipped: moving interrupts needs root");
        return;
    }
    let (root, knob) = (Root::live(), knobs::find("irq-affinity").unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let moved = knob.targets(&root).unwrap().into_iter().find_map(|target| {
        let before = knob.read(&root, &target.id).ok()?;
        // Somewhere that it may be already.
        let one = CpuSet::from_list(&before).ok()?.first()?.to_string();
        let acts = knob.change(&root, &target.id, &one).ok()?;
        // Managed interrupts refuse; the refusal says so.
        let receipt = hand
            .perform(&acts[0])
            .map_err(|fault| assert!(fault.cause.contains("manages"), "{fault}"))
            .ok()?;
        assert!(receipt.took_effect, "{receipt:?}");
        Some((target.id, before))
    });
    let Some((irq, before)) = moved else {
        eprintln!("skipped: no interrupt here takes an affinity");
        return;
    };
    hand.undo_all();
    assert_eq!(knob.read(&root, &irq).unwrap(), before);
    assert_eq!(hand.outstanding().count(), 0);
}

#[test]
fn a_process_in_a_cpuset_cgroup_cannot_leave_its_cpus() {
    let dir = tempfile::tempdir().unwrap();
    let mut hand = hand(dir.path());
    let allowed = LiveKernel::new().affinity(std::process::id(), std::process::id()).unwrap();
    let (first, last) = (allowed.first().unwrap(), allowed.last().unwrap());
    if first == last {
        eprintln!("skipped: one CPU is not enough to leave it");
        return;
    }
    // taskset, as a server that sets its own affinity.
    let script = format!("taskset -pc {first} $$; grep Cpus_allowed_list /proc/self/status");
    let confined = Launch {
        cpus: Some(CpuSet::single(last)),
        cpuset_cgroup: true,
        ..launch(&["sh", "-c", &script], dir.path())
    };
    let mut launched = match hand.launch(&confined) {
        Ok(launched) => launched,
        Err(fault) => {
            eprintln!("skipped: {fault}");
            assert_eq!(hand.outstanding().count(), 0);
            return;
        }
    };
    eventually("the end", || launched.try_wait().unwrap().is_some());
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(text.ends_with(&format!("Cpus_allowed_list:\t{last}\n")), "{text}");
    let folder = hand.outstanding().find_map(|entry| match &entry.act {
        Act::CreateCgroup { path } => Some(path.clone()),
        _ => None,
    });
    let folder: PathBuf = folder.unwrap();
    assert!(folder.exists());
    assert!(hand.undo_all().iter().all(|undone| undone.how.is_final()));
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn own_threads_are_confined_and_no_other() {
    let kernel = LiveKernel::new();
    let pid = std::process::id();
    let tid = || rustix::thread::gettid().as_raw_pid() as u32;
    let before = kernel.affinity(pid, tid()).unwrap();
    let one = CpuSet::single(before.first().unwrap());
    let confined = one.clone();
    std::thread::spawn(move || {
        calling_thread::run_on(&confined).unwrap();
        assert_eq!(LiveKernel::new().affinity(pid, tid()).unwrap(), confined);
        assert_eq!(calling_thread::run_on(&CpuSet::single(100_000)).unwrap_err().class, Class::Usage);
    })
    .join()
    .unwrap();
    assert_eq!(kernel.affinity(pid, tid()).unwrap(), before);
}

const RPS: &str = "/sys/class/net/pin0/queues/rx-0/rps_cpus";

/// The process that the next test starts and kills: it performs acts and waits. Run by itself it does nothing.
#[test]
fn the_owner_that_is_killed() {
    let Ok(pid) = std::env::var("KILL_ME_PID") else { return };
    let pid = pid.parse().unwrap();
    let mut hand = Hand::live("hold until killed").unwrap();
    let start_time_ticks = LiveKernel::new().start_time(pid, pid).unwrap();
    let thread = ThreadRef { pid, tid: pid, start_time_ticks };
    let first = LiveKernel::new().affinity(pid, pid).unwrap().first().unwrap();
    hand.perform(&Act::SetAffinity { thread, cpus: CpuSet::single(first) }).unwrap();
    if let Ok(netns) = std::env::var("KILL_ME_NETNS") {
        hand.perform(&Act::WriteFile { path: RPS.into(), value: "1".into(), netns: Some(netns) }).unwrap();
    }
    // The grandchildren outlive us: PR_SET_PDEATHSIG reaches the first process only. One leaves the group too.
    let script = "trap '' TERM; sleep 1000 & setsid sleep 1000 & wait";
    let log = std::env::var("KILL_ME_LOG").unwrap();
    let launch = Launch { log: log.into(), ..launch(&["sh", "-c", script], Path::new("/")) };
    let launched = hand.launch(&launch).unwrap();
    println!("\nlaunched {}", launched.process().pid);
    loop {
        std::thread::park();
    }
}

#[test]
fn after_kill_9_undo_restores_everything_and_ends_what_was_launched() {
    let dir = tempfile::tempdir().unwrap();
    let sleeper = Sleeper::start();
    let before = sleeper.cpus();
    let namespace = Namespace::make();
    let log = dir.path().join("log");
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["--exact", "the_owner_that_is_killed", "--nocapture"]).stdout(Stdio::piped());
    owner
        .env("PINWISE_STATE_DIR", dir.path())
        .env("KILL_ME_LOG", &log)
        .env("KILL_ME_PID", sleeper.0.id().to_string());
    if let Some(namespace) = &namespace {
        owner.env("KILL_ME_NETNS", &namespace.0);
    }
    let mut owner = Sleeper(owner.spawn().unwrap());
    let lines = BufReader::new(owner.0.stdout.take().unwrap()).lines();
    let group = lines.map(Result::unwrap).find_map(|line| line.strip_prefix("launched ")?.parse().ok());
    let launched: u32 = group.expect("the owner prints the group that it launched");
    let (kernel, marker) = (LiveKernel::new(), marker(dir.path()));
    let in_group = || -> Vec<_> {
        let carries = |pid| kernel.carries(pid, &marker) == Some(true);
        let seen = kernel.processes().unwrap().into_iter();
        seen.filter(|seen| !seen.ended && (seen.group == launched || carries(seen.process.pid))).collect()
    };
    eventually("three launched processes", || in_group().len() >= 3);
    assert_eq!(sleeper.cpus(), CpuSet::single(before.first().unwrap()));

    let ledgers = dir.path().join("ledger");
    let refused = undo(&ledgers, &kernel, &UndoOptions::default()).unwrap_err();
    assert!(refused.remedy.contains(&format!("kill -INT {}", owner.0.id())), "{refused}");
    drop(owner); // SIGKILL
    let status = pinwise_change::status(&ledgers).unwrap();
    assert!(status.outstanding() >= 2 && !status.sessions[0].owner_alive, "{status}");
    // The first process dies with its owner; those that it started do not.
    eventually("the death of the first process", || in_group().len() == 2);

    let report = undo(&ledgers, &kernel, &UndoOptions::default()).unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(sleeper.cpus(), before);
    assert!(in_group().is_empty());
    if let Some(namespace) = &namespace {
        let mask = kernel.read_file(RPS.as_ref(), Some(&namespace.0)).unwrap();
        assert!(CpuSet::from_mask(&mask).unwrap().is_empty(), "{mask}");
    }
    assert_eq!(pinwise_change::status(&ledgers).unwrap().sessions.len(), 0);
}

/// The marker of the launch, which is the session's latest act.
fn marker(dir: &Path) -> String {
    let sessions = pinwise_change::ledger::sessions(&dir.join("ledger")).unwrap();
    let launch = sessions[0].entries.iter().rfind(|entry| matches!(entry.act, Act::Launch { .. }));
    format!("{}.{}", sessions[0].id(), launch.unwrap().seq)
}

/// Runs `work` on a thread that sees a small file system of its own at `path`; `data` are its options.
fn on_own_file_system<T: Send + 'static>(
    path: &Path,
    data: &'static std::ffi::CStr,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> T {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    let path = path.to_path_buf();
    // The mount is seen by this thread alone, and goes with it.
    let inside = move || {
        // SAFETY: CLONE_NEWNS touches neither memory nor file descriptors.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
        mount("tmpfs", &path, "tmpfs", MountFlags::empty(), Some(data)).unwrap();
        work(&path)
    };
    std::thread::spawn(inside).join().unwrap()
}

/// As ext4 does on an error (errors=remount-ro).
#[test]
fn an_undo_works_on_a_folder_that_has_become_read_only() {
    if !is_root() {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sleeper = Sleeper::start();
    let (thread, before) = (sleeper.thread(), sleeper.cpus());
    let cpus = CpuSet::single(before.first().unwrap());
    let report = on_own_file_system(dir.path(), c"size=1m,mode=700", move |path| {
        let mut hand = hand(path);
        hand.perform(&Act::SetAffinity { thread, cpus }).unwrap();
        hand.finish().unwrap();
        rustix::mount::mount_remount(path, rustix::mount::MountFlags::RDONLY, c"").unwrap();
        undo(path, &LiveKernel::new(), &UndoOptions { owned_too: true, ..UndoOptions::default() }).unwrap()
    });
    assert_eq!(report.sessions[0].undone[0].how, How::Restored, "{report}");
    assert_eq!(sleeper.cpus(), before);
}

#[test]
fn a_full_disk_stops_the_change_and_says_that_nothing_was_changed() {
    if !is_root() {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (kernel, sleeper) = (LiveKernel::new(), Sleeper::start());
    let (thread, before) = (sleeper.thread(), sleeper.cpus());
    let (faults, before) = on_own_file_system(dir.path(), c"size=16k,mode=700", move |path| {
        let mut hand = hand(path);
        // Two pages are the header's and the folder's; the rest is filled.
        std::fs::write(path.join("filler"), vec![0; 1 << 20]).unwrap_err();
        let act = Act::SetAffinity { thread, cpus: CpuSet::single(before.first().unwrap()) };
        let mut faults = Vec::new();
        for _ in 0..200 {
            match hand.perform(&act) {
                Ok(_) => drop(hand.undo_all()),
                Err(fault) => faults.push(fault),
            }
        }
        (faults, before)
    });
    let fault = faults.first().expect("the disk was full in the end");
    assert_eq!(fault.class, Class::Storage, "{fault}");
    assert!(faults.iter().any(|fault| fault.cause.contains("nothing was changed")), "{fault}");
    assert!(fault.remedy.contains("PINWISE_STATE_DIR"), "{fault}");
    assert_eq!(kernel.affinity(thread.pid, thread.tid).unwrap(), before);
}
