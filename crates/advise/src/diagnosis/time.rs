//! Where the time of a server's threads went.

use std::collections::BTreeMap;

use machine::CpuSet;
use probe::account::{Account, SleepReason, ThreadAccount, working_threshold};
use probe::{Observation, Party, Situation, ThreadSeen};
use serde::Serialize;

/// By which means the times are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// The kernel's account of each event: exact, and it adds up.
    Account,
    /// Counters of /proc: blocked time is in `asleep_ns`, interrupts are in `on_cpu_ns`.
    Counters,
}

/// The thread that wanted a CPU most.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Busiest {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// On a CPU, interrupts included, share of the window.
    pub had_share: f64,
    /// On a CPU, waiting for one or blocked, share of the window.
    pub active_share: f64,
}

/// Times of the threads that worked, summed, ns. With an account, on_cpu + interrupted + preempted + run_queue + throttled + blocked +
/// asleep = wall.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerTime {
    /// By which means they are known.
    pub means: Means,
    /// Length of the window.
    pub window_ns: f64,
    /// Threads that worked: that had a part of what all wanted that matters ([`working_threshold`]).
    pub threads: usize,
    /// Threads of the server in all.
    pub of_threads: usize,
    /// Time of those that worked, within the window.
    pub wall_ns: f64,
    /// On a CPU, net of interrupts.
    pub on_cpu_ns: f64,
    /// Of it in user mode; `None` where it is not known. The kernel looks at ticks only, unless it accounts each entry.
    pub user_ns: Option<f64>,
    /// Interrupts while on a CPU.
    pub interrupted_ns: f64,
    /// Lost the CPU although it could have run on.
    pub preempted_ns: f64,
    /// From being woken until it had a CPU.
    pub run_queue_ns: f64,
    /// Held back by a quota.
    pub throttled_ns: f64,
    /// Waiting for disk, swap or a lock of the kernel (state D); `None` where it cannot be distinguished from sleep.
    pub blocked_ns: Option<f64>,
    /// Waiting for something of its own will.
    pub asleep_ns: f64,
    /// Asleep, by what for; empty where it is not known.
    pub asleep_for_ns: BTreeMap<SleepReason, f64>,
    /// The thread that wanted a CPU most.
    pub busiest: Busiest,
    /// CPUs on which the server had a part of its time that matters.
    pub cpus: CpuSet,
}

impl ServerTime {
    /// On a CPU, interrupts included, ns.
    pub fn had_ns(&self) -> f64 {
        self.on_cpu_ns + self.interrupted_ns
    }

    /// Able to run, but kept from a CPU by others, ns; without the quota.
    pub fn queued_ns(&self) -> f64 {
        self.preempted_ns + self.run_queue_ns
    }

    /// Time in which it tried to go on: on a CPU, kept from one, or blocked, ns. What a cause cost is a share of this.
    pub fn active_ns(&self) -> f64 {
        self.had_ns() + self.queued_ns() + self.throttled_ns + self.blocked_ns.unwrap_or(0.0)
    }

    /// A time as a share of [`active_ns`](Self::active_ns), 0 to 1.
    pub fn share(&self, ns: f64) -> f64 {
        let active_ns = self.active_ns();
        if active_ns > 0.0 { ns / active_ns } else { 0.0 }
    }

    /// Asleep for this, as a share of the time of the threads that worked; `None` where it is not known what for.
    pub fn asleep_share(&self, reason: SleepReason) -> Option<f64> {
        let known = !self.asleep_for_ns.is_empty() && self.wall_ns > 0.0;
        known.then(|| self.asleep_for_ns.get(&reason).copied().unwrap_or(0.0) / self.wall_ns)
    }

    /// A time as a number of CPUs or threads, on average over the window.
    pub fn in_cpus(&self, ns: f64) -> f64 {
        if self.window_ns > 0.0 { ns / self.window_ns } else { 0.0 }
    }

    /// By the best means that a situation has; `None` where none of its threads was seen.
    pub fn of(situation: &Situation) -> Option<Self> {
        match &situation.account {
            Some(account) => Self::of_account(account, &situation.observation),
            None => Self::of_counters(&situation.observation),
        }
    }

