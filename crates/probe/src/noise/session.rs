//! Runs the loops: a thread a CPU, round by round.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::Scope;
use std::time::{Duration, Instant};

use machine::procfs::pid_status;
use machine::{Class, CpuSet, Fault, Machine, Missing, Root};

use super::cpu_sums::LiveCpu;
use super::gap_loop::{self, OwnCost};
use super::record::Record;
use super::results::{CpuNoise, JoinedTo, Left, LineNoise, Noise, Policy, TaskNoise};
use super::rounds::rounds;
use super::summary;
use crate::account::{Account, Counting, Names, Snapshot, Target, TaskAccount, TracePoints};
use crate::bpf::CpuTables;
use crate::meter::Meter;
use crate::online::online_to_compare;

/// What is to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The CPUs: online, and allowed to this process.
    pub cpus: CpuSet,
    /// How long each is measured.
    pub window: Duration,
    /// Longer gaps count.
    pub threshold: Duration,
    /// Siblings of a core at the same time: what one does is then noise to the other.
    pub together: bool,
    /// How the loops are scheduled; [`Surroundings::enter`] sees to it.
    pub policy: Policy,
}

/// A round: CPUs that are measured at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// Number, from 0 on.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// Its CPUs.
    pub cpus: &'a CpuSet,
}

/// What the caller does for a measurement: this crate sets nothing.
pub trait Surroundings: Sync {
    /// Confines the calling thread to a CPU, and gives it the policy of the plan.
    ///
    /// # Errors
    /// It may not run there, or not with that policy.
    fn enter(&self, cpu: u32) -> Result<(), Fault>;

