//! Another process has the CPU while the server waits for it.

mod program;

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::processes::Task;
use machine::wording::{counted, per_second, percent, plural};
use probe::account::TaskAccount;

use super::rt_throttling;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `busy-task`.
pub struct BusyTask;

static ABOUT: About = About {
    id: "busy-task",
    title: "other processes",
    costs: Costs::CpuAccess,
    docs: "The server waits for a CPU while another process runs there. The kernel's account names it: the waiting of the server's \
           threads is charged to whoever was on that CPU meanwhile. An ordinary task shares the CPU by weight (nice, cpu.weight); a real-time \
           task keeps it until it sleeps. Look-alikes, each charged separately: clients on the same CPU (client-beside-server), the server's \
           own threads (own-threads), a quota (quota). A busy task on a CPU that the server does not use costs the server nothing and is not \
           named. Processes that each take little are added up: those of one name (a build, a script that starts one command after another), and all \
           others if they take 10 % together.",
};

/// What one process took, or several together.
#[derive(Default)]
pub(super) struct Took<'a> {
    pub(super) ns: f64,
    slices: u64,
    preempted: u64,
    pub(super) cpus: CpuSet,
    /// The thread that took most.
    pub(super) worst: Option<&'a TaskAccount>,
}

/// What other processes took, by process: only the clients of the server if `clients`, else all others.
pub(super) fn took<'a>(scene: &'a Scene<'_>, clients: bool) -> BTreeMap<u32, Took<'a>> {
    let mut by_process: BTreeMap<u32, Took<'a>> = BTreeMap::new();
    let tasks = scene.situation.account.iter().flat_map(|account| &account.tasks);
    let kept = rt_throttling::kept(scene);
    let is_other = |task: &&TaskAccount| {
        !task.of_target
            && !task.of_kernel
            && scene.is_client(task.pid) == clients
            && Some(task.pid) != scene.situation.observer
            && !rt_throttling::is_let_in(scene, kept.as_ref(), task)
    };
    for task in tasks.filter(is_other) {
        let sum = by_process.entry(task.pid).or_default();
        sum.ns += task.took.total_ns as f64;
        sum.slices += task.took.count;
        sum.preempted += task.preempted;
        task.took_by_cpu.keys().for_each(|cpu| {
            sum.cpus.insert(*cpu);
        });
        if sum.worst.is_none_or(|worst| worst.took.total_ns < task.took.total_ns) {
            sum.worst = Some(task);
        }
    }
    by_process.retain(|_, took| took.ns > 0.0);
    by_process
}

impl Rule for BusyTask {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let took = took(scene, false);
        let costly = took.iter().filter(|(_, took)| scene.time.share(took.ns) >= MATTERS);
        let mut causes: Vec<Cause> = costly.filter_map(|(pid, took)| cause(scene, *pid, took)).collect();
        causes.extend(program::causes(scene, &took));
        Looked::of(causes)
    }
}

fn cause(scene: &Scene<'_>, pid: u32, took: &Took<'_>) -> Option<Cause> {
    let worst = took.worst?;
    let task = scene.task(worst.tid);
    let (word, cpus) = (plural("CPU", took.cpus.len()), &took.cpus);
    let who = who(&worst.comm, pid, task);
    let claim = format!("{who} runs on {word} {cpus} while the server waits for it");
    let mut cause = waited_for(scene, Subject::Process { pid }, took, claim, "it");
    if let Some(busy) = scene.situation.busy.iter().find(|busy| busy.pid == pid) {
        cause = cause.because(format!("it used {} of a CPU", percent(busy.cpus))).figure("cpus", busy.cpus);
    }
    Some(remedies(scene, pid, took, task).into_iter().fold(cause, Cause::remedy))
}

/// A cause with the waiting that is charged to it; `pronoun` is `it` or `them`.
fn waited_for(scene: &Scene<'_>, subject: Subject, took: &Took<'_>, claim: String, pronoun: &str) -> Cause {
    let share = scene.time.share(took.ns);
    Cause::seen(ABOUT.id, subject, share, claim)
        .because(format!(
            "the server spent {} of its time waiting for {pronoun}, in {} ({}), and was preempted by {pronoun} {} times",
            percent(share),
            counted(took.slices, "slice"),
            per_second(scene.per_s(took.slices)),
            took.preempted
        ))
        .figure("waited_s", took.ns / 1e9)
        .figure("slices", took.slices as f64)
        .figure("preempted", took.preempted as f64)
}