    /// From the kernel's account; `None` where no thread did anything.
    pub fn of_account(account: &Account, observation: &Observation) -> Option<Self> {
        let threshold = working_threshold(account.threads.iter().map(|thread| active_ns(thread) as f64));
        let works = |thread: &&ThreadAccount| active_ns(thread) as f64 >= threshold;
        let working: Vec<&ThreadAccount> = account.threads.iter().filter(works).collect();
        let window_ns = account.window_s * 1e9;
        if working.is_empty() || window_ns <= 0.0 {
            return None;
        }
        let sum =
            |of: &dyn Fn(&ThreadAccount) -> u64| working.iter().map(|thread| of(thread) as f64).sum::<f64>();
        let busiest = working.iter().max_by_key(|thread| active_ns(thread))?;
        let used_from = working_threshold(account.cpus.iter().map(|cpu| cpu.target_ns as f64));
        let used = account.cpus.iter().filter(|cpu| cpu.target_ns as f64 >= used_from);
        Some(Self {
            means: Means::Account,
            window_ns,
            threads: working.len(),
            of_threads: account.threads.len(),
            wall_ns: sum(&|thread| thread.wall_ns),
            on_cpu_ns: sum(&|thread| thread.on_cpu.total_ns),
            user_ns: user_ns(&observation.threads, &working),
            interrupted_ns: sum(&|thread| thread.interrupted_ns),
            preempted_ns: sum(&|thread| thread.preempted.total_ns),
            run_queue_ns: sum(&|thread| thread.run_queue.total_ns),
            throttled_ns: sum(&|thread| thread.throttled.total_ns),
            blocked_ns: Some(sum(&|thread| thread.blocked.total_ns)),
            asleep_ns: sum(&|thread| thread.asleep.total_ns),
            asleep_for_ns: asleep_for(&working),
            busiest: Busiest {
                tid: busiest.tid,
                comm: busiest.comm.clone(),
                had_share: busiest.had_ns() as f64 / window_ns,
                active_share: active_ns(busiest) as f64 / window_ns,
            },
            cpus: used.map(|cpu| cpu.cpu).collect(),
        })
    }

    /// From counters alone; `None` where no thread did anything, or the kernel keeps no run-queue times.
    pub fn of_counters(observation: &Observation) -> Option<Self> {
        let us = |of: Option<u64>| of.unwrap_or(0) as f64;
        let threshold = working_threshold(observation.threads.iter().map(active_us));
        let works = |thread: &&ThreadSeen| active_us(thread) >= threshold;
        let working: Vec<&ThreadSeen> = observation.threads.iter().filter(works).collect();
        let window_ns = observation.window_s() * 1e9;
        let busiest = working.iter().max_by(|a, b| active_us(a).total_cmp(&active_us(b)))?;
        if window_ns <= 0.0 {
            return None;
        }
        let on_cpu_ns: f64 = working.iter().map(|thread| us(thread.on_cpu_us) * 1e3).sum();
        let waited_ns: f64 = working.iter().map(|thread| us(thread.waited_us) * 1e3).sum();
        // A throttled thread is on a run queue, so that its time there is counted as waiting (kernel/sched/fair.c).
        let quotas = observation.quotas.iter().filter(|quota| quota.party == Party::Server);
        let throttled_ns =
            quotas.map(|quota| quota.throttled_us as f64 * 1e3).fold(0.0, f64::max).min(waited_ns);
        let wall_ns = window_ns * working.len() as f64;
        let mut on: BTreeMap<u32, u64> = BTreeMap::new();
        for (cpu, times) in working.iter().flat_map(|thread| &thread.seen_on) {
            *on.entry(*cpu).or_default() += times;
        }
        let used_from = working_threshold(on.values().map(|times| *times as f64));
        Some(Self {
            means: Means::Counters,
            window_ns,
            threads: working.len(),
            of_threads: observation.threads.len(),
            wall_ns,
            on_cpu_ns,
            user_ns: user_share(&observation.threads).map(|share| share * on_cpu_ns),
            interrupted_ns: 0.0,
            preempted_ns: 0.0,
            run_queue_ns: waited_ns - throttled_ns,
            throttled_ns,
            blocked_ns: None,
            asleep_ns: (wall_ns - on_cpu_ns - waited_ns).max(0.0),
            asleep_for_ns: BTreeMap::new(),
            busiest: Busiest {
                tid: busiest.tid,
                comm: busiest.comm.clone(),
                had_share: us(busiest.on_cpu_us) * 1e3 / window_ns,
                active_share: active_us(busiest) * 1e3 / window_ns,
            },
            cpus: on.iter().filter(|(_, times)| **times as f64 >= used_from).map(|(cpu, _)| *cpu).collect(),
        })
    }
}

