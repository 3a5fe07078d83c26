//! The server waits for a disk, for memory or for a kernel lock.

use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `blocked`.
pub struct Blocked;

/// The wait is for what tasks of the machine waited for (PSI) for at least this share of the time in which the server was blocked.
const SOME: f64 = 0.5;

static ABOUT: About = About {
    id: "blocked",
    title: "disk and kernel locks",
    costs: Costs::Blocked,
    docs: "Threads of the server are blocked in the kernel (state D): they wait for a write to become durable (fsync), for a read that the page \
           cache cannot serve, or for a kernel lock. Writeback by others makes fsync slow: the log of a database waits behind a copy. I/O pressure \
           (PSI) distinguishes a disk from a kernel lock, but is that of the whole machine: if others wait for a disk all the time, a lock looks \
           like one. Not all waits for I/O are counted as such: those for a file system over the network or in user space (NFS, CIFS, FUSE), or for the \
           log of some file systems, may look like a lock. Look-alikes: swap and mapped files (major faults); a cgroup above its memory.high, whose \
           threads the kernel holds back in state D (pressure of memory without that of I/O).",
};

impl Rule for Blocked {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn gives_way_to(&self) -> &'static [&'static str] {
        &["swap", "page-cache"]
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(blocked_ns) = scene.time.blocked_ns else { return Looked::needs_account(&ABOUT) };
        let share = scene.time.share(blocked_ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        let is_io = is_io(scene, blocked_ns);
        let is_memory = is_io == Some(false) && lasted(scene, "memory some", blocked_ns) == Some(true);
        let claim = match is_io {
            Some(true) => {
                "The server waits in the kernel for I/O, most likely for a disk or a file system over the network"
            }
            Some(false) if is_memory => {
                "The server waits in the kernel, not for what the kernel counts as I/O, most likely for memory: tasks of the machine wait for that meanwhile"
            }
            Some(false) => {
                "The server waits in the kernel, but not for what the kernel counts as I/O: most likely for a kernel lock, or for a file system over \
                 the network or in user space (NFS, CIFS, FUSE)"
            }
            None => "The server waits in the kernel for a disk, a file system over the network or a lock",
        };
        let mut cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("blocked (state D) for {} of the time in which it tried to run", percent(share)))
            .figure("blocked_share", share);
        if let Some(some) = some(scene, "io some") {
            cause = cause
                .because(format!("tasks waited for I/O for {} of the window (PSI)", percent(some)))
                .figure("io_some_share", some);
        }
        if let Some(some) = some(scene, "memory some").filter(|_| is_memory) {
            cause = cause
                .because(format!("tasks waited for memory for {} of the window (PSI)", percent(some)))
                .figure("memory_some_share", some);
        }
        Looked::Found(vec![cause.remedy(Remedy::by_hand(remedy(is_io, is_memory)))])
    }
}

fn remedy(is_io: Option<bool>, is_memory: bool) -> &'static str {
    match is_io {
        Some(false) if is_memory => {
            "Compare memory.current with memory.high of its cgroup and of those above: above it, the kernel makes threads wait. Raise it, or make \
             the server keep less; if it is not that, pinwise watch --process PID --format folded shows the stacks in which it waits"
        }
        Some(false) => {
            "pinwise watch --process PID --format folded shows the stacks in which it waits. With rwsem or mutex, it is a lock: the callers say which. \
             With nfs, rpc, cifs or fuse, look at the server of that file system; with jbd2, xlog or btrfs, at the disk of that file system, \
             whose log it waits for; with handle_userfault, at the process that brings the page (live migration, CRIU)"
        }
        None => {
            "pinwise watch --process PID --format folded shows the stacks in which it waits: for a disk, find out who else uses it (pinwise watch, \
             iotop); for a file system over the network, look at its server; for a lock, the callers say which"
        }
        Some(true) => {
            "Find out who writes (pinwise watch, iotop). Keep big writers off the disk of the server's log, limit what they can dirty (knobs \
             dirty-bytes, dirty-background-bytes), or give the log a disk of its own. If its files are on a network file system, look at the \
             server of that (nfsiostat)"
        }
    }
}

