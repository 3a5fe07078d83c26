//! The server waits for a disk, or for a lock of the kernel.

use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `blocked`.
pub struct Blocked;

/// From this share of the window on in which tasks waited for I/O (PSI), the wait is for a disk.
const IO_SOME: f64 = 0.5;

static ABOUT: About = About {
    id: "blocked",
    title: "disk and kernel locks",
    costs: Costs::Blocked,
    docs: "Threads of the server are blocked in the kernel (state D) and not because memory is short: a write that is made durable (fsync), a \
           read that the page cache does not have, or a lock of the kernel. Writeback of others makes fsync slow: the log of a database \
           waits behind a copy. Pressure of I/O (PSI) distinguishes a disk from a lock of the kernel. Look-alikes: swap and mapped files (major \
           faults).",
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
        let claim = match is_io {
            Some(true) => "The server waits for a disk",
            Some(false) => {
                "The server waits in the kernel for something other than I/O, most likely a kernel lock"
            }
            None => "The server waits in the kernel for a disk or a lock",
        };
        let mut cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("blocked (state D) for {} of the time in which it tried to run", percent(share)))
            .figure("blocked_share", share);
        if let Some(some) = io_some(scene) {
            cause = cause
                .because(format!("tasks waited for I/O for {} of the window (PSI)", percent(some)))
                .figure("io_some_share", some);
        }
        let remedy = match is_io {
            Some(false) => {
                "Find the lock: pinwise watch --process PID --format folded shows the stacks in which it waits"
            }
            _ => {
                "Find out who writes (pinwise watch, iotop): keep big writers off the disk of its log, bound what they dirty (knobs dirty-bytes, \
                 dirty-background-bytes), or give the log a disk of its own"
            }
        };
        Looked::Found(vec![cause.remedy(Remedy::by_hand(remedy))])
    }
}

/// Share of the window in which tasks of the machine waited for I/O (PSI); `None` where it was not read.
fn io_some(scene: &Scene<'_>) -> Option<f64> {
    scene.system_per_s("pressure", "io some").map(|us| us / 1e6)
}

/// Whether time in which the server was blocked was for a disk, by the pressure of I/O meanwhile; `None` where that was not read.
pub(in crate::diagnosis) fn is_io(scene: &Scene<'_>, blocked_ns: f64) -> Option<bool> {
    let blocked_of_window = scene.time.in_cpus(blocked_ns);
    io_some(scene).map(|some| some >= IO_SOME * blocked_of_window.min(1.0))
}
