//! A runtime has a worker for each CPU of the machine, but the server may use fewer.

use std::collections::{BTreeMap, BTreeSet};

use machine::Missing;
use machine::wording::{percent, plural};
use probe::Party;
use probe::account::{Account, ThreadAccount, working_threshold};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};
use crate::diagnosis::time::wanted_ns;

/// The rule `runtime-width`.
pub struct RuntimeWidth;

/// From this share of the throttled time on, it is the workers that are throttled.
const MOSTLY: f64 = 0.5;

static ABOUT: About = About {
    id: "runtime-width",
    title: "workers sized to the machine",
    costs: Costs::CpuAccess,
    docs: "A runtime started one worker for each CPU of the machine, but the server's cpuset, affinity or quota allows fewer: its \
           workers wait for each other, or use up the quota early in each period and are throttled together. Recognised by name and exact \
           number: Erlang schedulers (erts_sched_N, N_scheduler), parallel collectors of a JVM (GC Thread#N: one for each CPU up to 8, and 5 \
           for each 8 beyond), nginx workers (worker_processes auto). Each process is judged by itself: two \
           runtimes of half the width are none of the whole. The manager and the loader of nginx's cache have the name of a worker: up to two idle \
           processes may be these. Other runtimes, Go and Node.js among them, do not name their threads and \
           are not recognised. The waiting itself is charged by quota and narrow-affinity; own-threads does not report it again. What \
           fewer workers would gain has to be measured: apart from switches and caches, it is at most that. Look-alikes: a configured number of \
           threads that is not the number of CPUs (own-threads); a server whose workers fit the CPUs that it may use, but that has more work than \
           they can do (quota, narrow-affinity).",
};

/// The name of a thread: a fixed part with a number after or before it.
enum Numbered {
    /// `erts_sched_3`.
    After(&'static str),
    /// `3_scheduler`.
    Before(&'static str),
}

impl Numbered {
    fn is(&self, comm: &str) -> bool {
        let number = match self {
            Self::After(start) => comm.strip_prefix(start),
            Self::Before(end) => comm.strip_suffix(end),
        };
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// A runtime whose workers are threads.
struct Threads {
    runtime: &'static str,
    names: &'static [Numbered],
    /// How many workers it starts if it sees this many CPUs.
    width: fn(usize) -> usize,
    /// What sets the number.
    setting: &'static str,
}

/// Sources: erts(3), `+S`; HotSpot, `WorkerPolicy::parallel_worker_threads`.
static THREADS: &[Threads] = &[
    Threads {
        runtime: "Erlang",
        names: &[Numbered::After("erts_sched_"), Numbered::Before("_scheduler")],
        width: |cpus| cpus,
        setting: "+S N:N",
    },
    Threads {
        runtime: "JVM",
        names: &[Numbered::After("GC Thread#")],
        width: |cpus| if cpus <= 8 { cpus } else { 8 + (cpus - 8) * 5 / 8 },
        setting: "-XX:ActiveProcessorCount=N",
    },
];

/// Programs whose workers are child processes of the same name: name, setting (nginx, `worker_processes auto`: all CPUs that are online).
static PROCESSES: &[(&str, &str)] = &[("nginx", "worker_processes N")];

/// So many of the processes may be none of the workers: the manager and the loader of nginx's cache have their name, and are mostly idle.
const HELPERS: usize = 2;

/// What may be the workers of one runtime: threads of one process, or its child processes.
struct Pool<'a> {
    runtime: &'static str,
    setting: &'static str,
    /// How many the runtime would start if it saw this many CPUs.
    width: fn(usize) -> usize,
    /// How many there are: threads or processes.
    count: usize,
    /// How many of them at most may be something else.
    helpers: usize,
    /// Their threads.
    threads: Vec<&'a ThreadAccount>,
}

impl Pool<'_> {
    /// Whether its workers are as many as it would start for this many CPUs. Any other number was configured, or includes others of that name.
    fn is_for(&self, cpus: usize) -> bool {
        let width = (self.width)(cpus);
        width > 0 && (self.count.saturating_sub(self.helpers)..=self.count).contains(&width)
    }
}

/// The workers of one runtime, of which the server may have several.
struct Workers<'a> {
    runtime: &'static str,
    setting: &'static str,
    /// How many such runtimes there are.
    runtimes: usize,
    /// How many workers each has.
    count: usize,
    /// Whether one that is idle may be no worker.
    is_in_doubt: bool,
    /// The threads of all of them.
    threads: Vec<&'a ThreadAccount>,
}

impl Rule for RuntimeWidth {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account_alone {
            let why = "which CPUs the server may use was not recorded";
            return Looked::CannotTell(Missing::new(ABOUT.title, why));
        }
        let online = scene.situation.online().len();
        let usable = usable(scene);
        let pools = pools(scene);
        let by_machine: Vec<&Pool<'_>> = pools.iter().filter(|pool| pool.is_for(online)).collect();
        let fits = |pool: &Pool<'_>| (pool.width)(online) <= (pool.width)(usable.ceil() as usize);
        let wide: Vec<&Pool<'_>> = by_machine.iter().copied().filter(|pool| !fits(pool)).collect();
        match (by_machine.is_empty(), wide.is_empty(), &scene.situation.account) {
            (true, ..) => Looked::DoesNotApply,
            (_, true, _) => Looked::Fine,
            (_, _, None) => Looked::needs_account(&ABOUT),
            (_, _, Some(account)) => {
                let workers = together(&wide, online);
                let causes = workers.values().filter_map(|workers| cause(scene, account, workers, usable));
                Looked::of(causes.collect())
            }
        }
    }
}

