//! The arms of a search: classes of CPU sets times the levels of other factors, or these levels alone, and which of them lie beside
//! which.

use std::collections::HashMap;

use machine::CpuSet;

use super::big_count::Count;
use super::choices;
use super::classes::{CpuClass, Key, Listed, Sizes};
use super::features::Describer;
use super::grain::Grain;
use super::symmetry::Symmetry;
use crate::statistics::draws::Draws;

/// How far apart two levels of a factor are taken to be, as features: nearly as far as placements can be.
const BETWEEN_LEVELS: f64 = 0.5;
/// Where levels have too many combinations to list each with every class, so many classes are kept as well, if there are as many.
const FEWEST_CLASSES: usize = 64;
/// Combinations that are drawn because there are too many to list: the same ones each time.
const DRAWN_FROM: u64 = 0x6c65_7665_6c73;

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
    /// Where server and load run; its server has no CPU where a search leaves them where they are.
    pub class: CpuClass,
    /// The level of each factor, by position.
    pub levels: Vec<usize>,
}

/// All arms that are known so far; more are found beside the good ones where not all could be listed.
#[derive(Debug, Clone)]
pub struct Space {
    /// `None` where CPUs are not searched.
    cpus: Option<Cpus>,
    factors: Vec<Factor>,
    points: Vec<Point>,
    features: Vec<Vec<f64>>,
    known: HashMap<(Key, Vec<usize>), usize>,
    /// Neighbours of arms that were asked for before.
    beside: HashMap<usize, Vec<usize>>,
    /// What was listed at the start.
    pub listed: Listed,
}

/// What CPU sets are chosen and distinguished by.
#[derive(Debug, Clone)]
struct Cpus {
    symmetry: Symmetry,
    describer: Describer,
    sizes: Vec<Sizes>,
}

impl Space {
    /// Lists about `most` arms at most: all, or those of a coarser grain and some combinations of levels, as `listed` says.
    pub fn new(symmetry: Symmetry, sizes: &[Sizes], factors: Vec<Factor>, most: usize) -> Self {
        let combinations = choices::count(&levels_of(&factors));
        let classes_a_combination = match combinations {
            Count::Exact(n) => most / usize::try_from(n).unwrap_or(usize::MAX).max(1),
            Count::More => 0,
        };
        let listed = symmetry.list(sizes, classes_a_combination.max(FEWEST_CLASSES.min(most)));
        let describer = Describer::new(&symmetry);
        Self::of(Some(Cpus { symmetry, describer, sizes: sizes.to_vec() }), factors, listed, most)
    }

    /// Lists at most `most` combinations of levels, server and load being where they are: all, or some, as `listed` says.
    pub fn of_levels(factors: Vec<Factor>, most: usize) -> Self {
        let of = choices::count(&levels_of(&factors));
        let classes = vec![CpuClass::unplaced()];
        Self::of(None, factors, Listed { classes, grain: Grain::Every, of, sets: of, left_out: None }, most)
    }

    fn of(cpus: Option<Cpus>, factors: Vec<Factor>, mut listed: Listed, most: usize) -> Self {
        let sizes = levels_of(&factors);
        let combinations = choices::count(&sizes);
        let each = most / listed.classes.len().max(1);
        if !combinations.within(each) {
            let some = match cpus {
                Some(_) => format!("of each class {each} of {combinations} combinations of levels"),
                None => format!("{each} of {combinations} combinations of levels"),
            };
            listed.left_out = Some(listed.left_out.map_or(some.clone(), |left| format!("{left}; {some}")));
        }
        let mut space = Self {
            cpus,
            factors,
            points: Vec::new(),
            features: Vec::new(),
            known: HashMap::new(),
            beside: HashMap::new(),
            listed,
        };
        let mut draws = Draws::new(DRAWN_FROM);
        for class in space.listed.classes.clone() {
            for levels in choices::list(&sizes, each, &mut draws) {
                space.add(class.clone(), levels);
            }
        }
        space
    }

