//! The report as one HTML file that needs nothing else: no font, no image, no network, and no script to be read.

mod title;

use crate::case::drawings::bars;
use crate::case::pages::{self, About, Page};
use crate::case::viewer;
use crate::document::{self, Head};
use crate::{CaseView, Html, number, visible};

/// The house's style sheet, and that of the picture of the machine: one text, so that the policy names one.
const STYLE: &str = concat!(include_str!("../document/style.css"), include_str!("../map/picture/style.css"));

/// Renders the whole report of a case.
pub fn render(case: &CaseView) -> String {
    let drawn = drawn_pages(case);
    let data = viewer::data(case);
    let title = title::of(case);
    let script = data.is_some().then(viewer::script);
    document::whole(&Head { title: &title, style: STYLE, own_style: None, script }, |body| {
        write_header(body, case, &drawn);
        body.within("main", &[], |main| drawn.iter().for_each(|(about, page)| write_page(main, about, page)));
        body.element(
            "footer",
            &[],
            format!("Made by pinwise {} from {}.", case.facts.study.pinwise, case.case_dir.display()),
        );
        if let Some(data) = &data {
            body.json(viewer::DATA_ID, data);
            body.within("script", &[], |script| {
                script.literal(viewer::script());
            });
        }
    })
}

/// The pages that apply to the study, with their headings for it.
fn drawn_pages(case: &CaseView) -> Vec<(About, Html)> {
    let about = |page: &dyn Page| About { title: page.title(case), ..*page.about() };
    let drawn = pages::ALL.iter().map(|page| (about(*page), page.render(case)));
    drawn.filter(|(_, page)| !page.is_empty()).collect()
}

fn write_header(body: &mut Html, case: &CaseView, drawn: &[(About, Html)]) {
    let study = &case.facts.study;
    body.within("header", &[], |header| {
        header.element("p", &[("class", &"kicker")], "pinwise study");
        header.element("h1", &[], name(case));
        header.element(
            "p",
            &[("class", &"meta")],
            format!(
                "{} | {} | {} in {}",
                number::moment(study.made_unix_s),
                cpus(case),
                number::counted(case.facts.trials.len(), "trial"),
                number::counted(case.facts.evidence.blocks, "block"),
            ),
        );
        header.within("nav", &[("aria-label", &"Parts of the report")], |nav| {
            for (about, _) in drawn {
                nav.element("a", &[("href", &format!("#{}", about.id))], about.title);
            }
        });
    });
}

fn write_page(main: &mut Html, about: &About, page: &Html) {
    let heading = format!("{}-title", about.id);
    main.within("section", &[("id", &about.id), ("aria-labelledby", &heading)], |section| {
        section.element("h2", &[("id", &heading)], about.title);
        section.add(page);
    });
}

/// How many CPUs were online, in words.
fn cpus(case: &CaseView) -> String {
    match online_cpus(case) {
        0 => "CPUs not known".into(),
        count => number::counted(count, "CPU"),
    }
}

/// How many CPUs were online; 0 where that is not known.
fn online_cpus(case: &CaseView) -> usize {
    case.facts.machine.cpus.iter().filter(|cpu| cpu.online).count()
}

/// The title of the study: the recipe's, else what is measured and what the columns of its picture are.
fn name(case: &CaseView) -> String {
    let recipe = &case.facts.study.recipe;
    match recipe.name.is_empty() {
        true => format!("{} by {}", visible::one_line(&recipe.metric), bars::column_word(case.facts)),
        false => recipe.name.clone(),
    }
}
