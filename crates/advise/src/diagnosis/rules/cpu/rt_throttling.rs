//! The kernel keeps part of each CPU's time from real-time tasks, and the server is one.

use std::collections::BTreeMap;

use machine::processes::Task;
use machine::wording::{percent, plural};
use machine::{CpuSet, Missing};
use probe::account::{Account, TaskAccount, ThreadAccount};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `rt-throttling`.
pub struct RtThrottling;

/// Ordinary threads may have at most this share of the waiting: with more it is not known whose waiting it was.
const OF_ORDINARY: f64 = 0.1;
/// A CPU counts as wanted all the time from this share on of the time in which it was online.
const WANTED: f64 = 0.8;
/// A thread whose policy was not read is taken to have that of its process, unless ordinary tasks had more than this share of the CPUs that it
/// wanted. The kernel keeps 5 % from real-time tasks; an ordinary thread (SCHED_RESET_ON_FORK) shares its CPU equally with a hog.
const LET_IN_AT_MOST: f64 = 0.2;

static ABOUT: About = About {
    id: "rt-throttling",
    title: "real-time throttling",
    costs: Costs::CpuAccess,
    docs: "The server runs under a real-time policy (fifo, rr, deadline) and has used up what the kernel allows such tasks: \
           kernel.sched_rt_runtime_us (0.95 s) of each kernel.sched_rt_period_us (1 s), or its cgroup's cpu.rt_runtime_us; a deadline task has \
           the run time that it reserved. For the rest of the period its CPU is idle, or ordinary tasks have it: since Linux 6.12 a fair server \
           gives them 50 ms of each second, whatever sched_rt_runtime_us says. It shows as threads that could run on but wait, on a CPU that is \
           idle or has an ordinary task: apart from core scheduling and idle injection, nothing else does that to a real-time task. \
           Look-alikes: a task of a higher real-time priority (busy-task), a CPU quota, which applies only to ordinary tasks (quota), a CPU \
           that takes long to wake up (idle-exit). Below full load it costs nothing.",
};

/// Time that was kept from the server's real-time threads.
pub(in crate::diagnosis::rules) struct Kept {
    /// While an ordinary task ran, ns.
    ordinary_ns: f64,
    /// While their CPU was idle, ns.
    pub(in crate::diagnosis::rules) idle_ns: f64,
    cpus: CpuSet,
    /// Whether these threads have policy deadline.
    deadline: bool,
    /// The ordinary task that had most.
    most: Option<(u32, String)>,
}

impl Kept {
    fn ns(&self) -> f64 {
        self.ordinary_ns + self.idle_ns
    }
}

impl Rule for RtThrottling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        match policies(scene) {
            Policies::Unknown => {
                let why = "the scheduling policy of the server's threads was not read";
                return Looked::CannotTell(Missing::new(ABOUT.title, why));
            }
            Policies::Ordinary => return Looked::DoesNotApply,
            Policies::RealTime { .. } => {}
            Policies::Mixed => {
                let why = "both real-time and ordinary threads waited, and it is not known which of them were throttled";
                return Looked::CannotTell(Missing::new(ABOUT.title, why));
            }
        }
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        match kept(scene) {
            Some(kept) if scene.time.share(kept.ns()) >= MATTERS => Looked::Found(vec![cause(scene, &kept)]),
            _ => Looked::Fine,
        }
    }
}

/// The policies of the server's threads that waited.
enum Policies {
    Unknown,
    Ordinary,
    RealTime { deadline: bool, inherited: bool },
    Mixed,
}

fn policies(scene: &Scene<'_>) -> Policies {
    let own = scene.situation.server.threads();
    let own: BTreeMap<u32, &str> =
        own.filter_map(|thread| Some((thread.tid, thread.policy.as_deref()?))).collect();
    // If its threads were not read, the first one stands for all.
    let first = scene.situation.pids.first().and_then(|pid| scene.task(*pid)?.policy.as_deref());
    let first = first.filter(|_| own.is_empty());
    let of = |tid: u32| own.get(&tid).copied().or(first);
    let realtime = |policy: &str| ["fifo", "rr", "deadline"].contains(&policy);
    if own.is_empty() && first.is_none() {
        return Policies::Unknown;
    }
    if !own.values().copied().chain(first).any(realtime) {
        return Policies::Ordinary;
    }
    let threads = scene.situation.account.iter().flat_map(|account| &account.threads);
    let (mut all_ns, mut realtime_ns, mut deadline_ns, mut inherited) = (0.0, 0.0, 0.0, false);
    for thread in threads.filter(|thread| thread.kept_off_ns() > 0) {
        let ns = thread.kept_off_ns() as f64;
        all_ns += ns;
        // A thread that has ended since, such as one of a connection, was not read: it has the policy that all others of its process have.
        let policy = of(thread.tid).or_else(|| {
            inherited = true;
            policy_of_process(scene, thread.pid)
        });
        realtime_ns += policy.filter(|policy| realtime(policy)).map_or(0.0, |_| ns);
        deadline_ns += policy.filter(|policy| *policy == "deadline").map_or(0.0, |_| ns);
    }
    if all_ns - realtime_ns > OF_ORDINARY * all_ns {
        return Policies::Mixed;
    }
    Policies::RealTime { deadline: deadline_ns > realtime_ns / 2.0, inherited }
}

