//! Trials during which the traffic was another than in the rest of their block.
//!
//! Arms are compared within a block, so that traffic which drifts slowly falls out of every ratio. Traffic that jumps in the middle of a
//! block does not: the arms before the jump and those after it served different loads. The rule looks at the traffic alone, never at the
//! figure that decides, and never at the arm. A jump is a change from one trial to the next that is large, beyond what counting so many
//! requests gives by chance, and beyond what is usual from trial to trial in the block: a drift changes by about as much from each trial to
//! the next. A block falls into stretches between its jumps; stretches on the same level belong together, the level with the most
//! trials stands, and the other trials are run again.
//!
//! Of clients that wait for their answers, a slower server has less traffic: an arm may be what makes it jump. Repeats are therefore
//! bounded, and the last attempt counts whatever its traffic, as with every other disturbance ([`crate::schedule`]).

use std::collections::BTreeMap;

use load::outcome::traffic::{PortTraffic, Traffic};
use serde::{Deserialize, Serialize};

use crate::schedule::attempts;
use crate::statistics::summary::median;
use crate::trial::Trial;

/// A change of the rate by less than this factor is none.
const RATE_FACTOR: f64 = 1.5;

/// A mix of which less than this share of the requests went to other ports is the same.
const MOVED_SHARE: f64 = 0.2;

/// Standard deviations of a Poisson count within which a change of the rate is chance.
const BY_CHANCE: f64 = 4.0;

/// A change of less than so many times what is usual from trial to trial of the block is none.
const USUAL_TIMES: f64 = 3.0;

/// The largest changes of a block, which are not usual: one burst is two of them, up and down.
const OF_A_BURST: usize = 2;

/// How the traffic of a trial differed from that of its block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// It had another rate.
    Rate {
        /// Its rate over that of the trial that stands and was nearest in time.
        ratio: f64,
    },
    /// It came in at other ports.
    Mix {
        /// Share of the requests that went to other ports, 0 to 1.
        moved_share: f64,
    },
}

/// A trial with another traffic than the rest of its block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// Number of the trial.
    pub trial: usize,
    /// Its block, from 0.
    pub block: usize,
    /// Its arm.
    pub arm: String,
    /// How it differed.
    pub how: Kind,
}

/// The traffic of one trial, as far as it is compared.
struct Seen<'a> {
    trial: &'a Trial,
    per_s: f64,
    requests: f64,
    traffic: &'a Traffic,
}

impl<'a> Seen<'a> {
    fn of(trial: &'a Trial) -> Option<Self> {
        let figure = |name: &str| trial.figures.get(name).copied().filter(|value| value.is_finite());
        let traffic = trial.traffic.as_ref()?;
        Some(Self { trial, per_s: figure("requests_per_s")?, requests: figure("completed")?, traffic })
    }

    /// The log ratio of its rate to that of another, and what of it chance gives. One request more keeps a lull finite.
    fn rate_change(&self, other: &Self) -> (f64, f64) {
        let length_s = |seen: &Self| if seen.per_s > 0.0 { seen.requests / seen.per_s } else { 1.0 };
        let rate = |seen: &Self| (seen.requests + 1.0) / length_s(seen).max(1e-3);
        let by_chance = BY_CHANCE * (1.0 / (self.requests + 1.0) + 1.0 / (other.requests + 1.0)).sqrt();
        ((rate(self) / rate(other)).ln(), by_chance)
    }

    /// How far it is from another: 1 at the edge of what counts as a jump.
    fn distance(&self, other: &Self) -> f64 {
        let (change, by_chance) = self.rate_change(other);
        let of_rate = change.abs() / RATE_FACTOR.ln().max(by_chance);
        // Few requests spread over the ports by chance.
        let enough = self.requests.min(other.requests) * MOVED_SHARE >= BY_CHANCE.powi(2);
        let of_mix =
            if enough { moved(&self.traffic.ports, &other.traffic.ports) / MOVED_SHARE } else { 0.0 };
        of_rate.max(of_mix)
    }

