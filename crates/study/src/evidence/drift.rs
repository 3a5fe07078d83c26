//! Whether the machine was equally fast in all blocks. Pure.
//!
//! What the arms of a block have in common cancels in every comparison, which is made within blocks. It stays in means, in standard
//! deviations and in whatever is compared with the figures of another day.

use std::collections::BTreeMap;

use crate::recipe::Direction;
use crate::statistics::draws::Draws;
use crate::statistics::summary::median;
use crate::trial::Trial;

/// Blocks are alike where the figure of the highest is less than this factor above that of the lowest.
const ALIKE: f64 = 1.15;

/// Orders of each arm's figures that the one found is held against, and of how many it may be surpassed: 1 % of chance.
const ORDERS: usize = 199;
const MOST_AS_FAR: usize = 1;

/// The orders are drawn, and are the same for the same trials.
const SEED: u64 = 0x6472_6966_7421_0001;

/// More ranges of blocks than these are no step, and are counted instead.
const MOST_RANGES: usize = 6;

/// How far the log figure of an arm in a block is from the arm's median: by arm, each block and its difference.
type Differences = Vec<Vec<(usize, f64)>>;

/// What the reader should know of blocks that were slower in all arms alike; `None` where there are none beyond chance.
pub(super) fn note(trials: &[Trial], metric: &str, better: Direction) -> Option<String> {
    let differences = differences(trials, metric);
    let by_block = by_block(&differences);
    let of_all: Vec<f64> = by_block.values().copied().collect();
    let (lowest, highest) =
        (of_all.iter().copied().reduce(f64::min)?, of_all.iter().copied().reduce(f64::max)?);
    if highest - lowest <= ALIKE.ln() || !is_beyond_chance(&differences) {
        return None;
    }
    let (low, high) = groups(&by_block)?;
    let (slow, fast) = match better {
        Direction::Higher => (low, high),
        Direction::Lower => (high, low),
    };
    let of = |blocks: &[usize]| median(&blocks.iter().map(|block| by_block[block]).collect::<Vec<_>>());
    let factor = (of(&slow)? - of(&fast)?).exp();
    Some(format!(
        "the machine's speed changed under the study: in {} the figure was {factor:.2} times what it was in the others (median over \
         the arms); comparisons are made within blocks and hold, while means, sd and figures of other days do not bear comparison",
        in_words(&slow)
    ))
}

fn differences(trials: &[Trial], metric: &str) -> Differences {
    let mut logs: BTreeMap<&str, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for trial in trials {
        if let Some(figure) = trial.figures.get(metric).filter(|figure| figure.is_finite() && **figure > 0.0)
        {
            logs.entry(&trial.arm).or_default().entry(trial.block).or_default().push(figure.ln());
        }
    }
    let of_arm = |blocks: BTreeMap<usize, Vec<f64>>| {
        let means: Vec<(usize, f64)> = blocks
            .into_iter()
            .map(|(block, logs)| (block, logs.iter().sum::<f64>() / logs.len() as f64))
            .collect();
        let usual = median(&means.iter().map(|(_, mean)| *mean).collect::<Vec<_>>()).unwrap_or(0.0);
        means.into_iter().map(|(block, mean)| (block, mean - usual)).collect::<Vec<_>>()
    };
    logs.into_values().map(of_arm).collect()
}

/// The median over the arms, of blocks in which most arms have a figure.
fn by_block(differences: &Differences) -> BTreeMap<usize, f64> {
    let mut blocks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (block, difference) in differences.iter().flatten() {
        blocks.entry(*block).or_default().push(*difference);
    }
    blocks.retain(|_, of_arms| of_arms.len() * 2 > differences.len());
    blocks.into_iter().filter_map(|(block, of_arms)| Some((block, median(&of_arms)?))).collect()
}

/// Whether the blocks lie further apart than they do where each arm's figures are put into another order: then what moves them is common
/// to the arms.
fn is_beyond_chance(differences: &Differences) -> bool {
    let found = distance(differences);
    let mut draws = Draws::new(SEED);
    let as_far = (0..ORDERS).filter(|_| distance(&in_another_order(differences, &mut draws)) >= found);
    as_far.take(MOST_AS_FAR + 1).count() <= MOST_AS_FAR
}

/// How far the blocks lie apart: the sum of squares of their means over the arms.
fn distance(differences: &Differences) -> f64 {
    let mut blocks: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (block, difference) in differences.iter().flatten() {
        let (sum, count) = blocks.entry(*block).or_default();
        *sum += difference;
        *count += 1.0;
    }
    blocks.values().map(|(sum, count)| sum * sum / count).sum()
}

fn in_another_order(differences: &Differences, draws: &mut Draws) -> Differences {
    let of_arm = |arm: &Vec<(usize, f64)>| {
        let mut values: Vec<f64> = arm.iter().map(|(_, value)| *value).collect();
        draws.shuffle(&mut values);
        arm.iter().map(|(block, _)| *block).zip(values).collect::<Vec<_>>()
    };
    differences.iter().map(of_arm).collect()
}