/// The policy of all threads of a process that were read; `None` if they differ or none was read. A new thread inherits the policy of its creator.
fn policy_of_process<'a>(scene: &'a Scene<'_>, pid: u32) -> Option<&'a str> {
    let process = scene.situation.server.processes.iter().find(|process| process.pid == pid)?;
    let mut policies = process.threads.iter().map(|thread| thread.policy.as_deref());
    let first = policies.next()??;
    policies.all(|policy| policy == Some(first)).then_some(first)
}

/// Whether ordinary tasks had so much of these CPUs that the server's threads cannot have been real-time ones.
fn had_too_much(account: &Account, kept: &Kept) -> bool {
    let online = account.cpus.iter().filter(|seen| kept.cpus.contains(seen.cpu));
    let online_ns: f64 = online.map(|seen| seen.online_ns() as f64).sum();
    kept.ordinary_ns > LET_IN_AT_MOST * online_ns
}

/// What was kept from it, possibly nothing; `None` if its threads are not real-time ones, or if that is not known.
pub(in crate::diagnosis::rules) fn kept(scene: &Scene<'_>) -> Option<Kept> {
    let account = scene.situation.account.as_ref()?;
    let Policies::RealTime { deadline, inherited } = policies(scene) else { return None };
    // A thread that was only woken late never lost its CPU.
    let lost_ns: f64 = account.threads.iter().map(|thread| thread.preempted.total_ns as f64).sum();
    let mut kept = Kept { ordinary_ns: 0.0, idle_ns: 0.0, cpus: CpuSet::default(), deadline, most: None };
    if lost_ns <= 0.0 {
        return Some(kept);
    }
    let mut most_ns = 0;
    for task in account.tasks.iter().filter(|task| is_ordinary(scene, account, task)) {
        let wanted = task.took_by_cpu.iter().filter(|(cpu, _)| was_wanted(account, **cpu));
        let on: Vec<(u32, u64)> = wanted.map(|(cpu, ns)| (*cpu, *ns)).collect();
        let ns: u64 = on.iter().map(|(_, ns)| *ns).fold(0, u64::saturating_add);
        kept.ordinary_ns += ns as f64;
        kept.cpus = kept.cpus.iter().chain(on.iter().map(|(cpu, _)| *cpu)).collect();
        if ns > most_ns {
            (most_ns, kept.most) = (ns, Some((task.pid, task.comm.clone())));
        }
    }
    // If an ordinary task merely had not left the CPU yet, the server had not lost it.
    kept.ordinary_ns = kept.ordinary_ns.min(lost_ns);
    if inherited && had_too_much(account, &kept) {
        return None;
    }
    kept.idle_ns = idle_ns(account, &mut kept.cpus);
    Some(kept)
}

/// Whether a task belongs to another program and is known to have an ordinary policy: it leaves its CPU at once for a real-time task, unless
/// that has used up its share. Threads of the kernel are reported by `kernel-thread`.
fn is_ordinary(scene: &Scene<'_>, account: &Account, task: &TaskAccount) -> bool {
    !task.of_target
        && !task.of_kernel
        && Some(task.pid) != scene.situation.observer
        && known(scene, account, task).is_some_and(|known| !known.is_realtime())
}

/// What is known about how a task competes for a CPU; for a thread that has ended, what is known about another of its process.
fn known<'a>(scene: &'a Scene<'_>, account: &Account, task: &TaskAccount) -> Option<&'a Task> {
    let of = |tid: u32| scene.task(tid).filter(|known| known.policy.is_some());
    let others =
        || account.tasks.iter().filter(|other| other.pid == task.pid).find_map(|other| of(other.tid));
    of(task.tid).or_else(others)
}

