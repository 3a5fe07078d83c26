//! Lines that belong to a CPU, and CPUs that lines of devices can go to.

use machine::CpuSet;
use probe::account::LineAccount;

use crate::diagnosis::scene::Scene;
use crate::own_line::OwnLine;

/// What a line is of which each CPU has one of its own; `None` of a device's.
pub(in crate::diagnosis) fn own_line(scene: &Scene<'_>, line: &LineAccount) -> Option<OwnLine> {
    let known = scene.situation.machine.irq(line.irq);
    let name = line.name.as_deref().or_else(|| known.map(|known| known.name.as_str()))?;
    OwnLine::of(name, known.and_then(|known| known.chip.as_deref()).unwrap_or_default())
}

/// CPUs to which lines and receive work can go: those that the server does not use, or hardly runs on, and that are not isolated.
pub(in crate::diagnosis) fn can_take_interrupts(scene: &Scene<'_>) -> CpuSet {
    let spare = scene.spare_for_others();
    // Where isolated CPUs are all that it may not use, there are those on which it may run and hardly does.
    let hardly_used = || scene.situation.online().difference(&scene.time.cpus).difference(&scene.isolated());
    if spare.is_empty() { hardly_used() } else { spare }
}
