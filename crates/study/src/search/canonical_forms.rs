//! Canonical forms: one state of the CPUs for each class, how many sets have it, and how many classes there are.
//!
//! A *state* says for each CPU, in the order of the tree's leaves, whether the server, the load or neither has it. Two
//! states are of one class when a symmetry of the machine turns one into the other. The canonical one of a class has
//! the fuller subtree first wherever subtrees may be exchanged.

use std::collections::HashMap;
use std::rc::Rc;

use super::big_count::{Count, Series};
use super::grain;
use super::node_symmetry::Group;
use super::tree::Tree;

/// A CPU that neither has.
pub(crate) const NEITHER: u8 = 0;
/// A CPU of the load.
pub(crate) const LOAD: u8 = 1;
/// A CPU of the server.
pub(crate) const SERVER: u8 = 2;

/// A canonical state and how many states are of its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub states: Vec<u8>,
    pub sets: Count,
}

/// How many CPUs the server and the load have.
pub(crate) fn size(states: &[u8]) -> (usize, usize) {
    let of = |who: u8| states.iter().filter(|state| **state == who).count();
    (of(SERVER), of(LOAD))
}

/// What canonical forms are sorted by, the fuller first.
fn fuller<'a>(a: &'a [u8], b: &'a [u8]) -> std::cmp::Ordering {
    (size(b), b).cmp(&(size(a), a))
}

/// Turns the states of a subtree of `kind` into their canonical form.
pub(crate) fn make_canonical(tree: &Tree, kind: usize, states: &mut [u8]) {
    let mut from = 0;
    for (child, count) in &tree.kinds[kind].children {
        let width = tree.kinds[*child].width;
        let part = &mut states[from..from + width * count];
        from += width * count;
        for one in part.chunks_mut(width) {
            make_canonical(tree, *child, one);
        }
        let mut chunks: Vec<Vec<u8>> = part.chunks(width).map(<[u8]>::to_vec).collect();
        chunks.sort_by(|a, b| fuller(a, b));
        part.copy_from_slice(&chunks.concat());
    }
}

/// How many states a canonical one of `kind` stands for.
fn sets_of(tree: &Tree, kind: usize, states: &[u8]) -> Count {
    let mut from = 0;
    let mut sets = Count::ONE;
    for (child, count) in &tree.kinds[kind].children {
        let width = tree.kinds[*child].width;
        let chunks: Vec<&[u8]> = states[from..from + width * count].chunks(width).collect();
        from += width * count;
        let mut left = *count;
        for equal in chunks.chunk_by(|a, b| a == b) {
            sets = sets.times(Count::choose(left, equal.len()));
            left -= equal.len();
        }
        sets = chunks.iter().fold(sets, |sets, chunk| sets.times(sets_of(tree, *child, chunk)));
    }
    sets
}

/// Where the blocks of a group lie in a state of the whole.
pub(crate) struct Spread {
    /// For each block the positions of its CPUs, in the order of its own state.
    positions: Vec<Vec<usize>>,
    kinds: Vec<usize>,
    moves: Vec<Vec<usize>>,
}

impl Spread {
    pub(crate) fn of(tree: &Tree, group: &Group) -> Self {
        let leaves = &tree.vertices[tree.root].leaves;
        let place = |cpu: &u32| leaves.iter().position(|leaf| leaf == cpu).unwrap_or_default();
        let vertices = group.blocks.iter().map(|block| &tree.vertices[*block]);
        Self {
            positions: vertices.clone().map(|v| v.leaves.iter().map(place).collect()).collect(),
            kinds: vertices.map(|v| v.kind).collect(),
            moves: group.moves.clone(),
        }
    }

    fn take_apart(&self, states: &[u8]) -> Vec<Vec<u8>> {
        self.positions.iter().map(|at| at.iter().map(|p| states[*p]).collect()).collect()
    }

    fn put_together(&self, blocks: &[Vec<u8>], width: usize) -> Vec<u8> {
        let mut states = vec![NEITHER; width];
        for (at, block) in self.positions.iter().zip(blocks) {
            at.iter().zip(block).for_each(|(p, state)| states[*p] = *state);
        }
        states
    }

    /// The canonical image of blocks that are canonical each, and how many images there are.
    fn best_image(&self, blocks: &[Vec<u8>]) -> (Vec<Vec<u8>>, u128) {
        let moved = |by: &[usize]| -> Vec<&Vec<u8>> { by.iter().map(|from| &blocks[*from]).collect() };
        let fixed = self.moves.iter().filter(|by| moved(by).into_iter().eq(blocks)).count();
        let compare = |a: &[usize], b: &[usize]| {
            let (a, b) = (moved(a), moved(b));
            let differ = a.iter().zip(&b).map(|(a, b)| fuller(a, b)).find(|order| order.is_ne());
            differ.unwrap_or(std::cmp::Ordering::Equal)
        };
        let best = self.moves.iter().min_by(|a, b| compare(a, b));
        let image = best.map_or_else(|| blocks.to_vec(), |by| moved(by).into_iter().cloned().collect());
        (image, (self.moves.len() / fixed.max(1)) as u128)
    }

