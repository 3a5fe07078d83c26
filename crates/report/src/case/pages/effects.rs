//! Effects of several factors and their interactions, and figures that decide nothing.

use super::{About, Page};
use crate::case::page::interval_note::note;
use crate::case::result_fields::{self, Compared};
use crate::case::result_words;
use crate::{CaseView, Html};

/// The page.
pub struct Effects;

static ABOUT: About = About {
    id: "effects",
    title: "Factors and other figures",
    docs: "What each level does, averaged over the levels of the other factors, how factors work together, and how other figures came out.",
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
            note(&mut html, evidence, &result_words::surprising_effects(evidence, &evidence.effects));
        }
        for also in &evidence.also {
            html.element("h3", &[], result_words::second_figure(also));
            if also.against_baseline.is_empty() {
                html.element("p", &[], "No complete block has it.");
                continue;
            }
            let rows: Vec<Compared> = also.against_baseline.iter().map(Compared::second).collect();
            result_fields::on_page(&mut html, &result_fields::second_figure(evidence), &rows);
            let surprising = result_words::surprising_contrasts(evidence, &also.against_baseline);
            note(&mut html, evidence, &surprising);
        }
        html
    }
}
