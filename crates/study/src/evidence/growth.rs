//! How the figure grows with the server's CPUs, one curve an order of filling: pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::recipe::{Direction, Fill, Precision};
use crate::statistics::scaling::{Point, Scaling, scaling};
use crate::trial::Trial;

/// Resamples of an interval of a curve.
const RESAMPLES: usize = 1000;

/// The curve of one order of filling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// In which order the server's CPUs were taken.
    pub fill: Fill,
    /// The fitted law; `None` where there is none, and then `why` says why.
    pub law: Option<Scaling>,
    /// Why there is no law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A curve for each order of filling of `arms`; none where the study does not scale the server.
pub(super) fn of(
    arms: &[Arm],
    trials: &[Trial],
    metric: &str,
    better: Direction,
    precision: Precision,
    seed: u64,
) -> Vec<Growth> {
    let scales: BTreeMap<&str, _> =
        arms.iter().filter_map(|arm| Some((arm.name.as_str(), arm.scale?))).collect();
    let mut points: BTreeMap<Fill, Vec<Point>> = BTreeMap::new();
    for trial in trials {
        let figure = trial.figures.get(metric).copied().filter(|x| x.is_finite() && *x > 0.0);
        if let (Some(scale), Some(figure)) = (scales.get(trial.arm.as_str()), figure) {
            // The law is of what is done in a time: a latency is turned over.
            let x = match better {
                Direction::Higher => figure,
                Direction::Lower => 1.0 / figure,
            };
            points.entry(scale.fill).or_default().push(Point { block: trial.block, n: scale.cpus as u32, x });
        }
    }
    points
        .into_iter()
        .map(|(fill, points)| match scaling(&points, 1.0 - precision.alpha, RESAMPLES, seed) {
            Ok(law) => Growth { fill, law: Some(law), why: None },
            Err(fault) => Growth { fill, law: None, why: Some(fault.cause) },
        })
        .collect()
}
