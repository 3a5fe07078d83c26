//! Measured distances: how long a cache line takes from CPU to CPU, and how fast each node's memory is from each node.
//!
//! They are measured by `pinwise noise --cores --memory` (crate `probe`) and kept in a file. A machine is read with them when
//! its root holds them as the fact [`FACT`]: a capture that took them along, or [`Root::with_fact`].

mod made_on;
mod relation;

use serde::{Deserialize, Serialize};

pub use made_on::{MadeOn, Place};
pub use relation::{Relation, in_order};

use crate::{CpuSet, Machine, Missing, Notes, Root};

/// The fact of a root that holds measured distances, as JSON.
pub const FACT: &str = "measured_distances";

/// The version of the form of the file. Raised when an older pinwise could not read it any more.
pub const FORMAT: u32 = 1;

/// What was measured on one machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distances {
    /// Version of the form, [`FORMAT`].
    pub format: u32,
    /// Version of pinwise that measured.
    pub pinwise: String,
    /// When it was measured, s since 1970.
    pub measured_unix_s: u64,
    /// The machine, so that they are not taken for those of another one.
    pub made_on: MadeOn,
    /// From CPU to CPU; `None` when that was not asked for.
    pub cores: Option<CoreDistances>,
    /// From node to node; `None` when that was not asked for.
    pub memory: Option<MemoryDistances>,
    /// What could not be measured, and what casts doubt on what was.
    pub missing: Vec<Missing>,
}

/// A median over rounds with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Median of the rounds.
    pub median: f64,
    /// Ends of the exact 95 % interval from order statistics; `None` below six rounds, which allow none.
    pub interval: Option<(f64, f64)>,
    /// How many rounds there were.
    pub rounds: usize,
}

impl Estimate {
    /// How wide the interval is; `None` without one.
    pub fn width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| high - low)
    }

    /// Whether the intervals of both have no value in common. Not known without both.
    pub fn apart_from(&self, other: &Self) -> Option<bool> {
        let ((low, high), (other_low, other_high)) = (self.interval?, other.interval?);
        Some(high < other_low || other_high < low)
    }
}

/// From CPU to CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CoreDistances {
    /// The CPUs, neighbours beside each other: by package, node, last-level cache, core.
    pub cpus: Vec<u32>,
    /// Rounds; in each every pair was measured once, in an order of its own.
    pub rounds: usize,
    /// What the order was drawn from.
    pub seed: u64,
    /// How long a pair was measured in each round, us.
    pub block_us: f64,
    /// Round trips that one reading of the clock stands for.
    pub round_trips_a_batch: u32,
    /// Every pair in both directions.
    pub pairs: Vec<CorePair>,
    /// The pairs by how near they are, the nearest first.
    pub groups: Vec<CoreGroup>,
}

/// One CPU asks, another answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePair {
    /// The CPU that asks; the line lies in its memory.
    pub from: u32,
    /// The CPU that answers.
    pub to: u32,
    /// How near they are.
    pub relation: Relation,
    /// One way, half of a round trip, ns.
    pub ns: Estimate,
    /// Batches of round trips that were timed, and how many of them took more than twice the median of theirs: a thread had lost
    /// its CPU, or the host took it. They are in the median as the others are.
    pub batches: u64,
    /// See `batches`.
    pub slow_batches: u64,
    /// Why this pair says less than it seems to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<String>,
}

/// Pairs that are equally near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreGroup {
    /// How near.
    pub relation: Relation,
    /// How many pairs, each direction counted.
    pub pairs: usize,
    /// One way, ns: the median over the pairs in each round, over the rounds.
    pub ns: Estimate,
    /// The lowest median of a pair, ns.
    pub lowest_ns: f64,
    /// The highest.
    pub highest_ns: f64,
}

/// From node to node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemoryDistances {
    /// Rounds; in each every cell was measured once, in an order of its own.
    pub rounds: usize,
    /// What the order was drawn from.
    pub seed: u64,
    /// How long each figure of a cell was measured in each round, us.
    pub block_us: f64,
    /// From each node with CPUs to each with memory.
    pub cells: Vec<MemoryCell>,
}

/// The memory of one node from the CPUs of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryCell {
    /// Node of the CPUs.
    pub from: u32,
    /// Node of the memory.
    pub memory: u32,
    /// The CPUs that were used, all of them for the bandwidth.
    pub cpus: CpuSet,
    /// One load that waits for the one before it, in random order, one a cache line, ns.
    pub latency_ns: Option<Estimate>,
    /// Reading in order with all CPUs, each line once, MB/s (10^6 bytes).
    pub read_mb_per_s: Option<Estimate>,
    /// Writing in order with all CPUs, MB/s; what caches read before they write does not count.
    pub write_mb_per_s: Option<Estimate>,
    /// Memory that latency was measured on.
    pub latency_buffer: Buffer,
    /// Memory that bandwidth was measured on.
    pub bandwidth_buffer: Buffer,
}

