//! The server waits for its CPUs while others, which it may not use, are idle.

use machine::wording::{percent, plural};
use machine::{CpuSet, Missing};
use probe::account::ThreadAccount;

use crate::diagnosis::cause::{Cause, Figure, Remedy, Subject};
use crate::diagnosis::limit;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `narrow-affinity`.
pub struct NarrowAffinity;

/// Fewer idle CPUs than this would not help.
const IDLE_CPUS: f64 = 0.25;
/// From this share of its waiting on, the server waits behind its own threads.
const MOSTLY: f64 = 0.5;
/// Threads that wait for less than this share of what the longest waits are not those that have too few CPUs.
const WAITS: f64 = 0.1;

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
        let (online, allowed) = (scene.situation.online(), allowed_to_waiting(scene));
        let outside = online.difference(&allowed).difference(&scene.isolated());
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
        if scene.situation.account_alone {
            let why = "which CPUs the server may use was not recorded";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        Looked::Found(vec![cause(scene, &allowed, &outside, share, idle)])
    }
}

/// Share of its time that it waited behind its own threads: more CPUs are the remedy for that. Without an account it is all its waiting.
/// What clients on this host took is charged by client-beside-server, and what foreign tasks took by busy-task: those can be moved instead, and
/// no time is named twice.
fn crowded(scene: &Scene<'_>) -> f64 {
    scene.time.share(scene.own_took_ns().unwrap_or_else(|| scene.time.queued_ns()))
}

/// CPUs of the threads that wait behind others of the server: that another thread may use all CPUs, such as the first process of nginx, does
/// not help them.
fn allowed_to_waiting(scene: &Scene<'_>) -> CpuSet {
    let (Some(account), Some(own_ns)) = (&scene.situation.account, scene.own_took_ns()) else {
        return scene.allowed();
    };
    if own_ns < MOSTLY * scene.time.queued_ns() {
        return scene.allowed();
    }
    let queued_ns =
        |thread: &ThreadAccount| thread.preempted.total_ns.saturating_add(thread.run_queue.total_ns);
    let longest_ns = account.threads.iter().map(queued_ns).max().unwrap_or(0);
    let waits = |thread: &&ThreadAccount| {
        let ns = queued_ns(thread);
        ns > 0 && ns as f64 >= WAITS * longest_ns as f64
    };
    scene.allowed_to(account.threads.iter().filter(waits).map(|thread| thread.tid))
}

/// What keeps the server from CPUs.
struct Keeper {
    subject: Subject,
    /// In words, as in `the server may use only CPU 1 (its affinity)`.
    what: String,
    remedy: Remedy,
}

fn keeper(scene: &Scene<'_>, allowed: &CpuSet, outside: &CpuSet) -> Keeper {
    let by_cpuset = scene.situation.server.processes.iter().find(|process| {
        process.cpuset_cpus.as_ref().is_some_and(|cpus| outside.intersection(cpus).is_empty())
    });
    let Some(process) = by_cpuset else { return affinity(scene, allowed, outside) };
    let of_its_own = process.cgroups.iter().find(|cgroup| cgroup.cpus.is_some());
    // In version 2 a cgroup to which the controller is not handed down has the cpuset of one above it.
    let in_version_2 = || process.cgroups.iter().find(|cgroup| cgroup.version == 2);
    let path = of_its_own.or_else(in_version_2).map_or("/", |cgroup| cgroup.path.as_str());
    let what = match of_its_own {
        None if path != "/" => format!("the cpuset of a cgroup above {path}"),
        _ => format!("the cpuset of cgroup {path}"),
    };
    let words = format!("Add {outside} to {what}: cpuset.cpus, AllowedCPUs=, --cpuset-cpus");
    Keeper { subject: Subject::Cgroup { path: path.to_string() }, what, remedy: Remedy::by_hand(words) }
}

fn affinity(scene: &Scene<'_>, allowed: &CpuSet, outside: &CpuSet) -> Keeper {
    let is_of_all = *allowed == scene.allowed();
    let processes = &scene.situation.server.processes;
    // An affinity reaches no further than the cpusets do.
    let reach = scene.within_cpusets(outside);
    let reach = if reach.is_empty() { outside } else { &reach };
    let remedy = match (is_of_all, scene.situation.pids.first()) {
        (false, _) => Remedy::by_hand(
            "Let these threads use more CPUs: a server that pins its own threads has a setting for it (of nginx, worker_cpu_affinity)",
        ),
        // The knob moves the threads of one process.
        (true, Some(pid)) if processes.len() <= 1 => {
            let words =
                format!("Let it use {reach} too; a server that pins its own threads has a setting for it");
            Remedy::set(words, "process-affinity", pid, allowed.union(reach))
        }
        (true, _) => Remedy::by_hand(format!(
            "Let all its processes use {reach} too (CPUAffinity= of its unit; of those that run, taskset -acp LIST PID for each); a server \
             that pins its own threads has a setting for it"
        )),
    };
    let whose = if is_of_all { "its affinity" } else { "their affinity" };
    let what = match processes.iter().all(|process| process.cpuset_cpus.is_some()) {
        true => whose.to_string(),
        false => format!("{whose}, or a cpuset, which was not read"),
    };
    Keeper { subject: Subject::Server, what, remedy }
}