/// Whether a task that had the CPU is not to blame: the kernel kept the CPU from the real-time server and let the task in, or it is not
/// known whether that is so.
pub(super) fn is_let_in(scene: &Scene<'_>, kept: Option<&Kept>, task: &TaskAccount) -> bool {
    let (Some(account), Some(kept)) = (&scene.situation.account, kept) else { return false };
    match known(scene, account, task) {
        Some(known) => !known.is_realtime() && scene.time.share(kept.ns()) >= MATTERS,
        None => true,
    }
}

/// Whether a CPU was busy, or idle while the server waited, nearly all the time in which it was online: only there can a budget be used up.
fn was_wanted(account: &Account, cpu: u32) -> bool {
    let Some(seen) = account.cpus.iter().find(|seen| seen.cpu == cpu) else { return false };
    let asked_ns = seen
        .target_ns
        .saturating_add(seen.other_ns)
        .saturating_add(seen.interrupted_ns)
        .saturating_add(seen.idle_while_waited_ns);
    seen.online_ns() > 0 && asked_ns as f64 >= WANTED * seen.online_ns() as f64
}

/// Waiting at idle CPUs, less the time in which these woke up for threads that were woken.
fn idle_ns(account: &Account, cpus: &mut CpuSet) -> f64 {
    let mut waited_ns = 0.0;
    let wanted = account.cpus.iter().filter(|seen| seen.idle_while_waited_ns > 0);
    for seen in wanted.filter(|seen| was_wanted(account, seen.cpu)) {
        waited_ns += seen.idle_while_waited_ns as f64;
        cpus.insert(seen.cpu);
    }
    let woken =
        |thread: &ThreadAccount| thread.from_idle.iter().map(|state| state.total_ns as f64).sum::<f64>();
    let coming_up_ns: f64 = account.threads.iter().map(woken).sum();
    (waited_ns - coming_up_ns).max(0.0)
}

fn cause(scene: &Scene<'_>, kept: &Kept) -> Cause {
    let share = scene.time.share(kept.ns());
    let (word, cpus) = (plural("CPU", kept.cpus.len()), &kept.cpus);
    let is_idle = kept.idle_ns >= kept.ordinary_ns;
    let meanwhile = match (is_idle, &kept.most) {
        (false, Some((pid, comm))) => format!("meanwhile {comm} (process {pid}) runs there"),
        _ => "meanwhile nothing runs there".to_string(),
    };
    let why = match kept.deadline {
        true => "the run time of its reservation is used up",
        false => "the kernel keeps part of the time from real-time tasks",
    };
    let claim = format!(
        "The server runs under a real-time policy and is taken off {word} {cpus}: {why}, and {meanwhile}"
    );
    let mut cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
        .because(format!(
            "it spent {} of its time waiting at idle CPUs, and {} waiting for ordinary tasks",
            percent(scene.time.share(kept.idle_ns)),
            percent(scene.time.share(kept.ordinary_ns))
        ))
        .figure("idle_s", kept.idle_ns / 1e9)
        .figure("ordinary_tasks_s", kept.ordinary_ns / 1e9);
    let tunable = |name: &str| scene.situation.machine.kernel.tunables.get(name);
    if let (Some(runtime), Some(period)) =
        (tunable("kernel.sched_rt_runtime_us"), tunable("kernel.sched_rt_period_us"))
    {
        cause = cause.because(format!("kernel.sched_rt_runtime_us is {runtime}, of a period of {period} us"));
    }
    remedies(scene, kept, is_idle).into_iter().fold(cause, Cause::remedy)
}

/// It is not known which budget ran out (its cgroup's, the machine's or the fair server's), so no value of one of them is sure to help.
fn remedies(scene: &Scene<'_>, kept: &Kept, is_idle: bool) -> Vec<Remedy> {
    if kept.deadline {
        return vec![Remedy::by_hand(
            "Reserve more run time in each period (chrt --deadline --sched-runtime), or give it less to do",
        )];
    }
    let mut remedies = Vec::new();
    if is_idle {
        remedies.extend(without_policy(scene));
    }
    remedies.push(Remedy::by_hand(
        "Have it sleep now and then, or spread it over more CPUs. Raise the limit (knob rt-runtime; cpu.rt_runtime_us of its cgroup) or lower what \
         ordinary tasks get (/sys/kernel/debug/sched/fair_server) only if nothing else has to run there: most kernel threads are ordinary tasks",
    ));
    remedies
}

