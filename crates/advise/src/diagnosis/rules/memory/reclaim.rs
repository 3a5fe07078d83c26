//! The server has to free memory before it gets any.

use machine::wording::{per_second, percent};

use super::swap::is_full;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `reclaim`.
pub struct Reclaim;

static ABOUT: About = About {
    id: "reclaim",
    title: "reclaim",
    costs: Costs::OwnTime,
    docs: "The server's own threads have to free memory before they get any (direct reclaim), because their cgroup is at its limit (memory.max, \
           memory.high) or because the machine is short of memory. It shows up as kernel time and stalls, long before anything is swapped or killed; \
           page cache that was just read goes first. Look-alikes: waiting for swap (swap) or for files to be read again (page-cache).",
};

impl Rule for Reclaim {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let ns: f64 = account.threads.iter().map(|thread| thread.reclaim.total_ns as f64).sum();
        let times: u64 = account.threads.iter().map(|thread| thread.reclaim.count).sum();
        let share = scene.time.share(ns);
        if share < MATTERS {
            return Looked::Fine;
        }
        let (subject, why, remedy) = match scene.situation.memory.iter().find(|memory| is_full(memory)) {
            Some(memory) => (
                Subject::Cgroup { path: memory.cgroup.clone() },
                format!("cgroup {} reached its memory limit of {} MiB", memory.cgroup, memory.limit_bytes >> 20),
                format!("Raise the limit ({}): page cache counts towards it", memory.file),
            ),
            None => (
                Subject::Machine,
                "the machine is short of free memory".to_string(),
                "Find out who uses the memory. Raise vm.min_free_kbytes, so the kernel frees memory earlier, or give the machine more".to_string(),
            ),
        };
        let claim = format!("The server has to free memory before it gets any: {why}");
        let cause = Cause::seen(ABOUT.id, subject, share, claim)
            .because(format!(
                "reclaim took {} of its time, {}",
                percent(share),
                per_second(scene.per_s(times))
            ))
            .figure("reclaims_per_s", scene.per_s(times))
            .remedy(Remedy::by_hand(remedy));
        Looked::Found(vec![cause])
    }
}
