//! Terms: the parts of a server's time in one trial, which add up to all of it.

use std::collections::BTreeMap;

use probe::account::{Account, SleepReason, Source, TaskAccount, working_threshold};
use probe::{Party, Situation, TreeSeen};
use serde::{Deserialize, Serialize};

use crate::diagnosis::time::{Means, ServerTime};

/// What a thread of the server does, or why it does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// On a CPU, net of interrupts, in user mode.
    User,
    /// The same in the kernel.
    Kernel,
    /// The same, where the two are not distinguished.
    Own,
    /// Interrupts while it was on a CPU.
    Interrupted,
    /// Able to run, but kept from a CPU: preempted, or in the run queue.
    Waiting,
    /// Held back by a quota.
    Throttled,
    /// Waiting for disk, swap or a lock of the kernel (state D).
    Blocked,
    /// Waiting of its own will.
    Asleep,
}

/// Who or what a part of a term belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Part {
    /// A kind of interrupt or softirq.
    Interrupt {
        /// Which.
        source: Source,
    },
    /// Processes of the load.
    Load,
    /// Other threads of the server.
    OwnThreads,
    /// Other programs of one name: numbers change from trial to trial.
    Program {
        /// Name, at most 15 characters.
        name: String,
    },
    /// Threads of the kernel of one kind.
    KernelThread {
        /// Name without numbers.
        name: String,
    },
    /// The CPU was idle: it woke up, or was not asked.
    IdleCpu,
    /// Asleep for this.
    Sleep {
        /// What for.
        reason: SleepReason,
    },
    /// What is left of the term.
    Rest,
}

/// A term and a part of it.
pub type Leaf = (Term, Part);

/// The time of the server's threads that worked in one trial, ns, by leaf: all of it, once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    /// By leaf. A [`Part::Rest`] may be a little below 0: parts are known of all threads, terms of those that worked.
    pub ns: BTreeMap<Leaf, f64>,
    /// Threads that worked.
    pub threads: usize,
}

impl Terms {
    /// Of the window of a trial. `None` where nothing was seen of its threads.
    pub fn of(situation: &Situation) -> Option<Self> {
        let time = ServerTime::of(situation)?;
        let mut terms = Self { ns: BTreeMap::new(), threads: time.threads };
        terms.add_own(&time);
        terms.add_split(Term::Interrupted, time.interrupted_ns, interrupted(situation.account.as_ref()));
        terms.add_split(Term::Waiting, time.queued_ns(), waiting(situation));
        terms.add_split(Term::Throttled, time.throttled_ns, BTreeMap::new());
        terms.add_split(Term::Blocked, time.blocked_ns.unwrap_or(0.0), BTreeMap::new());
        let asleep = time.asleep_for_ns.iter().map(|(reason, ns)| (Part::Sleep { reason: *reason }, *ns));
        terms.add_split(Term::Asleep, time.asleep_ns, asleep.collect());
        Some(terms)
    }

    /// Of what was followed beside the server, by counters: on a CPU, waiting for one, and the rest. `None` where nothing ran.
    pub fn of_load(situation: &Situation) -> Option<Self> {
        let load = situation.observation.beside.get(&Party::Load)?;
        let followed_ns = if load.followed_us > 0 {
            load.followed_us as f64 * 1e3
        } else {
            situation.observation.window_s() * 1e9
        };
        let (on_cpu_ns, waited_ns, threads) = worked(load);
        if threads == 0 {
            return None;
        }
        let mut terms = Self { ns: BTreeMap::new(), threads };
        terms.add_split(Term::Own, on_cpu_ns, BTreeMap::new());
        terms.add_split(Term::Waiting, waited_ns, BTreeMap::new());
        let asleep_ns = (followed_ns * threads as f64 - on_cpu_ns - waited_ns).max(0.0);
        terms.add_split(Term::Asleep, asleep_ns, BTreeMap::new());
        Some(terms)
    }