    /// The canonical form of a state of the whole.
    pub(crate) fn canonical(&self, tree: &Tree, states: &[u8]) -> Form {
        let mut blocks = self.take_apart(states);
        blocks.iter_mut().zip(&self.kinds).for_each(|(block, kind)| make_canonical(tree, *kind, block));
        let (image, images) = self.best_image(&blocks);
        let within = image.iter().zip(&self.kinds).map(|(block, kind)| sets_of(tree, *kind, block));
        let sets = within.fold(Count::Exact(images), Count::times);
        Form { states: self.put_together(&image, states.len()), sets }
    }
}

/// The canonical form of a state of the whole, where the tree says it all.
pub(crate) fn canonical_on_tree(tree: &Tree, states: &[u8]) -> Form {
    let kind = tree.vertices[tree.root].kind;
    let mut states = states.to_vec();
    make_canonical(tree, kind, &mut states);
    let sets = sets_of(tree, kind, &states);
    Form { states, sets }
}

type KindAndSize = (usize, (usize, usize));

/// Lists and counts the classes of one size after the other, and keeps what it has found on the way.
pub(crate) struct Forms<'a> {
    tree: &'a Tree,
    grain: grain::Grain,
    found: HashMap<KindAndSize, Rc<Vec<Form>>>,
}

impl<'a> Forms<'a> {
    pub(crate) fn new(tree: &'a Tree, grain: grain::Grain) -> Self {
        Self { tree, grain, found: HashMap::new() }
    }

    /// How many classes of each size up to `most` a subtree of `kind` has.
    fn series(&self, kind: usize, most: (usize, usize), known: &mut HashMap<usize, Series>) -> Series {
        if let Some(series) = known.get(&kind) {
            return series.clone();
        }
        let of = &self.tree.kinds[kind];
        let series = if of.children.is_empty() || self.grain.is_atom(of) {
            let mut series = Series::zero(most);
            for states in grain::choices(self.tree, kind, self.grain) {
                series.add(size(&states), Count::ONE);
            }
            series
        } else {
            of.children.iter().fold(Series::one(most), |series, (child, count)| {
                series.product(&self.series(*child, most, known).multisets(*count))
            })
        };
        known.insert(kind, series.clone());
        series
    }

    /// How many classes there are of each of the sizes: Burnside's lemma over the moves of the group, if there is one.
    pub(crate) fn count(&self, sizes: &[(usize, usize)], spread: Option<&Spread>) -> Count {
        let widest = |of: fn(&(usize, usize)) -> usize| sizes.iter().map(of).max().unwrap_or(0);
        let most = (widest(|s| s.0), widest(|s| s.1));
        let mut known = HashMap::new();
        let total = match spread {
            None => self.series(self.tree.vertices[self.tree.root].kind, most, &mut known),
            Some(spread) => {
                let moves = spread.moves.iter().map(|by| {
                    cycles(by).into_iter().fold(Series::one(most), |series, (block, length)| {
                        let one = self.series(spread.kinds[block], most, &mut known);
                        series.product(&one.repeated(length))
                    })
                });
                let sum = moves.fold(Series::zero(most), |sum, fixed| sum.plus(&fixed));
                sum.over(spread.moves.len() as u128)
            }
        };
        sizes.iter().fold(Count::ZERO, |sum, size| sum.plus(total.at(*size)))
    }

    /// All canonical forms of that size, the fuller subtrees first.
    pub(crate) fn all(&mut self, size: (usize, usize), spread: Option<&Spread>) -> Vec<Form> {
        let tree = self.tree;
        let Some(spread) = spread else {
            return self.of_kind(tree.vertices[tree.root].kind, size).to_vec();
        };
        let groups: Vec<(usize, usize)> = spread.kinds.iter().map(|kind| (*kind, 1)).collect();
        let width = tree.kinds[tree.vertices[tree.root].kind].width;
        let mut forms = Vec::new();
        for (states, sets) in self.side_by_side(&groups, size) {
            let mut from = 0;
            let blocks: Vec<Vec<u8>> = spread
                .kinds
                .iter()
                .map(|kind| {
                    from += tree.kinds[*kind].width;
                    states[from - tree.kinds[*kind].width..from].to_vec()
                })
                .collect();
            let (image, images) = spread.best_image(&blocks);
            if image == blocks {
                let sets = sets.times(Count::Exact(images));
                forms.push(Form { states: spread.put_together(&blocks, width), sets });
            }
        }
        forms
    }

