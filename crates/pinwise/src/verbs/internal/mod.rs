//! Verbs that pinwise starts for itself: servers, loads, helpers of studies and of changes. They are not shown in `--help`.

pub mod agent;
pub mod hold_latency;
pub mod raw;
pub mod report_page;
pub mod revert;
pub mod storm;
pub mod thief;
