//! The placement tree: who shares what with whom, with colours where things that look alike are not.
//!
//! A tree of nested sets of CPUs. Two subtrees are of one *kind* when a renumbering turns one into the other: same
//! colour, same levels, children of the same kinds. Subtrees of one kind below one vertex may be exchanged.

use std::collections::BTreeMap;

use machine::CpuSet;

/// What a vertex of the tree stands for. A vertex may be several at once: a package that is one NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The whole.
    Machine,
    /// A socket.
    Package,
    /// A NUMA node.
    Node,
    /// A die of a package.
    Die,
    /// A group of cores within a die.
    Cluster,
    /// CPUs below a shared cache that is not the last.
    Cache,
    /// CPUs below a last-level cache.
    LastCache,
    /// A core.
    Core,
    /// A hardware thread: a CPU.
    Thread,
}

/// What subtrees that may be exchanged have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// What it stands for.
    pub levels: Vec<Level>,
    /// How many CPUs it has: the length of its part of a state.
    pub width: usize,
    /// Its children: kind and number, in the order of their CPUs in a state.
    pub children: Vec<(usize, usize)>,
    /// For a CPU: whether it may be used at all.
    pub choosable: bool,
    /// For a CPU: whether something distinguishes it from an ordinary one.
    pub marked: bool,
}

/// One vertex.
#[derive(Debug, Clone)]
pub(crate) struct Vertex {
    pub cpus: CpuSet,
    pub kind: usize,
    /// Children, by kind and then by lowest CPU.
    pub children: Vec<usize>,
    /// Its CPUs in the order of a state.
    pub leaves: Vec<u32>,
}

/// The tree with its kinds.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub vertices: Vec<Vertex>,
    pub kinds: Vec<Kind>,
    pub root: usize,
    /// Sets that did not nest; their CPUs are distinguished instead.
    pub crossing: Vec<CpuSet>,
}

/// What a tree is built from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// All CPUs.
    pub cpus: CpuSet,
    /// Those of them that may be used.
    pub choosable: CpuSet,
    /// Sets of CPUs that have something in common, with a colour or none.
    pub groups: Vec<(Level, CpuSet, String)>,
    /// What distinguishes single CPUs from ordinary ones.
    pub marks: BTreeMap<u32, String>,
}

/// CPUs, what they stand for, and their colour.
type Set = (CpuSet, Vec<Level>, String);
type Key = (String, Vec<Level>, bool, Vec<(usize, usize)>);

struct Builder {
    sets: Vec<Set>,
    plan: Plan,
    vertices: Vec<Vertex>,
    kinds: Vec<Kind>,
    known: BTreeMap<Key, usize>,
}

impl Tree {
    /// Builds the tree. Sets that cross others are left out, and the CPUs on both sides of them distinguished: that makes
    /// more classes than there are, never fewer.
    pub(crate) fn build(mut plan: Plan) -> Self {
        let (sets, crossing) = nested(&plan);
        for set in &crossing {
            for cpu in set.iter() {
                plan.marks.entry(cpu).or_default().push_str(&format!("; in {set}"));
            }
        }
        let cpus = plan.cpus.clone();
        let mut builder =
            Builder { sets, plan, vertices: Vec::new(), kinds: Vec::new(), known: BTreeMap::new() };
        let root = builder.vertex(&cpus);
        Self { vertices: builder.vertices, kinds: builder.kinds, root, crossing }
    }

    /// The kind of a vertex.
    pub(crate) fn kind_of(&self, vertex: usize) -> &Kind {
        &self.kinds[self.vertices[vertex].kind]
    }

    /// Vertices that stand for `level`, by lowest CPU.
    pub(crate) fn at_level(&self, level: Level) -> Vec<usize> {
        let mut found: Vec<usize> =
            (0..self.vertices.len()).filter(|v| self.kind_of(*v).levels.contains(&level)).collect();
        found.sort_by_key(|v| self.vertices[*v].cpus.first());
        found
    }
}

