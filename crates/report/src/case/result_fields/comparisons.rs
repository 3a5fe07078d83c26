//! The fields of comparisons that stand apart from the arms: effects of factors, and figures that decide nothing.

use study::evidence::Effect;
use study::{Contrast, Evidence, Verdict};

use super::turned::turned_by;
use super::{Column, change_title};
use crate::case::result_words;
use crate::number;

/// One comparison.
pub struct Compared {
    name: String,
    ratio: f64,
    interval: Option<(f64, f64)>,
    p_adjusted: f64,
    verdict: Verdict,
    decides: bool,
    /// Factors at whose levels it has different signs: no verdict is then true of it.
    turned_by: Vec<String>,
}

impl Compared {
    /// An effect among `all` of its study.
    pub(crate) fn effect(effect: &Effect, all: &[Effect]) -> Self {
        Self {
            name: result_words::effect(effect),
            ratio: effect.ratio,
            interval: effect.interval,
            p_adjusted: effect.p_adjusted,
            verdict: effect.verdict,
            decides: true,
            turned_by: match effect.with {
                None => turned_by(effect, all).into_iter().map(String::from).collect(),
                Some(_) => Vec::new(),
            },
        }
    }

    /// An arm by a figure that decides nothing.
    pub(crate) fn second(contrast: &Contrast) -> Self {
        Self {
            name: contrast.arm.clone(),
            ratio: contrast.ratio,
            interval: contrast.interval,
            p_adjusted: contrast.p_adjusted,
            verdict: contrast.verdict,
            decides: false,
            turned_by: Vec::new(),
        }
    }

    fn shown_verdict(&self) -> Option<Verdict> {
        self.turned_by.is_empty().then_some(self.verdict)
    }

    fn depends(&self, see: &str) -> String {
        match self.turned_by.is_empty() {
            true => String::new(),
            false => format!("depends on {}{see}", self.turned_by.join(" and ")),
        }
    }
}

type ComparedColumn = Column<'static, Compared>;

/// The fields of effects, which the first column calls `title`.
pub fn effects(evidence: &Evidence, title: &str) -> Vec<ComparedColumn> {
    let mut columns = fields(
        ["effects/level", "effects/ratio", "effects/verdict", "effects/p_adjusted"],
        title,
        change_title(evidence),
    );
    // The page has the interactions in the same table.
    columns.push(ComparedColumn::why(|of| of.depends(": see Interactions")).of_terminal());
    columns.push(ComparedColumn::why(|of| of.depends("")).of_page());
    columns
}

/// The fields of an arm by a figure that decides nothing.
pub fn second_figure(evidence: &Evidence) -> Vec<ComparedColumn> {
    let ids = [
        "also/against_baseline/arm",
        "also/against_baseline/ratio",
        "also/against_baseline/verdict",
        "also/against_baseline/p_adjusted",
    ];
    fields(ids, "arm", change_title(evidence))
}

fn fields(ids: [&'static str; 4], title: &str, change: String) -> Vec<ComparedColumn> {
    let size = |of: &Compared| number::change_with_interval(of.ratio, of.interval);
    let word = |of: &Compared| of.shown_verdict().map_or("", result_words::verdict).to_string();
    vec![
        ComparedColumn::words(ids[0], title, |of| of.name.clone()),
        ComparedColumn::number(ids[1], change, size),
        // Colour is for what decides.
        ComparedColumn::words(ids[2], "", word)
            .page_title("result")
            .coloured_by(|of| of.shown_verdict().filter(|_| of.decides)),
        ComparedColumn::number(ids[3], "p, adjusted", |of| format!("{:.4}", of.p_adjusted)).of_page(),
    ]
}
