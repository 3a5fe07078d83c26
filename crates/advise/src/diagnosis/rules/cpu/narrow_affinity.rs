//! The server waits for its CPUs while others, which it may not use, are idle.

use machine::CpuSet;
use machine::wording::{percent, plural};

use crate::diagnosis::cause::{Cause, Figure, Remedy, Subject};
use crate::diagnosis::limit;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `narrow-affinity`.
pub struct NarrowAffinity;

/// Fewer idle CPUs than this would not help.
const IDLE_CPUS: f64 = 0.25;

static ABOUT: About = About {
    id: "narrow-affinity",
    title: "too few CPUs allowed",
    costs: Costs::CpuAccess,
    docs: "Threads of the server wait for a CPU while CPUs that they may not use are idle: a cpuset, or an affinity set from outside \
           (taskset, CPUAffinity=) or by the server itself, is too narrow for the work. Look-alikes: the same waiting with no idle CPU \
           elsewhere is simply too much work (busy-task, own-threads); isolated CPUs are idle on purpose. Whoever set it may set it again: find \
           its owner before you change it.",
};

impl Rule for NarrowAffinity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    /// Threads also wait for each other in a server that may use every CPU.
    fn share_without(&self, scene: &Scene<'_>) -> f64 {
        crowded(scene)
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let (online, allowed) = (scene.situation.online(), scene.allowed());
        let isolated = scene.situation.machine.isolated().unwrap_or_default();
        let outside = online.difference(&allowed).difference(&isolated);
        if outside.is_empty() {
            return Looked::DoesNotApply;
        }
        let share = crowded(scene);
        // Under a quota that runs out, more CPUs only use it up earlier; a server that has room gains nothing from them.
        let throttled = scene.time.share(scene.time.throttled_ns) >= MATTERS;
        if throttled || limit::saturation(scene) < limit::HAS_ROOM {
            return Looked::Fine;
        }
        let idle = scene.idle_cpus(&outside);
        let (true, Some(idle)) = (share >= MATTERS, idle.filter(|idle| *idle >= IDLE_CPUS)) else {
            return Looked::Fine;
        };
        Looked::Found(vec![cause(scene, &allowed, &outside, share, idle)])
    }
}

/// Share of its time that it waited behind its own threads: more CPUs are the remedy for that. Without an account it is all its waiting.
/// What clients on this host took is charged by client-beside-server, and what foreign tasks took by busy-task: those can be moved instead, and
/// no time is named twice.
fn crowded(scene: &Scene<'_>) -> f64 {
    scene.time.share(scene.own_took_ns().unwrap_or_else(|| scene.time.queued_ns()))
}

fn cause(scene: &Scene<'_>, allowed: &CpuSet, outside: &CpuSet, share: f64, idle: f64) -> Cause {
    let by_cpuset = scene.situation.server.processes.iter().find(|process| {
        process.cpuset_cpus.as_ref().is_some_and(|cpus| outside.intersection(cpus).is_empty())
    });
    let (subject, by) = match by_cpuset {
        Some(process) => {
            let path =
                process.cgroups.iter().find(|cgroup| cgroup.cpus.is_some()).map(|cgroup| cgroup.path.clone());
            let path = path.unwrap_or_else(|| "/".into());
            (Subject::Cgroup { path: path.clone() }, format!("the cpuset of cgroup {path}"))
        }
        None => (Subject::Server, "its affinity".to_string()),
    };
    let (word, count) = (plural("CPU", allowed.len()), outside.len());
    let claim = format!(
        "The server may use only {word} {allowed} ({by}) and waits while {} {outside} {} idle time",
        plural("CPU", count),
        if count == 1 { "has" } else { "have" }
    );
    let remedy = match (&subject, scene.situation.pids.first()) {
        (Subject::Server, Some(pid)) => {
            let wider: CpuSet = allowed.iter().chain(outside.iter()).collect();
            let words = "Let it use them too; a server that pins its own threads has a setting for it";
            Remedy::set(words, "process-affinity", pid, wider)
        }
        _ => Remedy::by_hand(format!("Add {outside} to {by}: cpuset.cpus, AllowedCPUs=, --cpuset-cpus")),
    };
    // Without an account it is not known who had the CPUs: a foreign task on them looks the same.
    let known = scene.situation.account.is_some();
    let cause = if known {
        Cause::seen(ABOUT.id, subject, share, claim)
    } else {
        Cause::possible(ABOUT.id, subject, claim)
    };
    let mut cause = cause
        .because(format!(
            "it spent {} of its time waiting for a CPU; of the other CPUs {idle:.1} were idle",
            percent(share)
        ))
        .remedy(remedy);
    cause.figures = vec![
        Figure { name: "allowed_cpus".into(), value: allowed.len() as f64 },
        Figure { name: "idle_cpus_outside".into(), value: idle },
    ];
    cause
}
