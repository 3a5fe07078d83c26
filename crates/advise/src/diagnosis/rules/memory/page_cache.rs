//! The server waits for files that it maps to be read.

use machine::wording::{percent, things_per_second};

use super::swap::{blocked_by_faults, is_full};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `page-cache`.
pub struct PageCache;

/// Any program may have fewer major faults a second than this.
const FEW_PER_S: f64 = 10.0;

static ABOUT: About = About {
    id: "page-cache",
    title: "mapped files",
    costs: Costs::Blocked,
    docs: "Page faults of the server have to read, and most of them not from swap: files that it maps, including its own program, do not stay in the \
           page cache. Near a memory limit, the cache is thrown out and read again (thrashing). Right after the server or the host has started, it \
           is only warming up. Look-alikes: swap; reads and fsync by system call (blocked), which are not page faults: a thread that is \
           blocked much more often than it has such faults waits for those.",
};

impl Rule for PageCache {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let (Some(blocked_ns), Some(faults)) = (scene.time.blocked_ns, scene.major_faults()) else {
            return Looked::needs_account(&ABOUT);
        };
        let share = scene.time.share(blocked_ns);
        let paged_in = scene.swapped_in_pages();
        let per_s = scene.per_s(faults);
        if share < MATTERS || per_s < FEW_PER_S {
            return Looked::Fine;
        }
        if let Some(odd) = scene.why_not_counted("pswpin") {
            return Looked::without(&ABOUT, odd);
        }
        if paged_in.unwrap_or(0).saturating_mul(2) >= faults {
            return Looked::Fine;
        }
        let cost = blocked_by_faults(scene).filter(|cost| *cost >= MATTERS);
        let Some(cost) = cost else { return Looked::Fine };
        let full = scene.situation.memory.iter().find(|memory| is_full(memory));
        let (subject, claim, remedy) = match full {
            Some(memory) => (
                Subject::Cgroup { path: memory.cgroup.clone() },
                format!(
                    "Mapped files do not stay in memory: cgroup {} reached its limit of {} MiB",
                    memory.cgroup,
                    memory.limit_bytes >> 20
                ),
                format!("Raise the limit ({})", memory.file),
            ),
            None => (
                Subject::Server,
                "The server waits for mapped files to be read: it is warming up, or they do not fit into memory"
                    .to_string(),
                "Check again after it has run for a while. If it still reads, give it more memory, or lock what it needs (mlock)"
                    .to_string(),
            ),
        };
        let cause = Cause::seen(ABOUT.id, subject, cost, claim)
            .because(format!(
                "blocked for {} of its time; {}, most of them not from swap",
                percent(share),
                things_per_second(per_s, "major faults")
            ))
            .figure("major_faults_per_s", per_s)
            .remedy(Remedy::by_hand(remedy));
        Looked::Found(vec![cause])
    }
}
