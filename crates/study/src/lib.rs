//! RUNS: designs, trials, the case folder, and the statistics over it.
//!
//! A study is randomised complete blocks ([`design`]) of arms ([`arm`]); each trial goes through the hand of `change`
//! and lands in the case directory ([`case`]) before the next begins. Evidence ([`evidence`]) is pure and can be
//! computed again from the files alone.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod arm;
pub mod boots;
pub mod case;
pub mod case_search;
pub mod cliff;
pub mod combinations;
pub mod comparison;
pub mod design;
pub mod engine;
pub mod evidence;
pub mod expectation;
pub mod facts;
pub mod fill;
pub mod intervention;
pub mod latencies;
pub mod levels;
pub mod linear_model;
pub mod looks;
pub mod observed_blocks;
pub mod own_traffic;
pub mod pilot;
pub mod recipe;
pub mod saturation;
pub mod schedule;
pub mod screening;
pub mod search;
pub mod simulated;
pub mod statistics;
pub mod trial;
mod trial_figures;

pub use arm::{Arm, Role};
pub use case::{Case, Resolved};
pub use cliff::Cliff;
pub use evidence::{Contrast, Evidence, Question, Trust, Verdict};
pub use expectation::Expectation;
pub use facts::{Calibration, Facts, Seen, SeenObserved};
pub use intervention::{Intervention, Prediction, Proof};
pub use observed_blocks::Observed;
pub use pilot::Pilot;
pub use recipe::{Direction, Precision, Recipe};
pub use screening::Screening;
pub use trial::{AsRun, Demand, Misplaced, Parts, Quota, Trial, WarmUp, Within};
