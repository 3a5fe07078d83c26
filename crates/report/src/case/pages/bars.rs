//! The figure of each CPU, and in the same columns what interrupts it.

mod data;

use study::{Contrast, Evidence};

use super::{About, Page};
use crate::case::drawings::{Kind, bars};
use crate::case::heat::{self, Heat, SHADES_FROM};
use crate::case::page::interval_note::note;
use crate::case::result_fields::{self, Subject};
use crate::case::result_words;
use crate::markup::blocks::{self, table};
use crate::svg::{self, Area};
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Bars;

static ABOUT: About = About {
    id: "bars",
    title: "CPU by CPU",
    docs: "The figure with the server on each CPU, its difference to the other CPUs, and what interrupts that CPU.",
};

impl Page for Bars {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn title(&self, case: &CaseView) -> &'static str {
        if bars::has_cpus(case.facts) { ABOUT.title } else { "Arm by arm" }
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let heat = heat::read(case.facts);
        let Some(drawing) = bars::draw(case.facts, &heat) else { return html };
        if !bars::claims_may_be_made(case.facts) {
            html.element(
                "p",
                &[("class", &"warning")],
                "No claim is made from these figures: see the controls above.",
            );
        }
        legend(&mut html, &Kind::present(&case.facts.study.arms, &case.facts.evidence), &bar_sample);
        html.add(&drawing);
        if !heat.rows.is_empty() {
            shade_legend(&mut html);
        }
        html.element("p", &[("class", &"caption")], caption(case, &heat));
        let evidence = &case.facts.evidence;
        note(&mut html, evidence, &result_words::surprising_contrasts(evidence, shown(evidence)));
        html.within("details", &[], |details| {
            details.element("summary", &[], "The numbers of the bars");
            numbers(details, case);
        });
        data::of_bars(&mut html, case.facts);
        if !heat.rows.is_empty() {
            html.within("details", &[], |details| {
                details.element("summary", &[], "The numbers of the interrupt heat");
                heat_numbers(details, &heat);
            });
            data::of_heat(&mut html, &heat);
        }
        html
    }
}

/// The comparisons that the picture or its numbers have.
fn shown(evidence: &Evidence) -> impl Iterator<Item = &Contrast> {
    evidence.against_baseline.iter().chain(&evidence.against_other_cpus)
}

/// What the drawing shows by colour and shape, in words; `sample` draws one entry into 18 by 14.
pub(super) fn legend(html: &mut Html, kinds: &[Kind], sample: &dyn Fn(&mut Html, Kind)) {
    let entries: Vec<(Kind, &str)> = kinds.iter().map(|kind| (*kind, kind.words())).collect();
    blocks::legend(html, &entries, sample);
}

/// A sample of a bar with a trial's dot.
fn bar_sample(svg: &mut Html, kind: Kind) {
    svg::rectangle(
        svg,
        &format!("bar {}", kind.class()),
        Area { left: 3.0, top: 3.0, width: 12.0, height: 11.0 },
        "",
    );
    svg::dot(svg, &format!("dot {}", kind.class()), (9.0, 3.0), 2.1, "");
}

fn caption(case: &CaseView, heat: &Heat) -> String {
    let evidence = &case.facts.evidence;
    let level = result_words::level(evidence);
    let few = heat.cpus.len() <= bars::MOST_WITH_NUMBERS;
    let dots = match few {
        true => format!(
            " A dot is a trial, from left to right in order of time{}.",
            whiskers(evidence, &level)
                .map(|words| format!("; {words}, scaled to the bar"))
                .unwrap_or_default()
        ),
        false => String::new(),
    };
    let band = match evidence.against_other_cpus.is_empty() {
        true => String::new(),
        false => format!(
            " The grey band below is what counts as equal ({}); the lines in it are {level} intervals.",
            number::share(evidence.precision.margin)
        ),
    };
    let mut text = format!("Bars start at zero.{dots}{band}");
    if !heat.rows.is_empty() {
        text.push_str(match heat.rows.iter().any(|r| r.differs) {
            true => " Below: interrupts, softirqs and stolen time that differ between the CPUs, on each CPU while the server was there (median over trials).",
            false => " Below: the busiest interrupts on each CPU while the server was there (median over trials). None differs much between the CPUs.",
        });
        text.push_str(&shades(heat));
        if heat.left_out > 0 {
            let rows = number::counted(heat.left_out, "further row");
            text.push_str(&format!(" Not shown: {rows} with smaller differences."));
        }
    }
    text
}

/// Some of the shades of the heat, and from which share of a CPU on each is taken.
fn shade_legend(html: &mut Html) {
    let words = |step: usize| match step.checked_sub(1).and_then(|before| SHADES_FROM.get(before)) {
        Some(from) => format!("from {}", number::share(*from)),
        None => format!("below {} of the CPU", number::share(SHADES_FROM[0])),
    };
    let entries: Vec<(usize, String)> = [0, 3, 5, 7, 9].map(|step| (step, words(step))).into();
    let entries: Vec<(usize, &str)> = entries.iter().map(|(step, words)| (*step, words.as_str())).collect();
    blocks::legend(html, &entries, &|svg, step| {
        let area = Area { left: 1.0, top: 1.0, width: 16.0, height: 12.0 };
        svg::rectangle(svg, &format!("shade h{step}"), area, "");
    });
}

/// What the colour of the heat is.
fn shades(heat: &Heat) -> String {
    let colour = " The colour of a cell is the share of the CPU's time that its row takes.".to_string();
    let us = heat.cost.us;
    let counts = match heat.cost.is_measured {
        _ if heat.rows.iter().all(|row| row.is_time) => String::new(),
        true => format!(
            " For counts that is {us:.1} us an event, which the timer's interrupt was measured to cost here; that the others cost as much is an assumption."
        ),
        false => {
            format!(" For counts that is {us:.1} us an event, an assumption: the cost was not measured here.")
        }
    };
    colour + &counts
}

/// What the whiskers are: without a comparison with other CPUs only the positive control has one.
fn whiskers(evidence: &Evidence, level: &str) -> Option<String> {
    let control = evidence.control.as_ref().map(|control| control.contrast.reference.as_str());
    match (evidence.against_other_cpus.is_empty(), control) {
        (false, control) => Some(format!(
            "whiskers are the {level} interval of the comparison with the other CPUs (for the positive control: with {})",
            control.unwrap_or(evidence.baseline())
        )),
        (true, Some(reference)) => Some(format!(
            "the whisker of the positive control is the {level} interval of its comparison with {reference}"
        )),
        (true, None) => None,
    }
}

fn numbers(html: &mut Html, case: &CaseView) {
    let rows: Vec<Subject<'_>> = case.facts.evidence.arms.iter().map(Subject::arm).collect();
    result_fields::on_page(html, &result_fields::arms(case.facts, case.findings, true), &rows);
}

/// The heat turned: a row a CPU, so that many CPUs stay readable.
fn heat_numbers(html: &mut Html, heat: &Heat) {
    let titles: Vec<String> = heat.rows.iter().map(|r| format!("{}, {}", r.title(), r.unit())).collect();
    let heads: Vec<&str> =
        std::iter::once("server on CPU").chain(titles.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = heat
        .cpus
        .iter()
        .enumerate()
        .map(|(i, cpu)| {
            std::iter::once(cpu.to_string()).chain(heat.rows.iter().map(|r| r.shown(i))).collect()
        })
        .collect();
    let numbers: Vec<usize> = (1..=heat.rows.len()).collect();
    table(html, &heads, &numbers, &rows);
}
