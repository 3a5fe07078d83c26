//! What the settings of a machine say without a window: of a capture, and beside what was seen in one. Nothing of it was measured, so each
//! cause is a possible one.

use std::collections::BTreeMap;

use machine::devices::{Device, DeviceKind};
use machine::irqs::Irq;
use machine::power::{FrequencyPolicy, Power};
use machine::wording::plural;
use machine::{CpuSet, Machine, Missing};
use probe::Situation;

use super::cause::{Cause, Remedy, Subject};
use super::machine_wide::MachineRule;
use super::rules::{About, Costs, Looked};
use crate::own_line::OwnLine;

/// Clock sources of PCs that are read through a bus, or from the hypervisor (the one of Hyper-V that is no page in memory): a microsecond and
/// more, by a system call each.
const SLOW_CLOCKS: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "hyperv_clocksource_msr"];
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
                   or by a thermal daemon. Meant or left over is not known. Look-alikes: turbo that is off, which leaves the limit at the base \
                   frequency on some drivers; acpi-cpufreq on AMD, where the limit reads as the nominal frequency though boost exceeds it: \
                   pinwise then says that it cannot tell.",
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
            docs: "A network card has several queues, and all their lines with traffic arrive at one CPU: that CPU handles the packets of all, and \
                   becomes the limit first. Look-alikes: a housekeeping CPU that was chosen for it on purpose; the receive line and the transmit line \
                   of a single queue; a card whose traffic is one flow, of which one line alone has interrupts.",
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
    let power = &situation.machine.power;
    let mut limited: BTreeMap<(u64, u64), CpuSet> = BTreeMap::new();
    let (mut any, mut unclear) = (false, None);
    for policy in &power.frequency {
        let Some((allowed, highest)) = policy.max_khz.zip(policy.hardware_max_khz) else { continue };
        any = true;
        match allowed < highest {
            true if may_be_boosted(policy, power) => unclear = Some(allowed),
            true => limited.entry((allowed, highest)).or_default().extend(policy.cpus.iter()),
            false => {}
        }
    }
    if limited.is_empty() {
        return match unclear {
            _ if !any => Looked::DoesNotApply,
            None => Looked::Fine,
            Some(khz) => Looked::CannotTell(Missing::new(about.title, boosted(khz))),
        };
    }
    let words = |((allowed, highest), cpus): (&(u64, u64), &CpuSet)| {
        let word = plural("CPU", cpus.len());
        format!("{word} {cpus} may not run above {} MHz of {}", allowed / 1_000, highest / 1_000)
    };
    let mut claims: Vec<String> = limited.iter().take(NAMED).map(words).collect();
    if limited.len() > NAMED {
        claims.push("others have other limits".into());
    }
    let remedy = match power.turbo {
        Some(false) => {
            "Turbo is off: if that is not intended, switch it on (knob turbo), then raise the limit if it is still there (knob frequency-max)"
        }
        _ => {
            "If that is not intended, raise it (knob frequency-max); if it comes back, a power profile, thermald or firmware lowers it"
        }
    };
    let cause = Cause::possible(about.id, Subject::Machine, claims.join("; "));
    Looked::Found(vec![cause.remedy(Remedy::by_hand(remedy))])
}

/// Whether a limit below what the hardware can may be none: acpi-cpufreq takes the highest frequency of firmware's table for the limit, and
/// with boost that of the hardware from CPPC, which the CPU reaches all the same (drivers/cpufreq/acpi-cpufreq.c, since 5.11). CPUs that may
/// run faster with the same driver show that it is one.
pub(super) fn may_be_boosted(policy: &FrequencyPolicy, power: &Power) -> bool {
    let is_faster = |other: &FrequencyPolicy| {
        other.driver == policy.driver
            && other.hardware_max_khz == policy.hardware_max_khz
            && other.max_khz > policy.max_khz
    };
    policy.driver.as_deref() == Some("acpi-cpufreq")
        && power.turbo != Some(false)
        && !power.frequency.iter().any(is_faster)
}

