//! The race: which arms are out for good, with the error of that paid for.
//!
//! Each arm has a wealth that begins at 1 and bets against the claim "this arm is the best of all that ever run": in each
//! block it stakes a part of itself on losing to the arms that led *before* the block. If the claim is true and no arm
//! beats the best in more than half of the blocks, each bet is fair or worse, so the wealth is a supermartingale, and by
//! Ville's inequality it ever reaches `1 / alpha` with chance at most `alpha` (Shafer, *Testing by betting*, JRSS A 184,
//! 2021). The claim is true of one arm alone, so nothing is to be paid for how many arms and how many looks there are:
//! **the chance that the truly best of the arms that ran is ever dropped is at most `alpha`**, whenever one stops, whatever
//! rule chose which arms run next. It rests on signs within blocks: on no shape of the noise, only on blocks being
//! comparable within themselves.

/// Parts of the wealth that are staked, and how much of the wealth begins in each purse.
const PURSES: [(f64, f64); 2] = [(0.95, 0.8), (0.6, 0.2)];

/// What one arm has run and lost.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Purses([f64; PURSES.len()]);

impl Default for Purses {
    fn default() -> Self {
        Self(PURSES.map(|(_, begin)| begin))
    }
}

impl Purses {
    fn wealth(self) -> f64 {
        self.0.iter().sum()
    }

    /// `lost` is from -1 (beat every leader) to 1 (was beaten by all).
    fn settle(&mut self, lost: f64) {
        for (purse, (stake, _)) in self.0.iter_mut().zip(PURSES) {
            *purse *= 1.0 + stake * lost;
        }
    }
}

/// All arms of a race.
#[derive(Debug, Clone)]
pub struct Race {
    alpha: f64,
    purses: Vec<Purses>,
    dropped: Vec<bool>,
}

impl Race {
    /// A race in which the best is dropped with chance at most `alpha`.
    pub fn new(alpha: f64) -> Self {
        Self { alpha, purses: Vec::new(), dropped: Vec::new() }
    }

    fn make_room(&mut self, arm: usize) {
        if self.purses.len() <= arm {
            self.purses.resize(arm + 1, Purses::default());
            self.dropped.resize(arm + 1, false);
        }
    }

    /// Settles one block. `leaders` must have been chosen before its results were known; those of them that ran count.
    /// Returns the arms that are out from now on.
    pub fn settle(&mut self, block: &[(usize, f64)], leaders: &[usize]) -> Vec<usize> {
        let mut out = Vec::new();
        for (arm, own) in block {
            self.make_room(*arm);
            let ran = block.iter().filter(|(other, _)| other != arm && leaders.contains(other));
            let signs: Vec<f64> = ran.map(|(_, gain)| sign(gain - own)).collect();
            if signs.is_empty() {
                continue;
            }
            self.purses[*arm].settle(signs.iter().sum::<f64>() / signs.len() as f64);
            if !self.dropped[*arm] && self.purses[*arm].wealth() >= 1.0 / self.alpha {
                self.dropped[*arm] = true;
                out.push(*arm);
            }
        }
        out
    }

    /// Whether an arm is out.
    pub fn is_out(&self, arm: usize) -> bool {
        self.dropped.get(arm).copied().unwrap_or(false)
    }

    /// What speaks against an arm being the best: at `1 / alpha` it is out.
    pub fn against(&self, arm: usize) -> f64 {
        self.purses.get(arm).copied().unwrap_or_default().wealth()
    }
}

fn sign(difference: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Noise, Trials};

    #[test]
    fn an_arm_that_always_loses_is_out_after_five_blocks() {
        let mut race = Race::new(0.05);
        for block in 1..=5 {
            let out = race.settle(&[(0, 1.0), (1, 0.9), (2, 1.0)], &[0]);
            assert_eq!(out, if block == 5 { vec![1] } else { vec![] }, "block {block}");
        }
        assert!(race.is_out(1) && !race.is_out(0) && !race.is_out(2));
        assert!(race.against(2) <= 1.0 + 1e-9);
    }

    #[test]
    fn the_best_is_dropped_no_more_often_than_was_paid_for() {
        // Eight equal arms, the worst case: each is the best. Leaders are those that lead so far.
        let (studies, alpha) = (2000, 0.1);
        let mut lost = 0;
        for seed in 0..studies {
            let mut trials = Trials::new(Noise::default(), seed);
            let mut race = Race::new(alpha);
            let mut sums = [0.0; 8];
            for _ in 0..60 {
                let mut order: Vec<usize> = (0..8).collect();
                order.sort_by(|a, b| f64::total_cmp(&sums[*b], &sums[*a]));
                let block: Vec<(usize, f64)> = (0..8).map(|arm| (arm, trials.run(1.0).ln())).collect();
                race.settle(&block, &order[..3]);
                block.iter().for_each(|(arm, gain)| sums[*arm] += gain);
            }
            // Arm 0 stands for the best.
            lost += usize::from(race.is_out(0));
        }
        assert!((lost as f64) < alpha * studies as f64, "{lost} of {studies}");
    }
}
