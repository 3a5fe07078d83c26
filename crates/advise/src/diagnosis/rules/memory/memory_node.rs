//! The server's memory lies on another node than it runs on.

use machine::CpuSet;
use machine::wording::percent;
use probe::account::{Nearness, NodeShare};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `memory-node`.
pub struct MemoryNode;

/// Most of something is on a node if more than this share of it is.
const MOST: f64 = 0.5;
/// The server runs on one node if it had this share of its CPU time there.
const NEARLY_ALL: f64 = 0.8;
/// A share of remote memory below this is not reported.
const FAR: f64 = 0.2;

static ABOUT: About = About {
    id: "memory-node",
    title: "memory on other nodes",
    costs: Costs::OwnTime,
    docs: "Memory of the server is on another NUMA node than the CPUs on which it ran, so cache misses go over the interconnect. The cost depends on \
           how often the server misses, which no counter of the kernel shows. The reported share is what is to be expected if all pages were used \
           equally. A study measures the cost (near against far), or the CPU's counters of cycles show it. It shows up as CPU time of the server's \
           own. Memory of nodes without CPUs (CXL, persistent memory, HBM) is far from all CPUs, and may be there on purpose: the kernel moves pages \
           there that are rarely used (demotion). Look-alikes: a busy hyper-thread, a low clock, more work.",
};

impl Rule for MemoryNode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.machine.nodes.len() < 2 {
            return Looked::DoesNotApply;
        }
        let Some(nearness) = scene.situation.account.as_ref().and_then(|account| account.nearness.as_ref())
        else {
            return Looked::needs_account(&ABOUT);
        };
        let Some(remote) = nearness.expected_remote_share.filter(|share| *share >= FAR) else {
            return Looked::Fine;
        };
        if let Some(cause) = without_cpus(scene, nearness, remote) {
            return Looked::Found(vec![cause]);
        }
        let by = |of: fn(&NodeShare) -> u64| {
            nearness.nodes.iter().max_by_key(|(_, share)| of(share)).map(|(node, _)| *node)
        };
        let (Some(memory), Some(cpus)) = (by(|share| share.memory_bytes), by(|share| share.on_cpu_ns)) else {
            return Looked::Fine;
        };
        let apart = memory != cpus
            && part(nearness, memory, |share| share.memory_bytes) > MOST
            && part(nearness, cpus, |share| share.on_cpu_ns) > MOST;
        let claim = match apart {
            false => {
                format!("About {} of the server's memory accesses go to another node", percent(remote))
            }
            true => format!("The server runs on node {cpus}, but most of its memory is on node {memory}"),
        };
        let cause = Cause::possible(ABOUT.id, Subject::Server, claim)
            .because(format!(
                "{} of its memory accesses are remote if it uses all its pages equally",
                percent(remote)
            ))
            .figure("expected_remote_share", remote);
        Looked::Found(vec![cause.remedy(remedy(scene, nearness, memory, cpus))])
    }
}

/// The part of the server's memory or CPU time that is on a node, 0 to 1.
fn part(nearness: &Nearness, node: u32, of: fn(&NodeShare) -> u64) -> f64 {
    let all: f64 = nearness.nodes.values().map(|share| of(share) as f64).sum();
    let there = nearness.nodes.get(&node).map_or(0.0, |share| of(share) as f64);
    if all > 0.0 { there / all } else { 0.0 }
}

/// Most of what is far is on nodes without CPUs: no place is nearer to it, and it may be there on purpose.
fn without_cpus(scene: &Scene<'_>, nearness: &Nearness, remote: f64) -> Option<Cause> {
    let nodes = scene.situation.machine.nodes.iter().filter(|node| node.cpus.is_empty()).map(|node| node.id);
    let nodes: Vec<u32> =
        nodes.filter(|id| nearness.nodes.get(id).is_some_and(|share| share.memory_bytes > 0)).collect();
    let share: f64 = nodes.iter().map(|id| part(nearness, *id, |share| share.memory_bytes)).sum();
    if share < FAR || share < MOST * remote {
        return None;
    }
    let claim = format!(
        "{} of the server's memory is on nodes without CPUs (nodes: {})",
        percent(share),
        nodes.into_iter().collect::<CpuSet>()
    );
    let words = "Pages that are rarely used cost little there; the kernel moves such pages there if demotion is on \
                 (/sys/kernel/mm/numa/demotion_enabled). To bring up those that are used often, set knob numa-balancing to tiering (from Linux 5.18 \
                 on). To keep the server off that memory, bind it to nodes with CPUs, if it fits there (knob process-memory-nodes, numactl \
                 --membind). Leave it if it was put there on purpose, for example for the bandwidth of HBM";
    let cause = Cause::possible(ABOUT.id, Subject::Server, claim)
        .because(format!(
            "{} of its memory accesses are remote if it uses all its pages equally",
            percent(remote)
        ))
        .figure("expected_remote_share", remote)
        .figure("share_without_cpus", share);
    Some(cause.remedy(Remedy::by_hand(words)))
}

