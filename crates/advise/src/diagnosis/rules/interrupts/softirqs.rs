//! Deferred work of interrupts on the server's CPU, other than receiving packets.

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
        "Sent packets are cleaned up",
        "Move the card's lines (knob irq-affinity) or its transmit queues (knob xps-cpus)",
    ),
    (
        Source::SoftirqBlock,
        "softirq_block",
        "Disk I/O is completed",
        "Move the disk's lines (knob irq-affinity); if the kernel manages them, place the server elsewhere",
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
        "Take the CPUs out of balancing: an isolated cpuset partition, or isolcpus= (knob boot-parameters)",
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
           balancing (SCHED). It runs where it was raised: move what raises it, not the softirq. Look-alikes: receiving packets (NET_RX) is \
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