/// `hog (process 14819, nice 19)`.
fn who(comm: &str, pid: u32, task: Option<&Task>) -> String {
    let Some(task) = task else { return format!("{comm} (process {pid})") };
    let class = match (task.is_realtime(), task.policy.as_deref(), task.realtime_priority) {
        (true, Some(policy), Some(priority)) => format!(", {policy} priority {priority}"),
        (true, Some(policy), None) => format!(", {policy}"),
        (_, Some("other"), _) => task.nice.map(|nice| format!(", nice {nice}")).unwrap_or_default(),
        (_, Some(policy), _) => format!(", {policy}"),
        _ => String::new(),
    };
    let cgroup = task.cgroup.as_deref().filter(|path| *path != "/").map(|path| format!(", cgroup {path}"));
    format!("{comm} (process {pid}{class}{})", cgroup.unwrap_or_default())
}

fn remedies(scene: &Scene<'_>, pid: u32, took: &Took<'_>, task: Option<&Task>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let room = scene.spare_for_others().difference(&took.cpus);
    if !room.is_empty() {
        let words = format!("Give it {} {room}, which the server does not use", plural("CPU", room.len()));
        remedies.push(Remedy::set(words, "process-affinity", pid, &room));
    }
    if let Some(task) = task.filter(|task| task.is_realtime()) {
        remedies.push(without_policy(pid, task));
    } else if room.is_empty() {
        remedies.extend(lowest_weight(scene, pid, task));
    }
    remedies
}

/// For a task that comes before every ordinary one.
fn without_policy(pid: u32, task: &Task) -> Remedy {
    let unless = "unless something relies on its answer in time (a heartbeat of a cluster, audio)";
    let why = "it takes precedence over every ordinary task";
    match task.policy.as_deref() {
        // The knob has no name for that policy.
        Some("deadline") => {
            let by_hand = format!("chrt --other --all-tasks --pid 0 {pid}");
            Remedy::by_hand(format!("Remove its deadline policy ({by_hand}), {unless}: {why}"))
        }
        _ => {
            let words = format!("Remove its real-time policy, {unless}: {why}");
            Remedy::set(words, "scheduling-policy", pid, "other:0")
        }
    }
}

/// Whether a task has the lowest weight there is, whatever its nice value.
pub(super) fn is_idle(task: &Task) -> bool {
    task.policy.as_deref() == Some("idle")
}

/// For an ordinary task that cannot be moved. Between cgroups of the cpu controller their weights count; policy and nice value of a task count
/// within one.
fn lowest_weight(scene: &Scene<'_>, pid: u32, task: Option<&Task>) -> Vec<Remedy> {
    let cgroup = |task: &Task| task.cgroup.clone();
    let own = scene.situation.pids.first().and_then(|pid| scene.task(*pid)).and_then(cgroup);
    let theirs = task.and_then(cgroup);
    let apart = own.as_deref().zip(theirs.as_deref()).and_then(|(own, theirs)| rival(own, theirs));
    let is_idle = task.is_some_and(is_idle);
    let why = "there is no CPU for it that the server does not use";
    let mut remedies = Vec::new();
    if let Some(path) = apart {
        remedies.push(Remedy::by_hand(format!(
            "Give cgroup {path}, with all that is in it, the lowest weight (CPUWeight=, cpu.weight; in version 1 CPUShares=, cpu.shares): {why}"
        )));
    }
    remedies.extend(match (is_idle, apart) {
        (true, Some(_)) => None,
        (true, None) => {
            let words = "Run it at another time or on another machine: it has the lowest weight already";
            Some(Remedy::by_hand(words))
        }
        (false, Some(_)) => {
            let words = "Give it the lowest weight, which counts unless a cgroup of the cpu controller separates it from the server";
            Some(Remedy::set(words, "scheduling-policy", pid, "idle"))
        }
        (false, None) => {
            let words = format!("Give it the lowest weight: {why}");
            Some(Remedy::set(words, "scheduling-policy", pid, "idle"))
        }
    });
    remedies
}

