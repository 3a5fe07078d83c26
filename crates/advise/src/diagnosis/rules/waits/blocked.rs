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
           like one. Look-alikes: swap and mapped files (major faults); a cgroup above its memory.high, whose threads the kernel holds back in \
           state D (pressure of memory without that of I/O).",
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
            Some(true) => "The server waits in the kernel, most likely for a disk",
            Some(false) if is_memory => {
                "The server waits in the kernel, not for I/O, most likely for memory: tasks of the machine wait for that meanwhile"
            }
            Some(false) => {
                "The server waits in the kernel for something other than I/O, most likely a kernel lock"
            }
            None => "The server waits in the kernel for a disk or a lock",
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
            "Find the lock: pinwise watch --process PID --format folded shows the stacks in which it waits"
        }
        _ => {
            "Find out who writes (pinwise watch, iotop). Keep big writers off the disk of the server's log, limit what they can dirty (knobs \
             dirty-bytes, dirty-background-bytes), or give the log a disk of its own"
        }
    }
}

/// Share of the window in which tasks of the machine waited for a resource (PSI); `None` where it was not read.
fn some(scene: &Scene<'_>, row: &str) -> Option<f64> {
    scene.system_per_s("pressure", row).map(|us| us / 1e6)
}

/// Whether they waited for it for so long that it may be what the server was blocked for; `None` where it was not read.
fn lasted(scene: &Scene<'_>, row: &str, blocked_ns: f64) -> Option<bool> {
    let blocked_of_window = scene.time.in_cpus(blocked_ns);
    some(scene, row).map(|some| some >= SOME * blocked_of_window.min(1.0))
}

/// Whether time in which the server was blocked was for a disk, by the pressure of I/O meanwhile; `None` where that was not read.
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
    fn pressure_of_io_is_that_of_the_machine_and_makes_a_disk_likely() {
        let disk = cause(200_000, 190_000);
        assert!(disk.claim.contains("most likely for a disk"), "{disk:?}");
        assert!(!disk.figures.iter().any(|figure| figure.name == "memory_some_share"));
    }
}
