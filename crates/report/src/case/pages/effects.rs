//! Effects of several factors and their interactions, and figures that decide nothing.

use super::{About, Page};
use crate::case::result_fields::{self, Compared};
use crate::case::result_words;
use crate::{CaseView, Html};

/// The page.
pub struct Effects;

static ABOUT: About = About {
    id: "effects",
    title: "Effects of the factors",
    docs: "What each level does, averaged over the levels of the other factors, how factors work together, and what other figures did.",
};

impl Page for Effects {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let evidence = &case.facts.evidence;
        let mut html = Html::new();
        if evidence.effects.is_empty() && evidence.also.is_empty() {
            return html;
        }
        if !evidence.effects.is_empty() {
            let of = |effect| Compared::effect(effect, &evidence.effects);
            let rows: Vec<Compared> = evidence.effects.iter().map(of).collect();
            result_fields::on_page(&mut html, &result_fields::effects(evidence, "effect"), &rows);
        }
        for also in &evidence.also {
            html.element("h3", &[], result_words::second_figure(also));
            let rows: Vec<Compared> = also.against_baseline.iter().map(Compared::second).collect();
            result_fields::on_page(&mut html, &result_fields::second_figure(evidence), &rows);
        }
        html
    }
}
