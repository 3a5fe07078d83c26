//! Subjects on the running kernel: changes made in one namespace and undone from another, after renaming, and from a chroot.
//!
//! Each step runs in a process of its own - this very program, in the namespaces that the step is about.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use machine::{Act, CpuSet, ThreadRef};
use pinwise_change::{Files, Hand, Identity, LiveKernel, Threads, UndoOptions, ledger, undo};
use serde_json::Value as Json;

/// What the next test does: `perform` or `undo`. Run by itself it does nothing.
const STEP: &str = "IDENTITY_STEP";
const DIR: &str = "IDENTITY_DIR";
const ACT: &str = "IDENTITY_ACT";
const ANSWER: &str = "answer: ";

#[test]
fn the_step_in_a_process_of_its_own() {
    let Ok(step) = std::env::var(STEP) else { return };
    let dir = std::path::PathBuf::from(std::env::var(DIR).unwrap());
    let answer = match step.as_str() {
        "perform" => {
            let act: Act = serde_json::from_str(&std::env::var(ACT).unwrap()).unwrap();
            let mut hand = Hand::with(Arc::new(LiveKernel::new()), &dir, "live test").unwrap();
            let receipt = hand.perform(&act);
            hand.finish().unwrap();
            serde_json::to_string(&receipt.unwrap()).unwrap()
        }
        _ => match undo(&dir, &LiveKernel::new(), &UndoOptions::default()) {
            Ok(report) => serde_json::to_string(&report).unwrap(),
            Err(fault) => panic!("{fault}"),
        },
    };
    println!("\n{ANSWER}{answer}");
}

/// Runs a step by way of `through`, a command that runs another one elsewhere.
fn step(through: &[&str], what: &str, dir: &Path, act: Option<&Act>) -> Json {
    let own = std::env::current_exe().unwrap();
    let own = [own.to_str().unwrap(), "--exact", "the_step_in_a_process_of_its_own", "--nocapture"];
    let argv = [through, &own[..]].concat();
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).env(STEP, what).env(DIR, dir);
    if let Some(act) = act {
        command.env(ACT, serde_json::to_string(act).unwrap());
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = said.lines().find_map(|line| line.strip_prefix(ANSWER));
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(answer.unwrap_or_else(|| panic!("{argv:?}: {said}{errors}"))).unwrap()
}

/// What came of the only act.
fn undone(through: &[&str], dir: &Path) -> Json {
    step(through, "undo", dir, None)["sessions"][0]["undone"][0].clone()
}