    /// A round begins: the calling thread is to keep off its CPUs, if there are others. Returns how often it wants to be called.
    fn begins(&self, round: &Round<'_>) -> Duration;

    /// This much of the round has passed.
    fn passes(&self, round: &Round<'_>, passed: Duration);
}

/// Measures. A machine's CPUs take one window, or one for each thread of a core.
///
/// # Errors
/// A loop may not run as it is to; `stop` was raised.
pub fn measure(
    plan: &Plan,
    machine: &Machine,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
) -> Result<Noise, Fault> {
    let rounds = rounds(&plan.cpus, &machine.cores(), plan.together);
    std::thread::scope(|scope| {
        let loops = Loops::start(scope, plan, surroundings, stop)?;
        let counting = Counting::begin(&Target::Threads(loops.tids()), machine, &TracePoints::Best);
        let (counting, missing) = match counting {
            Ok(counting) => (Some(counting.without_frequency()), Vec::new()),
            Err(why) => (
                None,
                vec![Missing::new("what happens inside of gaps", format_args!("{}: {}", why.fact, why.why))],
            ),
        };
        let mut session = Session { plan, machine, loops, counting, missing, cpus: Vec::new() };
        for (number, cpus) in rounds.iter().enumerate() {
            session.round(&Round { number, of: rounds.len(), cpus }, surroundings, stop)?;
        }
        Ok(session.result(rounds.clone()))
    })
}

/// Lets a loop begin.
struct Go {
    tables: Option<Arc<CpuTables>>,
}

/// What a loop has to say when it is done.
struct Done {
    cpu: u32,
    record: Box<Record>,
    cost: OwnCost,
    preempted: Option<u64>,
    left: Option<Left>,
}

/// The threads of all loops; those whose turn has not come sleep.
struct Loops {
    go: BTreeMap<u32, (u32, Sender<Go>)>,
    done: Receiver<Done>,
}

impl Loops {
    fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        plan: &'scope Plan,
        surroundings: &'scope dyn Surroundings,
        stop: &'scope AtomicBool,
    ) -> Result<Self, Fault> {
        let (tell_done, done) = mpsc::channel();
        let mut loops = Self { go: BTreeMap::new(), done };
        for cpu in plan.cpus.iter() {
            let (tell_go, go) = mpsc::channel();
            let (tell_entered, entered) = mpsc::channel();
            let tell_done = tell_done.clone();
            let body = move || {
                let answer =
                    surroundings.enter(cpu).map(|()| rustix::thread::gettid().as_raw_nonzero().get() as u32);
                // Nobody listens only when the measurement was given up.
                let _ = tell_entered.send(answer);
                if let Ok(go) = go.recv() {
                    let _ = tell_done.send(run(cpu, plan, go, stop));
                }
            };
            let failed = |why: &dyn std::fmt::Display| {
                Fault::new(
                    Class::WorkloadFailed,
                    format!("loop on CPU {cpu}"),
                    why,
                    "check the limit of tasks",
                )
            };
            let thread = std::thread::Builder::new().name(format!("noise-{cpu}")).spawn_scoped(scope, body);
            thread.map_err(|e| failed(&e))?;
            let tid = entered.recv().map_err(|e| failed(&e))??;
            loops.go.insert(cpu, (tid, tell_go));
        }
        Ok(loops)
    }

    fn tids(&self) -> Vec<u32> {
        self.go.values().map(|(tid, _)| *tid).collect()
    }
}

/// A CPU that gave the loop away goes offline within so many looks, or stays.
const OFFLINE_LOOKS: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A loop on the CPU to which the calling thread is confined.
fn run(cpu: u32, plan: &Plan, go: Go, stop: &AtomicBool) -> Done {
    let mut record = Box::new(Record::new(plan.threshold.as_nanos() as u64));
    let live = LiveCpu { tables: go.tables, cpu: cpu as usize };
    let cost = gap_loop::try_out(&live, &mut record);
    let before = involuntary_switches();
    let window_ns = plan.window.as_nanos() as u64;
    gap_loop::run(&live, &mut record, cost, window_ns, stop);
    let preempted = involuntary_switches().zip(before).map(|(after, before)| after.saturating_sub(before));
    let left = record.left.then(|| left(cpu));
    Done { cpu, record, cost, preempted, left }
}

/// How the calling thread came to leave its CPU, a moment ago. A CPU on its way offline gives its tasks away first, and is listed as online
/// until all that it serves is moved (kernel/cpu.c: sched_cpu_deactivate long before take_cpu_down).
fn left(cpu: u32) -> Left {
    for look in 0..OFFLINE_LOOKS {
        if look > 0 {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        if online_to_compare(&Root::live()).is_ok_and(|online| !online.contains(cpu)) {
            return Left::Offline;
        }
    }
    Left::Moved
}

/// Of the calling thread.
fn involuntary_switches() -> Option<u64> {
    let status = Root::live().read("/proc/thread-self/status").ok()?;
    pid_status::parse(&status).ok()?.involuntary_switches
}

/// What has been measured so far.
struct Session<'a> {
    plan: &'a Plan,
    machine: &'a Machine,
    loops: Loops,
    counting: Option<Counting>,
    missing: Vec<Missing>,
    cpus: Vec<CpuNoise>,
}

impl Session<'_> {
    fn round(
        &mut self,
        round: &Round<'_>,
        surroundings: &dyn Surroundings,
        stop: &AtomicBool,
    ) -> Result<(), Fault> {
        let every = surroundings.begins(round);
        let before = self.counting.as_mut().map(Counting::read);
        let mut meter = Meter::new(Root::live(), &["interrupts", "softirqs"]);
        meter.read();
        let began = Instant::now();
        for cpu in round.cpus.iter() {
            let tables = self.counting.as_ref().map(Counting::cpu_tables);
            if let Some((_, tell_go)) = self.loops.go.get(&cpu) {
                // A loop that is gone is missed below.
                let _ = tell_go.send(Go { tables });
            }
        }
        let mut done = Vec::new();
        while done.len() < round.cpus.len() {
            match self.loops.done.recv_timeout(every) {
                Ok(one) => done.push(one),
                Err(RecvTimeoutError::Timeout) => {
                    surroundings.passes(round, began.elapsed());
                    self.counting.iter_mut().for_each(Counting::harvest);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if stop.load(Ordering::Acquire) {
            return Err(Fault::new(Class::Interrupted, "noise", "stopped by a signal", ""));
        }
        let counts = meter.read().moved_by_cpu();
        let after = self.counting.as_mut().map(Counting::read);
        for one in done {
            self.keep(one, before.as_ref().zip(after.as_ref()), &counts);
        }
        Ok(())
    }

    fn keep(
        &mut self,
        done: Done,
        lines: Option<(&Snapshot, &Snapshot)>,
        counts: &BTreeMap<u32, BTreeMap<String, u64>>,
    ) {
        let joined = lines.is_some();
        let mut of_cpu = summary::cpu(done.cpu, &done.record, done.cost, joined);
        (of_cpu.preempted, of_cpu.left) = (done.preempted, done.left);
        if let Some((before, after)) = lines {
            of_cpu.lines = lines_between(done.cpu, before, after, self.machine);
        } else if done.left.is_none() {
            of_cpu.counts = counts.get(&done.cpu).cloned().unwrap_or_default();
            let ticks = of_cpu.counts.get("LOC").copied();
            of_cpu.ticks = ticks;
            of_cpu.ticks_per_s = ticks.map(|ticks| ticks as f64 / of_cpu.window_s);
        }
        self.missing.extend(not_sure(&done));
        self.cpus.push(of_cpu);
    }

    fn result(mut self, rounds: Vec<CpuSet>) -> Noise {
        let joined_to = if self.counting.is_some() { JoinedTo::Events } else { JoinedTo::Counts };
        if let Some(mut counting) = self.counting.take() {
            counting.stop();
            let snapshot = counting.read();
            let mut names = Names::of(self.machine);
            names.learn(&snapshot);
            let account = Account::of(&snapshot, false, &names, counting.missing());
            let loops = self.loops.tids();
            for cpu in &mut self.cpus {
                cpu.tasks = tasks_on(cpu.cpu, &account, &loops);
            }
            let steal_unknown = |cpu: &u32| snapshot.cpu(*cpu).is_some_and(|seen| seen.steal_ns == 0);
            if self.machine.virtualization.guest == Some(true)
                && self.plan.cpus.iter().all(|cpu| steal_unknown(&cpu))
            {
                let why = "the run queue's clock shows none (CONFIG_PARAVIRT_TIME_ACCOUNTING); it is within unexplained";
                self.missing.push(Missing::new("steal", why));
            }
            self.missing.extend(account.missing);
        }
        self.cpus.sort_by(|a, b| {
            // Of a CPU that its loop left there is less to go by.
            let key = |cpu: &CpuNoise| (cpu.left.is_some(), cpu.share, cpu.longest_gap_ns);
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        Noise {
            asked_s: self.plan.window.as_secs_f64(),
            threshold_ns: self.plan.threshold.as_nanos() as u64,
            policy: self.plan.policy,
            joined_to,
            rounds,
            cpus: self.cpus,
            missing: self.missing,
        }
    }
}

/// What casts doubt on figures of a CPU.
fn not_sure(done: &Done) -> Vec<Missing> {
    let (record, cpu) = (&done.record, done.cpu);
    let mut missing: Vec<Missing> =
        done.left.map(|left| not_measured(cpu, record, left)).into_iter().collect();
    if done.cost.step_p99_ns * 2 > record.threshold_ns {
        let why = format_args!(
            "one reading of the clock in a hundred takes {} ns, more than half the threshold: choose a higher one",
            done.cost.step_p99_ns
        );
        missing.push(Missing::new(format_args!("which short gaps of CPU {cpu} are the loop's own"), why));
    }
    if record.unsettled > 0 {
        let why = format_args!(
            "at the end of {} gaps the kernel's record was read while something came in between: the CPU was never quiet for long \
             enough, or its clock is slow",
            record.unsettled
        );
        missing.push(Missing::new(format_args!("in which of two gaps some events of CPU {cpu} were"), why));
    }
    if record.gaps_unsure > 0 {
        let why = format_args!(
            "{} gaps hold a switch that the kernel did not report; what no interrupt has of them is taken for other tasks",
            record.gaps_unsure
        );
        missing.push(Missing::new(format_args!("a part of the slices of other tasks on CPU {cpu}"), why));
    }
    if record.unplaced_steal_ns > record.gap_ns / 100 {
        let why = format_args!(
            "{} us fit into no rest of a gap: they are within slices of other tasks, or handlers",
            record.unplaced_steal_ns / 1_000
        );
        missing.push(Missing::new(format_args!("where a part of the steal of CPU {cpu} lies"), why));
    }
    if record.beyond_ns > record.gap_ns / 100 {
        let why = format_args!("events in gaps are {} us longer than the gaps", record.beyond_ns / 1_000);
        missing.push(Missing::new(format_args!("a part of the events of CPU {cpu}"), why));
    }
    missing
}

/// What of the window was not measured, and why.
fn not_measured(cpu: u32, record: &Record, left: Left) -> Missing {
    let measured_s = record.ended_ns.saturating_sub(record.began_ns) as f64 / 1e9;
    let why = match left {
        Left::Offline => "the CPU went offline, and the kernel moved the loop to another one",
        Left::Moved => {
            "the affinity of the loop was changed (taskset, a cpuset), and it was moved to another CPU"
        }
    };
    Missing::new(format_args!("the noise of CPU {cpu} after the first {measured_s:.1} s of its window"), why)
}

fn lines_between(cpu: u32, before: &Snapshot, after: &Snapshot, machine: &Machine) -> Vec<LineNoise> {
    let of = |snapshot: &Snapshot| -> BTreeMap<u32, (u64, u64)> {
        let here = snapshot.lines.iter().filter(|(key, _)| key.cpu == cpu);
        here.map(|(key, line)| (key.irq, (line.seen.all.count, line.seen.all.total_ns))).collect()
    };
    let before = of(before);
    let name = |irq: u32| machine.irqs.iter().find(|known| known.irq == irq).map(|known| known.name.clone());
    let mut lines: Vec<LineNoise> = of(after)
        .into_iter()
        .map(|(irq, (count, net_ns))| {
            let (old_count, old_ns) = before.get(&irq).copied().unwrap_or((0, 0));
            LineNoise { irq, name: name(irq), count: count - old_count, net_ns: net_ns - old_ns }
        })
        .filter(|line| line.count > 0)
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.net_ns));
    lines
}

/// Tasks for which the loop on a CPU waited; the loops themselves, by their numbers, are none.
fn tasks_on(cpu: u32, account: &Account, loops: &[u32]) -> Vec<TaskNoise> {
    let of = |task: &TaskAccount| {
        let took_ns = *task.took_by_cpu.get(&cpu)?;
        Some(TaskNoise { tid: task.tid, pid: task.pid, comm: task.comm.clone(), took_ns })
    };
    let mut tasks: Vec<TaskNoise> =
        account.tasks.iter().filter(|task| !loops.contains(&task.tid)).filter_map(of).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.took_ns));
    tasks
}
