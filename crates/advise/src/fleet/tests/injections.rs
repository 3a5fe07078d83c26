//! Differences, as a fleet has them, each with what is expected to be found.

mod layout;

use machine::devices::{Device, DeviceKind};
use machine::isolation::Domain;
use machine::kernel::boot::BootParameter;
use machine::processes::OwnerSetting;
use machine::{CpuSet, Machine};

use super::super::{FeatureId, Processor};

pub(super) use layout::without_cpus;

/// Differences of one area may follow from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Area {
    Layout,
    Kernel,
    Idle,
    Clock,
    Memory,
    Owners,
}

/// What is to be found; `None` where a machine cannot have it.
pub(super) type Expected = Option<Vec<(FeatureId, String)>>;

/// Puts a difference into a machine that can have it.
type Put = fn(&mut Machine, &mut Processor) -> Expected;

/// One difference.
pub(super) struct Injection {
    pub(super) area: Area,
    pub(super) put: Put,
}

fn of(area: Area, put: Put) -> Injection {
    Injection { area, put }
}

fn one(feature: FeatureId, subject: &str) -> Expected {
    Some(vec![(feature, subject.to_string())])
}

/// The card with hardware behind it.
pub(super) fn card(machine: &mut Machine) -> Option<&mut Device> {
    machine.devices.iter_mut().find(|device| device.kind == DeviceKind::Net && !device.is_virtual)
}

/// All of them; those that fewest machines can have come first.
pub(super) fn all() -> Vec<Injection> {
    let mut all = layout::of_cards();
    all.extend(layout::of_the_machine());
    all.extend(idle());
    all.extend(kernel());
    all.extend(clock());
    all.extend(others());
    all
}

fn word(machine: &mut Machine, word: &str) -> Option<()> {
    machine.kernel.cmdline.as_mut()?.push_str(&format!(" {word}"));
    Some(())
}

fn tunable(machine: &mut Machine, name: &str, value: &str) {
    machine.kernel.tunables.insert(name.into(), value.into());
}

fn kernel() -> Vec<Injection> {
    let kernel = |put: Put| of(Area::Kernel, put);
    vec![
        kernel(|m, _| {
            m.kernel.release = Some("6.1.0-99-amd64".into());
            one(FeatureId::Kernel, "")
        }),
        kernel(|m, _| {
            m.kernel.version = Some("#2 SMP PREEMPT_DYNAMIC".into());
            one(FeatureId::KernelBuild, "")
        }),
        kernel(|_, p| {
            p.microcode = Some("0x2".into());
            one(FeatureId::Microcode, "")
        }),
        kernel(|m, _| {
            m.kernel.mitigations.insert("meltdown".into(), "Vulnerable".into());
            one(FeatureId::Mitigation, "meltdown")
        }),
        kernel(|m, _| {
            word(m, "threadirqs")?;
            one(FeatureId::BootParameter, "threadirqs")
        }),
        kernel(|m, _| {
            let cmdline = m.kernel.cmdline.as_mut()?;
            *cmdline = cmdline.replace(" quiet", "");
            one(FeatureId::BootParameter, "quiet")
        }),
        kernel(|m, _| {
            word(m, "nohz-full=2-3")?;
            let (name, asked, now) = ("nohz-full".to_string(), Some("2-3".into()), Some("none".into()));
            let took_effect = Some(false);
            m.kernel.boot.push(BootParameter { name, asked, now, took_effect, source: String::new() });
            let name = "nohz_full".to_string();
            Some(vec![(FeatureId::BootParameter, name.clone()), (FeatureId::BootParameterEffect, name)])
        }),
        kernel(|m, _| {
            tunable(m, "transparent_hugepage.enabled", "always madvise [never]");
            one(FeatureId::TransparentHugePages, "")
        }),
        kernel(|m, _| {
            tunable(m, "kernel.numa_balancing", "2");
            one(FeatureId::NumaBalancing, "")
        }),
        kernel(|m, _| {
            tunable(m, "vm.swappiness", "1");
            one(FeatureId::Setting, "vm.swappiness")
        }),
        kernel(|m, _| {
            m.kernel.preempt = Some("full".into());
            one(FeatureId::Preemption, "")
        }),
        kernel(|m, _| {
            m.kernel.hz = Some(1000);
            one(FeatureId::TickRate, "")
        }),
        kernel(|m, _| {
            m.kernel.clocksource = Some("acpi_pm".into());
            one(FeatureId::ClockSource, "")
        }),
        kernel(|m, _| {
            m.kernel.cgroups = Some("v1".into());
            one(FeatureId::Cgroups, "")
        }),
        kernel(|m, _| {
            m.isolation.domains.push(Domain { cgroup: "/rt".into(), cpus: CpuSet::single(1) });
            one(FeatureId::Partitions, "")
        }),
    ]
}