/// To take the policy from all its processes; `None` where it is not known which they are.
fn without_policy(scene: &Scene<'_>) -> Option<Remedy> {
    let why = "little else wants its CPU, and an ordinary task may use all of it";
    let pids = &scene.situation.pids;
    // The knob changes the threads of one process.
    Some(match pids.len().max(scene.situation.server.processes.len()) {
        1 => Remedy::set(
            format!("Remove its real-time policy: {why}"),
            "scheduling-policy",
            pids.first()?,
            "other:0",
        ),
        _ => Remedy::by_hand(format!(
            "Remove the real-time policy of all its processes (CPUSchedulingPolicy= of its unit; of those that run, chrt --other --all-tasks \
             --pid 0 PID for each): {why}"
        )),
    })
}

#[cfg(test)]
mod tests {
    use machine::processes::{Process, Server, Thread};
    use probe::Situation;
    use probe::account::FromIdle;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SERVER, SituationBuilder, situation};
    use crate::diagnosis::{diagnose, rules::cpu::busy_task::BusyTask};

    fn of_policy(mut situation: Situation, policy: &str) -> Situation {
        let own = &mut situation.server.processes[0].threads[0];
        own.policy = Some(policy.into());
        situation
    }

    /// A server that wants its CPU all the time and was kept from it for 50 ms, while the CPU was idle.
    fn throttled(policy: &str) -> Situation {
        let mut situation = of_policy(situation(), policy);
        let account = situation.account.as_mut().unwrap();
        let thread = &mut account.threads[0];
        thread.on_cpu.total_ns = SECOND / 100 * 95;
        thread.preempted.total_ns = SECOND / 20;
        (thread.run_queue.total_ns, thread.asleep.total_ns) = (0, 0);
        let cpu = &mut account.cpus[1];
        cpu.target_ns = SECOND / 100 * 95;
        (cpu.idle_ns, cpu.idle_while_waited_ns) = (SECOND / 20, SECOND / 20);
        situation
    }

    /// The same with an ordinary task in its place.
    fn let_in(policy: &str, theirs: &str) -> Situation {
        let mut situation = throttled(policy).taken_by("batch", 8, false, SECOND / 20);
        let account = situation.account.as_mut().unwrap();
        let cpu = &mut account.cpus[1];
        (cpu.idle_ns, cpu.idle_while_waited_ns, cpu.other_ns) = (0, 0, SECOND / 20);
        let task = Task { tid: 8, policy: Some(theirs.into()), ..Task::default() };
        situation.tasks.insert(8, task);
        situation
    }

    fn look(situation: &Situation) -> Looked {
        RtThrottling.examine(&Scene::of(situation).unwrap())
    }

    fn ids(situation: &Situation) -> Vec<String> {
        diagnose(situation).causes.iter().map(|cause| cause.id.to_string()).collect()
    }

    #[test]
    fn a_real_time_server_on_an_idle_cpu_is_throttled() {
        let seen = throttled("fifo");
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!((causes[0].share.unwrap() - 0.05).abs() < 1e-9, "{causes:?}");
        let setting = causes[0].remedies[0].setting.clone().unwrap();
        assert_eq!((setting.knob.as_str(), setting.value.as_str()), ("scheduling-policy", "other:0"));
        assert_eq!(ids(&seen), ["rt-throttling/server"], "its CPU does not take long to wake up");
        let Looked::Found(causes) = look(&throttled("deadline")) else { panic!("not found") };
        assert!(causes[0].claim.contains("reservation") && causes[0].remedies.len() == 1);
    }

    #[test]
    fn the_policy_of_one_process_is_not_that_of_all() {
        let mut seen = throttled("fifo");
        seen.server.processes.push(Process { pid: SERVER + 1, ..Process::default() });
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        let remedy = &causes[0].remedies[0];
        assert!(remedy.setting.is_none() && remedy.words.contains("all its processes"), "{remedy:?}");
    }

    #[test]
    fn an_ordinary_task_that_is_let_in_is_not_to_blame() {
        let seen = let_in("rr", "other");
        assert_eq!(ids(&seen), ["rt-throttling/server"]);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.contains("batch (process 8)"), "{causes:?}");
    }

    #[test]
    fn a_hog_of_a_higher_priority_is_no_throttling() {
        let seen = let_in("fifo", "fifo");
        assert_eq!(look(&seen), Looked::Fine);
        assert_eq!(ids(&seen), ["busy-task/process:8"]);
        assert!(matches!(BusyTask.examine(&Scene::of(&seen).unwrap()), Looked::Found(_)));
    }

    #[test]
    fn an_ordinary_task_that_is_slow_to_leave_is_to_blame() {
        let mut seen = let_in("fifo", "other");
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        std::mem::swap(&mut thread.preempted, &mut thread.run_queue);
        assert_eq!(look(&seen), Looked::Fine);
        assert_eq!(ids(&seen), ["busy-task/process:8"]);
    }

    #[test]
    fn a_thread_that_has_ended_is_known_by_the_others_of_its_process() {
        let mut seen = let_in("fifo", "other").taken_by("batch", 9, false, SECOND / 100);
        seen.account.as_mut().unwrap().tasks[1].pid = 8;
        assert_eq!(ids(&seen), ["rt-throttling/server"]);
        // It may be a task of a higher priority, or one that is let in.
        seen.account.as_mut().unwrap().tasks[1].pid = 9;
        assert_eq!(ids(&seen), ["rt-throttling/server"]);
        seen.tasks.clear();
        assert!(ids(&seen).is_empty());
    }

    #[test]
    fn a_thread_of_the_server_that_has_ended_has_the_policy_of_its_process() {
        let mut seen = let_in("fifo", "other");
        account_of(&mut seen).threads[0].tid = SERVER + 1;
        assert_eq!(ids(&seen), ["rt-throttling/server"]);
        // The kernel never keeps half of a CPU: the policy was reset on fork.
        let mut by_halves = seen.clone();
        let account = account_of(&mut by_halves);
        account.threads[0].preempted.total_ns = SECOND / 2;
        account.tasks[0].took_by_cpu = [(1, SECOND / 2)].into();
        let cpu = &mut account.cpus[1];
        (cpu.target_ns, cpu.other_ns) = (SECOND / 2, SECOND / 2);
        assert_eq!(ids(&by_halves), ["busy-task/process:8"]);
        // Threads of two policies: it is not known which one it has.
        let ordinary = Thread { tid: SERVER + 2, policy: Some("other".into()), ..Thread::default() };
        seen.server.processes[0].threads.push(ordinary);
        assert!(matches!(look(&seen), Looked::CannotTell(_)));
    }

    #[test]
    fn the_first_thread_stands_for_all_where_they_were_not_read() {
        let mut seen = let_in("fifo", "other");
        seen.server = Server::default();
        seen.tasks.insert(SERVER, Task { tid: SERVER, policy: Some("fifo".into()), ..Task::default() });
        assert_eq!(ids(&seen), ["rt-throttling/server"]);
    }

    #[test]
    fn an_ordinary_server_is_not_judged() {
        assert_eq!(look(&throttled("other")), Looked::DoesNotApply);
        assert_eq!(ids(&let_in("other", "other")), ["busy-task/process:8"]);
    }

    #[test]
    fn a_cpu_that_comes_up_late_for_a_real_time_server_is_no_throttling() {
        let mut seen = throttled("fifo");
        let account = seen.account.as_mut().unwrap();
        account.threads[0].from_idle =
            vec![FromIdle { total_ns: SECOND / 20, count: 500, ..FromIdle::default() }];
        assert_eq!(look(&seen), Looked::Fine);
        // Half of its CPU is free: nothing is used up.
        let mut light = throttled("fifo");
        let cpu = &mut light.account.as_mut().unwrap().cpus[1];
        (cpu.target_ns, cpu.idle_ns) = (SECOND / 2, SECOND / 2);
        assert_eq!(look(&light), Looked::Fine);
    }

    #[test]
    fn without_policies_or_an_account_it_cannot_tell() {
        assert!(matches!(look(&situation()), Looked::CannotTell(_)));
        let mut seen = throttled("fifo");
        seen.account = None;
        assert!(Scene::of(&seen).is_none());
        let mut mixed = throttled("fifo");
        let account = mixed.account.as_mut().unwrap();
        let mut other = account.threads[0].clone();
        other.tid = SERVER + 1;
        account.threads.push(other);
        let ordinary = Thread { tid: SERVER + 1, policy: Some("other".into()), ..Thread::default() };
        mixed.server.processes[0].threads.push(ordinary);
        assert!(matches!(look(&mixed), Looked::CannotTell(_)));
    }

    #[test]
    fn zeros_and_huge_numbers_do_not_panic() {
        let mut seen = let_in("fifo", "other");
        let account = seen.account.as_mut().unwrap();
        account.tasks[0].took_by_cpu = [(1, u64::MAX), (7, u64::MAX)].into();
        let cpu = &mut account.cpus[1];
        (cpu.target_ns, cpu.other_ns, cpu.idle_while_waited_ns) = (u64::MAX, u64::MAX, u64::MAX);
        assert!(matches!(look(&seen), Looked::Found(_)));
        account_of(&mut seen).cpus.clear();
        assert_eq!(look(&seen), Looked::Fine);
    }

    fn account_of(situation: &mut Situation) -> &mut Account {
        situation.account.as_mut().unwrap()
    }
}
