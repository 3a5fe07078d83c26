//! The memory that is measured on: how much of it, and whether it lies where it is to.

use machine::distances::Buffer;
use machine::{Machine, Missing};

use super::super::node_memory::NodeMemory;
use super::super::{bandwidth, pointer_chase};
use super::cells::Nodes;

/// How many times as large as the caches a buffer is to be: less than a quarter of it can then be found in them.
const TIMES_CACHES: u64 = 4;

/// A buffer of less is too near to the caches for its figure to be memory's.
const LEAST_TIMES: f64 = 2.0;

/// Buffers by what they are for: at least, at most.
const CHASED: (u64, u64) = (32 << 20, 4 << 30);
const STREAMED: (u64, u64) = (64 << 20, 4 << 30);

/// What is taken for the caches where their size is not known.
const ASSUMED_CACHE: u64 = 32 << 20;

/// The part of free memory that one buffer may take, one over this.
const PART_OF_FREE: u64 = 8;

/// A huge page of x86; sizes are multiples of it where there is room.
const HUGE_PAGE: u64 = 2 << 20;

/// The smallest buffer that makes sense.
const LEAST_BYTES: u64 = 1 << 20;

/// Memory of one node.
pub(super) struct Bound {
    pub(super) node: u32,
    pub(super) chased: NodeMemory,
    pub(super) chased_lies: Buffer,
    pub(super) streamed: NodeMemory,
    pub(super) streamed_lies: Buffer,
}

/// That of all nodes.
pub(super) struct Buffers {
    pub(super) bound: Vec<Bound>,
}

impl Buffers {
    /// Binds, touches and checks. What cannot be had is missing, with the reason.
    pub(super) fn make(
        nodes: &Nodes,
        machine: &Machine,
        chase_bytes: Option<u64>,
        seed: u64,
        missing: &mut Vec<Missing>,
    ) -> Self {
        let largest = |of: fn(&super::Origin) -> Option<u64>| nodes.from.iter().filter_map(of).max();
        let (one_cache, all_caches) =
            (largest(|from| from.cache_bytes), largest(|from| from.all_caches_bytes));
        if one_cache.is_none() && chase_bytes.is_none() {
            let why = "the kernel does not report it, so it is unknown whether the buffers are larger";
            missing.push(Missing::new("size of the last-level caches", why));
        }
        let mut bound = Vec::new();
        for node in &nodes.memory {
            let room = room(machine, *node, nodes.memory.len());
            let sizes = [
                chase_bytes.unwrap_or_else(|| size(one_cache, CHASED, room)),
                size(all_caches, STREAMED, room),
            ];
            let too_small = |size: &u64| chase_bytes.is_none() && *size < LEAST_BYTES;
            if sizes.iter().any(too_small) {
                let why = "it has too little free memory";
                missing.push(Missing::new(format_args!("distances to the memory of node {node}"), why));
                continue;
            }
            match Bound::make(*node, nodes, sizes, seed) {
                Ok(one) => {
                    one.doubts(nodes, chase_bytes.is_some(), missing);
                    bound.push(one);
                }
                Err(why) => {
                    missing.push(Missing::new(format_args!("distances to the memory of node {node}"), why));
                }
            }
        }
        Self { bound }
    }
}

/// What a buffer may take on a node: a part of what is free there, and of this node's share of what this process may have.
fn room(machine: &Machine, node: u32, nodes: usize) -> u64 {
    let free = machine.nodes.iter().find(|known| known.id == node).and_then(|known| known.free_bytes);
    let share = |bytes: u64| bytes / nodes.max(1) as u64;
    let available = machine.memory.available_bytes.map(share);
    let limit = machine.limits.memory_limit.as_ref().map(|limit| share(limit.bytes));
    [free, available, limit].into_iter().flatten().min().map_or(CHASED.0, |bytes| bytes / PART_OF_FREE)
}

fn size(caches: Option<u64>, (least, most): (u64, u64), room: u64) -> u64 {
    let wanted = caches.unwrap_or(ASSUMED_CACHE).saturating_mul(TIMES_CACHES).clamp(least, most).min(room);
    let unit = if wanted >= 2 * HUGE_PAGE { HUGE_PAGE } else { 1 << 16 };
    wanted / unit * unit
}