fn boosted(khz: u64) -> String {
    format!(
        "with acpi-cpufreq, a limit of {} MHz may be the nominal frequency, which boost exceeds: it is a limit only if scaling_max_freq is \
         below the first of scaling_available_frequencies",
        khz / 1_000
    )
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
    let of_devices = machine
        .irqs
        .iter()
        .filter(|line| OwnLine::of(&line.name, line.chip.as_deref().unwrap_or_default()).is_none());
    let mut there: Vec<(u64, &Irq, &CpuSet)> = of_devices
        .filter_map(|line| arrives(line).map(|(at, came)| (came, line, at)))
        .filter(|(_, _, at)| at.is_subset(&isolated))
        .collect();
    there.sort_by_key(|(came, line, _)| (std::cmp::Reverse(*came), line.irq));
    let others = machine.online().difference(&isolated);
    let cause = |(came, line, at): &(u64, &Irq, &CpuSet)| {
        let claim =
            format!("IRQ {} ({}) arrives at isolated {} {at}", line.irq, line.name, plural("CPU", at.len()));
        Cause::possible(about.id, Subject::Irq { irq: line.irq }, claim)
            .because(format!("it has come {came} times since boot"))
            .remedy(away_from_isolated(machine, line, &others))
    };
    Looked::of(there.iter().take(NAMED).map(cause).collect())
}

/// To have a line arrive at the `others`, which are not isolated.
fn away_from_isolated(machine: &Machine, line: &Irq, others: &CpuSet) -> Remedy {
    // Without its debug files the kernel does not say which lines it manages: those of most disks with several queues.
    let is_disk = || line.devices.iter().any(|name| machine.device(DeviceKind::Block, name).is_some());
    let may_go = line.affinity.as_ref().map(|cpus| !cpus.intersection(others).is_empty());
    match (line.managed.unwrap_or_else(is_disk), may_go) {
        _ if others.is_empty() => {
            Remedy::by_hand("Isolate fewer CPUs: there is no other one that it could go to")
        }
        (false, _) => Remedy::set(
            "Unless its queue is polled there, move it to the other CPUs",
            "irq-affinity",
            line.irq,
            others,
        ),
        (true, Some(false)) => Remedy::by_hand(
            "A line that the kernel manages stays there, and then comes for requests from these CPUs alone: keep tasks that use the device off \
             them. If the kernel does not manage it, move it (knob irq-affinity)",
        ),
        (true, _) => Remedy::by_hand(
            "Boot with isolcpus=managed_irq,...: it keeps lines that the kernel manages off isolated CPUs if they may go to others. If the kernel \
             does not manage it, move it (knob irq-affinity)",
        ),
    }
}

fn one_cpu_for_all_queues(about: &About, situation: &Situation) -> Looked {
    let machine = &situation.machine;
    if machine.online().len() < 2 {
        return Looked::DoesNotApply;
    }
    let cards = machine.devices.iter().filter(|device| device.kind == DeviceKind::Net && !device.is_virtual);
    let crowded = cards
        .filter(|card| receive_queues(card) != 1)
        .filter_map(|card| Some((card.name.as_str(), all_at(machine, &card.irqs)?)));
    let balanced = machine.owners.iter().any(|owner| owner.irqbalance.is_some() && owner.pid.is_some());
    let or = if balanced { "; irqbalance runs, and left them there" } else { ", or start irqbalance" };
    let cause = |(name, (cpu, lines)): (&str, (u32, usize))| {
        let claim = format!("All {lines} lines of {name} that receive traffic arrive at CPU {cpu}");
        let remedy = Remedy::by_hand(format!(
            "Spread them over the CPUs of the card's node that no server needs (knob irq-affinity){or}; 'pinwise map' shows {name}"
        ));
        Cause::possible(about.id, Subject::Interface { name: name.into() }, claim).remedy(remedy)
    };
    Looked::of(crowded.take(NAMED).map(cause).collect())
}

/// How many receive queues a card has; 0 where that is not known.
fn receive_queues(card: &Device) -> usize {
    card.queues.iter().filter(|queue| queue.name.starts_with("rx-")).count()
}

/// Whether a line is of a transmit queue alone: `virtio2-output.0`, `eth0-tx-0`, and not `eth0-Tx-Rx-0`.
fn only_sends(line: &Irq) -> bool {
    let name = line.name.to_ascii_lowercase();
    (name.contains("-output.") || name.contains("-tx-")) && !name.contains("rx")
}

/// The one CPU at which several lines with traffic arrive, and how many they are; lines that only send do not count.
fn all_at(machine: &Machine, irqs: &[u32]) -> Option<(u32, usize)> {
    let lines = machine.irqs.iter().filter(|line| irqs.contains(&line.irq) && !only_sends(line));
    let at: Vec<&CpuSet> = lines.filter_map(|line| Some(arrives(line)?.0)).collect();
    let first = at.first()?.iter().next()?;
    let is_one = at.len() > 1 && at.iter().all(|cpus| cpus.len() == 1 && cpus.contains(first));
    is_one.then_some((first, at.len()))
}

#[cfg(test)]
mod tests {
    use machine::devices::Queue;
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

