//! The figure of each CPU, and in the same columns what interrupts it.

use machine::CpuSet;
use study::{Contrast, Evidence};

use super::{About, Page};
use crate::case::control_words;
use crate::case::drawings::{Kind, bars};
use crate::case::heat::{self, Heat};
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

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let heat = heat::read(case.facts);
        let Some(drawing) = bars::draw(case.facts, &heat) else {
            html.element("p", &[], "No trial has a figure yet.");
            return html;
        };
        if !bars::claims_may_be_made(case.facts) {
            html.element(
                "p",
                &[("class", &"warning")],
                "No claim is made from these figures: see the controls above.",
            );
        }
        legend(&mut html, &Kind::present(&case.facts.study.arms, &case.facts.evidence), &bar_sample);
        html.add(&drawing);
        html.element("p", &[("class", &"caption")], caption(case, &heat));
        html.within("details", &[], |details| {
            details.element("summary", &[], "The numbers of the bars");
            numbers(details, case);
        });
        if !heat.rows.is_empty() {
            html.within("details", &[], |details| {
                details.element("summary", &[], "The numbers of the interrupt heat");
                heat_numbers(details, &heat);
            });
        }
        html
    }
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
    let level = number::share(1.0 - evidence.precision.alpha);
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
            " The grey band below is what counts as equal ({}), the lines in it are {level} intervals.",
            number::share(evidence.precision.margin)
        ),
    };
    let mut text = format!("Bars start at zero.{dots}{band}");
    if !heat.rows.is_empty() {
        text.push_str(match heat.rows.iter().any(|r| r.differs) {
            true => " Below: interrupts, softirqs and stolen time that differ between the CPUs, on each CPU while the server was there (median over trials); the stronger the colour, the further above the lowest CPU of the row.",
            false => " Below: the busiest interrupts on each CPU while the server was there (median over trials). None differs much between the CPUs.",
        });
        if heat.left_out > 0 {
            text.push_str(&format!(" {} further rows differ less and are left out.", heat.left_out));
        }
    }
    text
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
    let evidence = &case.facts.evidence;
    let find = |contrasts: &[Contrast], arm: &str| {
        contrasts.iter().find(|c| c.arm == arm).map_or((String::new(), String::new()), |c| {
            (number::change_with_interval(c.ratio, c.interval), result_words::verdict(c.verdict).to_string())
        })
    };
    let rows: Vec<Vec<String>> = evidence
        .arms
        .iter()
        .map(|arm| {
            let sd = arm.figure.sd.map_or("-".into(), number::figure);
            let (base, base_word) = find(&evidence.against_baseline, &arm.arm);
            let (other, other_word) = find(&evidence.against_other_cpus, &arm.arm);
            let why = match evidence.control.as_ref().filter(|c| c.contrast.arm == arm.arm) {
                Some(control) => format!("control: {}", control_words::control(control, evidence.better)),
                None => result_words::about(case.findings, arm.cpu)
                    .map(|(n, f)| format!("{n}: {}", f.title))
                    .unwrap_or_default(),
            };
            let place = arm.cpu.map(|cpu| place(case, cpu)).unwrap_or_default();
            let n = arm.figure.n.to_string();
            vec![
                arm.arm.clone(),
                n,
                number::figure(arm.figure.mean),
                sd,
                busy(arm.server_busy),
                busy(arm.client_busy),
                base,
                base_word,
                other,
                other_word,
                place,
                why,
            ]
        })
        .collect();
    let against = format!("against {}", case.facts.evidence.baseline());
    let heads = [
        "server",
        "trials",
        "mean",
        "sd",
        "server busy",
        "load busy",
        &against,
        "",
        "against other CPUs",
        "",
        "place",
        "why",
    ];
    table(html, &heads, &[1, 2, 3, 4, 5, 6, 8], &rows);
}

/// How busy the busiest thread of server or load was.
fn busy(share: Option<f64>) -> String {
    share.map_or("not known".into(), number::share)
}

/// Core, node and siblings of a CPU in words.
fn place(case: &CaseView, cpu: u32) -> String {
    let Some(known) = case.facts.machine.cpus.iter().find(|c| c.id == cpu) else { return String::new() };
    let several = case.facts.machine.nodes.len() > 1;
    let node = known.node.filter(|_| several).map(|n| format!("node {n}"));
    let siblings: CpuSet = known.siblings.iter().flat_map(|s| s.iter()).filter(|c| *c != cpu).collect();
    let siblings = (!siblings.is_empty()).then(|| format!("sibling of {siblings}"));
    [node, siblings].into_iter().flatten().collect::<Vec<_>>().join(", ")
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
