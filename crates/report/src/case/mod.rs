//! A study: as terminal text, as a page, and for programs.

pub mod compare_text;
pub mod control_words;
pub(crate) mod drawings;
pub mod every_arm_text;
pub(crate) mod expectation_words;
pub mod explanation_text;
pub(crate) mod explanation_words;
pub mod headline;
pub mod heat;
pub mod html;
pub mod interim_figures;
pub mod json;
pub mod junit;
pub(crate) mod locality_words;
pub mod next_steps;
pub(crate) mod notes;
mod page;
pub mod pages;
pub mod result_words;
pub mod screening_words;
pub mod stalled_text;
pub mod table;
pub mod unpinned;
pub mod verdict_text;
pub mod view;
