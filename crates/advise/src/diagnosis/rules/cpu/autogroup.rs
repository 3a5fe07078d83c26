//! Nice values do not count between sessions.

use machine::Missing;
use machine::processes::Task;
use machine::wording::percent;

use super::busy_task::{Took, is_idle, took};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `autogroup`.
pub struct AutogroupRule;

/// A task that has this many times what its nice value would give it is not limited by that value.
const BEYOND: f64 = 2.0;
/// Weight of a task of policy idle, whatever its nice value, relative to nice 0 (kernel/sched/sched.h, `WEIGHT_IDLEPRIO`).
const IDLE_WEIGHT: f64 = 3.0 / 1024.0;
/// The largest nice value.
const NICEST: i32 = 19;

static ABOUT: About = About {
    id: "autogroup",
    title: "autogroups",
    costs: Costs::CpuAccess,
    docs: "With autogrouping (kernel.sched_autogroup_enabled) each session competes for a CPU as one group, and nice values and policy idle \
           count only within a session: a task with nice 19 in another session takes as much as the server. This applies to tasks in the root \
           cgroup of the cpu controller; under systemd, services have cgroups of their own, and weights count instead: if the two are in different \
           cgroups, the rule cannot tell. Look-alikes: a task that has no more than its nice value gives it, or a task of the same session that is \
           not nice (busy-task).",
};

/// The weight of a task, relative to nice 0: each step of nice is a factor of 1.25 (kernel/sched/core.c, `sched_prio_to_weight`).
fn weight(task: &Task) -> Option<f64> {
    if is_idle(task) { Some(IDLE_WEIGHT) } else { task.nice.map(|nice| 1.25f64.powi(-nice)) }
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
        let Some(server) = server.filter(|task| task.autogroup.is_some()) else {
            return Looked::DoesNotApply;
        };
        let (mut causes, mut unclear) = (Vec::new(), None);
        for (pid, took) in took(scene, false) {
            let Some(task) = took.worst.and_then(|worst| scene.task(worst.tid)) else { continue };
            if !is_beyond_its_weight(scene, server, task, &took) {
                continue;
            }
            match other_cgroup(server, task) {
                None => causes.push(cause(scene, pid, task, &took)),
                Some(path) => {
                    unclear.get_or_insert_with(|| {
                        format!(
                            "{} (process {pid}) is meant to give way and does not, but is in another cgroup than the server ({path}): if the cpu \
                             controller separates the two, the weights of their cgroups count (busy-task), and not those of their sessions",
                            task.comm
                        )
                    });
                }
            }
        }
        match unclear.filter(|_| causes.is_empty()) {
            Some(why) => Looked::CannotTell(Missing::new(ABOUT.title, why)),
            None => Looked::of(causes),
        }
    }
}

/// Whether a task of another session is meant to give way to the server, and has far more of the CPUs than its weight gives it.
fn is_beyond_its_weight(scene: &Scene<'_>, server: &Task, task: &Task, took: &Took<'_>) -> bool {
    let (Some(own), Some(theirs), Some(their_weight), false) =
        (server.autogroup, task.autogroup, weight(task), task.is_realtime())
    else {
        return false;
    };
    let own_weight = weight(server).unwrap_or(1.0);
    let is_meant_to_give_way = theirs.id != own.id && their_weight < own_weight && theirs.nice <= own.nice;
    let had = took.ns / (took.ns + scene.time.had_ns()).max(1.0);
    let by_weight = their_weight / (their_weight + own_weight);
    scene.time.share(took.ns) >= MATTERS && is_meant_to_give_way && had >= BEYOND * by_weight + MATTERS
}

/// The cgroup of a task if it is another one than the server's. In one cgroup nice values count, unless autogrouping puts sessions apart there.
fn other_cgroup<'a>(server: &Task, task: &'a Task) -> Option<&'a str> {
    let (own, theirs) = (server.cgroup.as_deref()?, task.cgroup.as_deref()?);
    (own != theirs).then_some(theirs)
}

fn cause(scene: &Scene<'_>, pid: u32, task: &Task, took: &Took<'_>) -> Cause {
    let share = scene.time.share(took.ns);
    let nice = task.nice.filter(|_| !is_idle(task));
    let what = nice.map_or("policy idle".to_string(), |nice| format!("nice {nice}"));
    let claim = format!(
        "{} (process {pid}) has {what}, which does not count: it is in another session, and autogrouping shares CPUs by session",
        task.comm
    );
    let of_session = nice.unwrap_or(NICEST);
    // The kernel looks at the switch when a task is started or changes its group (kernel/sched/autogroup.h).
    let off = format!(
        "Switch autogrouping off and start {} again: what runs already stays in the group of its session",
        task.comm
    );
    Cause::seen(ABOUT.id, Subject::Process { pid }, share, claim)
        .because(format!("it took {} of the server's time", percent(share)))
        .figure("nice", f64::from(of_session))
        .remedy(Remedy::set(
            format!("Make its whole session nice {of_session}"),
            "autogroup-nice",
            pid,
            of_session,
        ))
        .remedy(Remedy::set(off, "autogroup", "machine", "off"))
}

#[cfg(test)]
mod tests {
    use machine::processes::Autogroup;
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, SituationBuilder, situation};

    /// The server, and a task of another session with nice 19 that takes a fifth of a second from it.
    fn beside_a_nice_task() -> Situation {
        let mut seen = situation().taken_by("batch", 8, false, SECOND / 5);
        let task = |tid, nice, id| {
            let autogroup = Some(Autogroup { id, nice: 0 });
            (tid, Task { tid, comm: "batch".into(), nice: Some(nice), autogroup, ..Task::default() })
        };
        seen.tasks = [task(SERVER, 0, 1), task(8, 19, 2)].into();
        seen.machine.kernel.tunables.insert("kernel.sched_autogroup_enabled".into(), "1".into());
        seen
    }

    fn look(seen: &Situation) -> Looked {
        AutogroupRule.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn what_runs_already_is_not_changed_by_the_switch() {
        let Looked::Found(causes) = look(&beside_a_nice_task()) else { panic!("not found") };
        let [session, off] = &causes[0].remedies[..] else { panic!("{causes:?}") };
        assert_eq!(session.words, "Make its whole session nice 19");
        assert!(off.words.contains("start batch again"), "{}", off.words);
    }

    #[test]
    fn policy_idle_does_not_count_between_sessions_either() {
        let mut seen = beside_a_nice_task();
        let task = seen.tasks.get_mut(&8).unwrap();
        (task.policy, task.nice) = (Some("idle".into()), Some(0));
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.contains("has policy idle, which does not count"), "{causes:?}");
        assert_eq!(causes[0].remedies[0].setting.as_ref().unwrap().value, "19");
        // Batch has the weight of its nice value.
        seen.tasks.get_mut(&8).unwrap().policy = Some("batch".into());
        assert_eq!(look(&seen), Looked::Fine);
    }

    #[test]
    fn between_cgroups_their_weights_may_count() {
        let mut seen = beside_a_nice_task();
        let mut put = |tid: u32, path: &str| seen.tasks.get_mut(&tid).unwrap().cgroup = Some(path.into());
        put(SERVER, "/system.slice/w.service");
        put(8, "/user.slice/session-1.scope");
        let Looked::CannotTell(missing) = look(&seen) else { panic!("not in doubt") };
        assert!(missing.why.contains("/user.slice/session-1.scope"), "{missing:?}");
        seen.tasks.get_mut(&8).unwrap().cgroup = Some("/system.slice/w.service".into());
        assert!(matches!(look(&seen), Looked::Found(_)), "the same one");
    }
}
