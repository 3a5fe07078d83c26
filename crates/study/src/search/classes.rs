//! The placements of one machine that are worth distinguishing: one class for all CPU sets that symmetry makes equal.

use std::collections::BTreeMap;

use machine::CpuSet;

use super::big_count::Count;
use super::canonical_forms::{Form, Forms, LOAD, NEITHER, SERVER, Spread, canonical_on_tree};
use super::class_names;
use super::grain::Grain;
use super::symmetry::Symmetry;

/// How many CPUs the server and the load have. A load of 0 is a load that runs elsewhere or wherever it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sizes {
    /// CPUs of the server.
    pub server: usize,
    /// CPUs of the load, none of which the server has.
    pub load: usize,
}

impl Sizes {
    /// A server of so many CPUs, whose load is not placed.
    pub fn server(server: usize) -> Self {
        Self { server, load: 0 }
    }
}

/// What all sets of a class have in common, comparable: two placements are of one class when their keys are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u8>);

/// One class, by the set in it that is to be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuClass {
    /// What distinguishes it from other classes.
    pub key: Key,
    /// CPUs of the server: of the sets in the class one with low numbers.
    pub server: CpuSet,
    /// CPUs of the load; empty where it is not placed.
    pub load: CpuSet,
    /// How many placements are in the class.
    pub sets: Count,
    /// In words: `4 cores of node 0 + 4 cores of node 1, siblings unused`.
    pub name: String,
}

impl CpuClass {
    /// The one of a search that leaves CPUs where they are.
    pub(super) fn unplaced() -> Self {
        let (server, load) = (CpuSet::new(), CpuSet::new());
        Self { key: Key(Vec::new()), server, load, sets: Count::ONE, name: String::new() }
    }
}

/// A list of classes, and whether it is all of them.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The classes, by size, the fuller groups first.
    pub classes: Vec<CpuClass>,
    /// How finely CPUs were chosen. `Grain::Every` means that these are all classes.
    pub grain: Grain,
    /// How many classes there are in truth.
    pub of: Count,
    /// Placements that the sizes allow, symmetric ones counted each.
    pub sets: Count,
    /// What was left out, in words; `None` when nothing was.
    pub left_out: Option<String>,
}

impl Symmetry {
    fn spread(&self) -> Option<Spread> {
        self.group.as_ref().map(|group| Spread::of(&self.tree, group))
    }

    /// How many classes there are of these sizes, exactly.
    pub fn count(&self, sizes: &[Sizes]) -> Count {
        self.count_at(Grain::Every, sizes)
    }

    fn count_at(&self, grain: Grain, sizes: &[Sizes]) -> Count {
        let pairs: Vec<(usize, usize)> = distinct(sizes).iter().map(|s| (s.server, s.load)).collect();
        Forms::new(&self.tree, grain).count(&pairs, self.spread().as_ref())
    }

    /// How many placements of these sizes there are, symmetric ones counted each.
    pub fn sets(&self, sizes: &[Sizes]) -> Count {
        let n = self.choosable().len();
        let of =
            |s: &Sizes| Count::choose(n, s.server).times(Count::choose(n.saturating_sub(s.server), s.load));
        distinct(sizes).iter().map(of).fold(Count::ZERO, Count::plus)
    }

    /// The classes of these sizes: all of them when there are at most `most`, else those of the finest grain of which
    /// there are at most that many.
    pub fn list(&self, sizes: &[Sizes], most: usize) -> Listed {
        let sizes = distinct(sizes);
        let of = self.count(&sizes);
        let fits = |grain: &&Grain| {
            let count = self.count_at(**grain, &sizes);
            count.within(most) && count != Count::ZERO
        };
        let chosen = Grain::ALL.iter().find(fits).copied();
        let grain = chosen.unwrap_or(Grain::Whole(super::Level::Node));
        let mut classes = match chosen {
            Some(_) => self.list_at(grain, &sizes),
            None => Vec::new(),
        };
        class_names::make_unique(&mut classes);
        let left_out = (Count::Exact(classes.len() as u128) != of).then(|| match chosen {
            Some(_) => format!("{} of {of} classes: {}", classes.len(), grain.words()),
            None => format!(
                "none of {of} classes: even of whole nodes there are more than {most}, or none fits the sizes"
            ),
        });
        Listed { classes, grain, of, sets: self.sets(&sizes), left_out }
    }

    fn list_at(&self, grain: Grain, sizes: &[Sizes]) -> Vec<CpuClass> {
        let spread = self.spread();
        let mut forms = Forms::new(&self.tree, grain);
        let of_size = |s: &Sizes| forms.all((s.server, s.load), spread.as_ref());
        let all: Vec<Form> = sizes.iter().flat_map(of_size).collect();
        all.into_iter().map(|form| self.class(form)).collect()
    }

    /// The class of a placement. CPUs that may not be chosen are left out of it.
    pub fn class_of(&self, server: &CpuSet, load: &CpuSet) -> CpuClass {
        self.class(self.form(server, load))
    }

    /// What distinguishes the class of a placement from others.
    pub fn key_of(&self, server: &CpuSet, load: &CpuSet) -> Key {
        Key(self.form(server, load).states)
    }

    fn form(&self, server: &CpuSet, load: &CpuSet) -> Form {
        let choosable = self.choosable();
        let state = |cpu: &u32| match (choosable.contains(*cpu), server.contains(*cpu), load.contains(*cpu)) {
            (true, true, _) => SERVER,
            (true, false, true) => LOAD,
            _ => NEITHER,
        };
        let states: Vec<u8> = self.leaves().iter().map(state).collect();
        match self.spread() {
            Some(spread) => spread.canonical(&self.tree, &states),
            None => canonical_on_tree(&self.tree, &states),
        }
    }

    fn leaves(&self) -> &[u32] {
        &self.tree.vertices[self.tree.root].leaves
    }

    fn class(&self, form: Form) -> CpuClass {
        let with = |who: u8| -> CpuSet {
            let seats = self.leaves().iter().zip(&form.states);
            seats.filter(|(_, state)| **state == who).map(|(cpu, _)| *cpu).collect()
        };
        let (server, load) = (with(SERVER), with(LOAD));
        let name = class_names::of_pair(self, &server, &load);
        CpuClass { server, load, sets: form.sets, name, key: Key(form.states) }
    }

    /// Groups of CPUs that a step of the search adds or takes as a whole: cores, last-level caches, nodes.
    pub(crate) fn wholes(&self) -> Vec<CpuSet> {
        use super::Level::{Core, LastCache, Node};
        let mut wholes: BTreeMap<CpuSet, ()> = BTreeMap::new();
        for vertex in [Core, LastCache, Node].iter().flat_map(|level| self.tree.at_level(*level)) {
            let cpus = self.tree.vertices[vertex].cpus.intersection(self.choosable());
            if cpus.len() > 1 {
                wholes.insert(cpus, ());
            }
        }
        wholes.into_keys().collect()
    }
}

/// The sizes in order, each once.
fn distinct(sizes: &[Sizes]) -> Vec<Sizes> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
