//! How the disk scheduler ranks the requests of a process.

use super::process_affinity::{chosen, joined, processes};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target};
use crate::{Act, Class, Fault, IoPriority, Root};

/// The knob.
#[derive(Debug)]
pub struct IoPriorityKnob;

static ABOUT: About = About {
    id: "io-priority",
    title: "Rank of a process's disk requests",
    docs: "idle lets a backup or a log shipper read only when nobody else asks; real-time goes before all others. Threads \
           and children that are started later inherit it.",
    unit: "none, idle, best-effort:LEVEL, real-time:LEVEL; LEVEL is 0 (first) to 7",
    scope: "one process number with all its threads, or PID/TID for one thread",
    owner: "the process itself, systemd (IOSchedulingClass=, IOSchedulingPriority=), ionice in its start script, ananicy",
    owners: &[OwnerId::Ananicy],
    risk: "Counts only with the schedulers bfq and mq-deadline (/sys/block/*/queue/scheduler), and for reads and direct \
           writes: what writeback writes has the rank of its kworker. A real-time reader starves the others.",
    may_set: MaySet::OwnProcesses,
    source: "ioprio_set(2); Documentation/block/ioprio.rst",
};

impl Knob for IoPriorityKnob {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        processes(root)
    }

    /// The value; those of its threads joined by ` | ` where they differ, which no change takes.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let mut values = Vec::new();
        for thread in chosen(root, &ABOUT, target)? {
            let fact = format!("{}{}", crate::root::IO_PRIORITY, thread.tid);
            let raw = match root.fact(&fact) {
                // It ended while we looked; a root that is no running system does not know it of any.
                Err(e) if e.is_absent() && root.is_live() => continue,
                raw => raw?,
            };
            let priority = raw.parse().ok().and_then(IoPriority::from_raw).ok_or_else(|| {
                let cause = format!("number {raw} has a class or a hint that has no name here");
                Fault::new(Class::MachineLacks, &fact, cause, "leave this thread's priority alone")
            })?;
            values.push(priority.to_string());
        }
        Ok(joined(values))
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let threads = chosen(root, &ABOUT, target)?;
        let priority = parse(value).ok_or_else(|| {
            let (object, cause) =
                (format!("{} of {target}", ABOUT.id), format!("'{value}' is not a priority"));
            Fault::new(Class::Usage, object, cause, format!("write {}", ABOUT.unit))
        })?;
        Ok(threads.into_iter().map(|thread| Act::SetIoPriority { thread, priority }).collect())
    }
}

/// A rank of disk requests in the form of plans: `best-effort:4`; `None` for what is none.
pub fn parse(value: &str) -> Option<IoPriority> {
    let level = |text: &str| text.parse().ok().filter(|level| *level <= 7u8);
    match value.trim() {
        "none" => Some(IoPriority::None),
        "idle" => Some(IoPriority::Idle),
        text => match text.split_once(':')? {
            ("real-time", text) => level(text).map(|level| IoPriority::RealTime { level }),
            ("best-effort", text) => level(text).map(|level| IoPriority::BestEffort { level }),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn root(raw: u16) -> Root {
        let stat = "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        Root::from_tree(Tree::new().file("/proc/7/task/7/stat", stat))
            .with_fact("io_priority 7", raw.to_string())
    }

    #[test]
    fn values_are_those_that_a_change_takes() {
        for value in ["none", "idle", "best-effort:7", "real-time:0"] {
            let acts = IoPriorityKnob.change(&root(0), "7/7", value).unwrap();
            let [Act::SetIoPriority { priority, .. }] = acts[..] else { panic!("{acts:?}") };
            assert_eq!(IoPriorityKnob.read(&root(priority.to_raw()), "7").unwrap(), value);
        }
        for value in ["", "best-effort", "best-effort:8", "idle:1", "real-time:-1", "none | idle"] {
            let fault = IoPriorityKnob.change(&root(0), "7", value).unwrap_err();
            assert!(fault.remedy.contains("LEVEL"), "{fault}");
        }
    }

    #[test]
    fn what_has_no_name_and_what_cannot_be_known_is_reported() {
        assert!(IoPriorityKnob.read(&root(0x4010), "7").unwrap_err().cause.contains("16400"));
        let stat = "8 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        let captured = Root::from_tree(Tree::new().file("/proc/8/task/8/stat", stat));
        assert!(IoPriorityKnob.read(&captured, "8").is_err());
    }

    #[test]
    fn the_running_system_knows_it_of_this_process() {
        let pid = std::process::id().to_string();
        assert!(parse(&IoPriorityKnob.read(&Root::live(), &pid).unwrap()).is_some());
    }
}
