//! The report as one HTML file that needs nothing else: no font, no image, no network, and no script to be read.

mod policy;
mod title;

use crate::case::pages::{self, About};
use crate::case::viewer;
use crate::markup::Attributes;
use crate::{CaseView, Html, number, visible};

const STYLE: &str = include_str!("html/style.css");

/// Renders the whole report of a case.
pub fn render(case: &CaseView) -> String {
    let drawn = drawn_pages(case);
    let data = viewer::data(case);
    let head = Head { title: &title::of(case), own_style: None, has_script: data.is_some() };
    whole(&head, |body| {
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

/// The pages that apply to the study.
fn drawn_pages(case: &CaseView) -> Vec<(About, Html)> {
    let drawn = pages::ALL.iter().map(|page| (*page.about(), page.render(case)));
    drawn.filter(|(_, page)| !page.is_empty()).collect()
}

/// What the head of a page says.
struct Head<'a> {
    title: &'a str,
    /// A style sheet that stands within the body, beside the house's.
    own_style: Option<&'a str>,
    /// Whether the viewer's script stands within the body.
    has_script: bool,
}

/// A whole HTML file without scripts, with the house's style sheet and nothing from elsewhere. `own_style` is one that stands within the
/// body.
pub(crate) fn document(title: &str, own_style: &str, inside: impl FnOnce(&mut Html)) -> String {
    whole(&Head { title, own_style: Some(own_style), has_script: false }, inside)
}

fn whole(head: &Head, inside: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::new();
    html.literal("<!doctype html>\n");
    html.within("html", &[("lang", &"en")], |root| {
        root.within("head", &[], |to| write_head(to, head));
        root.within("body", &[], inside);
    });
    html.into_string()
}

fn write_head(to: &mut Html, head: &Head) {
    let viewport: Attributes = &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")];
    let styles: Vec<&str> = std::iter::once(STYLE).chain(head.own_style).collect();
    let policy = policy::of(&styles, head.has_script.then(viewer::script));
    to.empty("meta", &[("charset", &"utf-8")]);
    to.empty("meta", viewport);
    to.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
    to.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    to.element("title", &[], head.title);
    to.within("style", &[], |style| {
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

/// How many CPUs were online, in words.
fn cpus(case: &CaseView) -> String {
    match online_cpus(case) {
        0 => "CPUs not known".into(),
        count => format!("{count} CPUs"),
    }
}

/// How many CPUs were online; 0 where that is not known.
fn online_cpus(case: &CaseView) -> usize {
    case.facts.machine.cpus.iter().filter(|cpu| cpu.online).count()
}

/// The title of the study: the recipe's, else what is measured.
fn name(case: &CaseView) -> String {
    let recipe = &case.facts.study.recipe;
    match recipe.name.is_empty() {
        true => format!("{} by CPU", visible::one_line(&recipe.metric)),
        false => recipe.name.clone(),
    }
}