/// Memory that was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Buffer {
    /// Size, bytes.
    pub bytes: u64,
    /// How many times as large it is as the last-level caches of the CPUs that use it; `None` where their size is not known.
    pub times_caches: Option<f64>,
    /// How much of it lies in huge pages, bytes; `None` where that could not be read. In small pages, misses of the TLB are in
    /// the latency.
    pub huge_bytes: Option<u64>,
    /// Pages whose node the kernel was asked for; 0 where it does not answer.
    pub pages_checked: u64,
    /// How many of them lie on the node.
    pub pages_there: u64,
}

impl Distances {
    /// Reads the text of a file. The error says in words what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        // The version first: a file of another format need not have the fields of this one.
        let version: Version = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if version.format != FORMAT {
            return Err(format!(
                "it is of format {}, and this pinwise reads format {FORMAT}",
                version.format
            ));
        }
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// The pair of two CPUs in this direction.
    pub fn pair(&self, from: u32, to: u32) -> Option<&CorePair> {
        self.cores.as_ref()?.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to))
    }
}

/// The distances that `root` holds, if they belong to the machine. That nobody has measured is nothing to note.
pub(crate) fn read(root: &Root, machine: &Machine, notes: &mut Notes) -> Option<Distances> {
    let text = match root.fact(FACT) {
        Err(e) if e.is_absent() => return None,
        other => notes.keep("measured distances", other)?,
    };
    let distances = notes.keep("measured distances", Distances::parse(&text))?;
    match distances.made_on.differs_from(machine, root) {
        None => Some(distances),
        Some(difference) => {
            notes.missing("measured distances", format!("they are of another machine: {difference}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn machine() -> (Tree, Machine) {
        let cpus = "/sys/devices/system/cpu";
        let tree = Tree::new()
            .file(&format!("{cpus}/online"), "0-1\n")
            .file(&format!("{cpus}/present"), "0-1\n")
            .file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A 1\nflags\t\t: fpu\n");
        let machine = Machine::read(&Root::from_tree(tree.clone()));
        (tree, machine)
    }

    fn of(machine: &Machine, root: &Root) -> Distances {
        Distances { format: FORMAT, made_on: MadeOn::of(machine, root), ..Distances::default() }
    }

    #[test]
    fn a_root_that_holds_them_gives_them_to_its_machine_and_to_its_capture() {
        let (tree, machine) = machine();
        assert!(machine.measured_distances.is_none());
        assert!(machine.missing.iter().all(|missing| missing.fact != "measured distances"));
        let root = Root::from_tree(tree);
        let told = of(&machine, &root);
        let root = Root::recording(root.with_fact(FACT, serde_json::to_string(&told).unwrap()));
        assert_eq!(Machine::read(&root).measured_distances.as_ref(), Some(&told));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.tar.zst");
        root.take_capture().unwrap().write(&path).unwrap();
        assert_eq!(Machine::read(&Root::at(&path).unwrap()).measured_distances, Some(told));
    }

    #[test]
    fn those_of_another_machine_or_form_are_left_out_and_that_is_said() {
        let (tree, machine) = machine();
        let whole = of(&machine, &Root::from_tree(tree.clone()));
        let other = MadeOn { model: Some("B 2".into()), ..whole.made_on.clone() };
        for (text, word) in [
            (serde_json::to_string(&Distances { made_on: other, ..whole.clone() }).unwrap(), "B 2"),
            (serde_json::to_string(&Distances { format: 7, ..whole }).unwrap(), "format 7"),
            ("{".to_string(), "EOF"),
        ] {
            let told = Machine::read(&Root::from_tree(tree.clone()).with_fact(FACT, text));
            assert_eq!(told.measured_distances, None);
            let missing = told.missing.iter().find(|missing| missing.fact == "measured distances").unwrap();
            assert!(missing.why.contains(word), "{missing:?}");
        }
    }

    #[test]
    fn intervals_are_apart_when_they_share_no_value() {
        let of = |low, high| Estimate { median: low, interval: Some((low, high)), rounds: 12 };
        assert_eq!(of(1.0, 2.0).apart_from(&of(2.0, 3.0)), Some(false));
        assert_eq!(of(1.0, 2.0).apart_from(&of(2.5, 3.0)), Some(true));
        assert_eq!(of(4.0, 5.0).apart_from(&of(2.5, 3.0)), Some(true));
        assert_eq!(Estimate::default().apart_from(&of(1.0, 2.0)), None);
    }
}