/// The sets without repetition, the largest first, with all that they stand for; and those that cross one before them.
fn nested(plan: &Plan) -> (Vec<Set>, Vec<CpuSet>) {
    let mut merged: BTreeMap<CpuSet, (Vec<Level>, Vec<String>)> = BTreeMap::new();
    let whole = (Level::Machine, plan.cpus.clone(), String::new());
    let threads = plan.cpus.iter().map(|cpu| (Level::Thread, CpuSet::single(cpu), String::new()));
    for (level, cpus, colour) in std::iter::once(whole).chain(plan.groups.iter().cloned()).chain(threads) {
        let cpus = cpus.intersection(&plan.cpus);
        if !cpus.is_empty() {
            let (levels, colours) = merged.entry(cpus).or_default();
            levels.push(level);
            colours.extend(Some(colour).filter(|c| !c.is_empty()));
        }
    }
    let mut sets: Vec<Set> = Vec::new();
    let mut crossing = Vec::new();
    let mut by_size: Vec<_> = merged.into_iter().collect();
    by_size.sort_by_key(|(cpus, _)| std::cmp::Reverse(cpus.len()));
    for (cpus, (mut levels, mut colours)) in by_size {
        let crosses = |other: &CpuSet| {
            let shared = cpus.intersection(other).len();
            shared > 0 && shared < cpus.len()
        };
        if sets.iter().any(|(other, ..)| crosses(other)) {
            crossing.push(cpus);
            continue;
        }
        levels.sort_unstable();
        levels.dedup();
        colours.sort_unstable();
        colours.dedup();
        sets.push((cpus, levels, colours.join("; ")));
    }
    (sets, crossing)
}

impl Builder {
    /// Adds the vertex of `cpus`, which is one of the sets, and all below it.
    fn vertex(&mut self, cpus: &CpuSet) -> usize {
        let at = self.sets.iter().position(|(set, ..)| set == cpus).unwrap_or_default();
        let (_, levels, mut colour) = self.sets[at].clone();
        let mut below: Vec<CpuSet> = Vec::new();
        for (set, ..) in &self.sets[at + 1..] {
            if set.is_subset(cpus) && !below.iter().any(|larger| set.is_subset(larger)) {
                below.push(set.clone());
            }
        }
        below.sort_by_key(CpuSet::first);
        let mut children: Vec<usize> = below.iter().map(|set| self.vertex(set)).collect();
        children.sort_by_key(|child| (self.vertices[*child].kind, self.vertices[*child].cpus.first()));
        let leaf = cpus.first().filter(|_| children.is_empty());
        if let Some(mark) = leaf.and_then(|cpu| self.plan.marks.get(&cpu)) {
            colour = format!("{colour}|{mark}");
        }
        let marked = leaf.is_some_and(|cpu| self.plan.marks.contains_key(&cpu));
        let choosable = leaf.is_some_and(|cpu| self.plan.choosable.contains(cpu));
        let leaves = match leaf {
            Some(cpu) => vec![cpu],
            None => children.iter().flat_map(|child| self.vertices[*child].leaves.clone()).collect(),
        };
        let kind = self.kind(colour, levels, choosable, marked, leaves.len(), &children);
        self.vertices.push(Vertex { cpus: cpus.clone(), kind, children, leaves });
        self.vertices.len() - 1
    }

    fn kind(
        &mut self,
        colour: String,
        levels: Vec<Level>,
        choosable: bool,
        marked: bool,
        width: usize,
        children: &[usize],
    ) -> usize {
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for child in children {
            let kind = self.vertices[*child].kind;
            match groups.last_mut() {
                Some((last, count)) if *last == kind => *count += 1,
                _ => groups.push((kind, 1)),
            }
        }
        let key = (colour, levels.clone(), choosable, groups.clone());
        let next = self.kinds.len();
        let kind = *self.known.entry(key).or_insert(next);
        if kind == next {
            self.kinds.push(Kind { levels, width, children: groups, choosable, marked });
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn equal_sets_are_one_vertex_and_kinds_are_shared() {
        let groups = vec![
            (Level::Node, set("0,2"), String::new()),
            (Level::LastCache, set("0,2"), String::new()),
            (Level::Node, set("1,3"), String::new()),
            (Level::LastCache, set("1,3"), String::new()),
        ];
        let plan = Plan { cpus: set("0-3"), choosable: set("0-3"), groups, ..Plan::default() };
        let tree = Tree::build(plan.clone());
        assert_eq!((tree.vertices.len(), tree.kinds.len()), (7, 3));
        assert_eq!(tree.vertices[tree.root].leaves, [0, 2, 1, 3]);
        assert_eq!(tree.at_level(Level::Node).len(), 2);
        let marked = Tree::build(Plan { marks: [(3, "busy".to_string())].into(), ..plan });
        assert_eq!(marked.kinds.len(), 5, "the CPU, its node, the others and the whole");
    }

    #[test]
    fn a_set_that_crosses_distinguishes_its_cpus() {
        let groups =
            vec![(Level::Node, set("0-1"), String::new()), (Level::LastCache, set("1-2"), String::new())];
        let tree = Tree::build(Plan { cpus: set("0-3"), choosable: set("0-3"), groups, ..Plan::default() });
        assert_eq!(tree.crossing, [set("1-2")]);
        assert_ne!(tree.vertices[0].kind, tree.vertices[1].kind, "0 is not in the cache, 1 is");
    }
}