/// The CPUs of node `memory`, if the server finds CPUs enough there and at least half of what is far becomes near.
fn near_cpus<'a>(scene: &Scene<'a>, nearness: &Nearness, memory: u32) -> Option<&'a CpuSet> {
    let far_there = 1.0 - part(nearness, memory, |share| share.memory_bytes);
    let far_now = nearness.expected_remote_share?;
    let had = scene.time.in_cpus(scene.time.had_ns());
    let node = scene.situation.machine.nodes.iter().find(|node| node.id == memory)?;
    let is_room = !node.cpus.is_empty() && node.cpus.len() as f64 >= had;
    (is_room && far_there <= far_now / 2.0).then_some(&node.cpus)
}

/// To run at node `memory`, where more of its memory is than on any other; else to bring the memory to node `cpus`, where it mostly runs.
fn remedy(scene: &Scene<'_>, nearness: &Nearness, memory: u32, cpus: u32) -> Remedy {
    if let (Some(pid), Some(near)) = (scene.situation.pids.first(), near_cpus(scene, nearness, memory)) {
        let words = format!("Run it on node {memory}, where most of its memory is");
        return Remedy::set(words, "process-affinity", pid, near);
    }
    if part(nearness, cpus, |share| share.on_cpu_ns) < NEARLY_ALL {
        let words = "Run one process on each node, with memory of that node: what threads of several nodes use together is far from some of them, \
                     wherever it lies";
        return Remedy::by_hand(words);
    }
    let mut nodes = scene.situation.machine.nodes.iter();
    if nodes.any(|node| node.id == cpus && node.memory_bytes == Some(0)) {
        let words = format!(
            "Node {cpus}, where it runs, has no memory. Run it on nodes that have some and CPUs enough (knob process-affinity); if memory modules are \
             missing or the firmware hides them, add them there"
        );
        return Remedy::by_hand(words);
    }
    Remedy::by_hand(format!(
        "Bring its memory to node {cpus}, where it runs, if it fits there and is not spread for bandwidth: knob process-memory-nodes (the server \
         waits while pages are moved), or start it with numactl --membind={cpus}"
    ))
}

