//! What the facts of a server and its machine say without a measurement.

use machine::irqs::Irq;
use machine::isolation::SetBy;
use machine::processes::Server;
use machine::{CpuSet, Machine};
use serde::{Deserialize, Serialize};

/// From which share of the memory on the remark is made that it lies on one node.
const MOSTLY: f64 = 0.8;
/// From which share on it is said that memory lies where no thread may run.
const NOTABLE: f64 = 0.1;
/// Lines with fewer interrupts since boot are not mentioned.
const FEW_INTERRUPTS: u64 = 1000;
/// Most interrupt lines that are named.
const MOST_LINES: usize = 8;

/// What to know before placing this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "remark", rename_all = "kebab-case")]
pub enum Remark {
    /// Threads may run on several nodes, and the memory is on one of them.
    MemoryOnOneNode {
        /// Nodes of the CPUs on which threads may run.
        cpu_nodes: CpuSet,
        /// The node with the memory.
        node: u32,
        /// Share of the memory that is there, 0 to 1.
        share: f64,
    },
    /// Memory lies on nodes on whose CPUs no thread may run: every access to it is remote.
    MemoryAway {
        /// Nodes of the CPUs on which threads may run.
        cpu_nodes: CpuSet,
        /// Nodes with memory and without threads.
        nodes: CpuSet,
        /// Share of the memory that is there, 0 to 1.
        share: f64,
    },
    /// A CPU to which threads are confined serves an interrupt line too.
    ServesInterrupts {
        /// The CPU.
        cpu: u32,
        /// The line.
        irq: u32,
        /// Its name.
        name: String,
        /// How often that CPU took it since boot.
        interrupts: u64,
    },
    /// Threads may run on isolated CPUs and on others: the scheduler does not move them off or onto the isolated ones.
    IsolatedAmongAllowed {
        /// How many threads.
        threads: usize,
        /// The isolated CPUs that they may use.
        isolated: CpuSet,
        /// All CPUs that they may use.
        allowed: CpuSet,
    },
    /// Threads may run on several CPUs, all of them isolated: each stays where it was put, and they do not spread.
    IsolatedTogether {
        /// How many threads.
        threads: usize,
        /// All CPUs that they may use.
        cpus: CpuSet,
        /// What isolates them, as far as that is known.
        by: Vec<SetBy>,
    },
    /// Memory of the server was swapped out.
    Swapped {
        /// Bytes in swap.
        bytes: u64,
    },
}

/// All remarks on a server, the weightiest first.
pub fn of(server: &Server, machine: &Machine) -> Vec<Remark> {
    let mut remarks = memory(server, machine);
    let swapped = server.processes.iter().filter_map(|process| process.swap_bytes);
    let swapped = swapped.fold(0, u64::saturating_add);
    if swapped > 0 {
        remarks.push(Remark::Swapped { bytes: swapped });
    }
    remarks.extend(isolated(server, machine));
    remarks.extend(interrupts(server, machine));
    remarks
}

/// Where the memory lies against where the threads may run; nothing on machines of one node.
fn memory(server: &Server, machine: &Machine) -> Vec<Remark> {
    let Some(memory) = &server.memory else { return Vec::new() };
    let total = memory.total_bytes();
    let cpus = server.cpus();
    let cpu_nodes: CpuSet = cpus.iter().filter_map(|cpu| machine.cpu(cpu)?.node).collect();
    if total == 0 || machine.nodes.len() < 2 || cpu_nodes.is_empty() {
        return Vec::new();
    }
    let share = |bytes: u64| bytes as f64 / total as f64;
    let away = memory.nodes.iter().filter(|(node, bytes)| !cpu_nodes.contains(**node) && **bytes > 0);
    let (nodes, bytes) = away.fold((CpuSet::new(), 0u64), |(mut nodes, sum), (node, bytes)| {
        nodes.insert(*node);
        (nodes, sum.saturating_add(*bytes))
    });
    let mut remarks = Vec::new();
    if share(bytes) >= NOTABLE {
        remarks.push(Remark::MemoryAway { cpu_nodes: cpu_nodes.clone(), nodes, share: share(bytes) });
    }
    let largest = memory.nodes.iter().max_by_key(|(_, bytes)| **bytes);
    if let Some((node, bytes)) = largest
        && cpu_nodes.len() > 1
        && cpu_nodes.contains(*node)
        && share(*bytes) >= MOSTLY
    {
        remarks.push(Remark::MemoryOnOneNode { cpu_nodes, node: *node, share: share(*bytes) });
    }
    remarks
}