impl Bound {
    fn make(node: u32, nodes: &Nodes, [chased, streamed]: [u64; 2], seed: u64) -> Result<Self, String> {
        // With one node there is nothing to choose, and containers often forbid to.
        let bind = (nodes.known && nodes.memory.len() > 1).then_some(node);
        let new = |bytes: u64| NodeMemory::new(bind, bytes as usize).map_err(|fault| fault.to_string());
        let (chased, streamed) = (new(chased)?, new(streamed)?);
        pointer_chase::lay(&chased, seed);
        bandwidth::touch(&streamed);
        let lies = |memory: &NodeMemory| {
            let page_bytes = rustix::param::page_size();
            let lies = match nodes.known {
                true => memory.lies_on(node, page_bytes),
                false => Ok(Default::default()),
            };
            match lies {
                Err(why) if nodes.memory.len() > 1 => {
                    Err(format!("where it lies cannot be asked for ({why})"))
                }
                Err(_) => Ok(Buffer { huge_bytes: memory.huge_bytes(), ..Buffer::default() }),
                Ok(lies) => Ok(Buffer {
                    huge_bytes: memory.huge_bytes(),
                    pages_checked: lies.checked,
                    pages_there: lies.there,
                    ..Buffer::default()
                }),
            }
        };
        let (chased_lies, streamed_lies) = (lies(&chased)?, lies(&streamed)?);
        let elsewhere = |lies: &Buffer| lies.pages_checked - lies.pages_there;
        match elsewhere(&chased_lies) + elsewhere(&streamed_lies) {
            0 => Ok(Self { node, chased, chased_lies, streamed, streamed_lies }),
            pages => Err(format!("{pages} of its pages lie on another node")),
        }
    }

    /// What casts doubt on figures of this memory.
    fn doubts(&self, nodes: &Nodes, is_control: bool, missing: &mut Vec<Missing>) {
        let node = self.node;
        if self.chased_lies.pages_checked == 0 && nodes.known {
            let why = "the kernel cannot be asked (move_pages(2) is forbidden); it is the only node that has memory";
            missing.push(Missing::new(format_args!("where the pages of node {node} lie"), why));
        }
        let largest = |of: fn(&super::Origin) -> Option<u64>| nodes.from.iter().filter_map(of).max();
        let buffers = [
            ("latency", self.chased.bytes(), largest(|from| from.cache_bytes)),
            ("bandwidth", self.streamed.bytes(), largest(|from| from.all_caches_bytes)),
        ];
        for (what, bytes, caches) in buffers {
            let times = caches.filter(|caches| *caches > 0).map(|caches| bytes as f64 / caches as f64);
            if let Some(times) = times.filter(|times| *times < LEAST_TIMES && !is_control) {
                let fact = format!("{what} of the memory of node {node} without the caches");
                let why = format!(
                    "with the memory that is free the buffer is {times:.1} times as large as the caches only"
                );
                missing.push(Missing::new(fact, why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::topology::nodes::Node;

    use super::*;

    #[test]
    fn a_buffer_is_larger_than_the_caches_and_leaves_memory_to_others() {
        let plenty = 100 << 30;
        assert_eq!(size(Some(32 << 20), CHASED, plenty), 128 << 20);
        assert_eq!(size(Some(1 << 20), CHASED, plenty), CHASED.0);
        assert_eq!(size(Some(8 << 30), CHASED, plenty), CHASED.1);
        assert_eq!(size(Some(32 << 20), CHASED, 50 << 20), 50 << 20);
        assert_eq!(size(Some(32 << 20), CHASED, (1 << 20) + 5), 1 << 20);
        assert_eq!(size(None, STREAMED, plenty), 128 << 20);
    }

    #[test]
    fn the_tightest_of_what_is_free_and_what_is_allowed_counts() {
        let node = Node { id: 2, free_bytes: Some(8 << 30), ..Node::default() };
        let mut machine = Machine { nodes: vec![node], ..Machine::default() };
        assert_eq!(room(&machine, 2, 2), 1 << 30);
        machine.memory.available_bytes = Some(8 << 30);
        assert_eq!(room(&machine, 2, 2), 1 << 29);
        assert_eq!(room(&Machine::default(), 0, 1), CHASED.0);
    }
}