/// What these threads slept for, ns; empty where nothing but `unknown` is known.
fn asleep_for(threads: &[&ThreadAccount]) -> BTreeMap<SleepReason, f64> {
    let mut sums = BTreeMap::new();
    for (reason, part) in threads.iter().flat_map(|thread| &thread.asleep_for) {
        *sums.entry(*reason).or_default() += part.total_ns as f64;
    }
    if sums.keys().all(|reason| *reason == SleepReason::Unknown) { BTreeMap::new() } else { sums }
}

/// Time in which a thread wanted a CPU: on one, or kept from one, ns.
pub(super) fn wanted_ns(thread: &ThreadAccount) -> u64 {
    thread.had_ns().saturating_add(thread.kept_off_ns())
}

/// Time in which a thread was on a CPU or waited for one, by counters, us.
pub(super) fn active_us(thread: &ThreadSeen) -> f64 {
    let us = |of: Option<u64>| of.unwrap_or(0) as f64;
    us(thread.on_cpu_us) + us(thread.waited_us)
}

/// Time in which a thread tried to go on: on a CPU, kept from one, or blocked, ns.
fn active_ns(thread: &ThreadAccount) -> u64 {
    wanted_ns(thread).saturating_add(thread.blocked.total_ns)
}

/// Time in user mode of the threads that worked. The kernel shares out by ticks what it charges to a thread, and without
/// CONFIG_IRQ_TIME_ACCOUNTING charges it with its interrupts, as kernel time.
fn user_ns(counted: &[ThreadSeen], working: &[&ThreadAccount]) -> Option<f64> {
    let share = user_share(counted)?;
    let (mut charged, mut on_cpu, mut interrupted) = (0.0, 0.0, 0.0);
    for thread in working {
        let seen = counted.iter().find(|seen| seen.tid == thread.tid).and_then(|seen| seen.on_cpu_us);
        charged += seen.unwrap_or(0) as f64 * 1e3;
        on_cpu += thread.on_cpu.total_ns as f64;
        interrupted += thread.interrupted_ns as f64;
    }
    let with_interrupts = charged - on_cpu > interrupted / 2.0;
    let shared = if with_interrupts { on_cpu + interrupted } else { on_cpu };
    Some((share * shared).min(on_cpu))
}

/// Share of user mode in the CPU time of these threads; `None` where nothing was counted.
fn user_share(threads: &[ThreadSeen]) -> Option<f64> {
    let sum = |of: fn(&ThreadSeen) -> Option<u64>| threads.iter().filter_map(of).sum::<u64>() as f64;
    let (user_us, system_us) = (sum(|thread| thread.user_us), sum(|thread| thread.system_us));
    (user_us + system_us > 0.0).then(|| user_us / (user_us + system_us))
}

#[cfg(test)]
mod tests {
    use probe::account::{CpuAccount, Stretches};
    use proptest::prelude::*;

    use super::*;

    fn stretches(total_ns: u64) -> Stretches {
        Stretches { count: 1, total_ns, ..Stretches::default() }
    }

    /// A thread of which these parts are all its time.
    fn thread(tid: u32, parts: [u64; 7]) -> ThreadAccount {
        let [on_cpu, interrupted_ns, preempted, run_queue, throttled, blocked, asleep] = parts;
        ThreadAccount {
            tid,
            wall_ns: parts.iter().sum(),
            on_cpu: stretches(on_cpu),
            interrupted_ns,
            preempted: stretches(preempted),
            run_queue: stretches(run_queue),
            throttled: stretches(throttled),
            blocked: stretches(blocked),
            asleep: stretches(asleep),
            ..ThreadAccount::default()
        }
    }

    fn account(threads: Vec<ThreadAccount>) -> Account {
        Account { window_s: 1.0, threads, ..Account::default() }
    }

    proptest! {
        #[test]
        fn the_terms_add_up_to_the_time_of_the_threads_that_worked(
            parts in proptest::collection::vec(proptest::array::uniform7(0u64..1_000_000_000), 1..20)
        ) {
            let threads = parts.iter().enumerate().map(|(tid, parts)| thread(tid as u32, *parts)).collect();
            let Some(time) = ServerTime::of_account(&account(threads), &Observation::default()) else { return Ok(()) };
            let terms = time.had_ns() + time.queued_ns() + time.throttled_ns + time.blocked_ns.unwrap_or(0.0) + time.asleep_ns;
            prop_assert!((terms - time.wall_ns).abs() <= 1e-9 * time.wall_ns, "{terms} of {}", time.wall_ns);
            let shares = [time.had_ns(), time.queued_ns(), time.throttled_ns, time.blocked_ns.unwrap_or(0.0)];
            let sum: f64 = shares.iter().map(|ns| time.share(*ns)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9 || time.active_ns() == 0.0, "{sum}");
        }
    }