/// Threads that may run on several CPUs of which some or all are isolated, grouped by what they may use.
fn isolated(server: &Server, machine: &Machine) -> Vec<Remark> {
    let Some(isolated) = machine.isolated().filter(|set| !set.is_empty()) else {
        return Vec::new();
    };
    let mut groups = std::collections::BTreeMap::<&CpuSet, usize>::new();
    for cpus in server.threads().filter_map(|thread| thread.cpus.as_ref()) {
        *groups.entry(cpus).or_default() += 1;
    }
    let mixed =
        groups.into_iter().filter(|(cpus, _)| cpus.len() > 1 && !cpus.intersection(&isolated).is_empty());
    let remark = |(cpus, threads): (&CpuSet, usize)| match cpus.is_subset(&isolated) {
        true => Remark::IsolatedTogether {
            threads,
            cpus: cpus.clone(),
            by: machine.isolation.of(cpus).map(|set| set.by.clone()).collect(),
        },
        false => Remark::IsolatedAmongAllowed {
            threads,
            isolated: cpus.intersection(&isolated),
            allowed: cpus.clone(),
        },
    };
    mixed.map(remark).collect()
}

/// Lines that come to the CPUs to which threads are confined. Threads that may run everywhere are not confined: for
/// them the interrupt table says it all.
fn interrupts(server: &Server, machine: &Machine) -> Vec<Remark> {
    let online = machine.online();
    let confined =
        server.threads().filter_map(|thread| thread.cpus.as_ref()).filter(|cpus| !online.is_subset(cpus));
    let confined: CpuSet = confined.flat_map(CpuSet::iter).collect();
    let mut found = Vec::new();
    for irq in &machine.irqs {
        // Where the line goes today counts; counts since boot may be of yesterday's place.
        let Some(goes_to) = irq.goes_to() else { continue };
        let counts = irq.counts.iter().flatten();
        let here = counts.filter(|(cpu, count)| {
            confined.contains(**cpu) && goes_to.contains(**cpu) && **count >= FEW_INTERRUPTS
        });
        found.extend(here.map(|(cpu, count)| (*count, *cpu, irq)));
    }
    found.sort_by_key(|(count, cpu, irq)| (std::cmp::Reverse(*count), *cpu, irq.irq));
    let remark = |(interrupts, cpu, irq): (u64, u32, &Irq)| Remark::ServesInterrupts {
        cpu,
        irq: irq.irq,
        name: irq.name.clone(),
        interrupts,
    };
    found.into_iter().take(MOST_LINES).map(remark).collect()
}

#[cfg(test)]
mod tests {
    use machine::processes::{NumaMemory, Process, Thread};
    use machine::topology::cpus::Cpu;
    use machine::topology::nodes::Node;

    use super::*;

    /// Two nodes of two CPUs; 2-3 isolated; a network card's line on CPU 1.
    fn machine() -> Machine {
        let cpu = |id| Cpu { id, online: true, node: Some(id / 2), ..Cpu::default() };
        let node = |id: u32| Node { id, cpus: [id * 2, id * 2 + 1].into_iter().collect(), ..Node::default() };
        let mut machine =
            Machine { cpus: (0..4).map(cpu).collect(), nodes: vec![node(0), node(1)], ..Machine::default() };
        machine.kernel.isolated = Some("2-3".parse().unwrap());
        machine.irqs = vec![Irq {
            irq: 38,
            name: "eth0-rx-0".into(),
            effective: Some(CpuSet::single(1)),
            counts: Some([(0, 5_000_000), (1, 1_200_000), (2, 3)].into()),
            ..Irq::default()
        }];
        machine
    }