    fn how(&self, other: &Self) -> Kind {
        let (change, by_chance) = self.rate_change(other);
        match change.abs() > RATE_FACTOR.ln().max(by_chance) {
            true => Kind::Rate { ratio: change.exp() },
            false => Kind::Mix { moved_share: moved(&self.traffic.ports, &other.traffic.ports) },
        }
    }
}

/// Share of the requests that went elsewhere: the total variation distance of the two mixes. 0 where either is not known.
fn moved(a: &[PortTraffic], b: &[PortTraffic]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let share = |of: &[PortTraffic], port: &PortTraffic| -> f64 {
        of.iter().filter(|other| other.at == port.at).map(|other| other.share).sum()
    };
    // What one has more than the other is what the other has less.
    a.iter().map(|port| (share(a, port) - share(b, port)).max(0.0)).sum::<f64>().clamp(0.0, 1.0)
}

/// The trials whose traffic jumped, of all blocks, in order of blocks and time; of repeated trials the last attempt.
pub fn of(trials: &[Trial]) -> Vec<Jump> {
    let mut blocks: BTreeMap<usize, Vec<Trial>> = BTreeMap::new();
    for trial in attempts::counted(trials) {
        blocks.entry(trial.block).or_default().push(trial);
    }
    blocks.into_values().flat_map(|block| of_block(&block)).collect()
}

/// The trials of one block whose traffic jumped, in order of time.
pub fn of_block(trials: &[Trial]) -> Vec<Jump> {
    let mut seen: Vec<Seen<'_>> = trials.iter().filter_map(Seen::of).collect();
    seen.sort_by_key(|seen| seen.trial.index);
    let levels = levels(&seen);
    let count = |level: usize| levels.iter().filter(|of| **of == level).count();
    // The later of two that are as long: what is run again meets it.
    let Some(stands) = levels.iter().copied().max_by_key(|level| (count(*level), *level)) else {
        return Vec::new();
    };
    let jumped = |at: usize| {
        let standing = (0..seen.len()).filter(|other| levels[*other] == stands);
        let nearest = standing.min_by_key(|other| other.abs_diff(at))?;
        let Trial { index, block, arm, .. } = seen[at].trial;
        let how = seen[at].how(&seen[nearest]);
        Some(Jump { trial: *index, block: *block, arm: arm.clone(), how })
    };
    (0..seen.len()).filter(|at| levels[*at] != stands).filter_map(jumped).collect()
}

