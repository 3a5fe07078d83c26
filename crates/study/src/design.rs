//! Randomised complete blocks: every arm once in each block, in an order that a seed repeats.

use crate::statistics::draws::Draws;

/// Which trial runs when: `order[block][position]` is the index of an arm.
pub type Order = Vec<Vec<usize>>;

/// Draws the order of `arms` arms in `blocks` blocks; the same seed gives the same order on every machine.
pub fn draw_order(arms: usize, blocks: usize, seed: u64) -> Order {
    let mut draws = Draws::new(seed);
    (0..blocks)
        .map(|_| {
            let mut block: Vec<usize> = (0..arms).collect();
            draws.shuffle(&mut block);
            block
        })
        .collect()
}

/// Draws the order where arms share boots of the machine, and how many trials each boot has, by block: in each block every one of `boots`
/// (the arms that share it) once in random order, and in each boot its arms `rounds` times over, each time in random order.
pub fn draw_boots(boots: &[Vec<usize>], rounds: usize, blocks: usize, seed: u64) -> (Order, Vec<Vec<usize>>) {
    let mut draws = Draws::new(seed);
    let mut drawn = |_| {
        let mut block: Vec<&Vec<usize>> = boots.iter().collect();
        draws.shuffle(&mut block);
        let mut order = Vec::new();
        for arms in &block {
            for _ in 0..rounds {
                let mut round = (*arms).clone();
                draws.shuffle(&mut round);
                order.extend(round);
            }
        }
        (order, block.iter().map(|arms| arms.len() * rounds).collect())
    };
    (0..blocks).map(&mut drawn).unzip()
}

/// The fewest blocks with which `claims` two-sided claims can be made at level `alpha` after Holm: the smallest
/// two-sided p of n blocks is 2 / 2^n, and the first claim must reach `alpha / claims`.
pub fn fewest_blocks(claims: usize, alpha: f64) -> usize {
    (1..64).find(|n| 2.0 / 2f64.powi(*n) <= alpha / claims.max(1) as f64).unwrap_or(64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_once_a_block_and_the_seed_repeats_it() {
        let order = draw_order(5, 40, 7);
        for block in &order {
            let mut arms = block.clone();
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 2, 3, 4]);
        }
        assert_eq!(order, draw_order(5, 40, 7));
        assert_ne!(order, draw_order(5, 40, 8));
    }

    #[test]
    fn positions_are_balanced_over_many_blocks() {
        let order = draw_order(4, 4000, 1);
        for arm in 0..4 {
            let first = order.iter().filter(|block| block[0] == arm).count();
            assert!((900..1100).contains(&first), "arm {arm} came first {first} of 4000 times");
        }
    }

    #[test]
    fn arms_of_a_boot_stand_together_and_every_boot_comes_once_a_block() {
        let boots = [vec![0, 3], vec![1], vec![2, 4]];
        let (order, sizes) = draw_boots(&boots, 3, 40, 7);
        let mut first = [0; 3];
        for (block, sizes) in order.iter().zip(&sizes) {
            let mut from = 0;
            let mut seen = Vec::new();
            for size in sizes {
                let mut arms: Vec<usize> = block[from..from + size].to_vec();
                from += size;
                arms.sort_unstable();
                arms.dedup();
                assert_eq!(arms.len() * 3, *size, "each arm three times");
                seen.push(boots.iter().position(|boot| *boot == arms).expect("a boot"));
            }
            assert_eq!(from, block.len());
            first[seen[0]] += 1;
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2]);
        }
        assert!(first.iter().all(|count| *count > 5), "{first:?}");
        assert_eq!((order, sizes), draw_boots(&boots, 3, 40, 7));
    }

    #[test]
    fn enough_blocks_for_a_claim() {
        assert_eq!(fewest_blocks(1, 0.05), 6);
        assert_eq!(fewest_blocks(2, 0.05), 7);
        assert_eq!(fewest_blocks(16, 0.05), 10);
    }
}
