//! The plan of a study across boots: which of its trials share a boot of the machine. Pure.

use serde::{Deserialize, Serialize};

use crate::arm::{Arm, Role};
use crate::design::Order;

/// `[boots]` of `study.toml`: which trials share a boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boots {
    /// How many of the trials of `order` each boot has, by block.
    pub trials: Vec<Vec<usize>>,
    /// Words of the command line when the case was made.
    pub found: Vec<String>,
    /// The boot in which the case was made. It runs no trial: it is not as fresh as those that follow.
    pub made_in: String,
}

/// The arms that share a boot: those of the same words, but for the second baseline, which has one of its own.
pub fn sharing(arms: &[Arm]) -> Vec<Vec<usize>> {
    let second =
        arms.iter().enumerate().filter(|(_, arm)| arm.role == Role::Baseline).map(|(at, _)| at).nth(1);
    let mut boots: Vec<Vec<usize>> = Vec::new();
    for at in 0..arms.len() {
        let words = |other: &usize| &arms[*other].placement.boot_words;
        let same = |boot: &&mut Vec<usize>| words(&boot[0]) == words(&at) && Some(boot[0]) != second;
        match boots.iter_mut().find(same).filter(|_| Some(at) != second) {
            Some(boot) => boot.push(at),
            None => boots.push(vec![at]),
        }
    }
    boots
}

/// Whether the boots of each block have all of its trials, each some.
///
/// # Errors
/// In words: the first block of which that is not so.
pub(crate) fn cover(boots: &[Vec<usize>], order: &Order) -> Result<(), String> {
    if boots.len() != order.len() {
        return Err(format!("it has {} blocks and the boots of {}", order.len(), boots.len()));
    }
    let covered = |sizes: &Vec<usize>| {
        sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size).filter(|_| *size > 0))
    };
    match boots.iter().zip(order).position(|(sizes, order)| covered(sizes) != Some(order.len())) {
        Some(block) => {
            Err(format!("the boots of block {block} are not those of its {} trials", order[block].len()))
        }
        None => Ok(()),
    }
}
