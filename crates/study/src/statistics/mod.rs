//! Pure statistics over blocked trials. No file, no clock, no process.

pub mod batch_means;
pub mod bootstrap;
pub mod change_points;
pub mod draws;
pub mod holm;
pub mod linear;
pub mod looks;
pub mod median_interval;
pub mod normal;
pub mod pooled;
pub mod scaling;
pub mod signed_rank;
pub mod stalls;
pub mod summary;
pub mod warm_up;
