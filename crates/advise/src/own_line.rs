//! Interrupt lines that belong to a CPU.

/// What a line is of which each CPU has one of its own, so that it cannot be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnLine {
    /// Its timer.
    Timer,
    /// Calls from other CPUs.
    Calls,
    /// Its counters of events (PMU).
    Counters,
}

impl OwnLine {
    /// Which of these a line of this name at this chip is, both as in /proc/interrupts; `None` of a device's. On arm64 and RISC-V, and in guests
    /// of Xen, they have numbers as lines of devices have (drivers/clocksource/arm_arch_timer.c, arch/arm64/kernel/smp.c,
    /// drivers/xen/events/events_base.c).
    pub(crate) fn of(name: &str, chip: &str) -> Option<Self> {
        match name {
            "arch_timer" | "riscv-timer" => Some(Self::Timer),
            "IPI" => Some(Self::Calls),
            "arm-pmu" | "riscv-pmu" => Some(Self::Counters),
            _ if !chip.starts_with("xen-percpu") => None,
            _ if name.starts_with("timer") => Some(Self::Timer),
            _ if name.starts_with("pmu") => Some(Self::Counters),
            _ => Some(Self::Calls),
        }
    }
}
