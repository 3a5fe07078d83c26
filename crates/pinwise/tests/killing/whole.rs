//! The whole machine as pinwise captures it: every file that its readers read, every fact that they make of them, every setting.

use std::collections::BTreeMap;

use machine::knobs::MaySet;
use machine::{Machine, Root, diff, knobs};

/// Files whose content moves while nobody changes a setting, `*` for any one folder, and why.
const MOVING: &[(&str, &str)] = &[
    ("/proc/interrupts", "counters"),
    ("/proc/softirqs", "counters"),
    ("/proc/stat", "counters"),
    ("/proc/vmstat", "counters"),
    ("/proc/pressure/*", "shares of the last seconds"),
    ("/proc/meminfo", "free memory"),
    ("/sys/devices/system/node/*/meminfo", "free memory"),
    ("/proc/uptime", "the time"),
    // Where they are switched on at the start it may come to another figure than later (docs/apply.md).
    (
        "/proc/sys/vm/min_free_kbytes",
        "the kernel works it out anew whenever transparent huge pages are switched",
    ),
    ("/proc/*/stat", "times; what may be set of a process is compared as settings"),
    ("/proc/*/status", "memory and switches; likewise"),
    ("/proc/*/sched", "times; likewise"),
    ("/proc/*/task/*/stat", "times; likewise"),
    ("/proc/*/task/*/status", "memory and switches; likewise"),
    ("/proc/*/task/*/sched", "times; likewise"),
];

/// The same as facts.
const MOVING_FACTS: &[&str] = &["kernel.tunables.vm.min_free_kbytes"];

/// Knobs that read what a process does by itself.
const MOVING_KNOBS: &[(&str, &str)] = &[("process-memory-nodes", "memory comes and goes")];

/// How often a difference is looked at again: somebody else's process may have been caught in the middle of its own change.
const LOOKS: usize = 3;

/// One look at it.
pub struct Whole {
    machine: Machine,
    files: BTreeMap<String, Vec<u8>>,
    settings: BTreeMap<Setting, String>,
    /// When each process began: a number that was given to another process since says nothing.
    starts: BTreeMap<u32, u64>,
}

/// Knob and target.
type Setting = (&'static str, String);

impl Whole {
    /// The machine as it is now.
    pub fn now() -> Self {
        let root = Root::recording(Root::live());
        let machine = Machine::read(&root);
        let mut settings = BTreeMap::new();
        for knob in knobs::ALL {
            let id = knob.about().id;
            if MOVING_KNOBS.iter().any(|(moving, _)| *moving == id) {
                continue;
            }
            for target in knob.targets(&root).unwrap_or_default() {
                if let Ok(value) = knob.read(&root, &target.id) {
                    settings.insert((id, target.id), value);
                }
            }
        }
        let capture = root.take_capture().unwrap();
        let files = capture.files().filter(|path| !MOVING.iter().any(|(moving, _)| is_like(path, moving)));
        let files = files.map(|path| (path.to_string(), capture.content(path).unwrap().to_vec())).collect();
        Self { machine, files, settings, starts: starts(&root) }
    }

    /// Fails, with what differs, unless the machine is now what it was then.
    pub fn assert_still_so(&self, when: &str) {
        let mut differing = Vec::new();
        for _ in 0..LOOKS {
            differing = self.differing(&Self::now());
            if differing.is_empty() {
                return;
            }
        }
        panic!("{when}\n{}", differing.join("\n"));
    }

    /// What differs, a line each. Processes come and go, so what only one of the two has is compared by the facts alone.
    fn differing(&self, now: &Self) -> Vec<String> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(300).collect::<String>();
        let is_same = |pid: Option<u32>| pid.is_none_or(|pid| self.starts.get(&pid) == now.starts.get(&pid));
        let facts = diff::between(&self.machine, &now.machine).unwrap().into_iter();
        let facts = facts.filter(|d| !MOVING_FACTS.contains(&d.fact.as_str()));
        let facts = facts.map(|d| format!("{}: {:?} -> {:?}", d.fact, d.before, d.after));
        let files = self.files.iter().filter_map(|(path, was)| {
            let is = now.files.get(path).filter(|is| *is != was && is_same(process_of_file(path)))?;
            Some(format!("{path}: {} -> {}", shown(was), shown(is)))
        });
        let settings = self.settings.iter().filter_map(|(setting, was)| {
            let is = now.settings.get(setting).filter(|is| *is != was && is_same(process_of(setting)))?;
            Some(format!("{} of {}: {was} -> {is}", setting.0, setting.1))
        });
        facts.chain(files).chain(settings).collect()
    }
}

/// When each process that runs began, clock ticks after boot.
fn starts(root: &Root) -> BTreeMap<u32, u64> {
    let pids = root.list("/proc").unwrap_or_default().into_iter().filter_map(|name| name.parse().ok());
    pids.filter_map(|pid| Some((pid, probe::identify(root, pid)?.start_time_ticks))).collect()
}

/// The process that a file of /proc is about.
fn process_of_file(path: &str) -> Option<u32> {
    path.strip_prefix("/proc/")?.split('/').next()?.parse().ok()
}

/// The process that a setting is of; `PID`, `PID/TID`.
fn process_of((knob, target): &Setting) -> Option<u32> {
    let of_a_process = knobs::find(knob).is_some_and(|knob| knob.about().may_set == MaySet::OwnProcesses);
    of_a_process.then(|| target.split('/').next()?.parse().ok()).flatten()
}

/// Whether a path is one of a pattern.
fn is_like(path: &str, pattern: &str) -> bool {
    let (mut parts, mut wanted) = (path.split('/'), pattern.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(of)) if of == "*" || of == part => {}
            _ => return false,
        }
    }
}
