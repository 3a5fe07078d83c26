//! What the trials so far say about placements that were not tried: a Gaussian process over their features.
//!
//! Source: Rasmussen, Williams, *Gaussian Processes for Machine Learning*, chapters 2 and 5 (algorithm 2.1, Matern 5/2).
//! Levels of factors have main effects and interactions of two there (an additive kernel: Duvenaud, Nickisch, Rasmussen 2011).
//! Every trial is one observation: common part + what the features say + what the arm has of its own + block + noise.
//! Blocks are part of the model, so that what drifts from block to block is not taken for an effect. The model guides
//! which arms are tried; no claim rests on it.

use super::level_covariance::LevelCovariance;
use crate::statistics::linear::Cholesky;

/// One trial: which arm, in which block, and the log of its figure, more is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seen {
    /// The arm.
    pub arm: usize,
    /// The block.
    pub block: usize,
    /// Log of the figure, signed so that more is better.
    pub gain: f64,
}

/// How strong each part is: the settings of the model, chosen by how likely they make what was seen.
#[derive(Debug, Clone, PartialEq)]
struct Strength {
    /// Variance of what the features say.
    signal: f64,
    /// How it falls off from arm to arm.
    likeness: Likeness,
    /// Variance of the noise.
    noise: f64,
}

/// What two arms have in common.
#[derive(Debug, Clone, PartialEq)]
enum Likeness {
    /// More, the nearer their features are; forgotten at this distance.
    Near(f64),
    /// The levels that they share.
    Shared(LevelCovariance),
}

/// The model after some trials.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    strength: Strength,
    /// Trials that its strength was chosen by.
    chosen_at: usize,
    centre: f64,
    seen: Vec<Seen>,
    features: Vec<Vec<f64>>,
    /// Of the covariance of the trials.
    factor: Cholesky,
    weights: Vec<f64>,
}

/// Variances that are the same for every study: log figures of blocks differ by some tens of per cent at most.
const BLOCK: f64 = 0.01;
/// Variance of what an arm has of its own, that its features do not explain: 1 %.
const OWN: f64 = 0.0001;
/// Variance of the common part, on top of the signal.
const COMMON: f64 = 1.0;
/// Trials that lie further below the model than so many standard deviations count for little: slow runs.
const SLOW: f64 = 2.5;
/// How much larger the variance of such a trial is taken to be.
const DISTRUST: f64 = 25.0;

/// Shares of what pairs of levels do together that are tried, of all that levels do.
const PAIRS: [f64; 3] = [0.05, 0.2, 0.5];
/// How much more or less than the others a factor may matter, as factors that are tried.
const WEIGHED: [f64; 4] = [0.02, 0.2, 3.0, 10.0];

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

impl Strength {
    fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let alike = match &self.likeness {
            Likeness::Near(reach) => {
                let r = 5.0_f64.sqrt() * distance(a, b) / reach;
                (1.0 + r + r * r / 3.0) * (-r).exp()
            }
            Likeness::Shared(shared) => shared.between(a, b),
        };
        COMMON + self.signal * alike
    }
}

impl Model {
    /// Fits the model; `features` are those of each trial's arm. `None` for fewer than two trials. How strong its parts
    /// are is chosen anew when there are a quarter more trials than when it was chosen for `before`.
    ///
    /// Where the features are levels alone, `levels` are their numbers by factor; else it is empty.
    pub(crate) fn fit(
        seen: &[Seen],
        features: &[Vec<f64>],
        levels: &[usize],
        before: Option<&Self>,
    ) -> Option<Self> {
        if seen.len() < 2 {
            return None;
        }
        let trusted = vec![1.0; seen.len()];
        let kept = before.filter(|before| seen.len() * 4 < before.chosen_at * 5);
        let model = match kept {
            Some(before) => Self::with(before.strength.clone(), seen, features, &trusted)?,
            None if levels.is_empty() => Self::choose(seen, features, &trusted)?,
            None => Self::choose_shared(seen, features, levels, &trusted)?,
        };
        let trust = model.trust();
        let chosen_at = kept.map_or(seen.len(), |before| before.chosen_at);
        Some(Self { chosen_at, ..Self::with(model.strength.clone(), seen, features, &trust)? })
    }

    /// The model of the strength that makes what was seen most likely.
    fn choose(seen: &[Seen], features: &[Vec<f64>], trusted: &[f64]) -> Option<Self> {
        let spread = spread(seen);
        let near = |reach| Likeness::Near(reach);
        let strengths =
            [0.6, 1.2, 2.4].into_iter().flat_map(|reach| strengths(&near(reach), spread)).collect();
        Self::likeliest(strengths, seen, features, trusted)
    }

    /// The same for levels alone: first how much pairs of factors do together, then which factors matter.
    fn choose_shared(
        seen: &[Seen],
        features: &[Vec<f64>],
        levels: &[usize],
        trusted: &[f64],
    ) -> Option<Self> {
        let spread = spread(seen);
        let of = |pairs| strengths(&Likeness::Shared(LevelCovariance::new(levels, pairs)), spread);
        let all = PAIRS.into_iter().flat_map(of).collect();
        let mut best = Self::likeliest(all, seen, features, trusted)?;
        for factor in 0..levels.len() {
            let mut tried = vec![best.strength.clone()];
            for times in WEIGHED {
                let mut other = best.strength.clone();
                if let Likeness::Shared(shared) = &mut other.likeness {
                    shared.weigh(factor, times);
                }
                tried.push(other);
            }
            best = Self::likeliest(tried, seen, features, trusted)?;
        }
        Some(best)
    }

