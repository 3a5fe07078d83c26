//! The arms of a search: classes of CPU sets times the levels of other factors, and which of them lie beside which.

use std::collections::HashMap;

use machine::CpuSet;

use super::classes::{CpuClass, Key, Listed, Sizes};
use super::features::Describer;
use super::symmetry::Symmetry;

/// How far apart two levels of a factor are taken to be, as features: nearly as far as placements can be.
const BETWEEN_LEVELS: f64 = 0.5;

/// A factor beside the CPU sets: memory policy, where interrupts go, ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Name.
    pub name: String,
    /// Names of its levels.
    pub levels: Vec<String>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Where server and load run.
    pub class: CpuClass,
    /// The level of each factor, by position.
    pub levels: Vec<usize>,
}

/// All arms that are known so far; more are found beside the good ones where not all could be listed.
#[derive(Debug, Clone)]
pub struct Space {
    symmetry: Symmetry,
    describer: Describer,
    sizes: Vec<Sizes>,
    factors: Vec<Factor>,
    points: Vec<Point>,
    features: Vec<Vec<f64>>,
    known: HashMap<(Key, Vec<usize>), usize>,
    /// Neighbours of arms that were asked for before.
    beside: HashMap<usize, Vec<usize>>,
    /// What was listed at the start.
    pub listed: Listed,
}

impl Space {
    /// Lists at most `most` arms: all, or those of a coarser grain, as `listed` says.
    pub fn new(symmetry: Symmetry, sizes: &[Sizes], factors: Vec<Factor>, most: usize) -> Self {
        let combinations: usize = factors.iter().map(|factor| factor.levels.len().max(1)).product();
        let listed = symmetry.list(sizes, most / combinations.max(1));
        let mut space = Self {
            describer: Describer::new(&symmetry),
            symmetry,
            sizes: sizes.to_vec(),
            factors,
            points: Vec::new(),
            features: Vec::new(),
            known: HashMap::new(),
            beside: HashMap::new(),
            listed,
        };
        for class in space.listed.classes.clone() {
            for levels in space.all_levels() {
                space.add(class.clone(), levels);
            }
        }
        space
    }

    /// The symmetry that the placements are told apart by.
    pub fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// How many arms are known.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether no arm is known.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Whether every arm that there is is known.
    pub fn is_complete(&self) -> bool {
        self.listed.left_out.is_none()
    }

    /// An arm.
    pub fn point(&self, arm: usize) -> Option<&Point> {
        self.points.get(arm)
    }

    /// What an arm is called: unique among those listed at the start.
    pub fn name(&self, arm: usize) -> String {
        let Some(point) = self.points.get(arm) else { return String::new() };
        let levels = self.factors.iter().zip(&point.levels);
        let words = levels
            .filter_map(|(factor, level)| Some(format!(", {} {}", factor.name, factor.levels.get(*level)?)));
        format!("{}{}", point.class.name, words.collect::<String>())
    }

    pub(crate) fn features(&self, arm: usize) -> &[f64] {
        &self.features[arm]
    }

    fn all_levels(&self) -> Vec<Vec<usize>> {
        self.factors.iter().fold(vec![Vec::new()], |all, factor| {
            let longer = |levels: &Vec<usize>| -> Vec<Vec<usize>> {
                (0..factor.levels.len()).map(|level| [levels.as_slice(), &[level]].concat()).collect()
            };
            all.iter().flat_map(longer).collect()
        })
    }

    fn add(&mut self, class: CpuClass, levels: Vec<usize>) -> usize {
        let key = (class.key.clone(), levels.clone());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut features = self.describer.describe(&class.server, &class.load);
        for (factor, level) in self.factors.iter().zip(&levels) {
            features.extend((0..factor.levels.len()).map(|l| if l == *level { BETWEEN_LEVELS } else { 0.0 }));
        }
        self.known.insert(key, self.points.len());
        self.points.push(Point { class, levels });
        self.features.push(features);
        self.points.len() - 1
    }

    /// The arms beside one: another level of one factor; one CPU more, less or moved; a whole core, cache or node more
    /// or less; server and load exchanging one CPU. Arms that were not listed become known by this.
    pub fn neighbours(&mut self, arm: usize) -> Vec<usize> {
        if let Some(known) = self.beside.get(&arm) {
            return known.clone();
        }
        let Some(point) = self.points.get(arm).cloned() else { return Vec::new() };
        let mut found = Vec::new();
        for (at, factor) in self.factors.clone().iter().enumerate() {
            for level in (0..factor.levels.len()).filter(|level| *level != point.levels[at]) {
                let mut levels = point.levels.clone();
                levels[at] = level;
                found.push(self.add(point.class.clone(), levels));
            }
        }
        for (server, load) in self.steps(&point.class.server, &point.class.load) {
            let class = self.symmetry.class_of(&server, &load);
            found.push(self.add(class, point.levels.clone()));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|other| *other != arm);
        self.beside.insert(arm, found.clone());
        found
    }

