//! How far the server scales: one curve an order of filling, and the numbers of the law.

use study::evidence::Growth;
use study::recipe::Fill;
use study::statistics::scaling::Scaling;
use study::{Evidence, Facts};

use super::{About, Page};
use crate::case::drawings::growth;
use crate::case::headline::sentence_start;
use crate::case::result_fields;
use crate::case::result_words;
use crate::markup::blocks;
use crate::markup::data_link::{Cell, data_link};
use crate::{CaseView, Html, number, svg};

/// See [`About::docs`].
pub struct ScalingPage;

static ABOUT: About = About {
    id: "scaling",
    title: "Scaling",
    docs: "The figure by the number of CPUs that the server has, one curve for each order of taking them, and the law that fits it.",
};

impl Page for ScalingPage {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let evidence = &case.facts.evidence;
        if evidence.growth.is_empty() {
            return html;
        }
        if let Some(drawing) = growth::draw(case.facts) {
            legend(&mut html, &evidence.growth);
            html.add(&drawing);
            let level = result_words::level(evidence);
            let caption = format!(
                "A dot is a trial. The line is the law g N / (1 + a (N - 1) + b N (N - 1)), the band its {level} interval at the numbers \
                 of CPUs that were measured; the dotted line is what ideal scaling would be. From the knee on, a further CPU adds less \
                 than half of what the first one does."
            );
            html.element("p", &[("class", &"caption")], caption);
            data(&mut html, case.facts);
        }
        evidence.growth.iter().for_each(|growth| numbers(&mut html, growth, evidence));
        html
    }
}

/// One entry an order of filling: colour and dash.
fn legend(html: &mut Html, curves: &[Growth]) {
    let entries: Vec<(Fill, &str)> = curves.iter().map(|curve| (curve.fill, curve.fill.word())).collect();
    blocks::legend(html, &entries, &|svg, fill| {
        svg::path(svg, &format!("curve {}", growth::class(fill)), &[(0.0, 8.0), (18.0, 8.0)], "");
    });
}

/// The dots of the picture, a row a trial.
fn data(html: &mut Html, facts: &Facts) {
    let scaled = facts.study.arms.iter().filter_map(|arm| Some((arm.scale?, facts.evidence.arm(&arm.name)?)));
    let rows = scaled.flat_map(|(scale, summary)| {
        summary.by_block.iter().map(move |figure| {
            let filled = Cell::Text(scale.fill.word().into());
            vec![filled, Cell::Number(Some(scale.cpus as f64)), Cell::Number(Some(*figure))]
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let heads = ["filling", "cpus", facts.evidence.metric.as_str()];
    data_link(html, "the figure by CPUs of the server", "scaling.csv", &heads, &rows);
}

/// The numbers of one curve, in words and as a table.
fn numbers(html: &mut Html, growth: &Growth, evidence: &Evidence) {
    html.element("h3", &[], sentence_start(growth.fill.word()));
    let Some(law) = &growth.law else {
        let why = growth.why.as_deref().unwrap_or("it was not fitted");
        html.element("p", &[], format!("No law: {why}."));
        return;
    };
    html.element("p", &[], result_words::knee_and_peak(law));
    html.element("p", &[], parameters(law, &result_words::level(evidence)));
    result_fields::on_page(html, &result_fields::law(evidence), &law.curve);
}

fn parameters(law: &Scaling, level: &str) -> String {
    format!(
        "One CPU g {}; contention a {}; coherency b {} (intervals at {level}).",
        result_words::estimate(&law.g, number::figure),
        result_words::estimate(&law.a, number::coefficient),
        result_words::estimate(&law.b, number::coefficient)
    )
}
