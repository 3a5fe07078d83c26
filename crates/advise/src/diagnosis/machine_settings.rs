//! What the settings of a machine say without a window: of a capture, and beside what was seen in one. Nothing of it was measured, so each
//! cause is a possible one.

use std::collections::BTreeMap;

use machine::devices::DeviceKind;
use machine::irqs::Irq;
use machine::wording::plural;
use machine::{CpuSet, Machine, Missing};
use probe::Situation;

use super::cause::{Cause, Remedy, Subject};
use super::machine_wide::MachineRule;
use super::rules::{About, Costs, Looked};

/// Clock sources of PCs that are read through a bus: a microsecond and more, by a system call each.
const SLOW_CLOCKS: [&str; 3] = ["hpet", "acpi_pm", "jiffies"];
/// Lines with fewer interrupts since boot are not mentioned.
const FEW_INTERRUPTS: u64 = 1_000;
/// Devices, and lines of isolated CPUs, that are named.
const NAMED: usize = 4;

/// All of them.
pub static ALL: &[MachineRule] = &[
    MachineRule {
        about: About {
            id: "clock-source",
            title: "clock source",
            costs: Costs::Machine,
            docs: "The kernel reads the time from a device (HPET, ACPI PM timer) and no longer from the CPU: each reading is a system call of a \
                   microsecond or more, where the TSC takes some 20 ns without one. Servers that put a time on each request, and runtimes, read \
                   it all the time. The kernel says at boot or later why it rejected the TSC (dmesg: clocksource). Look-alike: the clocks of \
                   hypervisors (kvm-clock, Hyper-V, Xen), which are read without a system call mostly.",
        },
        look: clock_source,
    },
    MachineRule {
        about: About {
            id: "frequency-limit",
            title: "frequency limits",
            costs: Costs::Machine,
            docs: "The highest frequency that CPUs may have (scaling_max_freq) is below what the hardware can: set by hand, by a power profile, \
                   or by a thermal daemon. Meant or left over is not known. Look-alike: turbo that is off, which leaves the limit at the base \
                   frequency on some drivers.",
        },
        look: frequency_limit,
    },
    MachineRule {
        about: About {
            id: "isolated-interrupts",
            title: "interrupts on isolated CPUs",
            costs: Costs::Machine,
            docs: "CPUs are isolated (isolcpus=, a cpuset), and lines of devices still arrive there: isolation keeps tasks away, and interrupts \
                   only with managed_irq, which is for managed lines. Look-alikes: lines of the very queues that the isolated CPUs poll; lines without \
                   traffic, which are left out.",
        },
        look: isolated_interrupts,
    },
    MachineRule {
        about: About {
            id: "one-cpu-for-all-queues",
            title: "queues on one CPU",
            costs: Costs::Machine,
            docs: "A network card has several queues, and all their lines with traffic arrive at one CPU: that CPU works off the packets of all, and \
                   becomes the limit first. Look-alikes: a housekeeping CPU that was chosen for it on purpose; a card whose traffic is one \
                   flow, of which one line alone has interrupts.",
        },
        look: one_cpu_for_all_queues,
    },
];

fn clock_source(about: &About, situation: &Situation) -> Looked {
    let kernel = &situation.machine.kernel;
    if kernel.architecture.as_deref().is_some_and(|architecture| architecture != "x86_64") {
        return Looked::DoesNotApply;
    }
    let Some(source) = kernel.clocksource.as_deref() else {
        return Looked::CannotTell(Missing::new(about.title, "the clock source is not known"));
    };
    if !SLOW_CLOCKS.contains(&source) {
        return Looked::Fine;
    }
    let claim = format!(
        "The clock source is {source}: each reading of the time is a system call that takes a microsecond or more"
    );
    let remedy =
        Remedy::by_hand("Find out why the kernel rejected the TSC (dmesg | grep -i -e tsc -e clocksource)");
    Looked::Found(vec![Cause::possible(about.id, Subject::Machine, claim).remedy(remedy)])
}

