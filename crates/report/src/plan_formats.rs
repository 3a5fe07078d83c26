//! A plan in the form of whoever owns the machine: a profile of tuned, files of systemd, settings of kubelet, libvirt, irqbalance,
//! nri-plugins or scx_layered; or in force for hours of each day, by units of systemd.
//!
//! What a form cannot say is never dropped: it stands as a comment in the first file, and in [`Formatted::left`]. Text from outside is
//! escaped for the form or refused; a setting with control characters is refused in every form.

mod by_cpu;
mod hours;
mod irqbalance;
mod kubelet;
mod libvirt;
mod nri_balloons;
mod page;
mod scx_layered;
mod systemd;
mod tuned;

use machine::{CpuSet, PlannedActs};

pub use hours::Hours;
use page::Page;
pub use page::{FormatFile, Formatted, Left};

/// Whose form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// A profile of tuned (tuned.conf(5)).
    TunedProfile,
    /// Drop-ins of units, sysctl.d(5), tmpfiles.d(5) and rules of udev(7).
    Systemd,
    /// Services and timers of systemd that apply the plan at the beginning of these hours and undo it at their end.
    SystemdBetween(Hours),
    /// A drop-in for kubelet's configuration.
    Kubelet,
    /// Elements of a guest's definition in libvirt.
    Libvirt,
    /// Settings and a policy script of irqbalance(1).
    IrqbalancePolicy,
    /// Configuration of the balloons policy of nri-plugins (custom resource BalloonsPolicy).
    NriBalloons,
    /// Layers of scx_layered, a scheduler of sched_ext.
    ScxLayered,
}

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// What the plan is for, in one line.
    pub purpose: &'a str,
    /// The settings with their acts on the machine that they are for.
    pub settings: &'a [PlannedActs],
    /// The unit of systemd that the target `server` stands for.
    pub unit: Option<&'a str>,
    /// CPUs that are online there; `None` where that is not known.
    pub online: Option<&'a CpuSet>,
    /// CPUs that the kernel was booted to keep apart (isolcpus=); `None` where that is not known.
    pub isolated: Option<&'a CpuSet>,
    /// NUMA nodes by number, with their CPUs; none where that is not known.
    pub nodes: &'a [(u32, CpuSet)],
}

/// The plan in that form.
pub fn formatted(format: PlanFormat, asked: &Asked) -> Formatted {
    let mut page = Page::default();
    let settings: Vec<&PlannedActs> =
        asked.settings.iter().filter(|one| page.is_plain(&one.planned)).collect();
    match format {
        PlanFormat::TunedProfile => tuned::write(&settings, &mut page),
        PlanFormat::Systemd => systemd::write(&settings, asked.unit, &mut page),
        PlanFormat::SystemdBetween(hours) => hours::write(&settings, asked.unit, hours, &mut page),
        PlanFormat::Kubelet => kubelet::write(&settings, &mut page),
        PlanFormat::Libvirt => libvirt::write(&settings, &mut page),
        PlanFormat::IrqbalancePolicy => irqbalance::write(&settings, asked.online, &mut page),
        PlanFormat::NriBalloons => nri_balloons::write(&settings, asked.isolated, &mut page),
        PlanFormat::ScxLayered => scx_layered::write(&settings, asked.unit, asked.nodes, &mut page),
    }
    page.end(asked.purpose)
}

#[cfg(test)]
mod tests;