/// CPUs that the server may use at once: those that it may run on, or its quota if that is less.
fn usable(scene: &Scene<'_>) -> f64 {
    let seen = scene.situation.observation.quotas.iter().filter(|quota| quota.party == Party::Server);
    let read = scene.situation.server.processes.iter().filter_map(|process| process.cpu_quota.as_ref());
    let quotas = seen.map(|quota| quota.cpus).chain(read.map(|quota| quota.cpus));
    quotas.filter(|cpus| *cpus > 0.0).fold(scene.allowed_to_working().len() as f64, f64::min)
}

/// The workers of each recognised runtime of each process.
fn pools<'a>(scene: &'a Scene<'_>) -> Vec<Pool<'a>> {
    let accounts: &[ThreadAccount] =
        scene.situation.account.as_ref().map(|account| account.threads.as_slice()).unwrap_or_default();
    let mut found = pools_of_threads(scene, accounts);
    found.extend(pools_of_processes(scene, accounts));
    found
}

fn pools_of_threads<'a>(scene: &Scene<'_>, accounts: &'a [ThreadAccount]) -> Vec<Pool<'a>> {
    let mut names: BTreeMap<u32, (u32, &str)> = BTreeMap::new();
    for process in &scene.situation.server.processes {
        names.extend(process.threads.iter().map(|thread| (thread.tid, (process.pid, thread.comm.as_str()))));
    }
    names.extend(accounts.iter().map(|thread| (thread.tid, (thread.pid, thread.comm.as_str()))));
    let mut found = Vec::new();
    for Threads { runtime, names: known, width, setting } in THREADS {
        let is = |comm: &str| known.iter().any(|name| name.is(comm));
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (pid, comm) in names.values() {
            if is(comm) {
                *counts.entry(*pid).or_default() += 1;
            }
        }
        for (pid, count) in counts {
            let threads = accounts.iter().filter(|thread| thread.pid == pid && is(&thread.comm)).collect();
            found.push(Pool { runtime, setting, width: *width, count, helpers: 0, threads });
        }
    }
    found
}

fn pools_of_processes<'a>(scene: &Scene<'_>, accounts: &'a [ThreadAccount]) -> Vec<Pool<'a>> {
    let processes = &scene.situation.server.processes;
    let working: BTreeSet<u32> = at_work(accounts).map(|thread| thread.pid).collect();
    let mut found = Vec::new();
    for (program, setting) in PROCESSES {
        let named = || processes.iter().filter(|process| process.comm == *program);
        for master in named() {
            let children = named().filter(|process| process.ppid == master.pid);
            let pids: Vec<u32> = children.map(|process| process.pid).collect();
            if pids.is_empty() {
                continue;
            }
            let helpers = pids.iter().filter(|pid| !working.contains(*pid)).count().min(HELPERS);
            let threads = accounts.iter().filter(|thread| pids.contains(&thread.pid)).collect();
            let count = pids.len();
            found.push(Pool { runtime: program, setting, width: |cpus| cpus, count, helpers, threads });
        }
    }
    found
}