fn frequency_limit(about: &About, situation: &Situation) -> Looked {
    let policies = &situation.machine.power.frequency;
    let mut limited: BTreeMap<(u64, u64), CpuSet> = BTreeMap::new();
    let mut any = false;
    for policy in policies {
        let Some((allowed, highest)) = policy.max_khz.zip(policy.hardware_max_khz) else { continue };
        any = true;
        if allowed < highest {
            let cpus = limited.entry((allowed, highest)).or_default();
            policy.cpus.iter().for_each(|cpu| {
                cpus.insert(cpu);
            });
        }
    }
    if !any {
        return Looked::DoesNotApply;
    }
    let cause = |((allowed, highest), cpus): (&(u64, u64), &CpuSet)| {
        let word = plural("CPU", cpus.len());
        let claim = format!("{word} {cpus} may not run above {} MHz of {}", allowed / 1_000, highest / 1_000);
        let remedy = Remedy::by_hand("If that is not intended, raise it: knob frequency-max");
        Cause::possible(about.id, Subject::Machine, claim).remedy(remedy)
    };
    Looked::of(limited.iter().take(NAMED).map(cause).collect())
}

/// Where a line arrives, and how often it has come; `None` of one with hardly any.
fn arrives(line: &Irq) -> Option<(&CpuSet, u64)> {
    let came = line.came();
    line.goes_to().filter(|_| came >= FEW_INTERRUPTS).map(|at| (at, came))
}

fn isolated_interrupts(about: &About, situation: &Situation) -> Looked {
    let machine = &situation.machine;
    let Some(isolated) = machine.isolated().filter(|cpus| !cpus.is_empty()) else {
        return Looked::DoesNotApply;
    };
    let mut there: Vec<(u64, &Irq, &CpuSet)> = machine
        .irqs
        .iter()
        .filter_map(|line| arrives(line).map(|(at, came)| (came, line, at)))
        .filter(|(_, _, at)| at.is_subset(&isolated))
        .collect();
    there.sort_by_key(|(came, line, _)| (std::cmp::Reverse(*came), line.irq));
    let others = machine.online().difference(&isolated);
    let cause = |(came, line, at): &(u64, &Irq, &CpuSet)| {
        let claim = format!("IRQ {} ({}) arrives at isolated CPU {at}", line.irq, line.name);
        let remedy = match (line.managed, others.is_empty()) {
            (Some(true), _) | (_, true) => Remedy::by_hand(
                "The kernel keeps it there: give the device fewer queues, or boot with isolcpus=managed_irq,...",
            ),
            _ => Remedy::set(
                "Unless its queue is polled there, move it to the other CPUs",
                "irq-affinity",
                line.irq,
                &others,
            ),
        };
        Cause::possible(about.id, Subject::Irq { irq: line.irq }, claim)
            .because(format!("it has come {came} times since boot"))
            .remedy(remedy)
    };
    Looked::of(there.iter().take(NAMED).map(cause).collect())
}

fn one_cpu_for_all_queues(about: &About, situation: &Situation) -> Looked {
    let machine = &situation.machine;
    if machine.online().len() < 2 {
        return Looked::DoesNotApply;
    }
    let cards = machine.devices.iter().filter(|device| device.kind == DeviceKind::Net && !device.is_virtual);
    let crowded = cards.filter_map(|card| Some((card.name.as_str(), all_at(machine, &card.irqs)?)));
    let cause = |(name, (cpu, lines)): (&str, (u32, usize))| {
        let claim = format!("All {lines} lines of {name} that have traffic arrive at CPU {cpu}");
        let remedy = Remedy::by_hand(format!(
            "Spread them over the CPUs of the card's node that no server needs (knob irq-affinity), or start irqbalance; 'pinwise map' shows {name}"
        ));
        Cause::possible(about.id, Subject::Interface { name: name.into() }, claim).remedy(remedy)
    };
    Looked::of(crowded.take(NAMED).map(cause).collect())
}

