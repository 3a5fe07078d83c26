//! What of a placement may matter, as numbers: by these the model distinguishes near placements from far ones.

use std::collections::BTreeMap;

use machine::CpuSet;

use super::symmetry::Symmetry;
use super::tree::Level;

/// More contexts than so many say too little each: the most frequent ones are kept.
const MOST_CONTEXTS: usize = 12;

/// A machine, ready to describe placements on it.
#[derive(Debug, Clone)]
pub(crate) struct Describer {
    /// Groups of CPUs by what they stand for.
    nodes: Vec<Group>,
    caches: Vec<Group>,
    packages: Vec<Group>,
    cores: Vec<Group>,
    /// CPUs that look alike from where they are, but for the most frequent kind.
    contexts: Vec<CpuSet>,
    /// Distance from node to node, 0 within and 1 at distance 20.
    far: Vec<Vec<f64>>,
    all: usize,
}

type Group = CpuSet;

impl Describer {
    pub(crate) fn new(symmetry: &Symmetry) -> Self {
        let tree = &symmetry.tree;
        let several = |level: Level| -> Vec<Group> {
            let groups = tree.at_level(level);
            let groups: Vec<Group> = groups.into_iter().map(|v| tree.vertices[v].cpus.clone()).collect();
            if groups.len() > 1 { groups } else { Vec::new() }
        };
        let cores = several(Level::Core).into_iter().filter(|core| core.len() > 1).collect();
        let far =
            symmetry.nodes.iter().map(|n| n.distances.iter().map(|d| (d - 10.0).max(0.0) / 10.0).collect());
        Self {
            nodes: symmetry
                .nodes
                .iter()
                .map(|node| node.cpus.clone())
                .filter(|_| symmetry.nodes.len() > 1)
                .collect(),
            caches: several(Level::LastCache),
            packages: several(Level::Package),
            cores,
            contexts: contexts(symmetry),
            far: far.collect(),
            all: symmetry.choosable().len(),
        }
    }

    /// The features of a placement, each from 0 to about 1.
    pub(crate) fn describe(&self, server: &CpuSet, load: &CpuSet) -> Vec<f64> {
        let mut features = self.of_one(server);
        if !load.is_empty() {
            features.extend(self.of_one(load));
            features.extend(self.of_both(server, load));
        }
        features
    }

    fn of_one(&self, cpus: &CpuSet) -> Vec<f64> {
        let n = cpus.len().max(1) as f64;
        let scale = (self.all as f64).ln().max(1.0);
        let mut features = vec![n.ln() / scale, n / self.all as f64];
        for groups in [&self.nodes, &self.caches, &self.packages] {
            if !groups.is_empty() {
                let parts = parts(groups, cpus);
                let used = parts.iter().filter(|part| **part > 0.0).count() as f64;
                features.push(used / groups.len() as f64);
                let full = parts.iter().zip(groups).map(|(part, group)| part / n * part / group.len() as f64);
                features.push(full.sum());
            }
        }
        if !self.nodes.is_empty() {
            features.push(self.remote(cpus, cpus));
        }
        if !self.cores.is_empty() {
            let both = self.cores.iter().map(|core| core.intersection(cpus).len()).filter(|both| *both > 1);
            features.push(both.sum::<usize>() as f64 / n);
        }
        // The first CPU of such a group may matter more than the last.
        let share = |context: &CpuSet| context.intersection(cpus).len() as f64 / context.len() as f64;
        features.extend(self.contexts.iter().map(|context| share(context).sqrt()));
        features
    }

    fn of_both(&self, server: &CpuSet, load: &CpuSet) -> Vec<f64> {
        let (n, m) = (server.len().max(1) as f64, load.len().max(1) as f64);
        let together = |groups: &[Group]| -> f64 {
            let (a, b) = (parts(groups, server), parts(groups, load));
            a.iter().zip(&b).map(|(a, b)| a / n * b / m).sum()
        };
        let mut features = vec![m / (n + m)];
        for groups in [&self.nodes, &self.caches, &self.cores] {
            if !groups.is_empty() {
                features.push(together(groups));
            }
        }
        if !self.nodes.is_empty() {
            features.push(self.remote(server, load));
        }
        features
    }

    /// Mean distance from a CPU of the one to a CPU of the other.
    fn remote(&self, from: &CpuSet, to: &CpuSet) -> f64 {
        let (a, b) = (parts(&self.nodes, from), parts(&self.nodes, to));
        let pairs = (from.len() * to.len()).max(1) as f64;
        let rows = a.iter().zip(&self.far);
        let sum: f64 = rows.map(|(a, far)| b.iter().zip(far).map(|(b, far)| a * b * far).sum::<f64>()).sum();
        sum / pairs
    }
}

fn parts(groups: &[Group], cpus: &CpuSet) -> Vec<f64> {
    groups.iter().map(|group| group.intersection(cpus).len() as f64).collect()
}

/// CPUs by the kinds of all that they are part of: all but the most frequent context, the next frequent first.
fn contexts(symmetry: &Symmetry) -> Vec<CpuSet> {
    let tree = &symmetry.tree;
    let mut by_path: BTreeMap<Vec<usize>, CpuSet> = BTreeMap::new();
    let mut stack = vec![(tree.root, Vec::new())];
    while let Some((vertex, mut path)) = stack.pop() {
        let at = &tree.vertices[vertex];
        path.push(at.kind);
        if at.children.is_empty() && tree.kinds[at.kind].choosable {
            by_path.entry(path.clone()).or_default().extend(at.cpus.iter());
        }
        stack.extend(at.children.iter().map(|child| (*child, path.clone())));
    }
    let mut contexts: Vec<CpuSet> = by_path.into_values().collect();
    contexts.sort_by_key(|cpus| std::cmp::Reverse(cpus.len()));
    contexts.into_iter().skip(1).take(MOST_CONTEXTS).collect()
}