/// Those that are as wide as the machine, by runtime.
fn together<'a>(wide: &[&Pool<'a>], online: usize) -> BTreeMap<&'static str, Workers<'a>> {
    let mut by_runtime: BTreeMap<&'static str, Workers<'a>> = BTreeMap::new();
    for pool in wide {
        let count = (pool.width)(online);
        let workers = by_runtime.entry(pool.runtime).or_insert_with(|| Workers {
            runtime: pool.runtime,
            setting: pool.setting,
            runtimes: 0,
            count,
            is_in_doubt: false,
            threads: Vec::new(),
        });
        workers.runtimes += 1;
        workers.is_in_doubt |= pool.helpers > 0;
        workers.threads.extend(&pool.threads);
    }
    by_runtime
}

/// Those of the server's threads that want CPUs.
fn at_work(threads: &[ThreadAccount]) -> impl Iterator<Item = &ThreadAccount> {
    let threshold = working_threshold(threads.iter().map(|thread| wanted_ns(thread) as f64));
    threads.iter().filter(move |thread| wanted_ns(thread) as f64 >= threshold)
}

/// A cause if more workers are at work than the server may run at once, and if that costs time.
fn cause(scene: &Scene<'_>, account: &Account, workers: &Workers<'_>, usable: f64) -> Option<Cause> {
    let is_worker = |tid: u32| workers.threads.iter().any(|thread| thread.tid == tid);
    let at_work = at_work(&account.threads).filter(|thread| is_worker(thread.tid)).count();
    let took = account.tasks.iter().filter(|task| task.of_target && is_worker(task.tid));
    let took = scene.time.share(took.map(|task| task.took.total_ns as f64).sum());
    let throttled_ns: f64 = workers.threads.iter().map(|thread| thread.throttled.total_ns as f64).sum();
    let throttled = scene.time.share(throttled_ns);
    let by_quota = throttled >= MATTERS && throttled_ns >= MOSTLY * scene.time.throttled_ns;
    if at_work as f64 <= usable.ceil() || !(took >= MATTERS || by_quota) {
        return None;
    }
    let (online, fits) = (scene.situation.online().len(), usable.ceil() as usize);
    let claim = format!(
        "{}, sized to the machine's {online} {}, but the server may use {}: they {}",
        has_workers(workers),
        plural("CPU", online),
        shown(usable),
        if by_quota { "use up its quota together" } else { "wait for each other" }
    );
    // Waiting for each other is no loss by itself: the CPU works for the server meanwhile. Whoever is throttled, the workers used up the quota.
    let held_back_ns = if by_quota { throttled_ns.max(scene.time.throttled_ns) } else { throttled_ns };
    let at_most = (took + scene.time.share(held_back_ns)).min(1.0);
    let mut cause = Cause::possible(ABOUT.id, Subject::Server, claim)
        .at_most(at_most)
        .because(format!(
            "{at_work} of them are at work; a thread waited while a worker had its CPU for {} of the server's time, and they were throttled for {}",
            percent(took),
            percent(throttled)
        ))
        .figure("workers", (workers.runtimes * workers.count) as f64)
        .figure("workers_at_work", at_work as f64)
        .figure("usable_cpus", usable)
        .figure("waited_share", took)
        .figure("throttled_share", throttled);
    if workers.is_in_doubt {
        cause = cause.because(format!(
            "some of its processes are idle: the manager of a cache looks like a worker, so the number may have been configured ({})",
            workers.setting
        ));
    }
    let words = format!(
        "Start it for {fits} {} ({}), or let it use as many CPUs as it has workers",
        plural("CPU", fits),
        workers.setting
    );
    Some(cause.remedy(Remedy::by_hand(words)))
}

/// `JVM has 8 workers`, `Each of 2 instances of JVM has 8 workers`.
fn has_workers(workers: &Workers<'_>) -> String {
    let Workers { runtime, runtimes, count, .. } = workers;
    match runtimes {
        1 => format!("{runtime} has {count} workers"),
        _ => format!("Each of {runtimes} instances of {runtime} has {count} workers"),
    }
}

/// `2`, `1.5`.
fn shown(cpus: f64) -> String {
    if cpus.fract() == 0.0 { format!("{cpus:.0}") } else { format!("{cpus:.1}") }
}