/// The blocks in two groups, each in order, the one of low figures first: where they lie closest together within each.
fn groups(by_block: &BTreeMap<usize, f64>) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut rising: Vec<(usize, f64)> = by_block.iter().map(|(block, value)| (*block, *value)).collect();
    rising.sort_by(|a, b| a.1.total_cmp(&b.1));
    let within = |part: &[(usize, f64)]| {
        let mean = part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64;
        part.iter().map(|(_, value)| (value - mean).powi(2)).sum::<f64>()
    };
    let both = |cut: &usize| within(&rising[..*cut]) + within(&rising[*cut..]);
    let cut = (1..rising.len()).min_by(|a, b| both(a).total_cmp(&both(b)))?;
    let in_order = |part: &[(usize, f64)]| {
        let mut blocks: Vec<usize> = part.iter().map(|(block, _)| *block).collect();
        blocks.sort_unstable();
        blocks
    };
    Some((in_order(&rising[..cut]), in_order(&rising[cut..])))
}

/// `blocks 1 to 7, 9`, counted from 1.
fn in_words(blocks: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for block in blocks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *block => *last = *block,
            _ => ranges.push((*block, *block)),
        }
    }
    let range = |(first, last): &(usize, usize)| match first == last {
        true => format!("{}", first + 1),
        false => format!("{} to {}", first + 1, last + 1),
    };
    match blocks {
        [one] => format!("block {}", one + 1),
        _ if ranges.len() > MOST_RANGES => format!("{} of the blocks", blocks.len()),
        _ => format!("blocks {}", ranges.iter().map(range).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: usize = 14;

    /// Trials of so many arms with noise of this standard deviation (of the log), on a machine of this speed in each block.
    fn trials(arms: usize, noise: f64, seed: u64, speed: impl Fn(usize) -> f64) -> Vec<Trial> {
        let mut draws = Draws::new(seed);
        let mut trials = Vec::new();
        for block in 0..BLOCKS {
            for arm in 0..arms {
                let log = (1_000.0 * (arm + 1) as f64 * speed(block)).ln() + noise * draws.normal();
                let figures = BTreeMap::from([("x".to_string(), log.exp())]);
                trials.push(Trial { block, arm: format!("arm {arm}"), figures, ..Trial::default() });
            }
        }
        trials
    }

    fn of(trials: &[Trial]) -> Option<String> {
        note(trials, "x", Direction::Higher)
    }

    #[test]
    fn a_step_is_named_with_the_blocks_before_it() {
        let found = of(&trials(7, 0.002, 1, |block| if block < 7 { 0.7 } else { 1.0 })).unwrap();
        assert!(found.contains("in blocks 1 to 7 the figure was 0.70 times"), "{found}");
        let found = of(&trials(7, 0.03, 1, |block| if block < 4 { 1.0 } else { 0.7 })).unwrap();
        assert!(found.contains("in blocks 5 to 14 the figure"), "{found}");
    }

    #[test]
    fn where_less_is_better_the_slow_blocks_are_those_of_high_figures() {
        let slow = trials(7, 0.002, 1, |block| if [2, 8].contains(&block) { 1.5 } else { 1.0 });
        let found = note(&slow, "x", Direction::Lower).unwrap();
        assert!(found.contains("in blocks 3, 9 the figure was 1.50 times"), "{found}");
    }

    #[test]
    fn noise_is_no_change_of_the_machine() {
        let noted = |arms: usize, noise: f64| {
            (0..100).filter(|seed| of(&trials(arms, noise, *seed, |_| 1.0)).is_some()).count()
        };
        assert_eq!(noted(7, 0.03), 0);
        // At 1 % of chance in each of them.
        for arms in [2, 4, 9] {
            assert!(noted(arms, 0.3) <= 6, "{arms} arms");
        }
    }

    #[test]
    fn a_small_change_and_one_of_a_single_arm_are_not_noted() {
        assert_eq!(of(&trials(7, 0.002, 1, |block| if block < 7 { 0.9 } else { 1.0 })), None);
        let mut one = trials(7, 0.002, 1, |_| 1.0);
        let own = one.iter_mut().filter(|trial| trial.arm == "arm 3" && trial.block < 7);
        own.for_each(|trial| trial.figures.values_mut().for_each(|figure| *figure /= 2.0));
        assert_eq!(of(&one), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_block_that_has_only_begun_says_nothing() {
        let mut begun = trials(7, 0.002, 1, |_| 1.0);
        begun.retain(|trial| trial.block < BLOCKS - 1 || trial.arm == "arm 0");
        let last = begun.iter_mut().filter(|trial| trial.block == BLOCKS - 1);
        last.for_each(|trial| trial.figures.values_mut().for_each(|figure| *figure /= 2.0));
        assert_eq!(of(&begun), None);
    }

    #[test]
    fn blocks_are_listed_as_ranges() {
        assert_eq!(in_words(&[0, 1, 2, 4]), "blocks 1 to 3, 5");
        assert_eq!(in_words(&[6]), "block 7");
        assert_eq!(in_words(&[0, 2, 4, 6, 8, 10, 12]), "7 of the blocks");
    }
}