    fn likeliest(
        strengths: Vec<Strength>,
        seen: &[Seen],
        features: &[Vec<f64>],
        trusted: &[f64],
    ) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for strength in strengths {
            let model = Self::with(strength, seen, features, trusted)?;
            let likely = model.log_likelihood();
            if best.as_ref().is_none_or(|(most, _)| likely > *most) {
                best = Some((likely, model));
            }
        }
        best.map(|(_, model)| model)
    }

    fn with(strength: Strength, seen: &[Seen], features: &[Vec<f64>], trust: &[f64]) -> Option<Self> {
        let centre = seen.iter().map(|s| s.gain).sum::<f64>() / seen.len() as f64;
        let cell = |i: usize, j: usize| {
            let mut sum = strength.between(&features[i], &features[j]);
            if seen[i].arm == seen[j].arm {
                sum += OWN;
            }
            if seen[i].block == seen[j].block {
                sum += BLOCK;
            }
            if i == j {
                sum += strength.noise * trust[i];
            }
            sum
        };
        let factor = Cholesky::of(seen.len(), 0.0, cell)?;
        let residual: Vec<f64> = seen.iter().map(|s| s.gain - centre).collect();
        let weights = factor.solve(&residual);
        Some(Self {
            strength,
            chosen_at: seen.len(),
            centre,
            seen: seen.to_vec(),
            features: features.to_vec(),
            factor,
            weights,
        })
    }

    fn log_likelihood(&self) -> f64 {
        let fit: f64 = self.seen.iter().zip(&self.weights).map(|(s, w)| (s.gain - self.centre) * w).sum();
        -0.5 * fit - 0.5 * self.factor.log_determinant()
    }

    /// 1 for a trial like the others, more for one that is far too slow for what its arm does elsewhere.
    fn trust(&self) -> Vec<f64> {
        // Noise part of each residual: noise * weight.
        let noise_sd = self.strength.noise.sqrt();
        let slow = |weight: &f64| weight * self.strength.noise < -SLOW * noise_sd;
        self.weights.iter().map(|weight| if slow(weight) { DISTRUST } else { 1.0 }).collect()
    }

    fn towards(&self, arm: Option<usize>, features: &[f64]) -> Vec<f64> {
        let own = |seen: &Seen| if Some(seen.arm) == arm { OWN } else { 0.0 };
        let pairs = self.seen.iter().zip(&self.features);
        pairs.map(|(seen, theirs)| self.strength.between(features, theirs) + own(seen)).collect()
    }

    /// What the arm is expected to reach, log, in an ordinary block.
    pub(crate) fn mean(&self, arm: usize, features: &[f64]) -> f64 {
        let towards = self.towards(Some(arm), features);
        self.centre + towards.iter().zip(&self.weights).map(|(k, w)| k * w).sum::<f64>()
    }

    /// Draws what all of the candidates together may be, once for each vector of standard normal numbers.
    pub(crate) fn draw(&self, candidates: &[(usize, &[f64])], normals: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let towards: Vec<Vec<f64>> = candidates.iter().map(|(arm, f)| self.towards(Some(*arm), f)).collect();
        let known: Vec<Vec<f64>> = towards.iter().map(|k| self.factor.forward(k)).collect();
        let mean = |k: &Vec<f64>| self.centre + k.iter().zip(&self.weights).map(|(k, w)| k * w).sum::<f64>();
        let means: Vec<f64> = towards.iter().map(mean).collect();
        let cell = |i: usize, j: usize| {
            let prior = self.strength.between(candidates[i].1, candidates[j].1);
            let own = if i == j { OWN + 1e-7 } else { 0.0 };
            prior + own - known[i].iter().zip(&known[j]).map(|(a, b)| a * b).sum::<f64>()
        };
        let Some(factor) = Cholesky::of(candidates.len(), 0.0, cell) else {
            return vec![means; normals.len()];
        };
        let one = |normals: &Vec<f64>| -> Vec<f64> {
            factor.times(normals).iter().zip(&means).map(|(part, mean)| mean + part).collect()
        };
        normals.iter().map(one).collect()
    }
}

/// What may be tried for the variances of signal and noise.
fn strengths(likeness: &Likeness, spread: f64) -> Vec<Strength> {
    let signals = [spread, 4.0 * spread].into_iter();
    let of =
        |signal| [0.0003, 0.001, 0.003].map(|noise| Strength { signal, likeness: likeness.clone(), noise });
    signals.flat_map(of).collect()
}

/// Variance of what was seen, at least that of 3 %.
fn spread(seen: &[Seen]) -> f64 {
    let mean = seen.iter().map(|s| s.gain).sum::<f64>() / seen.len() as f64;
    let variance = seen.iter().map(|s| (s.gain - mean).powi(2)).sum::<f64>() / seen.len() as f64;
    variance.max(0.0009)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_distinguished_from_arms_and_the_middle_is_guessed() {
        // Arms on a line, each seen in two blocks, the second block 20 % up.
        let arms = [0.0, 0.5, 1.0];
        let mut seen = Vec::new();
        let mut features = Vec::new();
        for block in 0..2 {
            for (arm, at) in arms.iter().enumerate().filter(|(arm, _)| block == 0 || *arm < 2) {
                seen.push(Seen { arm, block, gain: at * 0.3 + 0.2 * block as f64 });
                features.push(vec![*at]);
            }
        }
        let model = Model::fit(&seen, &features, &[], None).unwrap();
        let means: Vec<f64> = arms.iter().enumerate().map(|(arm, at)| model.mean(arm, &[*at])).collect();
        assert!(means[0] < means[1] && means[1] < means[2], "{means:?}");
        let between = model.mean(9, &[0.75]);
        assert!(means[1] < between && between < means[2], "{between} {means:?}");
    }
}
