//! What takes a CPU away from threads: the sources that the kernel's programs distinguish.

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::part::Part;
use super::stretches::Stretches;
use crate::bpf::{SOURCE_SOFTIRQ, SOURCES, SourceSeen};

/// A kind of interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The interrupt of the CPU's own timer: the tick, and timers that tasks have set.
    Tick,
    /// Another CPU wants this one to schedule.
    Reschedule,
    /// A function call that another CPU sent to several, TLB shootdowns among them.
    CallFunction,
    /// A function call that another CPU sent to this one.
    CallFunctionSingle,
    /// Deferred work that the CPU sends to itself.
    IrqWork,
    /// For KVM and other parts of the platform.
    PlatformIpi,
    /// A thermal event.
    Thermal,
    /// An error that the local APIC reports, or an interrupt that nobody sent.
    ApicFault,
    /// Handlers of devices, all lines.
    Device,
    /// An interrupt that cannot be masked: profiling, watchdog.
    Nmi,
    /// Softirq HI: tasklets of high priority.
    SoftirqHi,
    /// Softirq TIMER: timers of the kernel.
    SoftirqTimer,
    /// Softirq NET_TX: packets that were sent.
    SoftirqNetTx,
    /// Softirq NET_RX: packets that come in.
    SoftirqNetRx,
    /// Softirq BLOCK: finished I/O.
    SoftirqBlock,
    /// Softirq IRQ_POLL: I/O that is polled.
    SoftirqIrqPoll,
    /// Softirq TASKLET.
    SoftirqTasklet,
    /// Softirq SCHED: the scheduler balances load.
    SoftirqSched,
    /// Softirq HRTIMER.
    SoftirqHrtimer,
    /// Softirq RCU: memory of the kernel is freed.
    SoftirqRcu,
}

impl Source {
    /// All, in the order of the kernel's programs (`enum source` of bpf/records.h).
    pub const ALL: [Self; SOURCES] = [
        Self::Tick,
        Self::Reschedule,
        Self::CallFunction,
        Self::CallFunctionSingle,
        Self::IrqWork,
        Self::PlatformIpi,
        Self::Thermal,
        Self::ApicFault,
        Self::Device,
        Self::Nmi,
        Self::SoftirqHi,
        Self::SoftirqTimer,
        Self::SoftirqNetTx,
        Self::SoftirqNetRx,
        Self::SoftirqBlock,
        Self::SoftirqIrqPoll,
        Self::SoftirqTasklet,
        Self::SoftirqSched,
        Self::SoftirqHrtimer,
        Self::SoftirqRcu,
    ];

    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tick => "timer interrupt (tick)",
            Self::Reschedule => "IPI: reschedule",
            Self::CallFunction => "IPI: function call to several CPUs",
            Self::CallFunctionSingle => "IPI: function call",
            Self::IrqWork => "IPI: irq_work",
            Self::PlatformIpi => "IPI: platform",
            Self::Thermal => "thermal interrupt",
            Self::ApicFault => "APIC error or spurious interrupt",
            Self::Device => "device interrupts",
            Self::Nmi => "NMI",
            Self::SoftirqHi => "softirq HI",
            Self::SoftirqTimer => "softirq TIMER",
            Self::SoftirqNetTx => "softirq NET_TX",
            Self::SoftirqNetRx => "softirq NET_RX",
            Self::SoftirqBlock => "softirq BLOCK",
            Self::SoftirqIrqPoll => "softirq IRQ_POLL",
            Self::SoftirqTasklet => "softirq TASKLET",
            Self::SoftirqSched => "softirq SCHED",
            Self::SoftirqHrtimer => "softirq HRTIMER",
            Self::SoftirqRcu => "softirq RCU",
        }
    }

    /// Whether it is a softirq.
    pub fn is_softirq(self) -> bool {
        self as usize >= SOURCE_SOFTIRQ
    }
}

/// What a source did on a CPU, net of what interrupted it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interruptions {
    /// All.
    #[serde(flatten)]
    pub all: Stretches,
    /// Those that came while a thread of the target was on the CPU.
    pub on_target: Part,
    /// Those during which threads of the target waited for the CPU. Time counts for each thread that waited.
    pub while_waiting: Part,
    /// All by their length.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub lengths: Distribution,
}

impl Interruptions {
    pub(in crate::account) fn of(seen: &SourceSeen, lengths: Distribution) -> Self {
        Self {
            all: Stretches::of(&seen.all).sorted_by(&lengths),
            on_target: Part { count: seen.on_count, total_ns: seen.on_ns },
            while_waiting: Part { count: seen.waiting_count, total_ns: seen.waiting_ns },
            lengths,
        }
    }

    /// How often it took something from the target: while it ran, and while it waited.
    pub fn took_count(&self) -> u64 {
        self.on_target.count.saturating_add(self.while_waiting.count)
    }

    /// What it took from the target: while it ran, and while it waited.
    pub fn took_ns(&self) -> u64 {
        self.on_target.total_ns.saturating_add(self.while_waiting.total_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers() {
        for (number, source) in Source::ALL.iter().enumerate() {
            assert_eq!(*source as usize, number);
            assert_eq!(source.is_softirq(), source.words().starts_with("softirq"), "{source:?}");
        }
    }
}
