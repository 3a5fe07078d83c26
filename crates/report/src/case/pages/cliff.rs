//! Where sequences of operations break: each operation of one trial an arm, and the words about all of them.

use load::Operation;
use study::cliff;
use study::evidence::ArmCliff;

use super::{About, Page};
use crate::case::drawings::cliff as drawing;
use crate::case::headline::sentence_start;
use crate::case::result_fields::{self, Part};
use crate::case::result_words;
use crate::case::viewer;
use crate::markup::data_link::{Cell, MOST_ROWS, data_link};
use crate::{CaseView, Html, svg};

/// See [`About::docs`].
pub struct Cliff;

static ABOUT: About = About {
    id: "cliff",
    title: "Where it breaks",
    docs: "Every operation of a sequence with its time, where it breaks, and which counter broke with it.",
};

impl Page for Cliff {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let cliffs = &case.facts.evidence.cliffs;
        if cliffs.is_empty() {
            return html;
        }
        html.element("p", &[], method());
        legend(&mut html);
        cliffs.iter().for_each(|cliff| arm(&mut html, case, cliff));
        html.element("h3", &[], "Put against get");
        let rows = Part::all(&case.facts.evidence);
        result_fields::on_page(&mut html, &result_fields::sequences(), &rows);
        html
    }
}

fn method() -> String {
    format!(
        "A sequence breaks at the first operation from which operations of its kind are slower, for at least ten of them: {} times as slow \
         at the median, or {} times at the upper quartile. Changes are found by ranks, so single garbage collections are none. A \
         counter broke with it if its own growth per operation changes within {} operations of the break. Pages swapped are those of the \
         whole machine.",
        cliff::SLOWER,
        cliff::MORE_UNEVEN,
        cliff::NEAR
    )
}

fn legend(html: &mut Html) {
    html.within("p", &[("class", &"legend")], |p| {
        for kind in drawing::KINDS {
            p.within("span", &[], |entry| {
                entry.within(
                    "svg",
                    &[("width", &14), ("height", &14), ("viewBox", &"0 0 14 14"), ("aria-hidden", &"true")],
                    |drawn| svg::dot(drawn, &format!("dot {}", drawing::class(kind)), (7.0, 8.0), 3.5, ""),
                );
                entry.text(format!(" {}", kind.word()));
            });
        }
    });
}

fn arm(html: &mut Html, case: &CaseView, cliff: &ArmCliff) {
    let name = result_words::cliff_arm(cliff, &case.facts.evidence);
    html.element("h3", &[], sentence_start(&name));
    html.element("p", &[], format!("{}.", sentence_start(&result_words::cliff(cliff).join("; "))));
    let Some(operations) = case.operations.get(&cliff.shown).filter(|operations| !operations.is_empty())
    else {
        html.element("p", &[], format!("The operations of trial {} are not in its folder.", cliff.shown));
        return;
    };
    let broke = drawing::break_of(case.facts, cliff.shown);
    viewer::frame(html, &viewer::sequence(cliff.shown), &drawing::by_operation(&name, operations, broke));
    html.add(&drawing::cumulative(&name, operations, broke));
    data(html, cliff.shown, &name, operations);
    let caption = format!("Trial {} of {name}.", cliff.shown);
    html.element("p", &[("class", &"caption")], caption);
}

/// The operations behind both pictures, where they are not too many for a link.
fn data(html: &mut Html, trial: usize, arm: &str, operations: &[Operation]) {
    if operations.len() > MOST_ROWS {
        return;
    }
    let number = |number: u64| Cell::Number(Some(number as f64));
    let word = |word: &str| Cell::Text(word.into());
    let row = |of: &Operation| {
        let [kind, phase] = [word(of.kind.word()), word(of.phase.word())];
        vec![number(of.number), kind, phase, number(of.begun_us), number(of.took_us)]
    };
    let rows: Vec<Vec<Cell>> = operations.iter().map(row).collect();
    let heads = ["operation", "kind", "phase", "begun_us", "took_us"];
    let file = format!("{}.csv", viewer::sequence(trial));
    data_link(html, &drawing::title(arm), &file, &heads, &rows);
}
