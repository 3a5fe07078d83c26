//! HTML files that need nothing else: no font, no image, no network.

mod policy;

use crate::Html;
use crate::markup::Attributes;

/// The house's style sheet.
const STYLE: &str = include_str!("document/style.css");

/// What the head of a page says.
pub(crate) struct Head<'a> {
    /// The title, as tabs and lists of files show it.
    pub title: &'a str,
    /// The style sheet that stands in the head.
    pub style: &'static str,
    /// A style sheet that stands within the body, beside it.
    pub own_style: Option<&'a str>,
    /// The script that stands within the body.
    pub script: Option<&'a str>,
}

/// A whole HTML file without scripts, with the house's style sheet and nothing from elsewhere. `own_style` is one that stands within the
/// body.
pub(crate) fn document(title: &str, own_style: &str, inside: impl FnOnce(&mut Html)) -> String {
    whole(&Head { title, style: STYLE, own_style: Some(own_style), script: None }, inside)
}

/// A whole HTML file.
pub(crate) fn whole(head: &Head, inside: impl FnOnce(&mut Html)) -> String {
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
    let styles: Vec<&str> = std::iter::once(head.style).chain(head.own_style).collect();
    let policy = policy::of(&styles, head.script);
    to.empty("meta", &[("charset", &"utf-8")]);
    to.empty("meta", viewport);
    to.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
    to.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    to.element("title", &[], head.title);
    to.within("style", &[], |style| {
        style.literal(head.style);
    });
}