    #[test]
    fn threads_that_do_nothing_are_left_out() {
        let busy = thread(1, [900, 0, 0, 100, 0, 0, 0]);
        let idle = thread(2, [1, 0, 0, 0, 0, 0, 999]);
        let time = ServerTime::of_account(&account(vec![busy, idle]), &Observation::default()).unwrap();
        assert_eq!((time.threads, time.of_threads, time.busiest.tid), (1, 2, 1));
        assert_eq!((time.asleep_ns, time.share(100.0)), (0.0, 0.1));
        assert!(ServerTime::of_account(&account(Vec::new()), &Observation::default()).is_none());
    }

    #[test]
    fn interrupts_that_a_thread_is_charged_with_are_no_time_of_its_own_in_the_kernel() {
        // 60 us in user mode, 20 in the kernel, 20 interrupted.
        let account = account(vec![thread(1, [80_000, 20_000, 0, 0, 0, 0, 0])]);
        let seen = |on_cpu_us, user_us, system_us| ThreadSeen {
            tid: 1,
            on_cpu_us: Some(on_cpu_us),
            user_us: Some(user_us),
            system_us: Some(system_us),
            ..ThreadSeen::default()
        };
        for charged in [seen(100, 60, 40), seen(80, 60, 20)] {
            let observation = Observation { threads: vec![charged], ..Observation::default() };
            let time = ServerTime::of_account(&account, &observation).unwrap();
            assert!((time.user_ns.unwrap() - 60_000.0).abs() < 1.0, "{time:?}");
        }
    }

    #[test]
    fn of_hundreds_of_threads_and_cpus_each_counts() {
        let threads = (1..=300).map(|tid| thread(tid, [30, 0, 0, 20, 0, 0, 950])).collect();
        let cpu = |cpu| CpuAccount { cpu, target_ns: 50, ..CpuAccount::default() };
        let account = Account { cpus: (0..200).map(cpu).collect(), ..account(threads) };
        let time = ServerTime::of_account(&account, &Observation::default()).unwrap();
        assert_eq!((time.threads, time.of_threads, time.cpus.len()), (300, 300, 200));
        let seen = |tid| ThreadSeen {
            tid,
            on_cpu_us: Some(30),
            waited_us: Some(20),
            seen_on: [(tid % 200, 1)].into(),
            ..ThreadSeen::default()
        };
        let threads = (1..=300).map(seen).collect();
        let observation = Observation { threads, to_ns: 1_000_000, ..Observation::default() };
        let time = ServerTime::of_counters(&observation).unwrap();
        assert_eq!((time.threads, time.cpus.len()), (300, 200));
    }

    #[test]
    fn the_cpus_are_those_that_it_really_had() {
        let cpu = |cpu, target_ns| CpuAccount { cpu, target_ns, ..CpuAccount::default() };
        let account = Account {
            cpus: vec![cpu(0, 5), cpu(1, 995), cpu(2, 0)],
            ..account(vec![thread(1, [1_000, 0, 0, 0, 0, 0, 0])])
        };
        let time = ServerTime::of_account(&account, &Observation::default()).unwrap();
        assert_eq!(time.cpus.to_list(), "1");
    }

    #[test]
    fn counters_give_the_same_without_what_they_do_not_know() {
        let seen = |on_cpu_us, waited_us| ThreadSeen {
            on_cpu_us: Some(on_cpu_us),
            waited_us: Some(waited_us),
            user_us: Some(on_cpu_us / 4),
            system_us: Some(on_cpu_us - on_cpu_us / 4),
            seen_on: BTreeMap::from([(3, 10)]),
            ..ThreadSeen::default()
        };
        let observation = Observation {
            to_ns: 1_000_000_000,
            threads: vec![seen(600_000, 200_000), seen(0, 0)],
            ..Observation::default()
        };
        let time = ServerTime::of_counters(&observation).unwrap();
        assert_eq!((time.means, time.threads, time.blocked_ns), (Means::Counters, 1, None));
        assert_eq!((time.on_cpu_ns, time.run_queue_ns, time.asleep_ns), (6e8, 2e8, 2e8));
        assert_eq!((time.user_ns, time.cpus.to_list().as_str()), (Some(1.5e8), "3"));
        assert!(ServerTime::of_counters(&Observation::default()).is_none());
    }
}
