//! Which NUMA nodes may be exchanged, where the distances between them are not the same for all.
//!
//! Below the nodes the tree says it all. Above them the symmetry is a group of permutations of the nodes that keeps the
//! tree *and* the distances. It is listed one by one: machines have few nodes, and uneven distances leave few of them.

use super::tree::Tree;

/// The most permutations that are listed; beyond, nodes count as all different.
const MOST_LISTED: usize = 20_000;

/// The parts of the machine that are moved as wholes, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Vertices of the tree that together have every CPU once, by lowest CPU.
    pub blocks: Vec<usize>,
    /// Permutations of them, the identity among them: block `b` takes what block `p[b]` had.
    pub moves: Vec<Vec<usize>>,
    /// Whether there were too many to list, so that all blocks count as different.
    pub cut_short: bool,
}

/// What is to be kept: parts with their kinds, and a label for each ordered pair of parts.
pub(crate) struct Parts {
    /// Vertices of the tree, `None` for a node that has memory alone.
    pub vertices: Vec<Option<usize>>,
    /// Parts of the same number may be exchanged as far as they themselves are concerned.
    pub likes: Vec<usize>,
    /// Label of the pair from the one to the other; the same label means equally far.
    pub far: Vec<Vec<usize>>,
}

impl Parts {
    /// The group; `None` where the distances forbid nothing that the tree allows, so that the tree says it all.
    pub(crate) fn group(&self, tree: &Tree) -> Option<Group> {
        if self.tree_keeps_them(tree) {
            return None;
        }
        let blocks: Vec<usize> = self.vertices.iter().copied().flatten().collect();
        let nearness = Nearness::of(tree, &blocks);
        let mut found = Vec::new();
        let mut partial = Vec::new();
        let complete = self.extend(&nearness, &mut partial, &mut found);
        let identity: Vec<usize> = (0..blocks.len()).collect();
        let mut moves: Vec<Vec<usize>> = match complete {
            true => found.into_iter().map(|p| p.into_iter().take(blocks.len()).collect()).collect(),
            false => vec![identity],
        };
        moves.sort_unstable();
        moves.dedup();
        Some(Group { blocks, moves, cut_short: !complete })
    }

    /// Whether every exchange of two neighbouring subtrees of one kind keeps all labels. Those generate what the tree
    /// allows; nodes of memory alone stay where they are.
    fn tree_keeps_them(&self, tree: &Tree) -> bool {
        let position = |vertex: usize| self.vertices.iter().position(|v| *v == Some(vertex));
        let mut exchanges = tree.vertices.iter().flat_map(|vertex| vertex.children.windows(2));
        exchanges.all(|pair| {
            let (a, b) = (pair[0], pair[1]);
            if tree.vertices[a].kind != tree.vertices[b].kind {
                return true;
            }
            let mut to: Vec<usize> = (0..self.vertices.len()).collect();
            let mut stack = vec![(a, b)];
            while let Some((a, b)) = stack.pop() {
                match (position(a), position(b)) {
                    (Some(i), Some(j)) => to.swap(i, j),
                    _ => stack.extend(
                        tree.vertices[a]
                            .children
                            .iter()
                            .copied()
                            .zip(tree.vertices[b].children.iter().copied()),
                    ),
                }
            }
            (0..to.len()).all(|i| (0..to.len()).all(|j| self.far[i][j] == self.far[to[i]][to[j]]))
        })
    }

    /// Extends a partial permutation in all ways; false when there are too many.
    fn extend(&self, nearness: &Nearness, partial: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) -> bool {
        let i = partial.len();
        if i == self.vertices.len() {
            found.push(partial.clone());
            return found.len() <= MOST_LISTED;
        }
        for candidate in 0..self.vertices.len() {
            let fits = !partial.contains(&candidate)
                && self.likes[i] == self.likes[candidate]
                && self.far[i][i] == self.far[candidate][candidate]
                && nearness.same(i, i, candidate, candidate)
                && partial.iter().enumerate().all(|(j, to)| {
                    self.far[i][j] == self.far[candidate][*to]
                        && self.far[j][i] == self.far[*to][candidate]
                        && nearness.same(i, j, candidate, *to)
                });
            if fits {
                partial.push(candidate);
                let go_on = self.extend(nearness, partial, found);
                partial.pop();
                if !go_on {
                    return false;
                }
            }
        }
        true
    }
}

/// For each pair of blocks the kinds of the vertices above both: permutations that keep them come from the tree.
struct Nearness(Vec<Vec<Vec<usize>>>);

impl Nearness {
    fn of(tree: &Tree, blocks: &[usize]) -> Self {
        let above: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| {
                let cpus = &tree.vertices[*block].cpus;
                // Children are built before their parents, so this runs upwards.
                (0..tree.vertices.len()).filter(|v| cpus.is_subset(&tree.vertices[*v].cpus)).collect()
            })
            .collect();
        let kinds = |a: &Vec<usize>, b: &Vec<usize>| {
            a.iter().filter(|v| b.contains(v)).map(|v| tree.vertices[*v].kind).collect()
        };
        Self(above.iter().map(|a| above.iter().map(|b| kinds(a, b)).collect()).collect())
    }

    /// Whether the pair (i, j) lies in the tree as (a, b) does. Nodes of memory alone lie in no tree.
    fn same(&self, i: usize, j: usize, a: usize, b: usize) -> bool {
        let at = |i: usize, j: usize| self.0.get(i).and_then(|row| row.get(j));
        at(i, j) == at(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Level, Plan};
    use super::*;
    use machine::CpuSet;

    fn tree(nodes: u32) -> Tree {
        let groups =
            (0..nodes).map(|n| (Level::Node, [2 * n, 2 * n + 1].into_iter().collect(), String::new()));
        let cpus: CpuSet = (0..2 * nodes).collect();
        Tree::build(Plan { choosable: cpus.clone(), cpus, groups: groups.collect(), ..Plan::default() })
    }

    fn parts(tree: &Tree, far: Vec<Vec<usize>>) -> Parts {
        let vertices: Vec<_> = tree.at_level(Level::Node).into_iter().map(Some).collect();
        Parts { likes: vec![0; vertices.len()], vertices, far }
    }

    #[test]
    fn equal_distances_leave_it_to_the_tree() {
        let tree = tree(4);
        let far = (0..4).map(|i| (0..4).map(|j| usize::from(i != j)).collect()).collect();
        assert_eq!(parts(&tree, far).group(&tree), None);
    }

    #[test]
    fn a_ring_of_four_nodes_may_be_turned_and_mirrored() {
        let tree = tree(4);
        let steps = |i: usize, j: usize| (i.abs_diff(j)).min(4 - i.abs_diff(j));
        let far = (0..4).map(|i| (0..4).map(|j| steps(i, j)).collect()).collect();
        let group = parts(&tree, far).group(&tree).unwrap();
        assert_eq!((group.moves.len(), group.cut_short), (8, false), "the dihedral group of the square");
        let line = (0..4).map(|i: usize| (0..4).map(|j| i.abs_diff(j)).collect()).collect();
        assert_eq!(parts(&tree, line).group(&tree).unwrap().moves, [vec![0, 1, 2, 3], vec![3, 2, 1, 0]]);
    }
}