/// The one CPU at which several lines with traffic arrive, and how many they are.
fn all_at(machine: &Machine, irqs: &[u32]) -> Option<(u32, usize)> {
    let lines = machine.irqs.iter().filter(|line| irqs.contains(&line.irq));
    let at: Vec<&CpuSet> = lines.filter_map(|line| Some(arrives(line)?.0)).collect();
    let first = at.first()?.iter().next()?;
    let is_one = at.len() > 1 && at.iter().all(|cpus| cpus.len() == 1 && cpus.contains(first));
    is_one.then_some((first, at.len()))
}

#[cfg(test)]
mod tests {
    use machine::devices::Device;
    use machine::power::FrequencyPolicy;
    use machine::topology::cpus::Cpu;

    use super::*;
    use crate::diagnosis::judge;

    fn line(irq: u32, cpu: u32, came: u64) -> Irq {
        Irq {
            irq,
            name: format!("eth0-rx-{irq}"),
            effective: Some(CpuSet::single(cpu)),
            counts: Some([(cpu, came)].into()),
            ..Irq::default()
        }
    }

    /// Four CPUs, a card with two queues.
    fn machine(lines: [Irq; 2]) -> Machine {
        let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
        let irqs = lines.iter().map(|line| line.irq).collect();
        let card = Device { kind: DeviceKind::Net, name: "eth0".into(), irqs, ..Device::default() };
        let mut machine = Machine {
            cpus: (0..4).map(cpu).collect(),
            devices: vec![card],
            irqs: lines.into(),
            ..Machine::default()
        };
        machine.kernel.clocksource = Some("tsc".into());
        machine
    }

    fn spread() -> Machine {
        machine([line(24, 0, 50_000), line(25, 1, 50_000)])
    }

    /// Ids of what is said of a machine without a window.
    fn said(machine: Machine) -> Vec<String> {
        let situation = Situation { target: "web7".into(), machine, ..Situation::default() };
        judge(&situation).causes.iter().map(|cause| cause.id.to_string()).collect()
    }

    #[test]
    fn a_machine_that_is_set_up_well_has_nothing() {
        assert!(said(spread()).is_empty());
        assert!(said(Machine::default()).is_empty());
    }

    #[test]
    fn a_clock_source_on_a_bus_is_named_and_that_of_a_hypervisor_is_not() {
        let with = |source: &str| {
            let mut machine = spread();
            machine.kernel.clocksource = Some(source.into());
            said(machine)
        };
        assert_eq!(with("hpet"), ["clock-source/machine"]);
        assert!(with("kvm-clock").is_empty() && with("tsc").is_empty());
    }

    #[test]
    fn a_lowered_frequency_is_named_with_its_cpus() {
        let with = |allowed: u64| {
            let mut machine = spread();
            machine.power.frequency = vec![FrequencyPolicy {
                cpus: CpuSet::from_list("0-3").unwrap(),
                max_khz: Some(allowed),
                hardware_max_khz: Some(3_600_000),
                ..FrequencyPolicy::default()
            }];
            said(machine)
        };
        assert_eq!(with(2_000_000), ["frequency-limit/machine"]);
        assert!(with(3_600_000).is_empty());
    }

    #[test]
    fn lines_on_isolated_cpus_are_named_unless_they_are_quiet() {
        let with = |came: u64| {
            let mut machine = machine([line(24, 3, came), line(25, 1, 50_000)]);
            machine.kernel.isolated = Some(CpuSet::single(3));
            said(machine)
        };
        assert_eq!(with(50_000), ["isolated-interrupts/irq:24"]);
        assert!(with(10).is_empty());
    }

    #[test]
    fn several_queues_on_one_cpu_are_named_and_one_busy_queue_is_not() {
        let lines = |second: u64| machine([line(24, 0, 50_000), line(25, 0, second)]);
        assert_eq!(said(lines(50_000)), ["one-cpu-for-all-queues/interface:eth0"]);
        assert!(said(lines(3)).is_empty(), "its traffic is one flow");
        let mut alone = lines(50_000);
        alone.cpus.truncate(1);
        assert!(said(alone).is_empty(), "there is no other CPU");
    }
}
