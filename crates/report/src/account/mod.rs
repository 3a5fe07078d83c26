//! Where time went: accounts, noise and diagnoses of a running server, as text, on the screen and as tables.

pub mod account_screen;
pub mod account_tables;
pub mod account_text;
pub mod changed_cpus;
pub mod counters_text;
pub mod diagnosis_text;
mod figures;
pub mod flamegraph;
pub mod folded;
pub(crate) mod futex_text;
pub mod noise_text;
pub mod openmetrics;
pub(crate) mod profile_text;
pub(crate) mod request_text;
