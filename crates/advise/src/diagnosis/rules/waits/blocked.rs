//! The server waits for a disk or for a kernel lock.

use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `blocked`.
pub struct Blocked;

/// The wait is for a disk if tasks waited for I/O (PSI) for at least this share of the time in which the server was blocked.
const IO_SOME: f64 = 0.5;

static ABOUT: About = About {
    id: "blocked",
    title: "disk and kernel locks",
    costs: Costs::Blocked,
    docs: "Threads of the server are blocked in the kernel (state D), and not because memory is short: they wait for a write to become durable \
           (fsync), for a read that the page cache cannot serve, or for a kernel lock. Writeback by others makes fsync slow: the log of a database \
           waits behind a copy. I/O pressure (PSI) distinguishes a disk from a kernel lock. Look-alikes: swap and mapped files (major faults).",
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
                "Find out who writes (pinwise watch, iotop). Keep big writers off the disk of the server's log, limit what they can dirty (knobs \
                 dirty-bytes, dirty-background-bytes), or give the log a disk of its own"
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
