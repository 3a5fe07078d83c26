//! Accounts of a part of the time, and of several parts together.

pub mod detail;
pub mod difference;
pub mod interval_sum;
pub mod look_back;
