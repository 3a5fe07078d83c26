//! A server in production whose truth is known: its traffic rises and falls, wanders and comes in bursts, and its latency follows.

use std::collections::BTreeMap;
use std::path::Path;

use load::outcome::traffic::Traffic;
use machine::Fault;

use crate::engine::{Planned, Trials};
use crate::statistics::draws::Draws;
use crate::trial::Trial;

#[cfg(test)]
mod tests;

/// How long a trial with what is left out before it takes, s.
const TRIAL_S: f64 = 4.0;

/// Requests a second where the traffic is as it is on the whole.
const USUAL_PER_S: f64 = 1000.0;

/// Latency there, us.
const USUAL_US: f64 = 900.0;

/// How the log latency changes with the log rate.
const LATENCY_BY_RATE: f64 = 0.8;

/// By how much a burst that lasts a whole trial raises the rate.
const BURST: f64 = 2.0;

/// How the traffic of a server goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Name in tables.
    pub name: &'static str,
    /// Amplitude of its slow rise and fall, in logs.
    pub tide: f64,
    /// Period of that, s.
    pub tide_s: f64,
    /// Standard deviation of its wandering, in logs.
    pub wander: f64,
    /// After this long what it was before is forgotten, s.
    pub wander_s: f64,
    /// Mean time from one burst to the next, s; none where it is infinite.
    pub between_bursts_s: f64,
}

impl Flow {
    /// Nothing but chance from trial to trial.
    pub const STEADY: Self = Self {
        name: "steady",
        tide: 0.0,
        tide_s: 3600.0,
        wander: 0.0,
        wander_s: 20.0,
        between_bursts_s: f64::INFINITY,
    };
    /// It rises and falls by more than half within an hour.
    pub const TIDAL: Self = Self { name: "rise and fall", tide: 0.5, ..Self::STEADY };
    /// What it was a few trials ago it still is in part.
    pub const WANDERING: Self = Self { name: "wandering", wander: 0.2, ..Self::STEADY };
    /// Bursts of a few seconds, one a minute.
    pub const BURSTY: Self = Self { name: "bursts", between_bursts_s: 60.0, ..Self::STEADY };
    /// All of it.
    pub const ALL: Self =
        Self { name: "all of these", tide: 0.5, wander: 0.2, between_bursts_s: 60.0, ..Self::STEADY };
}

/// Trials of a server in production, one after the other in its time.
#[derive(Debug, Clone)]
pub struct Production {
    flow: Flow,
    draws: Draws,
    now_s: f64,
    wander: f64,
    burst_s: f64,
    /// Log effect on the latency, by arm.
    effects: BTreeMap<String, f64>,
}

impl Production {
    /// A server with such traffic, at a time of day that the seed draws; `effects` are on the log latency, by arm.
    pub fn new(flow: Flow, effects: BTreeMap<String, f64>, seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let now_s = draws.uniform() * flow.tide_s;
        let wander = draws.normal();
        let mut production = Self { flow, draws, now_s, wander, burst_s: 0.0, effects };
        production.burst_s = now_s + production.until_burst_s();
        production
    }

    fn until_burst_s(&mut self) -> f64 {
        let even = 1.0 - self.draws.uniform();
        -even.ln() * self.flow.between_bursts_s
    }

    /// Log of the rate in the next trial over the usual one.
    fn log_rate(&mut self) -> f64 {
        let kept = (-TRIAL_S / self.flow.wander_s).exp();
        self.wander = kept * self.wander + (1.0 - kept * kept).sqrt() * self.draws.normal();
        let tide = self.flow.tide * (std::f64::consts::TAU * self.now_s / self.flow.tide_s).sin();
        let end_s = self.now_s + TRIAL_S;
        let mut burst = 0.0;
        if self.burst_s < end_s {
            let share = ((1.0 + 5.0 * self.draws.uniform()) / TRIAL_S).min(1.0);
            burst = (share * BURST).ln_1p();
            self.burst_s = end_s + self.until_burst_s();
        }
        self.now_s = end_s;
        tide + self.flow.wander * self.wander + burst
    }

    /// Rate, requests/s, and latency, us, of the next trial, of an arm with this effect on the log latency.
    pub fn trial(&mut self, effect: f64) -> (f64, f64) {
        let log_rate = self.log_rate();
        let chance = 0.05 * self.draws.normal();
        (USUAL_PER_S * log_rate.exp(), USUAL_US * (LATENCY_BY_RATE * log_rate + effect + chance).exp())
    }
}

impl Trials for Production {
    fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
        let Planned { index, block, position, attempt, arm, .. } = *planned;
        let effect = self.effects.get(&arm.name).copied().unwrap_or(0.0);
        let (per_s, us) = self.trial(effect);
        let figures = [
            ("requests_per_s", per_s),
            ("completed", (per_s * TRIAL_S / 2.0).round()),
            ("latency_p99_us", us),
        ];
        Ok(Trial {
            index,
            block,
            position,
            attempt,
            arm: arm.name.clone(),
            figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
            traffic: Some(Traffic::default()),
            ..Trial::default()
        })
    }
}
