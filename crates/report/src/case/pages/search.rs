//! What a search tried, what it left, and what it expects of each placement that is not out.

use super::{About, Page};
use crate::case::result_fields;
use crate::case::result_words;
use crate::{CaseView, Html};

/// See [`About::docs`].
pub struct Search;

static ABOUT: About = About {
    id: "search",
    title: "Search",
    docs: "What was searched, what was tried and ruled out, and what comes closest to the winner. Only the comparisons above are claims: they are of fresh blocks.",
};

impl Page for Search {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let Some(found) = &case.facts.evidence.search else {
            if case.facts.study.recipe.search.is_some() {
                html.element("p", &[], "The search has not ended.");
            }
            return html;
        };
        html.within("ul", &[], |list| {
            result_words::search(case.facts, found).iter().for_each(|words| {
                list.element("li", &[], words);
            });
        });
        if !found.ran.is_empty() {
            result_fields::on_page(&mut html, &result_fields::search(), &found.ran);
        }
        html
    }
}