fn is_kept(dir: &Path) -> bool {
    !ledger::sessions(dir).unwrap().is_empty()
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Two network namespaces, each with an interface of the same name, joined.
struct Networks {
    names: [String; 2],
}

const INTERFACE: &str = "pinid0";
const RPS: &str = "/sys/class/net/pinid0/queues/rx-0/rps_cpus";

impl Networks {
    fn make(of: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        let names = ["a", "b"].map(|end| format!("pinid-{of}-{end}-{}", std::process::id()));
        let [a, b] = &names;
        ip(&format!("netns add {a}"));
        ip(&format!("netns add {b}"));
        ip(&format!("-n {a} link add {INTERFACE} type veth peer name {INTERFACE} netns {b}"));
        Some(Self { names })
    }

    fn inside(&self, end: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.names[end]]
    }

    fn mask(&self, end: usize) -> u32 {
        self.mask_at(end, RPS)
    }

    fn mask_at(&self, end: usize, path: &str) -> u32 {
        let text = LiveKernel::new().read_file(path.as_ref(), Some(&self.names[end])).unwrap();
        u32::from_str_radix(text.trim().rsplit(',').next().unwrap(), 16).unwrap()
    }

    fn admin_writes(&self, end: usize, mask: u32) {
        LiveKernel::new().write_file(RPS.as_ref(), &format!("{mask:x}"), Some(&self.names[end])).unwrap();
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

fn rps(mask: &str, netns: Option<&str>) -> Act {
    Act::WriteFile { path: RPS.into(), value: mask.into(), netns: netns.map(String::from) }
}

#[test]
fn an_interface_of_the_same_name_in_another_namespace_is_left_alone_and_ours_is_found() {
    let Some(networks) = Networks::make("same") else { return };
    let dir = tempfile::tempdir().unwrap();
    step(&networks.inside(0), "perform", dir.path(), Some(&rps("3", None)));
    networks.admin_writes(1, 3);
    assert_eq!((networks.mask(0), networks.mask(1)), (3, 3));
    let how = undone(&networks.inside(1), dir.path());
    assert_eq!(
        (how["result"].as_str(), networks.mask(0), networks.mask(1)),
        (Some("restored"), 0, 3),
        "{how}"
    );
    assert!(!is_kept(dir.path()));
}

#[test]
fn a_thread_whose_sys_shows_another_namespace_than_its_own_changes_what_its_sys_shows() {
    let Some(networks) = Networks::make("sys") else { return };
    let dir = tempfile::tempdir().unwrap();
    // The new namespace has no interface of that name; /sys still shows those of the old one.
    let in_a = networks.inside(0);
    let apart = [&in_a[..], &["unshare", "--net"]].concat();
    step(&apart, "perform", dir.path(), Some(&rps("3", None)));
    assert_eq!(networks.mask(0), 3);
    let how = undone(&networks.inside(1), dir.path());
    assert_eq!((how["result"].as_str(), networks.mask(0)), (Some("restored"), 0), "{how}");
}

#[test]
fn a_renamed_interface_is_restored_under_its_new_name() {
    let Some(networks) = Networks::make("name") else { return };
    let dir = tempfile::tempdir().unwrap();
    let name = networks.names[0].clone();
    step(&[], "perform", dir.path(), Some(&rps("3", Some(&name))));
    ip(&format!("-n {name} link set {INTERFACE} name pinid9"));
    let renamed = RPS.replace(INTERFACE, "pinid9");
    assert_eq!(networks.mask_at(0, &renamed), 3);
    let how = undone(&[], dir.path());
    assert_eq!((how["result"].as_str(), networks.mask_at(0, &renamed)), (Some("restored"), 0), "{how}");
}

#[test]
fn an_interface_that_was_moved_away_is_not_gone() {
    let Some(networks) = Networks::make("moved") else { return };
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = networks.names.clone();
    step(&[], "perform", dir.path(), Some(&rps("3", Some(&a))));
    ip(&format!("-n {a} link set {INTERFACE} name pinid9"));
    ip(&format!("-n {a} link set pinid9 netns {b}"));
    let how = undone(&[], dir.path());
    assert_eq!(
        (how["result"].as_str(), how["what"]["name"].as_str()),
        (Some("out-of-reach"), Some("pinid9")),
        "{how}"
    );
    assert!(is_kept(dir.path()));
    ip(&format!("-n {b} link del pinid9"));
    let how = undone(&[], dir.path());
    assert_eq!(how["result"], "gone", "{how}");
}

/// A process of the test's own in a namespace, ended when it goes.
struct Inhabitant(Child);

impl Drop for Inhabitant {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_namespace_without_its_name_is_entered_by_a_process_and_one_that_has_ended_is_gone() {
    let Some(networks) = Networks::make("nameless") else { return };
    let dir = tempfile::tempdir().unwrap();
    let name = networks.names[0].clone();
    step(&[], "perform", dir.path(), Some(&rps("3", Some(&name))));
    let mut sleep = Command::new("ip");
    sleep.args(["netns", "exec", &name, "sleep", "1000"]).stdin(Stdio::null());
    let inside = Inhabitant(sleep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    // ip executes sleep once it is inside.
    let is_inside = || {
        let namespace = |path: &str| std::fs::read_link(path).ok();
        let there = namespace(&format!("/proc/{}/ns/net", inside.0.id()));
        there.is_some() && there != namespace("/proc/self/ns/net")
    };
    while !is_inside() {
        std::thread::yield_now();
    }
    ip(&format!("netns del {name}"));
    let how = undone(&[], dir.path());
    assert_eq!(how["result"], "restored", "{how}");
    let nsenter = ["nsenter", "--target", &inside.0.id().to_string(), "--net"].map(String::from);
    let mask = Command::new(&nsenter[0])
        .args(&nsenter[1..])
        .args(["unshare", "--mount", "sh", "-c"])
        .arg(format!("mount -t sysfs sysfs /sys && cat {RPS}"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&mask.stdout).trim(), "0");

    // The other one ends with all that is in it.
    let other = networks.names[1].clone();
    step(&[], "perform", dir.path(), Some(&rps("3", Some(&other))));
    ip(&format!("netns del {other}"));
    drop(inside);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let how = loop {
        let how = undone(&[], dir.path());
        if how["result"] == "gone" || std::time::Instant::now() > until {
            break how;
        }
        // The kernel takes it apart a moment after; before Linux 6.18 it does not say when.
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let reports_ends = LiveKernel::new().process_view().unwrap().mounts.id.is_some();
    assert_eq!(how["result"], if reports_ends { "gone" } else { "out-of-reach" }, "{how}");
}

#[test]
fn a_process_is_not_gone_because_another_pid_namespace_does_not_show_it() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: PID namespaces need root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let kernel = LiveKernel::new();
    let sleeper = Inhabitant(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap());
    let pid = sleeper.0.id();
    let start_time_ticks = kernel.start_time(pid, pid).unwrap();
    let before = kernel.affinity(pid, pid).unwrap();
    let act = Act::SetAffinity {
        thread: ThreadRef { pid, tid: pid, start_time_ticks },
        cpus: CpuSet::single(before.first().unwrap()),
    };
    step(&[], "perform", dir.path(), Some(&act));
    let other = ["unshare", "--pid", "--fork", "--mount-proc"];
    // With the procfs of the host, and without any.
    let unmounted = ["unshare", "--mount", "sh", "-c", "umount -l /proc; exec \"$0\" \"$@\""];
    for through in [&other[..], &["unshare", "--pid", "--fork"], &unmounted] {
        let how = undone(through, dir.path());
        assert_eq!(how["result"], "out-of-reach", "{through:?}: {how}");
        assert!(is_kept(dir.path()));
    }
    let how = undone(&[], dir.path());
    assert_eq!(how["result"], "restored", "{how}");
    assert_eq!(kernel.affinity(pid, pid).unwrap(), before);
}

#[test]
fn a_file_of_the_kernel_is_not_gone_where_its_file_system_is_not_mounted() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: mounting needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = Path::new("/proc/sys/vm/stat_interval");
    let Ok(before) = std::fs::read_to_string(path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let value = if before.trim() == "3" { "4" } else { "3" };
    let act = Act::WriteFile { path: path.into(), value: value.into(), netns: None };
    step(&[], "perform", dir.path(), Some(&act));
    let unmounted = ["unshare", "--mount", "sh", "-c", "umount -l /proc; exec \"$0\" \"$@\""];
    let hidden = "mount -t proc -o subset=pid proc /proc && exec \"$0\" \"$@\"";
    let hidden = ["unshare", "--mount", "sh", "-c", hidden];
    for through in [&unmounted[..], &hidden] {
        let how = undone(through, dir.path());
        assert_eq!(how["result"], "refused", "{through:?}: {how}");
        assert!(is_kept(dir.path()));
    }
    let how = undone(&["unshare", "--net", "--pid", "--fork", "--mount-proc"], dir.path());
    assert_eq!(how["result"], "restored", "{how}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), before);
}
