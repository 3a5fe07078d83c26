//! Every knob that the running kernel offers, set to a harmless other value for a moment and taken back.
//!
//! A test binary of its own: what it compares at the end is the whole machine, in which no other test may stir.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use another_value::another_value;
use machine::knobs::{self, Knob, MaySet};
use machine::{Act, Fault, Root};
use pinwise_change::{Hand, How, LiveKernel};

mod another_value;

/// A sleeping process in a session of its own, ended when it goes.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace with a veth pair of two queues in it and, where there are such, a tap; deleted when it goes.
struct Namespace(String);

impl Namespace {
    fn make() -> Option<Self> {
        let name = format!("pinwise-knobs-{}", std::process::id());
        let ip = |args: &[&str]| {
            Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        if !ip(&["netns", "add", &name]) {
            return None;
        }
        let namespace = Self(name);
        let link = ["-n", &namespace.0, "link", "add", "pin0", "numtxqueues", "2", "numrxqueues", "2"];
        // A tap alone has something of interrupt coalescing to set.
        ip(&["-n", &namespace.0, "tuntap", "add", "dev", "pin2", "mode", "tap"]);
        ip(&[&link[..], &["type", "veth", "peer", "name", "pin1"]].concat()).then_some(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// What a veth pair (channels since Linux 5.15) and a tap (coalescing) let be set.
const OF_NETWORK: [&str; 5] = ["rps-cpus", "channels", "coalescing", "gro", "gro-list"];

/// What the test works on.
struct Scene {
    sleeper: Sleeper,
    namespace: Option<Namespace>,
    cgroup: Option<String>,
}

/// Whether its targets are processes: there are too many of those, and they come and go.
fn is_of_processes(knob: &dyn Knob) -> bool {
    let about = knob.about();
    knobs::guest::is_one(knob)
        || about.scope.starts_with("one process")
        || about.id == "kernel-thread-affinity"
}

impl Scene {
    /// A target of ours where there can be one, and one that does little otherwise.
    fn target(&self, knob: &dyn Knob, root: &Root) -> Option<String> {
        let about = knob.about();
        let network = |rest: &str| {
            let namespace = self.namespace.as_ref()?;
            let targets = ["pin0", "pin2"].map(|name| format!("{}:{name}{rest}", namespace.0));
            targets.into_iter().find(|target| knob.read(root, target).is_ok())
        };
        match about.scope {
            // It makes the boot loader's configuration anew, which no test may do to a machine that somebody starts.
            _ if about.id == machine::plan::BOOT_PARAMETERS => None,
            // Nearly all pages of a process that sleeps are of libraries that others use too; a guest has it with memory of its own.
            _ if about.id == "process-memory-nodes" => None,
            // Nor are guests that run here ours.
            _ if knobs::guest::is_one(knob) => None,
            // They are of services of somebody else's.
            scope if scope.starts_with("one service") => None,
            scope if scope.starts_with("one process") => Some(self.sleeper.0.id().to_string()),
            scope if scope.starts_with("one receive queue") => network("/rx-0"),
            scope if scope.starts_with("one transmit queue") => network("/tx-0"),
            scope if scope.starts_with("one network interface") => network(""),
            scope if scope.starts_with("one cgroup") => self.cgroup.clone(),
            // Not the card that somebody may be logged in by.
            scope if scope.starts_with("one device") => {
                let targets = knob.targets(root).unwrap();
                let is_card = |id: &String| Path::new("/sys/class/net").join(id).exists();
                targets.into_iter().map(|target| target.id).find(|id| !is_card(id))
            }
            _ => {
                let ids: Vec<String> =
                    knob.targets(root).unwrap().into_iter().map(|target| target.id).collect();
                // Rare work, so that nobody notices where it is done.
                let quiet = ["khungtaskd", "kauditd", "node0/2MiB"];
                ids.iter().find(|id| quiet.contains(&id.as_str())).or(ids.first()).cloned()
            }
        }
    }
}

/// What every file of every knob reads, processes apart.
fn everything(root: &Root) -> BTreeMap<(&'static str, String), String> {
    let mut values = BTreeMap::new();
    for knob in knobs::ALL.iter().filter(|knob| !is_of_processes(**knob)) {
        for target in knob.targets(root).unwrap() {
            // Files that cannot be read (no root) cannot be set either.
            if let Ok(value) = knob.read(root, &target.id) {
                values.insert((knob.about().id, target.id), value);
            }
        }
    }
    values
}

/// Sets a knob and takes it back. Errors: the kernel refuses the value on this machine.
fn there_and_back(hand: &mut Hand, knob: &dyn Knob, target: &str, root: &Root) -> Result<String, Fault> {
    let what = format!("{} of {target}", knob.about().id);
    let before = knob.read(root, target)?;
    let value = another_value(knob, &before, root);
    let start = hand.mark();
    let mut took_effect = true;
    let mut set = || {
        for act in knob.change(root, target, &value)? {
            took_effect &= hand.perform(&act)?.took_effect;
        }
        Ok::<(), Fault>(())
    };
    let result = set();
    let now = knob.read(root, target)?;
    let undone = hand.undo_to(start);
    assert_eq!(knob.read(root, target)?, before, "{what}: {undone:?}");
    result?;
    // The kernel may find no huge page that is whole.
    assert!((took_effect && now == value) || knob.about().id == "huge-pages", "{what}: {value}, reads {now}");
    let expected = |how: &How| matches!(how, How::Restored) || (now == before && matches!(how, How::Already));
    assert!(undone.iter().all(|undone| expected(&undone.how)), "{what}: {undone:?}");
    Ok(format!("{before} -> {now} -> {before}"))
}

/// Makes a cgroup below the top of a hierarchy with cpusets.
fn make_cgroup(hand: &mut Hand, root: &Root) -> Option<String> {
    let mounts = machine::limits::mounts::parse(&root.read("/proc/self/mountinfo").ok()?);
    let tops = mounts.iter().filter(|mount| mount.is_v1_of("cpuset") || mount.is_v2());
    for top in tops {
        let path = format!("{}/pinwise-knobs-{}", top.point, std::process::id());
        let start = hand.mark();
        if hand.perform(&Act::CreateCgroup { path: path.clone().into() }).is_ok() {
            if Path::new(&path).join("cpuset.cpus").exists() {
                return Some(path);
            }
            hand.undo_to(start);
        }
    }
    None
}

#[test]
fn every_knob_of_this_kernel_is_set_and_taken_back() {
    let root = Root::live();
    let is_root = rustix::process::geteuid().is_root();
    let Ok(sleeper) = Command::new("setsid").args(["sleep", "1000"]).spawn() else {
        eprintln!("skipped: no setsid to start a session of its own");
        return;
    };
    let sleeper = Sleeper(sleeper);
    let dir = tempfile::tempdir().unwrap();
    let before = everything(&root);
    let namespace = Namespace::make().filter(|_| is_root);
    let mut hand = Hand::with(Arc::new(LiveKernel::new()), dir.path(), "live test of knobs").unwrap();
    let cgroup = if is_root { make_cgroup(&mut hand, &root) } else { None };
    let with_tap = Path::new("/dev/net/tun").exists();
    let of_network = OF_NETWORK.iter().filter(|id| namespace.is_some() && (with_tap || **id != "coalescing"));
    let of_network: Vec<&str> = of_network.copied().collect();
    let scene = Scene { sleeper, namespace, cgroup };
    let mut done = Vec::new();
    for knob in knobs::ALL.iter().filter(|knob| is_root || knob.about().may_set == MaySet::OwnProcesses) {
        let id = knob.about().id;
        match scene.target(*knob, &root) {
            None => eprintln!("{id}: not offered here"),
            Some(target) => match there_and_back(&mut hand, *knob, &target, &root) {
                Ok(values) => {
                    eprintln!("{id} of {target}: {values}");
                    done.push(id);
                }
                Err(fault) => {
                    assert!(!fault.remedy.is_empty(), "{fault}");
                    eprintln!("{id} of {target}: refused: {fault}");
                }
            },
        }
    }
    hand.undo_all();
    hand.finish().unwrap();
    drop(scene);
    assert_eq!(everything(&root), before);
    eprintln!("{} of {} knobs set and taken back", done.len(), knobs::ALL.len());
    for id in ["oom-score", "process-affinity"].iter().chain(&of_network) {
        assert!(done.contains(id), "{id}: {done:?}");
    }
    let of_all_kernels =
        ["swappiness", "dirty-ratio", "dirty-bytes", "netdev-budget", "irq-default-affinity"];
    for id in of_all_kernels.into_iter().filter(|_| is_root && Path::new("/proc/sys/vm/swappiness").exists())
    {
        assert!(done.contains(&id), "{id}: {done:?}");
    }
}
