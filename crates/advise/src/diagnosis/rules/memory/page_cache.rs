//! The server waits for files that it maps to be read.

use machine::Missing;
use machine::wording::{percent, things_per_second};

use super::swap::{blocked_by_faults, full_limit, is_zswap_used, most_came_at_once};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::waits::blocked;
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
           is only warming up. If tasks waited little for I/O meanwhile (PSI), the faults wait for something else: for a lock of the memory map, or for \
           pages that another process or host brings (userfaultfd in live migration and CRIU, FUSE, network file systems). Look-alikes: swap; zswap, \
           whose pages the kernel does not count as pages from swap; reads and fsync by system call (blocked), which are not page faults: a thread \
           that is blocked much more often than it has such faults waits for those.",
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
        if is_zswap_used(scene) && most_came_at_once(scene) {
            let why = "zswap is on, and most major faults did not wait: whether they read files or pages of zswap is not counted, nor is what \
                       blocks the server (pinwise watch --process PID --format folded shows the stacks in which it waits)";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let (subject, claim, remedy) = what_is_read(scene, blocked_ns);
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

/// What the cause is about, what the faults wait for, and what can be done.
fn what_is_read(scene: &Scene<'_>, blocked_ns: f64) -> (Subject, String, String) {
    // Whoever waits for a page of a file that a disk reads waits for I/O, by the kernel's count (mm/filemap.c).
    if blocked::is_io(scene, blocked_ns) == Some(false) {
        return (
            Subject::Server,
            "The server waits in page faults, but not for what the kernel counts as I/O: most likely for pages that another process or host brings \
             (userfaultfd, FUSE, a network file system), or for a lock of its memory map"
                .to_string(),
            "pinwise watch --process PID --format folded shows the stacks in which it waits: with handle_userfault, a live migration or CRIU brings \
             the pages; with fuse, nfs or cifs, look at the server of that file system; with rwsem, its threads change the memory map meanwhile"
                .to_string(),
        );
    }
    match full_limit(scene) {
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
    }
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A server that is blocked for a fifth of the window with 500 major faults, none from swap.
    fn faulting() -> Situation {
        situation().blocked(SECOND / 5, 500).swapped_in(0)
    }

    fn look(seen: &Situation) -> Looked {
        PageCache.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn page_faults_that_wait_for_no_io_do_not_read_a_disk() {
        let claim = |io_us| match look(&faulting().counted("pressure", "io some", io_us)) {
            Looked::Found(mut causes) => causes.remove(0).claim,
            other => panic!("{other:?}"),
        };
        assert!(claim(0).contains("userfaultfd") && !claim(0).contains("warming up"));
        assert!(claim(200_000).contains("mapped files to be read"));
    }

    #[test]
    fn pages_from_zswap_are_not_taken_for_files() {
        let mut seen = faulting();
        seen.machine.kernel.tunables.insert("swap.zswap".into(), "Y".into());
        seen.machine.memory.swap_total_bytes = Some(1 << 30);
        seen.machine.memory.swap_free_bytes = Some(1 << 29);
        assert!(matches!(look(&seen), Looked::CannotTell(_)), "it was blocked once, with 500 faults");
        seen.account.as_mut().unwrap().threads[0].blocked.count = 500;
        assert!(matches!(look(&seen), Looked::Found(_)));
    }
}
