//! Reports of hand-built cases in several shapes: 16 CPUs with one slow, 2 CPUs, 256 CPUs, nothing measured, hostile names.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The crate's own name has the workspace's prefix; the rest of the house knows it as `report`.
extern crate pinwise_report as report;

mod build;
mod e5;
mod fields;
mod headline;
mod html;
mod json;
mod look;
mod observed;
mod others;
mod places;
mod scaling;
mod table;
mod viewer;
mod wide;