    fn of_kind(&mut self, kind: usize, wanted: (usize, usize)) -> Rc<Vec<Form>> {
        if let Some(found) = self.found.get(&(kind, wanted)) {
            return found.clone();
        }
        let of = &self.tree.kinds[kind];
        let forms: Vec<Form> = if of.children.is_empty() || self.grain.is_atom(of) {
            let choices = grain::choices(self.tree, kind, self.grain).into_iter();
            let fitting = choices.filter(|states| size(states) == wanted);
            fitting.map(|states| Form { sets: sets_of(self.tree, kind, &states), states }).collect()
        } else {
            let groups = of.children.clone();
            let states = self.side_by_side(&groups, wanted).into_iter();
            states.map(|(states, sets)| Form { states, sets }).collect()
        };
        let forms = Rc::new(forms);
        self.found.insert((kind, wanted), forms.clone());
        forms
    }

    /// All ways to give groups of equal subtrees that many CPUs together.
    fn side_by_side(&mut self, groups: &[(usize, usize)], wanted: (usize, usize)) -> Vec<(Vec<u8>, Count)> {
        let Some(((kind, count), rest)) = groups.split_first() else {
            return if wanted == (0, 0) { vec![(Vec::new(), Count::ONE)] } else { Vec::new() };
        };
        let room = |groups: &[(usize, usize)]| -> usize {
            groups.iter().map(|(kind, count)| self.tree.kinds[*kind].width * count).sum()
        };
        let (here, there) = (room(&groups[..1]), room(rest));
        let mut found = Vec::new();
        for server in (0..=wanted.0.min(here)).rev() {
            for load in (0..=wanted.1.min(here - server)).rev() {
                let left = (wanted.0 - server, wanted.1 - load);
                if left.0 + left.1 > there {
                    continue;
                }
                let after = self.side_by_side(rest, left);
                if after.is_empty() {
                    continue;
                }
                for (states, sets) in self.multisets(*kind, *count, (server, load)) {
                    for (more, sets_more) in &after {
                        found.push(([states.as_slice(), more].concat(), sets.times(*sets_more)));
                    }
                }
            }
        }
        found
    }

    /// All multisets of `count` forms of one kind that have that many CPUs together.
    fn multisets(&mut self, kind: usize, count: usize, wanted: (usize, usize)) -> Vec<(Vec<u8>, Count)> {
        let width = self.tree.kinds[kind].width;
        let mut pool = Vec::new();
        for server in (0..=wanted.0.min(width)).rev() {
            for load in (0..=wanted.1.min(width - server)).rev() {
                let mut forms = self.of_kind(kind, (server, load)).to_vec();
                forms.sort_by(|a, b| fuller(&a.states, &b.states));
                pool.extend(forms.into_iter().map(|form| ((server, load), form)));
            }
        }
        let mut found = Vec::new();
        pick(&pool, count, wanted, (Vec::new(), Count::ONE), &mut found);
        found
    }
}

type Sized = ((usize, usize), Form);

/// Takes `left` of the pool, each not before the one taken last, until `wanted` is met exactly.
fn pick(
    pool: &[Sized],
    left: usize,
    wanted: (usize, usize),
    so_far: (Vec<u8>, Count),
    found: &mut Vec<(Vec<u8>, Count)>,
) {
    if left == 0 {
        if wanted == (0, 0) {
            found.push(so_far);
        }
        return;
    }
    for (at, (size, form)) in pool.iter().enumerate() {
        // The pool is sorted: nothing that follows has more of the server.
        if wanted.0 > left * size.0 {
            return;
        }
        let mut next = so_far.clone();
        for times in 1..=left {
            if size.0 * times > wanted.0 || size.1 * times > wanted.1 {
                break;
            }
            next.0.extend(&form.states);
            let sets = next.1.times(form.sets);
            next.1 = sets;
            let rest = (wanted.0 - size.0 * times, wanted.1 - size.1 * times);
            let ways = next.1.times(Count::choose(left, times));
            pick(&pool[at + 1..], left - times, rest, (next.0.clone(), ways), found);
        }
    }
}

/// The cycles of a permutation: one member and the length of each.
fn cycles(permutation: &[usize]) -> Vec<(usize, usize)> {
    let mut seen = vec![false; permutation.len()];
    let mut cycles = Vec::new();
    for start in 0..permutation.len() {
        let (mut at, mut length) = (start, 0);
        while !seen[at] {
            seen[at] = true;
            at = permutation[at];
            length += 1;
        }
        if length > 0 {
            cycles.push((start, length));
        }
    }
    cycles
}