    /// What is said of a machine without a window, and what could not be seen of it.
    fn looked(machine: Machine) -> (Vec<Cause>, Vec<String>) {
        let situation = Situation { target: "web7".into(), machine, ..Situation::default() };
        let diagnosis = judge(&situation);
        (diagnosis.causes, diagnosis.missing.into_iter().map(|missing| missing.why).collect())
    }

    #[test]
    fn the_nominal_frequency_below_that_of_boost_is_not_taken_for_a_limit() {
        let policy = |cpus: &str, khz: u64| FrequencyPolicy {
            cpus: CpuSet::from_list(cpus).unwrap(),
            driver: Some("acpi-cpufreq".into()),
            max_khz: Some(khz),
            hardware_max_khz: Some(3_529_052),
            ..FrequencyPolicy::default()
        };
        let with = |turbo, policies: Vec<FrequencyPolicy>| {
            let mut machine = spread();
            (machine.power.turbo, machine.power.frequency) = (Some(turbo), policies);
            looked(machine)
        };
        let (causes, missing) = with(true, vec![policy("0-3", 2_450_000)]);
        assert!(causes.is_empty() && missing.iter().any(|why| why.contains("boost exceeds")), "{missing:?}");
        let (causes, _) = with(false, vec![policy("0-3", 2_450_000)]);
        assert!(causes[0].remedies[0].words.contains("knob turbo"), "{causes:?}");
        let (causes, _) = with(true, vec![policy("0-2", 2_450_000), policy("3", 1_500_000)]);
        assert_eq!(causes.len(), 1);
        assert_eq!(causes[0].claim, "CPU 3 may not run above 1500 MHz of 3529");
    }

    #[test]
    fn limits_of_several_kinds_of_cpus_are_one_cause() {
        let policy = |cpus: &str, hardware: u64| FrequencyPolicy {
            cpus: CpuSet::from_list(cpus).unwrap(),
            driver: Some("intel_pstate".into()),
            max_khz: Some(3_000_000),
            hardware_max_khz: Some(hardware),
            ..FrequencyPolicy::default()
        };
        let mut machine = spread();
        machine.power.frequency = vec![policy("0-1", 5_200_000), policy("2-3", 4_000_000)];
        let (causes, _) = looked(machine);
        assert_eq!(causes.len(), 1, "an id is of one cause");
        assert!(causes[0].claim.contains("CPUs 0-1 may") && causes[0].claim.contains("CPUs 2-3 may"));
    }

    #[test]
    fn a_line_that_the_kernel_may_manage_is_not_moved_by_a_command() {
        let with = |allowed: &str, managed| {
            let mut machine = machine([line(24, 3, 50_000), line(25, 1, 50_000)]);
            machine.kernel.isolated = Some(CpuSet::from_list("2-3").unwrap());
            machine.devices.push(Device {
                kind: DeviceKind::Block,
                name: "nvme0n1".into(),
                irqs: vec![24],
                ..Device::default()
            });
            machine.irqs[0].devices = vec!["nvme0n1".into()];
            machine.irqs[0].affinity = Some(CpuSet::from_list(allowed).unwrap());
            machine.irqs[0].managed = managed;
            looked(machine).0.remove(0).remedies.remove(0)
        };
        let own = with("3", None);
        assert!(own.setting.is_none() && own.words.contains("requests from these CPUs alone"), "{own:?}");
        let wide = with("1,3", Some(true));
        assert!(wide.setting.is_none() && wide.words.contains("isolcpus=managed_irq"), "{wide:?}");
        let free = with("3", Some(false)).setting.unwrap();
        assert_eq!((free.target.as_str(), free.value.as_str()), ("24", "0-1"));
    }

    #[test]
    fn a_line_that_each_cpu_has_is_no_devices_line() {
        let mut machine = machine([line(24, 3, 50_000), line(25, 1, 50_000)]);
        machine.kernel.isolated = Some(CpuSet::single(3));
        machine.devices.clear();
        (machine.irqs[0].name, machine.irqs[0].chip) = ("timer3".into(), Some("xen-percpu".into()));
        assert!(said(machine).is_empty());
    }

    #[test]
    fn the_lines_of_a_single_queue_are_no_queues_on_one_cpu() {
        let names = ["virtio2-input.0", "virtio2-output.0"];
        let mut single = machine([line(24, 1, 50_000), line(25, 1, 50_000)]);
        for (irq, name) in single.irqs.iter_mut().zip(names) {
            irq.name = name.into();
        }
        assert!(said(single).is_empty(), "one receives, one sends");
        let mut single = machine([line(24, 1, 50_000), line(25, 1, 50_000)]);
        single.devices[0].queues =
            ["rx-0", "tx-0"].map(|name| Queue { name: name.into(), ..Queue::default() }).into();
        assert!(said(single).is_empty(), "there is one receive queue");
    }
}