    /// The symmetry that the placements are distinguished by; `None` where CPUs are not searched.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.cpus.as_ref().map(|cpus| &cpus.symmetry)
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
        let of_levels = levels
            .filter_map(|(factor, level)| Some(format!("{} {}", factor.name, factor.levels.get(*level)?)));
        let class = self.cpus.iter().map(|_| point.class.name.clone());
        class.chain(of_levels).collect::<Vec<_>>().join(", ")
    }

    /// Numbers of levels by factor where features are of levels alone; else none.
    pub(crate) fn levels_alone(&self) -> Vec<usize> {
        if self.cpus.is_some() { Vec::new() } else { levels_of(&self.factors) }
    }

    pub(crate) fn features(&self, arm: usize) -> &[f64] {
        &self.features[arm]
    }

    fn add(&mut self, class: CpuClass, levels: Vec<usize>) -> usize {
        let key = (class.key.clone(), levels.clone());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let of_class = self.cpus.as_ref().map(|cpus| cpus.describer.describe(&class.server, &class.load));
        let mut features = of_class.unwrap_or_default();
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
        let steps = self.cpus.as_ref().map(|cpus| cpus.steps(&point.class.server, &point.class.load));
        for class in steps.unwrap_or_default() {
            found.push(self.add(class, point.levels.clone()));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|other| *other != arm);
        self.beside.insert(arm, found.clone());
        found
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

impl Cpus {
    /// Placements one step away, one for each class.
    fn steps(&self, server: &CpuSet, load: &CpuSet) -> Vec<CpuClass> {
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
        let steps = self.distinct(steps.into_iter());
        steps.iter().map(|(server, load)| self.symmetry.class_of(server, load)).collect()
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
}

fn levels_of(factors: &[Factor]) -> Vec<usize> {
    factors.iter().map(|factor| factor.levels.len().max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(sizes: &[usize]) -> Vec<Factor> {
        let levels = |size: &usize| (0..*size).map(|level| level.to_string()).collect();
        let named = sizes.iter().enumerate();
        named.map(|(at, size)| Factor { name: format!("f{at}"), levels: levels(size) }).collect()
    }

    #[test]
    fn levels_alone_are_a_space_whose_neighbours_differ_in_one() {
        let mut space = Space::of_levels(factors(&[2, 3]), 100);
        assert_eq!((space.len(), space.is_complete(), space.name(1)), (6, true, "f0 0, f1 1".to_string()));
        assert!(space.symmetry().is_none() && space.point(0).unwrap().class.server.is_empty());
        let beside: Vec<String> = space.neighbours(0).into_iter().map(|arm| space.name(arm)).collect();
        assert_eq!(beside, ["f0 0, f1 1", "f0 0, f1 2", "f0 1, f1 0"]);
    }

    #[test]
    fn of_too_many_combinations_some_are_listed_and_the_others_are_stepped_to() {
        let mut space = Space::of_levels(factors(&[9; 20]), 50);
        assert_eq!((space.len(), space.is_complete()), (50, false));
        assert_eq!(space.listed.left_out.as_deref(), Some("50 of 1.22e19 combinations of levels"));
        assert_eq!(space.neighbours(0).len(), 20 * 8);
        assert!(space.len() > 200);
    }

    #[test]
    fn many_combinations_leave_room_for_classes() {
        let machine = crate::levels::tests::two_nodes_of_two_cores_of_two_threads();
        let symmetry = Symmetry::of(&machine, None).unwrap();
        let space = Space::new(symmetry, &[Sizes::server(1), Sizes::server(4)], factors(&[6; 5]), 600);
        let classes = space.listed.classes.len();
        assert!(
            classes > 1 && space.len() <= 600 && !space.is_complete(),
            "{classes} classes, {}",
            space.len()
        );
        assert!(space.listed.left_out.as_deref().unwrap().contains("of 7776 combinations of levels"));
    }
}
