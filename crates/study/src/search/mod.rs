//! The search for a placement where there are too many to try: classes under the machine's symmetry, a race by whole
//! blocks, and what is left of the budget spent around the best. Pure: no file, clock or process.

mod alike;
mod choices;
mod classes;
mod count;
mod features;
mod fill;
mod forms;
mod group;
mod model;
mod names;
mod race;
mod searcher;
mod shared;
mod space;
mod symmetry;
mod tree;

#[cfg(test)]
mod blind;
#[cfg(test)]
mod tests;

pub use classes::{CpuClass, Key, Listed, Sizes};
pub use count::Count;
pub use fill::Grain;
pub use race::Race;
pub use searcher::{Ask, Outcome, Searcher, Settings, Stage};
pub use space::{Factor, Point, Space};
pub use symmetry::Symmetry;
pub use tree::Level;
