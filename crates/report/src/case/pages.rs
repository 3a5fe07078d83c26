//! The parts of the report, one file each. All are on the one page that [`crate::case::html`] makes.

pub mod bars;
pub mod cliff;
pub mod effects;
pub mod explanations;
pub mod findings;
pub mod hosts;
pub mod latency;
pub mod machine;
pub mod methods;
pub mod places;
pub mod repeat;
pub mod scaling;
pub mod search;
pub mod summary;
pub mod time;

pub use crate::case::page::{About, Page};

/// All pages in the order of the report. A new page is one file in this folder and one line here.
pub static ALL: &[&dyn Page] = &[
    &summary::Summary,
    &places::Places,
    &bars::Bars,
    &cliff::Cliff,
    &effects::Effects,
    &scaling::ScalingPage,
    &search::Search,
    &findings::Findings,
    &explanations::Explanations,
    &latency::Latency,
    &time::Time,
    &machine::Machine,
    &hosts::Hosts,
    &repeat::Repeat,
    &methods::Methods,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_page_says_what_it_is() {
        let ids: BTreeSet<&str> = ALL.iter().map(|p| p.about().id).collect();
        assert_eq!(ids.len(), ALL.len());
        for about in ALL.iter().map(|p| p.about()) {
            assert!(!about.title.is_empty() && about.docs.ends_with('.'), "{about:?}");
        }
    }

    #[test]
    fn the_folder_and_the_list_are_the_same() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/case/pages");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|f| f.unwrap().file_name().to_string_lossy().trim_end_matches(".rs").to_string())
            .collect();
        let listed: BTreeSet<String> = ALL.iter().map(|p| p.about().id.to_string()).collect();
        assert_eq!(files, listed);
    }
}