/// Share of the window in which tasks of the machine waited for a resource (PSI); `None` where it was not read.
fn some(scene: &Scene<'_>, row: &str) -> Option<f64> {
    scene.system_per_s("pressure", row).map(|us| us / 1e6)
}

/// Whether they waited for it for so long that it may be what the server was blocked for; `None` where it was not read, and where it depends on
/// whether the server's threads were blocked at the same time, which counts once for all of them.
fn lasted(scene: &Scene<'_>, row: &str, blocked_ns: f64) -> Option<bool> {
    let some = some(scene, row)?;
    if some >= SOME * scene.time.in_cpus(blocked_ns).min(1.0) {
        return Some(true);
    }
    let threads = scene.situation.account.iter().flat_map(|account| &account.threads);
    let longest_ns = threads.map(|thread| thread.blocked.total_ns).max().unwrap_or(0) as f64;
    (some < SOME * scene.time.in_cpus(longest_ns.min(blocked_ns))).then_some(false)
}

/// Whether time in which the server was blocked was for a disk, by the pressure of I/O meanwhile; `None` where that does not show it.
pub(in crate::diagnosis) fn is_io(scene: &Scene<'_>, blocked_ns: f64) -> Option<bool> {
    lasted(scene, "io some", blocked_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// What is said of a server that is blocked for a fifth of the window while tasks wait for I/O and for memory for so long, us.
    fn cause(io_us: u64, memory_us: u64) -> Cause {
        let seen = situation().blocked(SECOND / 5, 0).counted("pressure", "io some", io_us);
        let seen = seen.counted("pressure", "memory some", memory_us);
        match Blocked.examine(&Scene::of(&seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn threads_that_are_held_back_at_memory_high_wait_for_no_lock() {
        let memory = cause(0, 190_000);
        assert!(memory.claim.contains("for memory") && !memory.claim.contains("lock"), "{memory:?}");
        assert!(memory.remedies[0].words.contains("memory.high"), "{memory:?}");
        assert!(cause(0, 20_000).claim.contains("lock"), "others waited for memory now and then");
    }

    #[test]
    fn threads_that_are_blocked_at_the_same_time_count_once() {
        let claim = |io_us| {
            let mut seen = situation().blocked(SECOND / 5, 0).counted("pressure", "io some", io_us);
            let threads = &mut seen.account.as_mut().unwrap().threads;
            let first = threads[0].clone();
            threads.extend((1..8).map(|more| {
                let mut thread = first.clone();
                thread.tid += more;
                thread
            }));
            match Blocked.examine(&Scene::of(&seen).unwrap()) {
                Looked::Found(mut causes) => causes.remove(0).claim,
                other => panic!("{other:?}"),
            }
        };
        assert!(claim(200_000).contains("for a disk, a file system"), "eight wait for one commit");
        assert!(claim(50_000).contains("most likely for a kernel lock"), "too little for any of them");
        assert!(claim(600_000).contains("most likely for a disk"));
    }

    #[test]
    fn a_file_system_over_the_network_may_look_like_a_lock() {
        let lock = cause(0, 0);
        assert!(lock.claim.contains("a kernel lock") && lock.claim.contains("NFS"), "{lock:?}");
        assert!(lock.remedies[0].words.contains("nfs, rpc"), "{lock:?}");
    }

    #[test]
    fn pressure_of_io_is_that_of_the_machine_and_makes_a_disk_likely() {
        let disk = cause(200_000, 190_000);
        assert!(disk.claim.contains("most likely for a disk"), "{disk:?}");
        assert!(!disk.figures.iter().any(|figure| figure.name == "memory_some_share"));
    }
}
