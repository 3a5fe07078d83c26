//! What a page of the report is, and what several of them contain.

pub mod contrast_cells;
pub mod interval_note;

use crate::{CaseView, Html};

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Id within the document, for links.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What it shows, in one sentence.
    pub docs: &'static str,
}

/// One part of the report.
pub trait Page: Sync {
    /// What it is.
    fn about(&self) -> &About;
    /// Its heading for a study: usually that of every study.
    fn title(&self, _case: &CaseView) -> &'static str {
        self.about().title
    }
    /// Draws it, without its heading; nothing where it does not apply to the study. Such a page is left out of the report.
    fn render(&self, case: &CaseView) -> Html;
}