#[cfg(test)]
mod tests {
    use machine::topology::nodes::Node;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    /// The remedy for a server of two nodes with one CPU each, with this memory (GiB) and CPU time (in CPUs) on them.
    fn remedy_of(memory: [u64; 2], on_cpu: [f64; 2]) -> Remedy {
        let mut seen = situation();
        let node = |id| Node { id, cpus: CpuSet::single(id), ..Node::default() };
        seen.machine.nodes = vec![node(0), node(1)];
        let ns = on_cpu.map(|cpus| (cpus * SECOND as f64) as u64);
        let share = |node: usize| NodeShare { memory_bytes: memory[node] << 30, on_cpu_ns: ns[node] };
        let all = (memory[0] + memory[1]) as f64 * (on_cpu[0] + on_cpu[1]);
        let local = memory[0] as f64 * on_cpu[0] + memory[1] as f64 * on_cpu[1];
        let account = seen.account.as_mut().unwrap();
        account.threads[0].on_cpu.total_ns = ns[0] + ns[1];
        account.nearness = Some(Nearness {
            nodes: [(0, share(0)), (1, share(1))].into(),
            expected_remote_share: Some(1.0 - local / all),
        });
        match MemoryNode.examine(&Scene::of(&seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0).remedies.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_moved_to_its_memory_if_that_helps_and_there_are_cpus_enough() {
        assert_eq!(remedy_of([9, 1], [0.0, 0.5]).setting.map(|setting| setting.value), Some("0".into()));
        let too_few = remedy_of([9, 1], [0.0, 1.8]);
        assert!(too_few.setting.is_none() && too_few.words.contains("memory to node 1"), "{too_few:?}");
    }

    #[test]
    fn interleaved_memory_is_far_wherever_the_server_runs() {
        let there = remedy_of([6, 4], [0.5, 0.0]);
        assert!(there.setting.is_none() && there.words.contains("memory to node 0"), "{there:?}");
        let both = remedy_of([6, 4], [0.5, 0.4]);
        assert!(both.setting.is_none() && both.words.contains("one process on each node"), "{both:?}");
    }

    /// A server on node 0, with this part of its memory on node 1, which is as given.
    fn beside(remote: f64, node: Node) -> Cause {
        let mut seen = situation();
        let own = Node { id: 0, cpus: [0, 1].into_iter().collect(), ..Node::default() };
        seen.machine.nodes = vec![own, node];
        let bytes = |part: f64| (part * (10u64 << 30) as f64) as u64;
        let near = NodeShare { memory_bytes: bytes(1.0 - remote), on_cpu_ns: SECOND / 2 };
        let far = NodeShare { memory_bytes: bytes(remote), on_cpu_ns: 0 };
        seen.account.as_mut().unwrap().nearness =
            Some(Nearness { nodes: [(0, near), (1, far)].into(), expected_remote_share: Some(remote) });
        match MemoryNode.examine(&Scene::of(&seen).unwrap()) {
            Looked::Found(mut causes) => causes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn memory_of_a_node_without_cpus_may_be_there_on_purpose() {
        let tiered = beside(0.6, Node { id: 1, ..Node::default() });
        assert!(tiered.claim.starts_with("60 %") && tiered.claim.ends_with("(nodes: 1)"), "{tiered:?}");
        assert!(tiered.remedies[0].words.contains("tiering"), "{tiered:?}");
        let other = beside(0.6, Node { id: 1, cpus: CpuSet::single(9), ..Node::default() });
        assert!(other.claim.starts_with("The server runs on node 0"), "{other:?}");
    }

    #[test]
    fn no_memory_is_brought_to_a_node_that_has_none() {
        let mut seen = situation();
        let node = |id, memory_bytes| Node {
            id,
            cpus: CpuSet::single(id),
            memory_bytes: Some(memory_bytes),
            ..Node::default()
        };
        seen.machine.nodes = vec![node(0, 8 << 30), node(1, 0)];
        let account = seen.account.as_mut().unwrap();
        account.threads[0].on_cpu.total_ns = SECOND / 10 * 18;
        let there = NodeShare { memory_bytes: 1 << 30, on_cpu_ns: 0 };
        let runs = NodeShare { memory_bytes: 0, on_cpu_ns: SECOND / 10 * 18 };
        account.nearness =
            Some(Nearness { nodes: [(0, there), (1, runs)].into(), expected_remote_share: Some(1.0) });
        let Looked::Found(causes) = MemoryNode.examine(&Scene::of(&seen).unwrap()) else { panic!() };
        assert!(causes[0].remedies[0].words.contains("has no memory"), "{causes:?}");
    }

    #[test]
    fn the_largest_of_four_parts_is_not_most_of_it() {
        let mut seen = situation();
        let node = |id| Node { id, cpus: CpuSet::single(id), ..Node::default() };
        seen.machine.nodes = (0..4).map(node).collect();
        let share = |id| NodeShare {
            memory_bytes: if id == 0 { 26 } else { 24 },
            on_cpu_ns: if id == 3 { SECOND / 2 } else { 0 },
        };
        seen.account.as_mut().unwrap().nearness = Some(Nearness {
            nodes: (0..4).map(|id| (id, share(id))).collect(),
            expected_remote_share: Some(0.76),
        });
        let Looked::Found(causes) = MemoryNode.examine(&Scene::of(&seen).unwrap()) else { panic!() };
        assert!(causes[0].claim.starts_with("About 76 %"), "{}", causes[0].claim);
        assert!(causes[0].remedies[0].words.contains("memory to node 3"), "{:?}", causes[0].remedies);
    }
}