    /// Placements one step away, one for each class.
    fn steps(&self, server: &CpuSet, load: &CpuSet) -> Vec<(CpuSet, CpuSet)> {
        let free = self.symmetry.choosable().difference(&server.union(load));
        let wholes = self.symmetry.wholes();
        let singles = |of: &CpuSet| of.iter().map(CpuSet::single).collect::<Vec<_>>();
        let more = |set: CpuSet| (server.union(&set), load.clone());
        let less = |set: CpuSet| (server.difference(&set), load.clone());
        let load_more = |set: CpuSet| (server.clone(), load.union(&set));
        let load_less = |set: CpuSet| (server.clone(), load.difference(&set));
        let grown: Vec<_> = self.distinct(singles(&free).into_iter().map(more));
        let shrunk: Vec<_> = self.distinct(singles(server).into_iter().map(less));
        let mut steps: Vec<(CpuSet, CpuSet)> = grown.clone();
        steps.extend(shrunk.iter().cloned());
        for whole in &wholes {
            steps
                .push((self.to_size(server.union(&whole.difference(load)), load.len(), whole), load.clone()));
            steps.push((self.to_size(server.difference(whole), load.len(), &CpuSet::new()), load.clone()));
        }
        for (bigger, _) in &grown {
            let added = bigger.difference(server);
            steps.extend(shrunk.iter().map(|(smaller, _)| (smaller.union(&added), load.clone())));
        }
        if !load.is_empty() {
            steps.extend(singles(&free).into_iter().map(load_more));
            steps.extend(singles(load).into_iter().map(load_less));
            for moved in singles(load) {
                steps.push((server.union(&moved), load.difference(&moved)));
            }
            for moved in singles(server) {
                steps.push((server.difference(&moved), load.union(&moved)));
            }
        }
        steps.retain(|(s, l)| self.sizes.contains(&Sizes { server: s.len(), load: l.len() }));
        self.distinct(steps.into_iter())
    }

    /// Takes CPUs from the set, those of `keep` last, until it has a size that is asked for.
    fn to_size(&self, mut server: CpuSet, load: usize, keep: &CpuSet) -> CpuSet {
        let order = server.difference(keep).iter().rev().chain(keep.iter().rev()).collect::<Vec<u32>>();
        for cpu in order {
            if self.sizes.contains(&Sizes { server: server.len(), load }) {
                break;
            }
            server = server.difference(&CpuSet::single(cpu));
        }
        server
    }

    /// The first of each class.
    fn distinct(&self, placements: impl Iterator<Item = (CpuSet, CpuSet)>) -> Vec<(CpuSet, CpuSet)> {
        let mut seen = std::collections::HashSet::new();
        placements.filter(|(s, l)| !s.is_empty() && seen.insert(self.symmetry.key_of(s, l))).collect()
    }

    /// `wanted` arms of those listed at the start, far from each other: the first nearest to the middle, each further
    /// one the farthest from all before it (Gonzalez 1985).
    pub(crate) fn far_apart(&self, wanted: usize) -> Vec<usize> {
        let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let Some(width) = self.features.first().map(Vec::len) else { return Vec::new() };
        let mean = |i: usize| self.features.iter().map(|f| f[i]).sum::<f64>() / self.features.len() as f64;
        let middle: Vec<f64> = (0..width).map(mean).collect();
        let nearest = |to: &[f64]| {
            (0..self.features.len())
                .min_by(|a, b| far(&self.features[*a], to).total_cmp(&far(&self.features[*b], to)))
        };
        let mut chosen: Vec<usize> = nearest(&middle).into_iter().collect();
        let mut gap = vec![f64::INFINITY; self.features.len()];
        while chosen.len() < wanted.min(self.features.len()) {
            let Some(last) = chosen.last().copied() else { break };
            for (gap, features) in gap.iter_mut().zip(&self.features) {
                *gap = gap.min(far(features, &self.features[last]));
            }
            let farthest =
                (0..gap.len()).filter(|arm| !chosen.contains(arm)).max_by(|a, b| gap[*a].total_cmp(&gap[*b]));
            chosen.extend(farthest);
        }
        chosen
    }
}
