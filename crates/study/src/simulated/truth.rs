//! The true figure of a placement: what each mechanism costs, multiplied out.
//!
//! The frame is the scalability law (Gunther, *Guerrilla Capacity Planning*): `X = g N / (1 + a (N-1) + b N (N-1))`, with
//! `N` the CPUs' worth that is left after interrupts and siblings, and further terms in the denominator for where memory,
//! caches and the load are.

use std::collections::BTreeMap;

use machine::{CpuSet, Machine};

use super::landscape::{Landscape, MemoryPolicy};

/// A landscape with its machine, ready to be asked often.
#[derive(Debug, Clone)]
pub struct Truth {
    landscape: Landscape,
    machine: Machine,
    cache_of: BTreeMap<u32, CpuSet>,
}

/// What the server's CPUs have in common.
struct Spread {
    /// CPUs' worth by node.
    by_node: BTreeMap<u32, f64>,
    worth: f64,
}

impl Landscape {
    /// Makes it ready to be asked.
    pub fn truth(&self) -> Truth {
        let machine = self.machine();
        let caches = machine
            .cpus
            .iter()
            .map(|cpu| cpu.id)
            .filter_map(|cpu| machine.last_level_cache(cpu).map(|cache| (cpu, cache.cpus.clone())));
        let cache_of = caches.collect();
        Truth { landscape: self.clone(), machine, cache_of }
    }
}

impl Truth {
    /// The machine as a map would show it.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The landscape.
    pub fn landscape(&self) -> &Landscape {
        &self.landscape
    }

    /// What the server reaches on these CPUs, with the load on those (empty: elsewhere), in the unit of `one_cpu`.
    /// Nothing on no CPU.
    pub fn figure(&self, server: &CpuSet, load: &CpuSet, policy: MemoryPolicy) -> f64 {
        let work = &self.landscape.workload;
        let spread = self.spread(server, load);
        // A server of few threads runs on some of its CPUs at a time: on the mean of them.
        let threads = work
            .threads
            .map_or(spread.worth, |most| spread.worth * (f64::from(most) / server.len() as f64).min(1.0));
        let n = threads;
        if n <= 0.0 {
            return 0.0;
        }
        let others = (n - 1.0).max(0.0);
        let slower = 1.0
            + work.serial * others
            + work.coherence * n * others
            + self.memory(&spread, n, policy)
            + work.shared_cache * self.crowding(server, |cpu| self.cache_of.get(&cpu))
            + work.node_bandwidth * self.crowding(server, |cpu| self.node_of(cpu))
            + self.talk(server, load);
        let reached = work.one_cpu * n / slower * self.left_by_card(server) * self.left_by_driver(server, n);
        match work.load_share > 0.0 && !load.is_empty() {
            // The load is a limit of its own: it cannot ask for more than its CPUs can drive.
            true => reached.min(work.one_cpu * self.spread(load, server).worth / work.load_share),
            false => reached,
        }
    }

    fn node_of(&self, cpu: u32) -> Option<&CpuSet> {
        let node = self.machine.cpu(cpu)?.node?;
        self.machine.nodes.get(node as usize).map(|node| &node.cpus)
    }

    /// What each CPU is worth when these run and those run beside them.
    fn spread(&self, own: &CpuSet, beside: &CpuSet) -> Spread {
        let work = &self.landscape.workload;
        let share = |of: &BTreeMap<String, f64>, cpu: u32| of.get(&cpu.to_string()).copied().unwrap_or(0.0);
        let mut by_node: BTreeMap<u32, f64> = BTreeMap::new();
        let siblings_of =
            |cpu: u32| self.machine.cpu(cpu).and_then(|cpu| cpu.siblings.clone()).unwrap_or_default();
        let first = |cpu: &u32| siblings_of(*cpu).intersection(own).first() == Some(*cpu);
        // Few threads find a core each: the scheduler spreads them.
        let few = work.threads.is_some_and(|threads| threads as usize <= own.iter().filter(first).count());
        for cpu in own.iter() {
            let busy = |s: &u32| *s == cpu || (own.contains(*s) && !few) || beside.contains(*s);
            let busy = siblings_of(cpu).iter().filter(busy).count().max(1);
            let smt = if busy > 1 { work.siblings_together / busy as f64 } else { 1.0 };
            let left = 1.0 - share(&work.taken_by_interrupts, cpu) - share(&work.taken_through_sibling, cpu);
            let node = self.machine.cpu(cpu).and_then(|cpu| cpu.node).unwrap_or_default();
            *by_node.entry(node).or_default() += smt * left.max(0.0);
        }
        Spread { worth: by_node.values().sum(), by_node }
    }

