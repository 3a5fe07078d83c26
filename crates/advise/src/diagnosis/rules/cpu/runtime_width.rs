//! A runtime has a worker for each CPU of the machine, but the server may use fewer.

use std::collections::BTreeMap;

use machine::Missing;
use machine::wording::{percent, plural};
use probe::Party;
use probe::account::{Account, ThreadAccount};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `runtime-width`.
pub struct RuntimeWidth;

/// A worker counts as at work from this share of the time that all threads of the server wanted.
const WORKS: f64 = 0.01;
/// From this share of the throttled time on, it is the workers that are throttled.
const MOSTLY: f64 = 0.5;

static ABOUT: About = About {
    id: "runtime-width",
    title: "workers sized to the machine",
    costs: Costs::CpuAccess,
    docs: "A runtime started one worker for each CPU of the machine, but the server's cpuset, affinity or quota allows fewer: its \
           workers wait for each other, or use up the quota early in each period and are throttled together. Recognised by name and exact \
           number: Erlang schedulers (erts_sched_N, N_scheduler), parallel collectors of a JVM (GC Thread#N: one for each CPU up to 8, and 5 \
           for each 8 beyond), nginx workers (worker_processes auto). Other runtimes, Go and Node.js among them, do not name their threads and \
           are not recognised. The waiting itself is charged by quota and narrow-affinity; own-threads does not report it again. What fewer \
           workers would gain has to be measured. Look-alikes: a configured number of threads that is not the number of CPUs (own-threads); a \
           server whose workers fit the CPUs that it may use, but that has more work than they can do (quota, narrow-affinity).",
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

/// The workers of a server.
struct Workers<'a> {
    runtime: &'static str,
    setting: &'static str,
    /// How many the runtime would start if it saw this many CPUs.
    width: fn(usize) -> usize,
    /// How many there are: threads or processes.
    count: usize,
    /// Their threads.
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
        let recognised = workers(scene);
        // Any other number was configured, or includes other threads with such names.
        let by_machine: Vec<&Workers<'_>> =
            recognised.iter().filter(|workers| workers.count == (workers.width)(online)).collect();
        let fits = |workers: &Workers<'_>| workers.count <= (workers.width)(usable.ceil() as usize);
        let wide: Vec<&Workers<'_>> = by_machine.iter().copied().filter(|workers| !fits(workers)).collect();
        match (by_machine.is_empty(), wide.is_empty(), &scene.situation.account) {
            (true, ..) => Looked::DoesNotApply,
            (_, true, _) => Looked::Fine,
            (_, _, None) => Looked::needs_account(&ABOUT),
            (_, _, Some(account)) => Looked::of(
                wide.into_iter().filter_map(|workers| cause(scene, account, workers, usable)).collect(),
            ),
        }
    }
}

/// CPUs that the server may use at once: those that it may run on, or its quota if that is less.
fn usable(scene: &Scene<'_>) -> f64 {
    let seen = scene.situation.observation.quotas.iter().filter(|quota| quota.party == Party::Server);
    let read = scene.situation.server.processes.iter().filter_map(|process| process.cpu_quota.as_ref());
    let quotas = seen.map(|quota| quota.cpus).chain(read.map(|quota| quota.cpus));
    quotas.filter(|cpus| *cpus > 0.0).fold(scene.allowed().len() as f64, f64::min)
}

/// The workers of each recognised runtime.
fn workers<'a>(scene: &'a Scene<'_>) -> Vec<Workers<'a>> {
    let accounts: &[ThreadAccount] =
        scene.situation.account.as_ref().map(|account| account.threads.as_slice()).unwrap_or_default();
    let mut names: BTreeMap<u32, &str> =
        scene.situation.server.threads().map(|thread| (thread.tid, thread.comm.as_str())).collect();
    names.extend(accounts.iter().map(|thread| (thread.tid, thread.comm.as_str())));
    let mut found: Vec<Workers<'a>> = Vec::new();
    for of in THREADS {
        let is = |comm: &str| of.names.iter().any(|name| name.is(comm));
        let count = names.values().filter(|comm| is(comm)).count();
        let threads = accounts.iter().filter(|thread| is(&thread.comm)).collect();
        found.push(Workers { runtime: of.runtime, setting: of.setting, width: of.width, count, threads });
    }
    let processes = &scene.situation.server.processes;
    for (program, setting) in PROCESSES {
        let named = || processes.iter().filter(|process| process.comm == *program);
        let is_worker = |ppid: u32| named().any(|process| process.pid == ppid);
        let pids: Vec<u32> =
            named().filter(|process| is_worker(process.ppid)).map(|process| process.pid).collect();
        let threads = accounts.iter().filter(|thread| pids.contains(&thread.pid)).collect();
        found.push(Workers { runtime: program, setting, width: |cpus| cpus, count: pids.len(), threads });
    }
    found.retain(|workers| workers.count > 0);
    found
}

/// A cause if more workers are at work than the server may run at once, and if that costs time.
fn cause(scene: &Scene<'_>, account: &Account, workers: &Workers<'_>, usable: f64) -> Option<Cause> {
    let active = |thread: &ThreadAccount| thread.had_ns().saturating_add(thread.kept_off_ns()) as f64;
    let all_ns: f64 = account.threads.iter().map(active).sum();
    let at_work =
        workers.threads.iter().filter(|thread| active(thread) >= WORKS * all_ns && active(thread) > 0.0);
    let at_work = at_work.count();
    let is_worker = |tid: u32| workers.threads.iter().any(|thread| thread.tid == tid);
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
        "{} has {} workers, sized to the machine's {online} {}, but the server may use {}: they {}",
        workers.runtime,
        workers.count,
        plural("CPU", online),
        shown(usable),
        if by_quota { "use up its quota together" } else { "wait for each other" }
    );
    let cause = Cause::possible(ABOUT.id, Subject::Server, claim)
        .because(format!(
            "{at_work} of them are at work; a thread waited while a worker had its CPU for {} of the server's time, and they were throttled for {}",
            percent(took),
            percent(throttled)
        ))
        .figure("workers", workers.count as f64)
        .figure("workers_at_work", at_work as f64)
        .figure("usable_cpus", usable)
        .figure("waited_share", took)
        .figure("throttled_share", throttled);
    let words = format!(
        "Start it for {fits} {} ({}), or let it use as many CPUs as it has workers",
        plural("CPU", fits),
        workers.setting
    );
    Some(cause.remedy(Remedy::by_hand(words)))
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
