//! What can be done about what interrupts a CPU.

use probe::account::Source;
use probe::noise::Cause;

/// What can be done about a cause of noise, as an order that names its knob; `None` where that depends on what ran.
pub fn remedy(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::OtherTasks => Some(
            "keep other tasks off the CPU (knob cpuset, an isolated cpuset partition, boot parameter isolcpus=domain)",
        ),
        Cause::OffCpuIdle => Some(
            "a quota took the CPU from the loop: raise cpu.max of its cgroup, or sysctl kernel.sched_rt_runtime_us",
        ),
        Cause::Steal => {
            Some("the host gives the CPU to other guests: pin this guest's CPUs there, one to a CPU")
        }
        Cause::Unexplained => Some("no setting of this system removes it: check the host, or firmware (SMI)"),
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
        Source::SoftirqBlock | Source::Device => "move the lines of the disk: knob irq-affinity",
        Source::SoftirqTimer | Source::SoftirqHrtimer => {
            "timers fire where they were set: keep the tasks that set them off these CPUs (knobs process-affinity, cpuset); nohz_full= \
             (knob boot-parameters) moves those that need no CPU of their own, and a longer vm-stat-interval makes statistics rarer"
        }
        Source::SoftirqSched => {
            "the scheduler balances load: it leaves CPUs alone that are in isolcpus= (knob boot-parameters) or in an isolated cpuset \
             partition (cpuset.cpus.partition)"
        }
        Source::Nmi => "profiling, or the hard lockup watchdog: knob nmi-watchdog",
        Source::Thermal => "the CPU is too hot: check cooling and power limits",
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
}
