//! Lines that belong to a CPU, and CPUs that lines of devices can go to.

use machine::CpuSet;
use probe::account::LineAccount;

use crate::diagnosis::scene::Scene;

/// What a line is of which each CPU has one of its own, so that it cannot be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::diagnosis) enum OwnLine {
    /// Its timer.
    Timer,
    /// Calls from other CPUs.
    Calls,
    /// Its counters of events (PMU).
    Counters,
}

/// Which of these a line is; `None` of a device's. On arm64 and RISC-V, and in guests of Xen, they have numbers as lines of devices have
/// (drivers/clocksource/arm_arch_timer.c, arch/arm64/kernel/smp.c, drivers/xen/events/events_base.c).
pub(in crate::diagnosis) fn own_line(scene: &Scene<'_>, line: &LineAccount) -> Option<OwnLine> {
    let known = scene.situation.machine.irq(line.irq);
    let name = line.name.as_deref().or_else(|| known.map(|known| known.name.as_str()))?;
    let chip = known.and_then(|known| known.chip.as_deref()).unwrap_or_default();
    match name {
        "arch_timer" | "riscv-timer" => Some(OwnLine::Timer),
        "IPI" => Some(OwnLine::Calls),
        "arm-pmu" | "riscv-pmu" => Some(OwnLine::Counters),
        _ if !chip.starts_with("xen-percpu") => None,
        _ if name.starts_with("timer") => Some(OwnLine::Timer),
        _ if name.starts_with("pmu") => Some(OwnLine::Counters),
        _ => Some(OwnLine::Calls),
    }
}

/// CPUs to which lines and receive work can go: those that the server does not use, or hardly runs on, and that are not isolated.
pub(in crate::diagnosis) fn can_take_interrupts(scene: &Scene<'_>) -> CpuSet {
    let spare = scene.spare_for_others();
    // Where isolated CPUs are all that it may not use, there are those on which it may run and hardly does.
    let hardly_used = || scene.situation.online().difference(&scene.time.cpus).difference(&scene.isolated());
    if spare.is_empty() { hardly_used() } else { spare }
}
