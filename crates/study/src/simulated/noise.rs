//! Trials around the truth, drawn from a seed.

use super::landscape::Noise;
use crate::statistics::draws::Draws;

/// A machine in time: each trial has noise of its own, some are slow, and the whole drifts from trial to trial.
#[derive(Debug, Clone)]
pub struct Trials {
    noise: Noise,
    draws: Draws,
    /// Log of where the drift is.
    drift: f64,
    /// How many were drawn.
    pub drawn: usize,
}

impl Trials {
    /// Begins at a drift of 1; the same seed gives the same trials.
    pub fn new(noise: Noise, seed: u64) -> Self {
        Self { noise, draws: Draws::new(seed), drift: 0.0, drawn: 0 }
    }

    /// The next trial of something whose true figure is `figure`.
    pub fn run(&mut self, figure: f64) -> f64 {
        self.drawn += 1;
        self.drift += self.noise.drift * self.draws.normal();
        let own = self.noise.sd * self.draws.normal();
        let slow = match self.draws.uniform() < self.noise.slow_runs {
            true => (-self.noise.slow_loss * (0.5 + 0.5 * self.draws.uniform())).ln_1p(),
            false => 0.0,
        };
        figure * (self.drift + own + slow).exp()
    }
}