/// The level of each trial, in order of time: a number that trials on the same level share.
fn levels(seen: &[Seen<'_>]) -> Vec<usize> {
    let changes: Vec<f64> = seen.windows(2).map(|pair| pair[1].distance(&pair[0])).collect();
    let usual = usual(&changes);
    let is_jump = |change: f64| change > 1.0 && change > USUAL_TIMES * usual;
    let mut levels: Vec<usize> = Vec::with_capacity(seen.len());
    let mut next = 0;
    for at in 0..seen.len() {
        let goes_on = at > 0 && !is_jump(changes[at - 1]);
        let level = match goes_on {
            true => levels[at - 1],
            // Back on a level that was left: the last trial on it is near.
            false => (0..at).rev().find(|earlier| !is_jump(seen[at].distance(&seen[*earlier]))).map_or_else(
                || {
                    next += 1;
                    next
                },
                |earlier| levels[earlier],
            ),
        };
        levels.push(level);
    }
    levels
}

/// The change from trial to trial that is usual: the median of all but the largest. 0 where there are no others.
fn usual(changes: &[f64]) -> f64 {
    let mut rising = changes.to_vec();
    rising.sort_by(f64::total_cmp);
    rising.truncate(changes.len().saturating_sub(OF_A_BURST));
    median(&rising).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use probe::requests::Endpoint;

    use super::*;

    /// Trials of a block one after the other, of which each sees so many requests in 2 s; of those so many in a hundred at port 81.
    fn block(requests: &[(f64, u64)]) -> Vec<Trial> {
        let trial = |(index, (requests, percent)): (usize, &(f64, u64))| {
            let port = |port: u16, share: f64| PortTraffic {
                at: Endpoint::Port(port),
                requests: (requests * share) as u64,
                share,
                clients: None,
                counted: None,
            };
            let moved = *percent as f64 / 1e2;
            let ports = vec![port(80, 1.0 - moved), port(81, moved)];
            let figures = [("completed", *requests), ("requests_per_s", requests / 2.0)];
            Trial {
                index,
                position: index,
                arm: format!("arm {index}"),
                figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
                traffic: Some(Traffic { ports, ..Traffic::default() }),
                ..Trial::default()
            }
        };
        requests.iter().enumerate().map(trial).collect()
    }

    fn rates(requests: &[f64]) -> Vec<usize> {
        let block = block(&requests.iter().map(|requests| (*requests, 10)).collect::<Vec<_>>());
        of(&block).into_iter().map(|jump| jump.trial).collect()
    }

    #[test]
    fn a_burst_is_run_again_and_what_comes_before_and_after_it_stands() {
        assert_eq!(rates(&[1000.0, 1030.0, 990.0, 2500.0, 1010.0, 980.0]), [3]);
        assert_eq!(rates(&[1000.0, 1030.0, 990.0, 20.0, 1010.0, 980.0]), [3], "a lull, too");
    }

    #[test]
    fn of_a_step_the_longer_side_stands_and_of_two_as_long_the_later() {
        assert_eq!(rates(&[1000.0, 1010.0, 3000.0, 3100.0, 2950.0, 3050.0]), [0, 1]);
        assert_eq!(rates(&[1000.0, 1010.0, 990.0, 3000.0, 3100.0, 2950.0]), [0, 1, 2]);
    }

    #[test]
    fn a_drift_is_no_jump_however_far_it_goes() {
        let drift: Vec<f64> = (0..10).map(|at| 1000.0 * 1.25f64.powi(at)).collect();
        assert_eq!(rates(&drift), [0usize; 0]);
        let steep: Vec<f64> = (0..8).map(|at| 1000.0 * 1.7f64.powi(at)).collect();
        assert_eq!(rates(&steep), [0usize; 0]);
    }

    #[test]
    fn few_requests_and_traffic_that_always_leaps_are_no_jump() {
        assert_eq!(rates(&[10.0, 6.0, 14.0, 18.0, 8.0, 11.0]), [0usize; 0]);
        assert_eq!(rates(&[1000.0, 2500.0, 900.0, 2600.0, 1100.0, 2400.0, 1000.0]), [0usize; 0]);
    }

    #[test]
    fn another_mix_is_a_jump_and_says_how_much_moved() {
        let trials = block(&[(1000.0, 10), (1000.0, 12), (1000.0, 60), (1000.0, 9), (1000.0, 11)]);
        let jumps = of_block(&trials);
        assert_eq!(jumps.len(), 1);
        let Kind::Mix { moved_share } = jumps[0].how else { panic!("{jumps:?}") };
        assert!(jumps[0].trial == 2 && (0.45..0.55).contains(&moved_share), "{jumps:?}");
        let few = block(&[(40.0, 10), (40.0, 60), (40.0, 10)]);
        assert!(of_block(&few).is_empty(), "few requests say nothing of a mix");
    }

    #[test]
    fn a_trial_that_was_run_again_is_judged_by_its_last_attempt() {
        let mut trials = block(&[(1000.0, 10), (3000.0, 10), (1000.0, 10), (1010.0, 10)]);
        assert_eq!(of(&trials).len(), 1);
        trials[3].position = 1;
        trials[3].attempt = 1;
        assert!(of(&trials).is_empty());
        trials.iter_mut().for_each(|trial| trial.traffic = None);
        assert!(of(&trials).is_empty(), "what was not seen did not jump");
    }

    proptest::proptest! {
        #[test]
        fn no_traffic_makes_it_panic_and_most_trials_stand(rates in proptest::collection::vec(0.0f64..1e7, 0..20)) {
            let block = block(&rates.iter().map(|rate| (rate.floor(), 10)).collect::<Vec<_>>());
            let jumps = of_block(&block);
            proptest::prop_assert!(block.is_empty() || jumps.len() < block.len());
        }
    }
}