/// The cgroup whose weight decides between a task and the server: the uppermost of the task's cgroups that the server is not in. `None` where
/// the server is in all of them: then the task competes by itself.
fn rival<'a>(own: &str, theirs: &'a str) -> Option<&'a str> {
    let has_own =
        |path: &str| own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let ends = theirs.match_indices('/').map(|(at, _)| at).skip(1).chain([theirs.len()]);
    // Seen from a container, those outside begin with `/..`.
    let mut paths = ends.map(|end| &theirs[..end]).filter(|path| *path != "/" && !path.ends_with("/.."));
    paths.find(|path| !has_own(path))
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, SituationBuilder, situation};

    /// A task of this policy in this cgroup takes the server's CPU; the only other CPU is isolated.
    fn beside_an_isolated_cpu(policy: &str, cgroup: &str) -> Situation {
        let mut seen = situation().taken_by("hog", 8, false, SECOND / 10);
        seen.machine.kernel.isolated = Some(CpuSet::single(0));
        let task = |tid, policy: &str, cgroup: &str| {
            let (policy, cgroup) = (Some(policy.to_string()), Some(cgroup.to_string()));
            (tid, Task { tid, policy, cgroup, ..Task::default() })
        };
        seen.tasks = [task(SERVER, "other", "/system.slice/w.service"), task(8, policy, cgroup)].into();
        seen
    }

    /// Words and settings of the remedies.
    fn remedies(seen: &Situation) -> Vec<(String, Option<String>)> {
        let causes = diagnose(seen).causes;
        assert_eq!(causes[0].id.to_string(), "busy-task/process:8");
        let advised = |remedy: Remedy| (remedy.words, remedy.setting.map(|setting| setting.value));
        causes[0].remedies.iter().cloned().map(advised).collect()
    }

    #[test]
    fn an_isolated_cpu_is_no_place_for_a_hog() {
        let seen = beside_an_isolated_cpu("other", "/system.slice/w.service");
        let advised = remedies(&seen);
        let [(words, value)] = &advised[..] else { panic!("{advised:?}") };
        assert!(words.contains("there is no CPU for it"), "{words}");
        assert_eq!(value.as_deref(), Some("idle"));
        let mut free = seen.clone();
        free.machine.kernel.isolated = None;
        assert_eq!(remedies(&free)[0].1.as_deref(), Some("0"));
    }

    #[test]
    fn between_cgroups_their_weights_count() {
        let advised = remedies(&beside_an_isolated_cpu("other", "/user.slice/a.scope"));
        assert!(advised[0].0.contains("cgroup /user.slice,") && advised[0].1.is_none(), "{advised:?}");
        assert_eq!(advised[1].1.as_deref(), Some("idle"));
    }

    #[test]
    fn what_has_the_lowest_weight_is_not_given_it_again() {
        let advised = remedies(&beside_an_isolated_cpu("idle", "/system.slice/w.service"));
        assert!(
            advised.len() == 1 && advised[0].1.is_none() && advised[0].0.contains("already"),
            "{advised:?}"
        );
        let advised = remedies(&beside_an_isolated_cpu("idle", "/system.slice/b.service"));
        assert!(
            advised.len() == 1 && advised[0].0.contains("cgroup /system.slice/b.service,"),
            "{advised:?}"
        );
    }

    #[test]
    fn the_knob_does_not_take_a_deadline_away() {
        let advised = remedies(&beside_an_isolated_cpu("deadline", "/"));
        assert!(advised.len() == 1 && advised[0].1.is_none() && advised[0].0.contains("chrt"), "{advised:?}");
        let advised = remedies(&beside_an_isolated_cpu("fifo", "/"));
        assert_eq!(advised[0].1.as_deref(), Some("other:0"));
    }

    #[test]
    fn the_uppermost_cgroup_without_the_server_is_its_rival() {
        assert_eq!(rival("/a/b", "/a/c/d"), Some("/a/c"));
        assert_eq!(rival("/a/b", "/ab"), Some("/ab"));
        assert_eq!(rival("/", "/a/b"), Some("/a"));
        assert_eq!(rival("/a/b", "/a"), None, "its parent");
        assert_eq!(rival("/a", "/"), None);
        assert_eq!(rival("/", "/../x"), Some("/../x"));
        assert_eq!(rival("/a", ""), None);
    }
}
