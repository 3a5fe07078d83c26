//! SHOWS: machine and case as terminal text, HTML and JSON.
//!
//! Everything here is pure: what is shown comes in as [`view::CaseView`] or [`study::Facts`], what comes out is text
//! (or the bytes of a [`trace`]).
//! Deciding what the answer is ([`headline`], [`heat`], [`unpinned`], [`absent`]) is apart from drawing it
//! ([`table`], [`pages`], [`json`], [`junit`]), so that terminal, page and JSON cannot say different things.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod absent;
pub mod account_screen;
pub mod account_tables;
pub mod account_text;
mod arrangement;
pub mod compare_text;
pub mod control_words;
pub mod counters_text;
pub mod diagnosis_text;
pub mod distances_text;
mod drawings;
pub mod every_arm_text;
mod expectation_words;
pub mod explanation_text;
mod explanation_words;
pub mod folded;
mod futex_text;
mod grid;
pub mod headline;
pub mod heat;
pub mod html;
pub mod json;
pub mod junit;
pub mod live;
mod locality_words;
pub mod machine_text;
pub mod markup;
pub mod next_steps;
pub mod noise_text;
mod notes;
pub mod number;
pub mod pages;
pub mod picture;
pub mod plan_text;
mod profile_text;
pub mod screening_words;
pub mod so_far;
pub mod stalled_text;
pub mod svg;
pub mod table;
pub mod told;
pub mod trace;
pub mod unpinned;
pub mod verdict_text;
pub mod view;
pub mod visible;

pub use arrangement::Arrangement;
pub use markup::Html;
pub use view::{CaseView, Commands};
