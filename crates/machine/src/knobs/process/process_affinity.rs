//! Which CPUs a running process may use.

use crate::knobs::{About, Knob, MaySet, OwnerId, Target, cpus, no_such};
use crate::procfs::{pid_stat, pid_status};
use crate::{Act, Class, Fault, ProcessRef, Root, ThreadRef};

/// The knob.
#[derive(Debug)]
pub struct ProcessAffinity;

static ABOUT: About = About {
    id: "process-affinity",
    title: "CPUs that every thread of a process may use",
    docs: "Keeps a server near its memory, its network card and away from interrupts and busy SMT siblings. Threads and \
           children that it starts later inherit the set; memory that it has already touched stays where it is.",
    unit: "CPU list",
    scope: "one process number, with all threads that it has at the moment",
    owner: "the process itself, systemd (CPUAffinity=), taskset in its start script, libvirt (vcpupin), kubelet (static \
            CPU manager), slurm, numad, tuned ([scheduler]), tuna, Open vSwitch for its polling threads",
    owners: &[
        OwnerId::Libvirtd,
        OwnerId::Virtqemud,
        OwnerId::Kubelet,
        OwnerId::Slurmd,
        OwnerId::Numad,
        OwnerId::Tuned,
        OwnerId::Tuna,
        OwnerId::OpenVSwitch,
    ],
    risk: "Threads that a program pinned by itself lose their places. The kernel's own per-CPU threads refuse.",
    may_set: MaySet::OwnProcesses,
    source: "sched_setaffinity(2); proc_pid_status(5), Cpus_allowed_list",
};

impl Knob for ProcessAffinity {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        processes(root)
    }

    /// The list; the lists of its threads joined by ` | ` where they differ, which no change takes.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        values(root, &threads(root, &ABOUT, target)?, "status", |path, text| {
            let allowed = pid_status::parse(text).ok().and_then(|status| status.cpus_allowed());
            let malformed =
                || Fault::new(Class::Storage, path, "has no Cpus_allowed_list", "mount /proc anew");
            Ok(allowed.ok_or_else(malformed)?.to_list())
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let threads = threads(root, &ABOUT, target)?;
        let cpus = cpus(root, &ABOUT, target, value)?;
        if cpus.is_empty() {
            let object = format!("{} of {target}", ABOUT.id);
            return Err(Fault::new(Class::Usage, object, "the set is empty", "name at least one CPU"));
        }
        Ok(threads.into_iter().map(|thread| Act::SetAffinity { thread, cpus: cpus.clone() }).collect())
    }
}

/// Every process that `root` shows, with its name.
pub(in crate::knobs) fn processes(root: &Root) -> Result<Vec<Target>, Fault> {
    let names = match root.list("/proc") {
        Err(e) if e.is_absent() => return Ok(Vec::new()),
        names => names?,
    };
    let pids = names.into_iter().filter(|name| number(name).is_some());
    let named = pids.filter_map(|id| {
        let text = root.read(format!("/proc/{id}/stat")).ok()?;
        Some(Target { what: pid_stat::parse(&text).ok()?.comm.to_string(), id })
    });
    Ok(named.collect())
}

/// The threads of a process, each distinguished from later ones of its number.
pub(in crate::knobs) fn threads(root: &Root, about: &About, pid: &str) -> Result<Vec<ThreadRef>, Fault> {
    let none = || no_such(about, pid, "there is no such process");
    let number = number(pid).ok_or_else(none)?;
    let names = root
        .list(format!("/proc/{number}/task"))
        .map_err(|e| if e.is_absent() { none() } else { e.into() })?;
    let mut threads = Vec::new();
    for tid in names.iter().filter_map(|name| name.parse().ok()) {
        let path = format!("/proc/{number}/task/{tid}/stat");
        let text = match root.read(&path) {
            Err(e) if e.is_absent() => continue,
            text => text?,
        };
        let stat = pid_stat::parse(&text)
            .map_err(|why| Fault::new(Class::Storage, &path, why, "mount /proc anew"))?;
        threads.push(ThreadRef { pid: number, tid, start_time_ticks: stat.start_time_ticks });
    }
    if threads.is_empty() { Err(none()) } else { Ok(threads) }
}

