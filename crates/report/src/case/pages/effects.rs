//! Effects of several factors and their interactions, and figures that decide nothing.

use study::Contrast;
use study::evidence::Effect;

use super::{About, Page};
use crate::case::result_words;
use crate::markup::blocks::table;
use crate::{CaseView, Html, number};

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
        let level = number::share(1.0 - evidence.precision.alpha);
        let change = format!("change [{level}]");
        if !evidence.effects.is_empty() {
            let rows: Vec<Vec<String>> = evidence.effects.iter().map(effect).collect();
            table(&mut html, &["effect", &change, "", "p, adjusted"], &[1, 3], &rows);
        }
        for also in &evidence.also {
            html.element("h3", &[], result_words::second_figure(also));
            let rows: Vec<Vec<String>> = also.against_baseline.iter().map(contrast).collect();
            table(&mut html, &["arm", &change, "", "p, adjusted"], &[1, 3], &rows);
        }
        html
    }
}

fn effect(effect: &Effect) -> Vec<String> {
    vec![
        result_words::effect(effect),
        number::change_with_interval(effect.ratio, effect.interval),
        result_words::verdict(effect.verdict).into(),
        format!("{:.4}", effect.p_adjusted),
    ]
}

fn contrast(contrast: &Contrast) -> Vec<String> {
    vec![
        contrast.arm.clone(),
        number::change_with_interval(contrast.ratio, contrast.interval),
        result_words::verdict(contrast.verdict).into(),
        format!("{:.4}", contrast.p_adjusted),
    ]
}
