//! Deferred work of interrupts on the server's CPU, other than receiving packets.

use machine::CpuSet;
use machine::wording::{per_second, percent, plural};
use probe::account::Source;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `softirqs`.
pub struct Softirqs;

/// Source, what it is, what to do.
const KINDS: [(Source, &str, &str, &str); 9] = [
    (
        Source::SoftirqNetTx,
        "softirq_net_tx",
        "Packets are sent on, or cleaned up after that",
        "Packets that others send: move the card's lines (knob irq-affinity) or its transmit queues (knob xps-cpus). Those that the server sends, with \
         pacing or another queueing discipline, are its own work",
    ),
    (
        Source::SoftirqBlock,
        "softirq_block",
        "Disk I/O is completed",
        "By default, I/O is completed on a CPU that shares a cache with the one that asked for it (rq_affinity 1; with 2, on that very one): keep \
         other tasks that use the disk away (knobs process-affinity, cpuset). What the server itself asked for is its own work; moving the disk's \
         lines (knob irq-affinity) helps within that cache only",
    ),
    (
        Source::SoftirqIrqPoll,
        "softirq_irq_poll",
        "Disk I/O is polled",
        "Move the disk's lines (knob irq-affinity)",
    ),
    (
        Source::SoftirqTimer,
        "softirq_timer",
        "Kernel timers fire",
        "Keep the tasks that set them away from these CPUs (knobs process-affinity, cpuset)",
    ),
    (
        Source::SoftirqHrtimer,
        "softirq_hrtimer",
        "High-resolution timers fire",
        "Keep the tasks that set them away from these CPUs (knobs process-affinity, cpuset)",
    ),
    (
        Source::SoftirqRcu,
        "softirq_rcu",
        "Kernel memory is freed (RCU)",
        "Boot with rcu_nocbs= for these CPUs (knob boot-parameters)",
    ),
    (
        Source::SoftirqSched,
        "softirq_sched",
        "The scheduler balances load",
        "Only if each thread of the server is pinned to a CPU of its own, take the CPUs out of balancing: an isolated cpuset partition, or isolcpus= \
         (knob boot-parameters). Threads that are not pinned would crowd on one of these CPUs: nothing spreads them there any more",
    ),
    (
        Source::SoftirqTasklet,
        "softirq_tasklet",
        "Driver tasklets run",
        "Move the lines of the device that raises them (knob irq-affinity)",
    ),
    (
        Source::SoftirqHi,
        "softirq_hi",
        "Driver tasklets run",
        "Move the lines of the device that raises them (knob irq-affinity)",
    ),
];

static ABOUT: About = About {
    id: "softirqs",
    title: "softirqs",
    costs: Costs::CpuAccess,
    docs: "Deferred work of interrupts runs on a CPU of the server: completed I/O (BLOCK), sent packets (NET_TX), timers, RCU, load \
           balancing (SCHED). It runs where it was raised: move what raises it, not the softirq. Completed I/O is raised where it was asked for, or on \
           a CPU that shares a cache with that (rq_affinity), so that it is often the server's own. Look-alikes: receiving packets (NET_RX) is \
           reported by receive-work; threads that run softirqs when there are too many (ksoftirqd) by kernel-thread.",
};

impl Rule for Softirqs {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        let mut causes = Vec::new();
        for (source, id, what, remedy) in KINDS {
            let taken = scene.taken_by(source);
            let share = scene.time.share(taken.ns);
            if share < MATTERS {
                continue;
            }
            let remedy = match source == Source::SoftirqRcu && are_offloaded(scene, &taken.cpus) {
                true => OFFLOADED,
                false => remedy,
            };
            let claim = format!(
                "{what} on {} {}, where the server runs",
                plural("CPU", taken.cpus.len()),
                taken.cpus
            );
            let cause = Cause::seen(ABOUT.id, Subject::Interrupt { source: id.into() }, share, claim)
                .because(format!(
                    "{} took {} of the server's time: {}",
                    source.words(),
                    percent(share),
                    per_second(scene.per_s(taken.count))
                ))
                .figure("runs_per_s", scene.per_s(taken.count))
                .remedy(Remedy::by_hand(remedy));
            causes.push(cause);
        }
        Looked::of(causes)
    }
}

/// What is left to say of RCU where callbacks are taken off the CPUs already.
const OFFLOADED: &str = "Callbacks are taken off these CPUs already (rcu_nocbs=, nohz_full=): what is left is a CPU's own part in RCU, which cannot \
                         be moved";

/// Whether the kernel was told at boot to run the RCU callbacks of these CPUs in threads; `nohz_full=` implies it.
fn are_offloaded(scene: &Scene<'_>, cpus: &CpuSet) -> bool {
    let kernel = &scene.situation.machine.kernel;
    let asked = kernel.boot.iter().filter(|one| one.name == "rcu_nocbs" && one.took_effect != Some(false));
    let lists = asked.filter_map(|one| match one.asked.as_deref()? {
        "all" => Some(scene.situation.online()),
        list => CpuSet::from_list(list).ok(),
    });
    let tickless = kernel.nohz_full.clone().unwrap_or_default();
    cpus.is_subset(&lists.fold(tickless, |all, more| all.union(&more)))
}

#[cfg(test)]
mod tests {
    use machine::kernel::boot::BootParameter;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    fn remedy(source: Source) -> String {
        let seen = situation().interrupted_by(source, SECOND / 10, 100);
        match Softirqs.examine(&Scene::of(&seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0).remedies.remove(0).words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn isolation_is_not_advised_without_its_price() {
        let words = remedy(Source::SoftirqSched);
        assert!(words.starts_with("Only if each thread") && words.contains("crowd on one"), "{words}");
    }

    #[test]
    fn moving_a_line_is_not_said_to_move_what_the_server_itself_asked_for() {
        for source in [Source::SoftirqBlock, Source::SoftirqNetTx] {
            assert!(remedy(source).contains("its own work"), "{}", remedy(source));
        }
    }

    #[test]
    fn callbacks_that_are_taken_off_the_cpus_are_not_to_be_taken_off_again() {
        let words = |tickless: &str, offloaded: Option<&str>| {
            let mut seen = situation().interrupted_by(Source::SoftirqRcu, SECOND / 10, 100);
            seen.machine.kernel.nohz_full = CpuSet::from_list(tickless).ok();
            let parameter = |asked: &str| BootParameter {
                name: "rcu_nocbs".into(),
                asked: Some(asked.into()),
                ..BootParameter::default()
            };
            seen.machine.kernel.boot = offloaded.into_iter().map(parameter).collect();
            match Softirqs.examine(&Scene::of(&seen).unwrap()) {
                Looked::Found(mut causes) => causes.remove(0).remedies.remove(0).words,
                other => panic!("{other:?}"),
            }
        };
        assert!(words("", None).starts_with("Boot with rcu_nocbs="));
        assert!(words("0", Some("0")).starts_with("Boot with rcu_nocbs="), "those of another CPU");
        for (tickless, offloaded) in [("1", None), ("", Some("0-1")), ("", Some("all"))] {
            assert_eq!(words(tickless, offloaded), OFFLOADED);
        }
    }
}