#[cfg(test)]
mod tests {
    use machine::processes::Process;
    use machine::topology::cpus::Cpu;
    use probe::account::{Stretches, TaskAccount};
    use probe::{QuotaSeen, Situation};

    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    fn part(total_ns: u64) -> Stretches {
        Stretches { count: 1, total_ns, ..Stretches::default() }
    }

    /// A machine of four CPUs and a server on CPU 1 with these threads, which all want it.
    fn named(comms: &[&str]) -> Situation {
        let mut situation = situation();
        situation.machine.cpus = (0..4).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect();
        let each = SECOND / comms.len() as u64;
        let account = situation.account.as_mut().unwrap();
        account.threads.clear();
        for (number, comm) in comms.iter().enumerate() {
            let (tid, comm) = (200 + number as u32, (*comm).to_string());
            account.threads.push(ThreadAccount {
                tid,
                pid: 100,
                comm: comm.clone(),
                wall_ns: SECOND,
                on_cpu: part(each),
                preempted: part(SECOND - each),
                ..ThreadAccount::default()
            });
            account.tasks.push(TaskAccount {
                tid,
                pid: 100,
                comm,
                of_target: true,
                took: part(SECOND - each),
                ..TaskAccount::default()
            });
        }
        situation
    }

    const SCHEDULERS: [&str; 4] = ["erts_sched_1", "erts_sched_2", "erts_sched_3", "erts_sched_4"];

    fn look(situation: &Situation) -> Looked {
        RuntimeWidth.examine(&Scene::of(situation).unwrap())
    }

    #[test]
    fn schedulers_for_every_cpu_of_the_machine_on_one_of_them() {
        let seen = named(&SCHEDULERS);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert_eq!(causes[0].share, None, "what it costs is not known");
        assert_eq!(causes[0].share_at_most, Some(0.75), "three of four wait at any time");
        assert!(causes[0].remedies[0].words.contains("1 CPU (+S N:N)"), "{causes:?}");
        let ids: Vec<String> = diagnose(&seen).causes.iter().map(|cause| cause.id.rule.clone()).collect();
        assert!(ids.contains(&"runtime-width".into()) && !ids.contains(&"own-threads".into()), "{ids:?}");
        let old = named(&["1_scheduler", "2_scheduler", "3_scheduler", "4_scheduler"]);
        assert!(matches!(look(&old), Looked::Found(_)));
    }

