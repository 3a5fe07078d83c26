//! Accounts of a part of the time, and of several parts together.

pub mod between;
pub mod detail;
pub mod look_back;
pub mod whole;
