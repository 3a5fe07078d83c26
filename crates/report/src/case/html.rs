//! The report as one HTML file that needs nothing else: no script, no font, no image, no network.

use crate::case::headline;
use crate::case::pages::{self, About};
use crate::markup::Attributes;
use crate::{CaseView, Html, number, visible};

const STYLE: &str = include_str!("html/style.css");

/// Nothing may be loaded and nothing may run, whatever a name in the case says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Renders the whole report of a case.
pub fn render(case: &CaseView) -> String {
    let title = format!("{} - {}", headline::read(case.facts, case.findings).title, name(case));
    let drawn = drawn_pages(case);
    document(&title, |body| {
        write_header(body, case, &drawn);
        body.within("main", &[], |main| drawn.iter().for_each(|(about, page)| write_page(main, about, page)));
        body.element(
            "footer",
            &[],
            format!("Made by pinwise {} from {}.", case.facts.study.pinwise, case.case_dir.display()),
        );
    })
}

/// The pages that apply to the study.
fn drawn_pages(case: &CaseView) -> Vec<(About, Html)> {
    let drawn = pages::ALL.iter().map(|page| (*page.about(), page.render(case)));
    drawn.filter(|(_, page)| !page.is_empty()).collect()
}

/// A whole HTML file with the house's style sheet and nothing from elsewhere.
pub(crate) fn document(title: &str, inside: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::new();
    html.literal("<!doctype html>\n");
    html.within("html", &[("lang", &"en")], |root| {
        root.within("head", &[], |head| write_head(head, title));
        root.within("body", &[], inside);
    });
    html.into_string()
}

fn write_head(head: &mut Html, title: &str) {
    let viewport: Attributes = &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")];
    head.empty("meta", &[("charset", &"utf-8")]);
    head.empty("meta", viewport);
    head.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
    head.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    head.element("title", &[], title);
    head.within("style", &[], |style| {
        style.literal(STYLE);
    });
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
                "{} | {} | {} trials in {} blocks",
                number::moment(study.made_unix_s),
                cpus(case),
                number::count(case.facts.trials.len()),
                case.facts.evidence.blocks,
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

/// How many CPUs were online.
fn cpus(case: &CaseView) -> String {
    match case.facts.machine.cpus.iter().filter(|cpu| cpu.online).count() {
        0 => "CPUs not known".into(),
        count => format!("{count} CPUs"),
    }
}

/// The title of the study: the recipe's, else what is measured.
fn name(case: &CaseView) -> String {
    let recipe = &case.facts.study.recipe;
    match recipe.name.is_empty() {
        true => format!("{} by CPU", visible::one_line(&recipe.metric)),
        false => recipe.name.clone(),
    }
}
