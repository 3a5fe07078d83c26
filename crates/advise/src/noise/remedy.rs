//! What can be done about what interrupts a CPU.

use probe::account::Source;
use probe::noise::Cause;

/// What can be done about a cause of noise, as an order that names its knob; `None` where that depends on what ran.
pub fn remedy(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::OtherTasks => Some(
            "keep other tasks off the CPU (knob cpuset, an isolated cpuset partition, boot parameter isolcpus=domain); the kernel's \
             threads of this CPU stay",
        ),
        Cause::OffCpuIdle => Some(
            "a limit took the CPU from the loop: raise cpu.max of its cgroup (version 1: cpu.cfs_quota_us); with --fifo, it may also be \
             sysctl kernel.sched_rt_runtime_us, or since Linux 6.12 the fair server (/sys/kernel/debug/sched/fair_server)",
        ),
        Cause::Steal => Some(
            "the host ran something else, or held this guest to a limit: pin the guest's CPUs there, one to a CPU, or raise the limit \
             (CPU credits, vCPU quota)",
        ),
        // NUMA balancing takes pages from the loop: no trace point that is looked at sees the faults that bring them back.
        Cause::Unexplained => Some(
            "check the host and firmware (SMI); a change of the clock (knobs frequency-min, frequency-max) and, with several nodes, \
             NUMA balancing (knob numa-balancing) also stop a CPU without an event",
        ),
        Cause::Source(source) => of_source(source),
    }
}

fn of_source(source: Source) -> Option<&'static str> {
    Some(match source {
        Source::Tick => {
            "a busy CPU keeps its tick unless it is in nohz_full= (knob boot-parameters) and runs one task (knob process-affinity); \
             timers that tasks set count here too: 'pinwise watch --cpu' names their functions"
        }
        Source::Reschedule => {
            "tasks are woken here from other CPUs: keep tasks that wake each other together (knobs process-affinity, cpuset), and take \
             the CPU out of load balancing: isolcpus= (knob boot-parameters) or an isolated cpuset partition"
        }
        Source::CallFunction | Source::CallFunctionSingle => {
            "another CPU has a function run here: to unmap or move memory (TLB; knob numa-balancing), for membarrier, or for packets \
             that RPS hands over (knob rps-cpus); keep tasks that share the memory on other CPUs (knobs process-affinity, cpuset)"
        }
        Source::SoftirqNetRx => {
            "packets are received here: move the lines of the network card (knob irq-affinity) or its receive work (knob rps-cpus); \
             packets of the loopback interface are received where their sender runs (knob process-affinity)"
        }
        Source::SoftirqNetTx => {
            "sent packets are freed here: move the lines of the network card (knob irq-affinity) or its transmit queues (knob xps-cpus)"
        }
        Source::SoftirqRcu => {
            "boot with rcu_nocbs= (knob boot-parameters): it gives this work to threads that can be moved (knob \
             kernel-thread-affinity); nohz_full= implies it"
        }
        Source::Device => {
            "a device's line arrives here: move it (knob irq-affinity; 'pinwise watch --cpu' names the line); the kernel refuses that \
             for lines that it manages, such as those of NVMe disks"
        }
        Source::SoftirqBlock => {
            "requests to a disk complete here: those of tasks of this CPU (knobs process-affinity, cpuset), or all of a disk whose line \
             arrives here (knob irq-affinity)"
        }
        Source::SoftirqTimer | Source::SoftirqHrtimer => {
            "timers fire where they were set: keep the tasks that set them off these CPUs (knobs process-affinity, cpuset); nohz_full= \
             (knob boot-parameters) moves those that need no CPU of their own, and a longer vm-stat-interval makes statistics rarer"
        }
        Source::SoftirqSched => {
            "the scheduler balances load: it leaves CPUs alone that are in isolcpus= (knob boot-parameters) or in an isolated cpuset \
             partition (cpuset.cpus.partition)"
        }
        Source::Nmi => "profiling, or the hard lockup watchdog: knob nmi-watchdog",
        Source::Thermal => {
            "the CPU reports heat, a power limit or, on hybrid CPUs, new ratings of its cores: check cooling and power limits"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remedy_of_a_source_names_a_knob() {
        let knobs: Vec<&str> = machine::knobs::ALL.iter().map(|knob| knob.about().id).collect();
        for source in Source::ALL {
            let Some(remedy) = of_source(source) else { continue };
            let names_one = knobs.iter().any(|knob| remedy.contains(knob));
            assert!(
                names_one || source == Source::Thermal || source == Source::SoftirqSched,
                "{source:?}: {remedy}"
            );
        }
        assert_eq!(of_source(Source::IrqWork), None, "what ran there may be anything");
    }

    #[test]
    fn a_device_is_not_taken_for_a_disk_and_steal_not_for_other_guests_alone() {
        assert!(!of_source(Source::Device).unwrap().contains("the disk"), "it may be a network card");
        assert!(of_source(Source::SoftirqBlock).unwrap().contains("tasks of this CPU"));
        assert!(remedy(Cause::Steal).unwrap().contains("raise the limit"));
        assert!(remedy(Cause::OffCpuIdle).unwrap().contains("fair server"), "since Linux 6.12");
        assert!(remedy(Cause::Unexplained).unwrap().contains("frequency-min"));
    }
}
