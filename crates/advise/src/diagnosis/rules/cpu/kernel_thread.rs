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
        "irq" => "Move the interrupts whose handlers they are (knob irq-affinity): the threads follow them",
        "rcuc" => "Boot with rcu_nocbs= for these CPUs (knob boot-parameters): the threads are bound to them",
        "rcuop" | "rcuos" | "rcuob" | "rcuog" => {
            "Move the threads (knob kernel-thread-affinity): callbacks are taken off their CPUs already (rcu_nocbs=, nohz_full=)"
        }
        "rcu_preempt" | "rcu_sched" | "rcu_bh" => {
            "Move the thread (knob kernel-thread-affinity): it is not bound to a CPU"
        }
        "ktimers" | "ktimersoftd" => {
            "Keep the programs that set timers off these CPUs: the threads run the timers of their own CPU"
        }
        "backlog_napi" => {
            "Point RPS to other CPUs (knob rps-cpus): the threads take what it hands to their own CPU"
        }
        "idle_inject" => {
            "Find out who has idle time injected (the driver intel_powerclamp, a limit of heat or power): the threads are bound"
        }
        "migration" => {
            "Find out why tasks change CPUs (the scheduler, programs that are started often, changed affinities) and give each its own (knobs \
             cpuset, process-affinity)"
        }
        "loop" => {
            "A loop device is in use: move its thread (knob kernel-thread-affinity), or the process that writes to it"
        }
        _ => {
            "Move them (knob kernel-thread-affinity) unless they are bound to a CPU, or keep what gives them work off these CPUs"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// What is to be done about a thread of the kernel of this name.
    fn remedy_of(comm: &str) -> String {
        let seen = situation().taken_by(comm, 8, true, SECOND / 10);
        let looked = KernelThread.examine(&Scene::of(&seen).unwrap());
        let Looked::Found(causes) = looked else { panic!("not found") };
        causes[0].remedies[0].words.clone()
    }

    #[test]
    fn what_is_bound_or_follows_something_else_is_not_to_be_moved() {
        assert!(remedy_of("irq/24-eth0").contains("irq-affinity"));
        let others = ["rcuc/1", "ktimers/1", "backlog_napi/1", "idle_inject/1", "ksoftirqd/1"];
        for name in others.into_iter().chain(["irq/24-eth0"]) {
            assert!(!remedy_of(name).contains("kernel-thread-affinity"), "{name}");
        }
        assert!(remedy_of("cpuhp/1").contains("unless they are bound"));
    }

    #[test]
    fn rcu_nocbs_is_for_cpus_that_do_not_have_it() {
        assert!(remedy_of("rcuc/1").contains("Boot with rcu_nocbs="));
        for movable in ["rcuop/1", "rcuog/0", "rcu_preempt"] {
            let words = remedy_of(movable);
            assert!(words.contains("kernel-thread-affinity") && !words.contains("Boot"), "{words}");
        }
    }
}
