//! How finely CPUs are chosen: each for itself, or whole caches and nodes, or caches and nodes filled in an order.

use super::canonical_forms::{LOAD, NEITHER, SERVER, make_canonical};
use super::tree::{Kind, Level, Tree};

/// How finely CPUs are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Every CPU for itself: all classes.
    Every,
    /// Any number of CPUs of each group of that level, filled in one of two orders: cores first or siblings first.
    Filled(Level),
    /// All CPUs of a group of that level, or one of each of its cores, or none.
    Whole(Level),
}

impl Grain {
    /// From the finest to the coarsest.
    pub(crate) const ALL: [Grain; 5] = [
        Grain::Every,
        Grain::Filled(Level::LastCache),
        Grain::Filled(Level::Node),
        Grain::Whole(Level::LastCache),
        Grain::Whole(Level::Node),
    ];

    /// Whether subtrees of this kind are not looked into.
    pub(crate) fn is_atom(self, kind: &Kind) -> bool {
        match self {
            Grain::Every => false,
            Grain::Filled(level) | Grain::Whole(level) => kind.levels.contains(&level),
        }
    }

    /// In words, for the reader of a study.
    pub fn words(self) -> &'static str {
        match self {
            Grain::Every => "every class of CPU sets",
            Grain::Filled(Level::Node) => {
                "any number of CPUs of each node, filled cores first or siblings first"
            }
            Grain::Filled(_) => {
                "any number of CPUs of each last-level cache, filled cores first or siblings first"
            }
            Grain::Whole(Level::Node) => "whole nodes, with or without the siblings",
            Grain::Whole(_) => "whole last-level caches, with or without the siblings",
        }
    }
}

/// The states that a CPU or an atom may have, canonical and each once.
pub(crate) fn choices(tree: &Tree, kind: usize, grain: Grain) -> Vec<Vec<u8>> {
    let mut choices = match (tree.kinds[kind].children.is_empty(), grain) {
        (true, _) | (_, Grain::Every) => match tree.kinds[kind].choosable {
            true => vec![vec![SERVER], vec![LOAD], vec![NEITHER]],
            false => vec![vec![NEITHER]],
        },
        (_, Grain::Filled(_)) => filled(tree, kind),
        (_, Grain::Whole(_)) => whole(tree, kind),
    };
    choices.iter_mut().for_each(|states| make_canonical(tree, kind, states));
    choices.sort_unstable_by(|a, b| b.cmp(a));
    choices.dedup();
    choices
}

/// One CPU of a subtree.
#[derive(Debug, Clone, Copy)]
struct Seat {
    position: usize,
    core: usize,
    thread: usize,
    choosable: bool,
    marked: bool,
}

/// The CPUs of a subtree by position in its state.
fn seats(tree: &Tree, kind: usize) -> Vec<Seat> {
    fn walk(
        tree: &Tree,
        kind: usize,
        in_core: Option<(usize, usize)>,
        cores: &mut usize,
        seats: &mut Vec<Seat>,
    ) {
        let of = &tree.kinds[kind];
        if of.children.is_empty() {
            let (core, from) = in_core.unwrap_or_else(|| {
                *cores += 1;
                (*cores, seats.len())
            });
            let (position, choosable, marked) = (seats.len(), of.choosable, of.marked);
            seats.push(Seat { position, core, thread: position - from, choosable, marked });
            return;
        }
        let in_core = match of.levels.contains(&Level::Core) {
            true => {
                *cores += 1;
                Some((*cores, seats.len()))
            }
            false => in_core,
        };
        for (child, count) in &of.children {
            (0..*count).for_each(|_| walk(tree, *child, in_core, cores, seats));
        }
    }
    let mut found = Vec::new();
    walk(tree, kind, None, &mut 0, &mut found);
    found
}

/// The orders in which CPUs are filled, ordinary ones before those with something of their own.
fn orders(tree: &Tree, kind: usize) -> [Vec<usize>; 2] {
    let mut seats: Vec<Seat> = seats(tree, kind).into_iter().filter(|seat| seat.choosable).collect();
    let positions = |seats: &[Seat]| seats.iter().map(|seat| seat.position).collect();
    seats.sort_by_key(|seat| (seat.marked, seat.thread, seat.core));
    let cores_first = positions(&seats);
    seats.sort_by_key(|seat| (seat.marked, seat.core, seat.thread));
    [cores_first, positions(&seats)]
}

fn filled(tree: &Tree, kind: usize) -> Vec<Vec<u8>> {
    let width = tree.kinds[kind].width;
    let mut choices = Vec::new();
    for order in orders(tree, kind) {
        for server in 0..=order.len() {
            for load in 0..=order.len() - server {
                let mut states = vec![NEITHER; width];
                order[..server].iter().for_each(|at| states[*at] = SERVER);
                order[server..server + load].iter().for_each(|at| states[*at] = LOAD);
                choices.push(states);
            }
        }
    }
    choices
}

fn whole(tree: &Tree, kind: usize) -> Vec<Vec<u8>> {
    let seats = seats(tree, kind);
    let state = |first: u8, others: u8| -> Vec<u8> {
        let of = |seat: &Seat| if seat.thread == 0 { first } else { others };
        seats.iter().map(|seat| if seat.choosable { of(seat) } else { NEITHER }).collect()
    };
    let mut choices = Vec::new();
    for first in [SERVER, LOAD, NEITHER] {
        for others in [SERVER, LOAD, NEITHER] {
            if first == others || first != NEITHER {
                choices.push(state(first, others));
            }
        }
    }
    choices
}
