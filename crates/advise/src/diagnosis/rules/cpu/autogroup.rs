//! Nice values do not count between sessions.

use machine::wording::percent;

use super::busy_task::took;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `autogroup`.
pub struct AutogroupRule;

/// A task that has this many times what its nice value would give it is not limited by that value.
const BEYOND: f64 = 2.0;

static ABOUT: About = About {
    id: "autogroup",
    title: "autogroups",
    costs: Costs::CpuAccess,
    docs: "With autogrouping (kernel.sched_autogroup_enabled) each session competes for a CPU as one group, and nice values count only \
           within a session: a task with nice 19 in another session takes as much as the server. This applies to tasks in the root cgroup of \
           the cpu controller; under systemd, services have cgroups of their own, and weights count instead. Look-alikes: a task that has no \
           more than its nice value gives it, or a task of the same session that is not nice (busy-task).",
};

/// The weight of a nice value, relative to nice 0: each step is a factor of 1.25 (kernel/sched/core.c, `sched_prio_to_weight`).
fn weight(nice: i32) -> f64 {
    1.25f64.powi(-nice)
}

impl Rule for AutogroupRule {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let tunables = &scene.situation.machine.kernel.tunables;
        if tunables.get("kernel.sched_autogroup_enabled").is_none_or(|on| on != "1") {
            return Looked::DoesNotApply;
        }
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let server = scene.situation.pids.first().and_then(|pid| scene.task(*pid));
        let Some(own) = server.and_then(|task| task.autogroup) else { return Looked::DoesNotApply };
        let nice = server.and_then(|task| task.nice).unwrap_or(0);
        let mut causes = Vec::new();
        for (pid, took) in took(scene, false) {
            let Some(task) = took.worst.and_then(|worst| scene.task(worst.tid)) else { continue };
            let (Some(theirs), Some(their_nice), false) = (task.autogroup, task.nice, task.is_realtime())
            else {
                continue;
            };
            let share = scene.time.share(took.ns);
            let is_meant_to_give_way = theirs.id != own.id && their_nice > nice && theirs.nice <= own.nice;
            let had = took.ns / (took.ns + scene.time.had_ns()).max(1.0);
            let by_weight = weight(their_nice) / (weight(their_nice) + weight(nice));
            if share < MATTERS || !is_meant_to_give_way || had < BEYOND * by_weight + MATTERS {
                continue;
            }
            let claim = format!(
                "{} (process {pid}) has nice {their_nice}, which does not count: it is in another session, and autogrouping shares CPUs by session",
                task.comm
            );
            let words = format!("Make its whole session nice {their_nice}, or switch autogrouping off");
            let cause = Cause::seen(ABOUT.id, Subject::Process { pid }, share, claim)
                .because(format!("it took {} of the server's time", percent(share)))
                .figure("nice", f64::from(their_nice))
                .remedy(Remedy::set(words, "autogroup-nice", pid, their_nice))
                .remedy(Remedy::set("Switch autogrouping off", "autogroup", "machine", "off"));
            causes.push(cause);
        }
        Looked::of(causes)
    }
}
