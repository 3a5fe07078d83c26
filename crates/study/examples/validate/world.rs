//! Made-up machines: trials with noise, slow runs and drift, on which the truth is known.

use std::collections::BTreeMap;

use pinwise_study::{Arm, AsRun, Trial, design::draw_order};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The figure that all made-up trials have.
pub const METRIC: &str = "requests_per_s";

/// What disturbs the runs of a machine.
#[derive(Debug, Clone, Copy)]
pub struct World {
    /// Name in tables.
    pub name: &'static str,
    /// Standard deviation of the log figure from run to run.
    pub noise: f64,
    /// Share of runs that are slow.
    pub slow_share: f64,
    /// Standard deviation of one step of the random walk that the log figure takes from run to run.
    pub drift: f64,
}

/// What a slow run loses, as a log ratio.
const SLOW_LOSS: f64 = 0.2;

/// The machines of the tables: the disturbances of DESIGN.md one by one, then together.
pub const WORLDS: [World; 4] = [
    World { name: "noise 3 %", noise: 0.03, slow_share: 0.0, drift: 0.0 },
    World { name: "noise, 8 % slow runs", noise: 0.03, slow_share: 0.08, drift: 0.0 },
    World { name: "noise, drift 1 % a run", noise: 0.03, slow_share: 0.0, drift: 0.01 },
    World { name: "noise, slow runs, drift", noise: 0.03, slow_share: 0.08, drift: 0.01 },
];

/// A run of luck that a seed repeats.
pub struct Luck(ChaCha8Rng);

impl Luck {
    /// Of study `study` under `seed`.
    pub fn new(seed: u64, study: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(study);
        Self(rng)
    }

    /// Even in 0..1.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A whole number for a seed.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// A machine on which run follows run.
pub struct Runs<'a> {
    world: World,
    luck: &'a mut Luck,
    drifted: f64,
}

impl<'a> Runs<'a> {
    /// Before the first run.
    pub fn new(world: World, luck: &'a mut Luck) -> Self {
        Self { world, luck, drifted: 0.0 }
    }

    /// The log figure of the next run, of something whose true log effect is `effect`.
    pub fn next(&mut self, effect: f64) -> f64 {
        self.drifted += self.world.drift * self.luck.normal();
        let slow = if self.luck.uniform() < self.world.slow_share { -SLOW_LOSS } else { 0.0 };
        10_000f64.ln() + self.drifted + self.world.noise * self.luck.normal() + slow + effect
    }
}

/// The trials of a blocked study on `world`, in an order drawn from the luck, with the true log effect of each arm.
pub fn trials(
    arms: &[Arm],
    blocks: usize,
    world: World,
    luck: &mut Luck,
    effect: impl Fn(&Arm) -> f64,
) -> Vec<Trial> {
    let order = draw_order(arms.len(), blocks, luck.seed());
    let mut runs = Runs::new(world, luck);
    let mut trials = Vec::new();
    for (block, order) in order.into_iter().enumerate() {
        for (position, arm) in order.into_iter().map(|arm| &arms[arm]).enumerate() {
            // A server that loses what the dose takes.
            let taken = arm.placement.dose.as_ref().map_or(0.0, |dose| (1.0 - dose.share()).ln());
            trials.push(Trial {
                index: trials.len(),
                block,
                position,
                arm: arm.name.clone(),
                figures: BTreeMap::from([(METRIC.to_string(), runs.next(effect(arm) + taken).exp())]),
                ..Trial::default()
            });
        }
    }
    trials
}

/// The trial with what the dose of its arm took, as the kernel would report it.
pub fn with_what_was_taken(arms: &[Arm], trial: Trial) -> Trial {
    let arm = arms.iter().find(|arm| arm.name == trial.arm);
    let dose_taken_share = arm.and_then(|arm| arm.placement.dose.as_ref()).map(|dose| dose.share());
    Trial { as_run: AsRun { dose_taken_share, ..trial.as_run.clone() }, ..trial }
}