    #[test]
    fn a_quota_counts_as_the_cpus_that_it_gives() {
        let mut seen = named(&SCHEDULERS);
        seen.server.processes[0].threads[0].cpus = None;
        assert_eq!(look(&seen), Looked::Fine, "all CPUs are allowed");
        for (thread, task) in {
            let account = seen.account.as_mut().unwrap();
            account.threads.iter_mut().zip(&mut account.tasks)
        } {
            thread.throttled = std::mem::take(&mut thread.preempted);
            task.took = Stretches::default();
        }
        let cgroup = "/box".to_string();
        seen.observation.quotas = vec![QuotaSeen {
            party: Party::Server,
            cgroup,
            cpus: 1.5,
            periods: 10,
            throttled_periods: 10,
            throttled_us: 1,
        }];
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.contains("may use 1.5: they use up its quota together"), "{causes:?}");
        assert_eq!(diagnose(&seen).causes[0].id.rule, "quota", "the throttling is the quota's");
    }

    #[test]
    fn collectors_of_a_jvm_follow_its_own_rule() {
        let collectors: Vec<String> = (0..13).map(|number| format!("GC Thread#{number}")).collect();
        let names: Vec<&str> = collectors.iter().map(String::as_str).collect();
        let mut seen = named(&names);
        assert_eq!(look(&seen), Looked::DoesNotApply, "13 are not those of 4 CPUs");
        seen.machine.cpus = (0..16).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect();
        assert!(matches!(look(&seen), Looked::Found(_)), "16 CPUs have 8 + 5");
    }

    #[test]
    fn workers_that_are_processes() {
        let mut seen = named(&["nginx"; 5]);
        let process = |pid, ppid| Process { pid, ppid, comm: "nginx".into(), ..Process::default() };
        let own = seen.server.processes[0].threads.clone();
        seen.server.processes = vec![Process { threads: own, ..process(200, 1) }];
        seen.server.processes.extend((201..205).map(|pid| process(pid, 200)));
        for thread in &mut seen.account.as_mut().unwrap().threads {
            thread.pid = thread.tid;
        }
        assert!(matches!(look(&seen), Looked::Found(_)));
        seen.server.processes.pop();
        assert_eq!(look(&seen), Looked::DoesNotApply, "three were configured");
    }

    /// The same threads, of two processes in turns.
    fn of_two_processes(mut seen: Situation) -> Situation {
        for thread in &mut seen.account.as_mut().unwrap().threads {
            thread.pid = 100 + thread.tid % 2;
        }
        seen
    }

    #[test]
    fn each_process_is_a_runtime_of_its_own() {
        assert_eq!(look(&of_two_processes(named(&SCHEDULERS))), Looked::DoesNotApply, "half the width each");
        let names: Vec<&str> = SCHEDULERS.iter().flat_map(|name| [*name, *name]).collect();
        let Looked::Found(causes) = look(&of_two_processes(named(&names))) else { panic!("not found") };
        let claim = &causes[0].claim;
        assert!(claim.starts_with("Each of 2 instances of Erlang has 4 workers, sized"), "{claim}");
        assert_eq!(causes.len(), 1);
    }

    #[test]
    fn an_idle_process_of_nginx_may_be_none_of_its_workers() {
        let mut seen = named(&["nginx"; 6]);
        let process = |pid, ppid| Process { pid, ppid, comm: "nginx".into(), ..Process::default() };
        let own = seen.server.processes[0].threads.clone();
        seen.server.processes = vec![Process { threads: own, ..process(200, 1) }];
        seen.server.processes.extend((201..206).map(|pid| process(pid, 200)));
        let threads = &mut seen.account.as_mut().unwrap().threads;
        threads.iter_mut().for_each(|thread| thread.pid = thread.tid);
        assert_eq!(look(&seen), Looked::DoesNotApply, "five work: so many were configured");
        let manager = &mut seen.account.as_mut().unwrap().threads[5];
        (manager.on_cpu, manager.preempted) = (Stretches::default(), Stretches::default());
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.starts_with("nginx has 4 workers"), "{causes:?}");
        assert!(causes[0].evidence[1].contains("manager of a cache"), "{causes:?}");
    }

    #[test]
    fn other_numbers_other_names_and_idle_workers_are_no_width() {
        assert_eq!(look(&named(&SCHEDULERS[..3])), Looked::DoesNotApply, "three were configured");
        assert_eq!(look(&named(&["worker-1", "worker-2", "worker-3", "worker-4"])), Looked::DoesNotApply);
        let not_numbers = ["erts_sched_", "erts_sched_x", "_scheduler", "a_scheduler"];
        assert_eq!(look(&named(&not_numbers)), Looked::DoesNotApply);
        let mut idle = named(&SCHEDULERS);
        for thread in &mut idle.account.as_mut().unwrap().threads[1..] {
            (thread.on_cpu, thread.preempted) = (Stretches::default(), Stretches::default());
        }
        assert_eq!(look(&idle), Looked::Fine, "one is at work");
    }

    #[test]
    fn without_an_account_it_cannot_tell_and_zeros_do_not_panic() {
        let mut seen = named(&SCHEDULERS);
        let threads = &seen.account.as_ref().unwrap().threads;
        let known = threads.iter().map(|thread| machine::processes::Thread {
            tid: thread.tid,
            comm: thread.comm.clone(),
            cpus: Some(machine::CpuSet::single(1)),
            ..machine::processes::Thread::default()
        });
        seen.server.processes[0].threads = known.collect();
        let scene = Scene::of(&seen).unwrap();
        let mut counted = seen.clone();
        counted.account = None;
        let scene = Scene { situation: &counted, time: scene.time };
        assert!(matches!(RuntimeWidth.examine(&scene), Looked::CannotTell(_)));
        let mut odd = named(&SCHEDULERS);
        odd.machine.cpus.clear();
        odd.observation.quotas = vec![QuotaSeen {
            party: Party::Server,
            cgroup: String::new(),
            cpus: f64::NAN,
            periods: 0,
            throttled_periods: 0,
            throttled_us: 0,
        }];
        assert_eq!(look(&odd), Looked::DoesNotApply);
        assert!(THREADS.iter().all(|of| (of.width)(0) == 0 && (of.width)(1) == 1));
    }
}
