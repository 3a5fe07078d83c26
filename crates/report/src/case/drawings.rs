//! The drawings of the pages. Each takes plain data and gives back one accessible SVG.

pub mod bars;
pub mod cliff;
pub mod curves;
pub mod explained;
pub mod growth;
pub mod order;
pub mod waterfall;

mod kind;

pub use kind::Kind;