    fn server(cpus: &[&str], node_0: u64, node_1: u64) -> Server {
        let thread = |cpus: &&str| Thread { cpus: Some(cpus.parse().unwrap()), ..Thread::default() };
        let process = Process { threads: cpus.iter().map(thread).collect(), ..Process::default() };
        let line = format!("1000 default N0={node_0} N1={node_1} kernelpagesize_kB=4\n");
        Server { processes: vec![process], memory: NumaMemory::parse(&line, None).ok(), ..Server::default() }
    }

    #[test]
    fn memory_on_one_node_and_threads_on_both() {
        let remarks = of(&server(&["0-3"], 93, 7), &machine());
        let cpu_nodes: CpuSet = "0-1".parse().unwrap();
        assert_eq!(remarks[0], Remark::MemoryOnOneNode { cpu_nodes, node: 0, share: 0.93 });
        assert!(
            of(&server(&["0-1"], 93, 7), &machine())
                .iter()
                .all(|r| !matches!(r, Remark::MemoryOnOneNode { .. }))
        );
        assert!(memory(&server(&["0-3"], 50, 50), &machine()).is_empty());
    }

    #[test]
    fn memory_where_no_thread_may_run() {
        let remarks = memory(&server(&["2", "3"], 60, 40), &machine());
        assert_eq!(
            remarks,
            [Remark::MemoryAway { cpu_nodes: CpuSet::single(1), nodes: CpuSet::single(0), share: 0.6 }]
        );
        assert!(memory(&server(&["2"], 0, 0), &machine()).is_empty());
    }

    #[test]
    fn interrupts_count_where_the_line_goes_now_and_threads_are_confined() {
        let found = interrupts(&server(&["0-2"], 1, 1), &machine());
        let remark =
            Remark::ServesInterrupts { cpu: 1, irq: 38, name: "eth0-rx-0".into(), interrupts: 1_200_000 };
        assert_eq!(found, [remark]);
        assert!(interrupts(&server(&["0-3"], 1, 1), &machine()).is_empty(), "it may run everywhere");
        assert!(interrupts(&server(&["0"], 1, 1), &machine()).is_empty(), "the line has left CPU 0");
    }

    #[test]
    fn isolated_cpus_among_others_and_not_alone() {
        let found = isolated(&server(&["0-3", "0-3", "2"], 1, 1), &machine());
        let (isolated_cpus, allowed) = ("2-3".parse().unwrap(), "0-3".parse().unwrap());
        assert_eq!(found, [Remark::IsolatedAmongAllowed { threads: 2, isolated: isolated_cpus, allowed }]);
        let mut unknown = machine();
        unknown.kernel.isolated = None;
        assert!(isolated(&server(&["0-3"], 1, 1), &unknown).is_empty());
    }

    #[test]
    fn a_server_in_an_isolated_partition_is_not_balanced_and_one_in_a_domain_of_its_own_is() {
        use machine::isolation::{Domain, SetApart};

        let (cpus, mut machine): (CpuSet, _) = ("0-1".parse().unwrap(), machine());
        let by = SetBy::Partition { cgroup: "/rt".into() };
        machine.isolation.sets = vec![SetApart { by: by.clone(), cpus: cpus.clone(), residents: None }];
        let found = isolated(&server(&["0-1", "0-1", "0"], 1, 1), &machine);
        assert_eq!(found, [Remark::IsolatedTogether { threads: 2, cpus: cpus.clone(), by: vec![by] }]);
        machine.isolation.sets.clear();
        machine.isolation.domains = vec![Domain { cgroup: "/web".into(), cpus }];
        assert!(isolated(&server(&["0-1"], 1, 1), &machine).is_empty());
    }

    #[test]
    fn swapped_bytes_are_added_up_whatever_they_are() {
        let of_two = |bytes: u64| {
            let process = Process { swap_bytes: Some(bytes), ..Process::default() };
            of(
                &Server { processes: vec![process.clone(), process], ..Server::default() },
                &Machine::default(),
            )
        };
        assert_eq!(of_two(4096), [Remark::Swapped { bytes: 8192 }]);
        assert_eq!(of_two(u64::MAX), [Remark::Swapped { bytes: u64::MAX }]);
        assert!(of_two(0).is_empty());
    }

    #[test]
    fn nothing_known_says_nothing() {
        assert!(of(&Server::default(), &Machine::default()).is_empty());
    }
}
