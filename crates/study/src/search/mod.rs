//! The search for a placement where there are too many to try: classes under the machine's symmetry, a race by whole
//! blocks, and what is left of the budget spent around the best. Pure: no file, clock or process.

mod big_count;
mod canonical_forms;
mod choices;
mod class_names;
mod classes;
mod features;
mod gaussian_process;
mod grain;
mod level_covariance;
mod node_symmetry;
mod race;
mod searcher;
mod space;
mod symmetry;
mod tree;
mod value_classes;

#[cfg(test)]
mod simulation_tests;
#[cfg(test)]
mod tests;

pub use big_count::Count;
pub use classes::{CpuClass, Key, Listed, Sizes};
pub use grain::Grain;
pub use race::Race;
pub use searcher::{Ask, Outcome, Searcher, Settings, Stage};
pub use space::{Factor, Point, Space};
pub use symmetry::Symmetry;
pub use tree::Level;
