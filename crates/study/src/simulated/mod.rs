//! Simulated machines: what a server would reach under a placement, and how noisy a trial of it would be.
//!
//! They take the place of server and machine where the truth must be known: in tests of the search and of the
//! statistics, and in benches. A *landscape* (fixtures/landscapes) is a machine, a workload and a noise; [`Truth::figure`]
//! is the truth, [`Trials`] draws trials around it.

mod landscape;
mod landscape_machine;
mod mixed;
mod noise;
mod production;
mod study_machine;
mod truth;

#[cfg(test)]
mod tests;

pub use landscape::{Landscape, MemoryPolicy, Noise, Published, Shape, Workload};
pub use mixed::Mixed;
pub use noise::Trials;
pub use production::{Flow, Production};
pub use study_machine::{METRIC, Studied};
pub use truth::Truth;
