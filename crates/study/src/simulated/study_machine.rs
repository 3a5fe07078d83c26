//! A simulated machine in the place of server, load and machine of a study: the engine runs its trials on it, blind.

use std::path::Path;

use machine::{CpuSet, Fault, MemoryMode, Placement};

use super::{MemoryPolicy, Truth};
use crate::engine::{Planned, Trials};
use crate::statistics::draws::Draws;
use crate::trial::Trial;

/// The figure that its trials give.
pub const METRIC: &str = "requests_per_s";

/// Trials on a simulated machine. What a trial gives depends on its arm, block, position and attempt alone, and on the seed: a
/// study that was killed and resumed meets the same trials as one that was not.
#[derive(Debug, Clone)]
pub struct Studied {
    truth: Truth,
    seed: u64,
    /// Whether the load runs on the machine, and is a limit and a neighbour there; else its CPUs are those of another.
    pub load_is_here: bool,
}

impl Studied {
    /// Trials of `truth`; its load runs on another machine.
    pub fn new(truth: Truth, seed: u64) -> Self {
        Self { truth, seed, load_is_here: false }
    }

    /// What the placement reaches without noise.
    pub fn figure(&self, placement: &Placement) -> f64 {
        let server = placement.server_cpus.clone().unwrap_or_else(|| self.truth.machine().usable());
        let load = placement.load_cpus.clone().unwrap_or_default();
        let policy = match &placement.memory {
            Some(policy) if policy.mode == MemoryMode::Interleave => MemoryPolicy::Interleave,
            _ => MemoryPolicy::Local,
        };
        // Server and load on the same CPUs and no others take turns.
        let crowded = if server == load { 0.5 } else { 1.0 };
        let beside = if self.load_is_here { load.difference(&server) } else { CpuSet::new() };
        let left = 1.0 - placement.dose.as_ref().map_or(0.0, |dose| dose.share());
        left * crowded * self.truth.figure(&server, &beside, policy)
    }

    /// Noise as a factor: a part that all trials of a block have, one of its own, and now and then a slow run.
    fn noise(&self, block: usize, position: usize, attempt: usize) -> f64 {
        let noise = self.truth.landscape().noise;
        let stream = |words: [usize; 3]| {
            let mixed = words.iter().fold(self.seed, |mixed, word| {
                (mixed ^ *word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
            });
            Draws::new(mixed)
        };
        let drift = 3.0 * noise.drift * stream([block, usize::MAX, 0]).normal();
        let mut own = stream([block, position, attempt]);
        let scatter = noise.sd * own.normal();
        let slow = match own.uniform() < noise.slow_runs {
            true => (-noise.slow_loss * (0.5 + 0.5 * own.uniform())).ln_1p(),
            false => 0.0,
        };
        (drift + scatter + slow).exp()
    }
}

impl Trials for Studied {
    fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
        let Planned { index, block, position, attempt, arm, .. } = *planned;
        let figure = self.figure(&arm.placement) * self.noise(block, position, attempt);
        Ok(Trial {
            index,
            block,
            position,
            attempt,
            arm: arm.name.clone(),
            figures: [(METRIC.to_string(), figure)].into(),
            ..Trial::default()
        })
    }
}