fn idle() -> Vec<Injection> {
    let idle = |put: Put| of(Area::Idle, put);
    vec![
        idle(|m, _| {
            m.idle.states.pop()?;
            one(FeatureId::IdleStates, "")
        }),
        idle(|m, _| {
            let online = m.online();
            let deepest = m.idle.states.last_mut()?;
            (deepest.disabled, deepest.disabled_on) = (Some(true), online);
            one(FeatureId::IdleState, &deepest.name)
        }),
        idle(|m, _| {
            let deepest = m.idle.states.last_mut()?;
            deepest.exit_latency_us = Some(999);
            one(FeatureId::IdleExitLatency, &deepest.name)
        }),
        idle(|m, _| {
            m.idle.states.first()?;
            m.power.latency_limit_us = Some(20);
            one(FeatureId::LatencyLimit, "")
        }),
        idle(|m, _| {
            m.idle.driver = Some("intel_idle".into());
            one(FeatureId::IdleDriver, "")
        }),
        idle(|m, _| {
            m.idle.governor = Some("teo".into());
            one(FeatureId::IdleGovernor, "")
        }),
    ]
}

fn clock() -> Vec<Injection> {
    let clock = |put: Put| of(Area::Clock, put);
    vec![
        clock(|m, _| {
            m.power.frequency.first_mut()?.driver = Some("acpi-cpufreq".into());
            m.power.frequency.first_mut()?.governor = Some("ondemand".into());
            one(FeatureId::FrequencyDriver, "")
        }),
        clock(|m, _| {
            m.power.frequency.first_mut()?.governor = Some("powersave".into());
            m.power.frequency.first_mut()?.energy_performance_preference = Some("power".into());
            one(FeatureId::FrequencyGovernor, "")
        }),
        clock(|m, _| {
            m.power.frequency.first_mut()?.energy_performance_preference = Some("power".into());
            one(FeatureId::EnergyPreference, "")
        }),
        clock(|m, _| {
            m.power.frequency.first_mut()?.min_khz = Some(1_200_000);
            one(FeatureId::FrequencyMin, "")
        }),
        clock(|m, _| {
            m.power.frequency.first_mut()?.max_khz = Some(2_000_000);
            one(FeatureId::FrequencyMax, "")
        }),
        clock(|m, _| {
            let policy = m.power.frequency.first_mut()?;
            (policy.hardware_max_khz, policy.max_khz) = (Some(2_500_000), Some(2_500_000));
            one(FeatureId::HardwareFrequency, "")
        }),
        clock(|m, _| {
            m.power.turbo = Some(false);
            one(FeatureId::Turbo, "")
        }),
        clock(|m, _| {
            m.power.driver_mode = Some("passive".into());
            one(FeatureId::FrequencyMode, "")
        }),
    ]
}

fn others() -> Vec<Injection> {
    vec![
        of(Area::Memory, |m, _| {
            m.memory.huge_pages.iter_mut().find(|pool| pool.size_bytes == 2 << 20)?.total = Some(512);
            one(FeatureId::HugePages, "2 MiB")
        }),
        of(Area::Memory, |m, _| {
            m.memory.swap_total_bytes = Some(1 << 30);
            one(FeatureId::Swap, "")
        }),
        of(Area::Owners, |m, _| {
            m.owners.clear();
            one(FeatureId::Owner, "irqbalance")
        }),
        of(Area::Owners, |m, _| {
            let (key, file) = ("IRQBALANCE_BANNED_CPULIST".to_string(), "/etc/default/irqbalance".into());
            m.owners.first_mut()?.settings.push(OwnerSetting { key, value: "1".into(), file });
            one(FeatureId::OwnerSetting, "irqbalance IRQBALANCE_BANNED_CPULIST")
        }),
        of(Area::Owners, |m, _| {
            m.virtualization.hypervisor = Some("KVMKVMKVM".into());
            one(FeatureId::Hypervisor, "")
        }),
    ]
}