/// All threads of `PID`, or the one of `PID/TID`.
pub(in crate::knobs) fn chosen(root: &Root, about: &About, target: &str) -> Result<Vec<ThreadRef>, Fault> {
    let Some((pid, tid)) = target.split_once('/') else { return threads(root, about, target) };
    let mut threads = threads(root, about, pid)?;
    threads.retain(|thread| thread.tid.to_string() == tid);
    if threads.is_empty() {
        Err(no_such(about, target, "the process has no such thread"))
    } else {
        Ok(threads)
    }
}

/// A process, distinguished from later ones of its number.
pub(in crate::knobs) fn process(root: &Root, about: &About, pid: &str) -> Result<ProcessRef, Fault> {
    let threads = threads(root, about, pid)?;
    let first = threads.into_iter().find(|thread| thread.tid == thread.pid);
    let first = first.ok_or_else(|| no_such(about, pid, "it is just ending"))?;
    Ok(ProcessRef { pid: first.pid, start_time_ticks: first.start_time_ticks })
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The value that each thread's file in /proc/PID/task/TID holds, joined where they differ. `value` has the file's path and text.
pub(in crate::knobs) fn values(
    root: &Root,
    threads: &[ThreadRef],
    file: &str,
    value: impl Fn(&str, &str) -> Result<String, Fault>,
) -> Result<String, Fault> {
    let mut values = Vec::with_capacity(threads.len());
    for thread in threads {
        let path = format!("/proc/{}/task/{}/{file}", thread.pid, thread.tid);
        match root.read(&path) {
            // It ended while we looked.
            Err(e) if e.is_absent() => {}
            text => values.push(value(&path, &text?)?),
        }
    }
    Ok(joined(values))
}

/// One value when all are the same, each different one otherwise.
pub(in crate::knobs) fn joined(mut values: Vec<String>) -> String {
    values.sort();
    values.dedup();
    values.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn stat(id: u32, start: u64) -> String {
        format!("{id} (my (server)) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 {start} 0 0 0")
    }

    fn root() -> Root {
        let status = |list: &str| format!("Name:\tserver\nCpus_allowed_list:\t{list}\n");
        Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/cpu/online", "0-3\n")
                .file("/proc/7/stat", stat(7, 100))
                .file("/proc/7/task/7/stat", stat(7, 100))
                .file("/proc/7/task/7/status", status("0-3"))
                .file("/proc/7/task/9/stat", stat(9, 120))
                .file("/proc/7/task/9/status", status("2"))
                .file("/proc/8/stat", "garbage")
                .file("/proc/8/task/8/stat", "garbage")
                .dir("/proc/sys"),
        )
    }

    #[test]
    fn every_thread_is_moved_and_distinguished_by_its_start() {
        assert_eq!(
            ProcessAffinity.targets(&root()).unwrap(),
            [Target { id: "7".into(), what: "my (server)".into() }]
        );
        assert_eq!(ProcessAffinity.read(&root(), "7").unwrap(), "0-3 | 2");
        let acts = ProcessAffinity.change(&root(), "7", "1").unwrap();
        let thread = |tid, start_time_ticks| ThreadRef { pid: 7, tid, start_time_ticks };
        let cpus = crate::CpuSet::single(1);
        let act = |thread| Act::SetAffinity { thread, cpus: cpus.clone() };
        assert_eq!(acts, [act(thread(7, 100)), act(thread(9, 120))]);
    }

    #[test]
    fn processes_that_are_not_there_and_malformed_files_are_reported() {
        assert!(ProcessAffinity.change(&root(), "10", "1").unwrap_err().cause.contains("no such process"));
        assert!(
            ProcessAffinity.change(&root(), "8", "1").unwrap_err().object.contains("/proc/8/task/8/stat")
        );
        assert!(ProcessAffinity.change(&root(), "7", "").unwrap_err().cause.contains("empty"));
        assert!(ProcessAffinity.change(&root(), "7", "4").unwrap_err().cause.contains("CPU 4"));
    }
}
