//! The sequential test: how much the blocks of a trial so far speak against "within the limit".
//!
//! It is a bet at fair odds. Each block has a figure that is never negative, over what is allowed of it on average: its *ratio*. Within the
//! limit a ratio is expected to be at most 1, given all that came before; so whoever puts a share `b` of a stake on it has
//! `1 + b (ratio - 1)` times as much afterwards, and is not expected to gain, however the stake is chosen. A stake that has grown
//! 2000-fold all the same is evidence: by Ville's inequality it ever does so in one of 2000 trials at most, whenever and however often it
//! is looked at (testing by betting; Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting). That holds of
//! any distribution of the figure, and of any number of requests in a block.
//!
//! - *How much is staked*: the stake is divided among three shares `b`. The large one ends gross harm within a few blocks, the small one
//!   sees a figure somewhat above its limit for long.
//! - *When harm begins*: harm that comes late would meet a stake that good blocks have used up. So a part of it is put in at each block,
//!   1/(t (t + 1)) at the t-th, and the rest of it waits.
//! - *Requests that wait for the same thing*: all requests of a block may be slow for one reason. A block counts once, by its mean, so that
//!   dependence within it does no harm. A stall may straddle the boundary of two blocks; so every second block is a stake of its own, and
//!   twice as much is asked of each (a union bound). What is needed is that a ratio is expected to be at most 1 whatever the blocks
//!   before its neighbour were. Stalls that outlast a block break that where they take all that the limit allows (`evidence/tests.rs` has
//!   how much).
//! - *Blocks of few requests*: a mean over requests weighs each request alike, so less is staked on a block with fewer requests than those
//!   before it had, in proportion.

/// The shares of a stake that are put on a block.
const BETS: [f64; 3] = [0.05, 0.25, 0.9];

/// The evidence against "within the limit" so far.
pub(super) struct Evidence {
    /// At what multiple of a stake the test ends.
    needed: f64,
    /// Every second block each.
    stakes: [Stake; 2],
    /// Whose turn it is.
    turn: usize,
    /// Weight of all blocks so far.
    weight: f64,
    /// How many there were.
    blocks: f64,
}

/// A stake that began as 1.
#[derive(Default)]
struct Stake {
    /// What has become of the part that is in, for each bet.
    bets: [f64; BETS.len()],
    /// Blocks so far.
    blocks: f64,
}

impl Evidence {
    /// No evidence yet; the test is wrong with this chance at most, over all blocks that it will ever be shown.
    pub(super) fn new(false_breach: f64) -> Self {
        Self { needed: 2.0 / false_breach, stakes: Default::default(), turn: 0, weight: 0.0, blocks: 0.0 }
    }

    /// Takes in a block: what its figure is of what is allowed, 0 or more, and its weight, above 0 (of a mean over requests, how many they
    /// are). Whether there is now evidence enough that the limit is not kept.
    pub(super) fn take(&mut self, ratio: f64, weight: f64) -> bool {
        let usual = if self.blocks == 0.0 { weight } else { self.weight / self.blocks };
        let size = weight / weight.max(usual);
        self.weight += weight;
        self.blocks += 1.0;
        let stake = &mut self.stakes[self.turn];
        self.turn = 1 - self.turn;
        stake.put_on(size * (ratio - 1.0)) >= self.needed
    }
}

impl Stake {
    /// What has become of it after a block that gives a bet of 1 this gain, -1 or more.
    fn put_on(&mut self, gain: f64) -> f64 {
        self.blocks += 1.0;
        let put_in = 1.0 / (self.blocks * (self.blocks + 1.0));
        for (value, bet) in self.bets.iter_mut().zip(BETS) {
            *value = (*value + put_in) * (1.0 + bet * gain);
        }
        let waiting = 1.0 / (self.blocks + 1.0);
        self.bets.iter().sum::<f64>() / BETS.len() as f64 + waiting
    }
}

#[cfg(test)]
mod tests;