fn cause(scene: &Scene<'_>, allowed: &CpuSet, outside: &CpuSet, share: f64, idle: f64) -> Cause {
    let Keeper { subject, what, remedy } = keeper(scene, allowed, outside);
    let (word, count) = (plural("CPU", allowed.len()), outside.len());
    let have = if count == 1 { "has" } else { "have" };
    let others = format!("{} {outside} {have} idle time", plural("CPU", count));
    let claim = match *allowed == scene.allowed() {
        true => format!("The server may use only {word} {allowed} ({what}) and waits while {others}"),
        false => {
            format!("Threads of the server that wait may use only {word} {allowed} ({what}), while {others}")
        }
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

#[cfg(test)]
mod tests {
    use machine::limits::cgroups::Cgroup;
    use machine::processes::{Process, Thread};
    use machine::topology::cpus::Cpu;
    use probe::Situation;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, SituationBuilder, situation};

    /// A server whose only thread may use CPU 1, where it waits behind its own.
    fn crowded() -> Situation {
        let mut seen = situation().taken_by("server", SERVER, false, SECOND / 10);
        seen.account.as_mut().unwrap().tasks[0].of_target = true;
        seen.server.processes[0].cpuset_cpus = Some([0, 1].into_iter().collect());
        seen
    }

    /// A process with one thread that does nothing and may use both CPUs.
    fn first_process() -> Process {
        let thread = Thread { tid: 90, cpus: Some([0, 1].into_iter().collect()), ..Thread::default() };
        Process { pid: 90, threads: vec![thread], ..Process::default() }
    }

    fn look(seen: &Situation) -> Looked {
        NarrowAffinity.examine(&Scene::of(seen).unwrap())
    }

    fn found(seen: &Situation) -> Cause {
        let Looked::Found(causes) = look(seen) else { panic!("not found") };
        causes[0].clone()
    }

    #[test]
    fn its_affinity_is_widened() {
        let cause = found(&crowded());
        let claim = "The server may use only CPU 1 (its affinity) and waits while CPU 0 has idle time";
        assert_eq!(cause.claim, claim);
        let setting = cause.remedies[0].setting.clone().unwrap();
        assert_eq!((setting.knob.as_str(), setting.value.as_str()), ("process-affinity", "0-1"));
        // Not that of its first process alone.
        let mut two = crowded();
        let mut second = first_process();
        second.threads[0].cpus = Some(CpuSet::single(1));
        two.server.processes.push(second);
        assert_eq!(found(&two).remedies[0].setting, None);
    }

    #[test]
    fn a_cpuset_that_was_not_read_may_be_what_keeps_it() {
        let mut seen = crowded();
        seen.server.processes[0].cpuset_cpus = None;
        assert!(found(&seen).claim.contains("(its affinity, or a cpuset, which was not read)"), "{seen:?}");
    }

    #[test]
    fn an_affinity_is_widened_as_far_as_the_cpuset_reaches() {
        let mut seen = crowded();
        let third = Cpu { id: 2, online: true, ..Cpu::default() };
        seen.machine.cpus.push(third);
        let setting = found(&seen).remedies[0].setting.clone().unwrap();
        assert_eq!(setting.value, "0-1", "its cpuset does not have CPU 2");
    }

    #[test]
    fn a_first_process_that_may_use_all_cpus_does_not_help_workers_that_may_not() {
        let mut seen = crowded();
        seen.server.processes.insert(0, first_process());
        let cause = found(&seen);
        assert!(cause.claim.starts_with("Threads of the server that wait may use only CPU 1"), "{cause:?}");
        assert_eq!(cause.remedies[0].setting, None, "there is no use in moving the first process");
        // Foreign tasks take what it waits for: they can be moved instead.
        seen.account.as_mut().unwrap().tasks[0].took.total_ns = SECOND / 40;
        assert_eq!(look(&seen), Looked::DoesNotApply);
        // Where a thread may run that was not read is not known.
        let mut unread = crowded();
        unread.server.processes = vec![first_process()];
        assert_eq!(look(&unread), Looked::DoesNotApply);
    }

    #[test]
    fn where_only_the_account_was_kept_nobody_knows_what_it_may_use() {
        let mut ring = crowded();
        (ring.account_alone, ring.server) = (true, machine::processes::Server::default());
        assert!(matches!(look(&ring), Looked::CannotTell(_)));
        // Nothing waits behind its own threads.
        ring.account.as_mut().unwrap().tasks.clear();
        assert_eq!(look(&ring), Looked::Fine);
    }

    #[test]
    fn a_cpuset_of_a_cgroup_above_is_not_that_of_the_root() {
        let cgroup = |cpus: Option<CpuSet>| Cgroup {
            version: 2,
            controllers: Vec::new(),
            path: "/system.slice/w.service".into(),
            directory: None,
            mount: None,
            cpus,
            nodes: None,
        };
        let claim = |cpus: Option<CpuSet>| {
            let mut seen = crowded();
            let process = &mut seen.server.processes[0];
            (process.cpuset_cpus, process.cgroups) = (Some(CpuSet::single(1)), vec![cgroup(cpus)]);
            found(&seen).claim
        };
        let above = claim(None);
        assert!(above.contains("(the cpuset of a cgroup above /system.slice/w.service)"), "{above}");
        let own = claim(Some(CpuSet::single(1)));
        assert!(own.contains("(the cpuset of cgroup /system.slice/w.service)"), "{own}");
    }
}
