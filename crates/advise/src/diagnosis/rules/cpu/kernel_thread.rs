//! Threads of the kernel have the CPU while the server waits for it.

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::wording::{counted, per_second, percent, plural};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};
use probe::account::FunctionKind;

/// The rule `kernel-thread`.
pub struct KernelThread;

static ABOUT: About = About {
    id: "kernel-thread",
    title: "kernel threads",
    costs: Costs::CpuAccess,
    docs: "Kernel threads run on a CPU that the server waits for: work items (kworker), softirqs that were too many (ksoftirqd), RCU, \
           writeback, threads of a loop device or of a file system. The most common work item is named by its function. Threads bound to one \
           CPU cannot be moved, only what gives them work. Look-alike: softirqs that interrupt the server, which are charged separately \
           (receive-work, softirqs).",
};

#[derive(Default)]
struct Took {
    ns: f64,
    slices: u64,
    cpus: CpuSet,
    /// The thread that took most: how much, ns, and its name, numbers included.
    worst: (u64, String),
}

impl Rule for KernelThread {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let mut kinds: BTreeMap<&str, Took> = BTreeMap::new();
        for task in account.tasks.iter().filter(|task| task.of_kernel && task.took.total_ns > 0) {
            let took = kinds.entry(task.kernel_thread_kind()).or_default();
            took.ns += task.took.total_ns as f64;
            took.slices += task.took.count;
            task.took_by_cpu.keys().for_each(|cpu| {
                took.cpus.insert(*cpu);
            });
            if took.worst.0 <= task.took.total_ns {
                took.worst = (task.took.total_ns, task.comm.clone());
            }
        }
        let costly = kinds.into_iter().filter(|(_, took)| scene.time.share(took.ns) >= MATTERS);
        Looked::of(costly.map(|(kind, took)| cause(scene, kind, &took)).collect())
    }
}

fn cause(scene: &Scene<'_>, kind: &str, took: &Took) -> Cause {
    let share = scene.time.share(took.ns);
    let claim = format!(
        "Kernel threads {kind} ({} took most) run on {} {} while the server waits",
        took.worst.1,
        plural("CPU", took.cpus.len()),
        took.cpus
    );
    let mut cause = Cause::seen(ABOUT.id, Subject::KernelThread { name: kind.into() }, share, claim)
        .because(format!(
            "the server spent {} of its time waiting for them, in {} ({})",
            percent(share),
            counted(took.slices, "slice"),
            per_second(scene.per_s(took.slices))
        ))
        .figure("waited_s", took.ns / 1e9)
        .figure("slices", took.slices as f64);
    if kind == "kworker"
        && let works = scene.functions(FunctionKind::Work, &took.cpus)
        && let Some((name, times)) = works.into_iter().max_by_key(|(_, times)| *times)
    {
        cause = cause
            .because(format!("the most common work item is {name} ({})", per_second(scene.per_s(times))));
    }
    cause.remedy(remedy(kind))
}

fn remedy(kind: &str) -> Remedy {
    Remedy::by_hand(match kind {
        "kworker" => {
            "Keep unbound work items off these CPUs (knobs workqueue-cpus, writeback-cpus) and find out who queues the bound ones"
        }
        "ksoftirqd" => "Move what raises the softirqs (knobs irq-affinity, rps-cpus)",
        "rcuc" | "rcuop" | "rcuos" | "rcuog" | "rcu_preempt" | "rcu_sched" => {
            "Boot with rcu_nocbs= for these CPUs (knob boot-parameters), then move the threads (knob kernel-thread-affinity)"
        }
        "migration" => {
            "The scheduler moves tasks between CPUs: give each task its own (knobs cpuset, process-affinity)"
        }
        "loop" => {
            "A loop device is in use: move its thread (knob kernel-thread-affinity), or the process that writes to it"
        }
        _ => "Move them (knob kernel-thread-affinity), or keep what gives them work off these CPUs",
    })
}
