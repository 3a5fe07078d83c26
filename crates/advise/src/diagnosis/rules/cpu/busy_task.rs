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
           named. Processes of one name that each take little (a build, a script that starts one command after another) are added up.",
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
    let spare = scene.spare().difference(&took.cpus);
    if !spare.is_empty() {
        let words = format!("Give it {} {spare}, which the server does not use", plural("CPU", spare.len()));
        remedies.push(Remedy::set(words, "process-affinity", pid, &spare));
    }
    if task.is_some_and(Task::is_realtime) {
        let words = "Remove its real-time policy: it takes precedence over every ordinary task";
        remedies.push(Remedy::set(words, "scheduling-policy", pid, "other"));
    } else if spare.is_empty() {
        let words = "Give it the lowest weight: there is no CPU that the server does not use";
        remedies.push(Remedy::set(words, "scheduling-policy", pid, "idle"));
    }
    remedies
}
