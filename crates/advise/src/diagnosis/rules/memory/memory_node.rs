//! The server's memory lies on another node than it runs on.

use machine::wording::percent;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `memory-node`.
pub struct MemoryNode;

/// A share of remote memory below this is not reported.
const FAR: f64 = 0.2;

static ABOUT: About = About {
    id: "memory-node",
    title: "memory on other nodes",
    costs: Costs::OwnTime,
    docs: "Memory of the server is on another NUMA node than the CPUs on which it ran, so cache misses go over the interconnect. The cost depends on \
           how often the server misses, which no counter of the kernel shows. The reported share is what is to be expected if all pages were used \
           equally. A study measures the cost (near against far), or the CPU's counters of cycles show it. It shows up as CPU time of the server's \
           own. Look-alikes: a busy hyper-thread, a low clock, more work.",
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
        let by = |of: fn(&probe::account::NodeShare) -> u64| {
            nearness.nodes.iter().max_by_key(|(_, share)| of(share)).map(|(node, _)| *node)
        };
        let (Some(memory), Some(cpus)) = (by(|share| share.memory_bytes), by(|share| share.on_cpu_ns)) else {
            return Looked::Fine;
        };
        let claim = match memory == cpus {
            true => {
                format!("About {} of the server's memory accesses go to another node", percent(remote))
            }
            false => format!("The server runs on node {cpus}, but most of its memory is on node {memory}"),
        };
        let mut cause = Cause::possible(ABOUT.id, Subject::Server, claim)
            .because(format!(
                "{} of its memory accesses are remote if it uses all its pages equally",
                percent(remote)
            ))
            .figure("expected_remote_share", remote);
        let node_cpus =
            scene.situation.machine.nodes.iter().find(|node| node.id == memory).map(|node| &node.cpus);
        if let (Some(pid), Some(near)) =
            (scene.situation.pids.first(), node_cpus.filter(|cpus| !cpus.is_empty()))
        {
            let words = format!("Run it on node {memory}, where most of its memory is");
            cause = cause.remedy(Remedy::set(words, "process-affinity", pid, near));
        }
        Looked::Found(vec![cause])
    }
}
