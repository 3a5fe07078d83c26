//! What a search tried, what it left, and what it expects of each placement that is not out.

use super::{About, Page};
use crate::case::result_words;
use crate::markup::blocks::table;
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Search;

static ABOUT: About = About {
    id: "search",
    title: "Search",
    docs: "What was searched, what was tried and dropped, and what comes next to the winner. Only the comparisons above are claims: they are of fresh blocks.",
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
        let rows: Vec<Vec<String>> = found
            .ran
            .iter()
            .map(|ran| vec![ran.arm.clone(), ran.trials.to_string(), number::change(ran.to_winner)])
            .collect();
        if !rows.is_empty() {
            let heads = ["placement that is not out", "trials", "expected against the winner, no claim"];
            table(&mut html, &heads, &[1, 2], &rows);
        }
        html
    }
}
