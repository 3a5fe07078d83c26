//! The parts of the report, one file each. All are on the one page that [`crate::html`] makes.

pub mod bars;
pub mod cliff;
pub mod effects;
pub mod explanations;
pub mod findings;
pub mod latency;
pub mod machine;
pub mod methods;
pub mod repeat;
pub mod scaling;
pub mod search;
pub mod summary;
pub mod time;

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
    /// Draws it, without its heading. Any case must give something, also one without trials.
    fn render(&self, case: &CaseView) -> Html;
}

/// All pages in the order of the report. A new page is one file in this folder and one line here.
pub static ALL: &[&dyn Page] = &[
    &summary::Summary,
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
    &repeat::Repeat,
    &methods::Methods,
];

/// A table with heads and rows of text; columns named in `numbers` stand to the right.
pub(crate) fn table(html: &mut Html, heads: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
    html.within("div", &[("class", &"scroll"), ("tabindex", &"0")], |frame| {
        frame.within("table", &[], |table| {
            let class = |i: usize| if numbers.contains(&i) { "number" } else { "words" };
            table.within("thead", &[], |head| {
                head.within("tr", &[], |row| {
                    for (i, name) in heads.iter().enumerate() {
                        row.element("th", &[("scope", &"col"), ("class", &class(i))], name);
                    }
                });
            });
            table.within("tbody", &[], |body| {
                for cells in rows {
                    body.within("tr", &[], |row| {
                        for (i, cell) in cells.iter().enumerate() {
                            match i {
                                0 => row.element("th", &[("scope", &"row"), ("class", &class(i))], cell),
                                _ => row.element("td", &[("class", &class(i))], cell),
                            };
                        }
                    });
                }
            });
        });
    });
}

/// A list of names and values.
pub(crate) fn facts_list(html: &mut Html, rows: &[(&str, String)]) {
    html.within("dl", &[], |list| {
        for (name, value) in rows {
            list.element("dt", &[], name);
            list.element("dd", &[], value);
        }
    });
}

/// What a drawing shows by colour and shape: an entry has words, and a sample that `sample` draws into 18 by 14.
pub(crate) fn legend<T: Copy>(html: &mut Html, entries: &[(T, &str)], sample: &dyn Fn(&mut Html, T)) {
    html.within("p", &[("class", &"legend")], |p| {
        for (of, words) in entries {
            p.within("span", &[], |entry| {
                entry.within(
                    "svg",
                    &[("width", &18), ("height", &14), ("viewBox", &"0 0 18 14"), ("aria-hidden", &"true")],
                    |svg| sample(svg, *of),
                );
                entry.text(format!(" {words}"));
            });
        }
    });
}

/// Command lines that can be copied: what stands before them is drawn, not text.
pub(crate) fn commands(html: &mut Html, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    html.within("pre", &[("class", &"command"), ("tabindex", &"0")], |pre| {
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                pre.lines("\n");
            }
            pre.element("code", &[], line);
        }
    });
}

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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|f| f.unwrap().file_name().to_string_lossy().trim_end_matches(".rs").to_string())
            .collect();
        let listed: BTreeSet<String> = ALL.iter().map(|p| p.about().id.to_string()).collect();
        assert_eq!(files, listed);
    }
}
