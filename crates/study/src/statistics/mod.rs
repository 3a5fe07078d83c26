//! Pure statistics over blocked trials. No file, no clock, no process.

pub mod draws;
pub mod holm;
pub mod signed_rank;
pub mod summary;
pub mod warm_up;