    /// Time on CPUs of its own, in user mode and in the kernel where ticks distinguish them.
    fn add_own(&mut self, time: &ServerTime) {
        match time.user_ns.filter(|_| time.means == Means::Account) {
            Some(user_ns) => {
                self.add_split(Term::User, user_ns, BTreeMap::new());
                self.add_split(Term::Kernel, time.on_cpu_ns - user_ns, BTreeMap::new());
            }
            None => self.add_split(Term::Own, time.on_cpu_ns, BTreeMap::new()),
        }
    }

    /// A term by its parts; what they leave of it is its rest.
    fn add_split(&mut self, term: Term, all_ns: f64, parts: BTreeMap<Part, f64>) {
        let told_ns: f64 = parts.values().sum();
        for (part, ns) in parts {
            *self.ns.entry((term, part)).or_default() += ns;
        }
        *self.ns.entry((term, Part::Rest)).or_default() += all_ns - told_ns;
    }

    /// All of it.
    pub fn total_ns(&self) -> f64 {
        self.ns.values().sum()
    }

    /// All of a term, ns.
    pub fn term_ns(&self, term: Term) -> f64 {
        self.ns.iter().filter(|((of, _), _)| *of == term).map(|(_, ns)| ns).sum()
    }

    /// The same with each leaf divided by `by`.
    pub fn divided(&self, by: f64) -> Self {
        Self { ns: self.ns.iter().map(|(leaf, ns)| (leaf.clone(), ns / by)).collect(), threads: self.threads }
    }
}

/// Time on CPUs and waiting for one of the threads that worked, ns, and how many they are.
fn worked(load: &TreeSeen) -> (f64, f64, usize) {
    let ns = |us: Option<u64>| us.unwrap_or(0) as f64 * 1e3;
    let active = |thread: &probe::ThreadSeen| ns(thread.on_cpu_us) + ns(thread.waited_us);
    let threshold = working_threshold(load.threads.iter().map(active));
    let working: Vec<_> = load.threads.iter().filter(|t| active(t) >= threshold).collect();
    let sum = |of: fn(&probe::ThreadSeen) -> Option<u64>| working.iter().map(|t| ns(of(t))).sum::<f64>();
    (sum(|t| t.on_cpu_us), sum(|t| t.waited_us), working.len())
}

/// Interrupts while the server ran, by source.
fn interrupted(account: Option<&Account>) -> BTreeMap<Part, f64> {
    by_source(account, |seen| seen.on_target.total_ns)
}

fn by_source(
    account: Option<&Account>,
    ns: fn(&probe::account::Interruptions) -> u64,
) -> BTreeMap<Part, f64> {
    let mut parts = BTreeMap::new();
    for cpu in account.iter().flat_map(|account| &account.cpus) {
        for (source, seen) in cpu.sources.iter().filter(|(_, seen)| ns(seen) > 0) {
            *parts.entry(Part::Interrupt { source }).or_default() += ns(seen) as f64;
        }
    }
    parts
}

/// Who had the CPU while the server waited for it.
fn waiting(situation: &Situation) -> BTreeMap<Part, f64> {
    let Some(account) = &situation.account else { return BTreeMap::new() };
    let mut parts = by_source(Some(account), |seen| seen.while_waiting.total_ns);
    for task in account.tasks.iter().filter(|task| task.took.total_ns > 0) {
        *parts.entry(taker(situation, task)).or_default() += task.took.total_ns as f64;
    }
    let idle_ns: f64 = account.cpus.iter().map(|cpu| cpu.idle_while_waited_ns as f64).sum();
    if idle_ns > 0.0 {
        parts.insert(Part::IdleCpu, idle_ns);
    }
    parts
}

fn taker(situation: &Situation, task: &TaskAccount) -> Part {
    match (task.of_target, task.of_kernel, situation.is_client(task.pid)) {
        (true, ..) => Part::OwnThreads,
        (_, true, _) => Part::KernelThread { name: task.kernel_thread_kind().into() },
        (.., true) => Part::Load,
        _ => Part::Program { name: task.comm.clone() },
    }
}
