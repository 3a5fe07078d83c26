//! Choices of one level of each factor: all of them, or some where there are too many to list.

use std::collections::HashSet;

use super::big_count::Count;
use crate::statistics::draws::Draws;

/// How many choices there are.
pub(super) fn count(sizes: &[usize]) -> Count {
    sizes.iter().fold(Count::ONE, |count, size| count.times(Count::Exact(*size as u128)))
}

/// All choices where they are at most `most`, the last factor changing fastest; else `most` different ones, drawn evenly.
pub(super) fn list(sizes: &[usize], most: usize, draws: &mut Draws) -> Vec<Vec<usize>> {
    if count(sizes).within(most) {
        return all(sizes);
    }
    let mut drawn = HashSet::new();
    let mut listed = Vec::with_capacity(most);
    while listed.len() < most {
        let choice: Vec<usize> = sizes.iter().map(|size| draws.below(*size)).collect();
        if drawn.insert(choice.clone()) {
            listed.push(choice);
        }
    }
    listed
}

fn all(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |all, size| {
        let longer = |levels: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..*size).map(|level| [levels.as_slice(), &[level]].concat()).collect()
        };
        all.iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_and_many_are_drawn_each_once() {
        let mut draws = Draws::new(1);
        assert_eq!(list(&[2, 2], 4, &mut draws), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(list(&[], 4, &mut draws), [Vec::<usize>::new()]);
        let sizes = [7; 30];
        assert_eq!(count(&sizes), Count::Exact(7u128.pow(30)));
        assert_eq!(count(&[1000; 50]), Count::More);
        let some = list(&sizes, 100, &mut draws);
        assert_eq!(some.iter().collect::<HashSet<_>>().len(), 100);
        assert!(some.iter().all(|choice| choice.len() == 30 && choice.iter().all(|level| *level < 7)));
    }
}
