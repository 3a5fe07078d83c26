//! SHOWS: machine and case as terminal text, HTML and JSON.
//!
//! Everything here is pure: what is shown comes in as [`view::CaseView`] or [`study::Facts`], what comes out is text
//! (or the bytes of a [`trace`]).
//! Deciding what the answer is ([`case::headline`], [`case::heat`], [`case::unpinned`], [`absent`]) is apart from drawing it
//! ([`case::table`], [`case::pages`], [`case::json`], [`case::junit`]), so that terminal, page and JSON cannot say different things.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod absent;
pub mod account;
pub mod case;
pub mod display_width;
mod document;
pub mod fitted;
pub mod fleet;
mod grid;
pub mod map;
pub mod markup;
pub mod number;
mod parquet_file;
pub mod plan_formats;
pub mod plan_text;
mod spreadsheet;
pub mod svg;
mod terminal_style;
pub mod trace;
pub mod visible;

pub use case::view::{CaseView, Commands};
pub use map::arrangement::Arrangement;
pub use markup::Html;