    /// Remote accesses, and the memory controller that serves the most of them.
    fn memory(&self, spread: &Spread, n: f64, policy: MemoryPolicy) -> f64 {
        let work = &self.landscape.workload;
        let shape = &self.landscape.shape;
        let nodes = f64::from(shape.all_nodes());
        let far = |from: u32, to: u32| f64::from(shape.distance(from, to).saturating_sub(10)) / 10.0;
        let mut remote = 0.0;
        for (from, worth) in &spread.by_node {
            let here = worth / spread.worth;
            remote += match policy {
                MemoryPolicy::Local => spread
                    .by_node
                    .iter()
                    .map(|(to, w)| here * w / spread.worth * far(*from, *to))
                    .sum::<f64>(),
                MemoryPolicy::Interleave => {
                    (0..shape.all_nodes()).map(|to| here / nodes * far(*from, to)).sum::<f64>()
                }
            };
        }
        let busiest = match policy {
            MemoryPolicy::Local => 1.0,
            MemoryPolicy::Interleave => 1.0 / nodes,
        };
        work.remote * remote + work.controller * busiest * (n * remote).powi(2)
    }

    /// How full the groups of the server's CPUs are, seen from its CPUs: 0 for one CPU each, 1 for all of them.
    fn crowding<'a>(&'a self, server: &CpuSet, group: impl Fn(u32) -> Option<&'a CpuSet>) -> f64 {
        let full = server.iter().filter_map(|cpu| {
            let group = group(cpu)?;
            let others = group.iter().filter(|other| server.contains(*other)).count() - 1;
            Some(others as f64 / (group.len() - 1).max(1) as f64)
        });
        full.sum::<f64>() / server.len().max(1) as f64
    }

    /// What is left where the server takes CPUs of the card's node.
    fn left_by_card(&self, server: &CpuSet) -> f64 {
        let work = &self.landscape.workload;
        let node = self.landscape.shape.card_node.and_then(|id| self.machine.nodes.get(id as usize));
        let Some(node) = node else { return 1.0 };
        let used = node.cpus.iter().filter(|cpu| server.contains(*cpu)).count() as f64;
        1.0 - work.card_node * (used / node.cpus.len().max(1) as f64).powf(work.card_node_bend)
    }

    /// What is left when the network driver's CPU is full: alone it serves what it can, shared with the server less.
    fn left_by_driver(&self, server: &CpuSet, n: f64) -> f64 {
        let work = &self.landscape.workload;
        let Some(cpu) = work.driver_cpu else { return 1.0 };
        let wanted = work.driver * n;
        let free = if server.contains(cpu) { work.driver_share } else { 1.0 };
        (free / wanted.max(1e-9)).min(1.0)
    }

    /// How far the load is from the server.
    fn talk(&self, server: &CpuSet, load: &CpuSet) -> f64 {
        let pairs = (server.len() * load.len()) as f64;
        if self.landscape.workload.talk == 0.0 || pairs == 0.0 {
            return 0.0;
        }
        let far = |a: u32, b: u32| {
            let node = |cpu: u32| self.machine.cpu(cpu).and_then(|cpu| cpu.node).unwrap_or_default();
            match self.cache_of.get(&a).is_some_and(|cache| cache.contains(b)) {
                true => 0.0,
                false if node(a) == node(b) => 1.0 / 3.0,
                false => f64::from(self.landscape.shape.distance(node(a), node(b))) / 20.0,
            }
        };
        let sum: f64 = server.iter().map(|a| load.iter().map(|b| far(a, b)).sum::<f64>()).sum();
        self.landscape.workload.talk * sum / pairs
    }
}
