//! Markup that is safe by construction: tags and attribute names are literals of this crate, everything else is escaped.

pub(crate) mod blocks;
pub(crate) mod data_link;

use std::fmt::Display;

use crate::visible;

/// A piece of finished HTML or SVG.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Html(String);

/// Attributes of one element: names are literals, values are escaped.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// Elements that have no end tag in HTML.
const VOID: [&str; 3] = ["br", "hr", "meta"];

impl Html {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends text, escaped.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        escape_into(&mut self.0, &visible::one_line(&text.to_string()));
        self
    }

    /// Appends text of several lines, escaped; for `pre`.
    pub fn lines(&mut self, text: &str) -> &mut Self {
        escape_into(&mut self.0, &visible::lines(text));
        self
    }

    /// Appends other finished markup.
    pub fn add(&mut self, other: &Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Appends an element whose inside is written by `inside`.
    pub fn within(
        &mut self,
        tag: &'static str,
        attributes: Attributes,
        inside: impl FnOnce(&mut Html),
    ) -> &mut Self {
        self.start(tag, attributes);
        inside(self);
        if !VOID.contains(&tag) {
            self.0.push_str("</");
            self.0.push_str(tag);
            self.0.push('>');
        }
        self
    }

    /// Appends an element that holds text only.
    pub fn element(&mut self, tag: &'static str, attributes: Attributes, text: impl Display) -> &mut Self {
        self.within(tag, attributes, |inside| {
            inside.text(text);
        })
    }

    /// Appends an element that holds nothing.
    pub fn empty(&mut self, tag: &'static str, attributes: Attributes) -> &mut Self {
        self.within(tag, attributes, |_| {})
    }

    /// Appends an element that scrolls where it is wider than the page: the Tab key reaches it, arrow keys scroll it, and a screen reader
    /// reads `label` out. Its ARIA `role` is `region` for tables and text, and `group` around a drawing, which is an `img` itself.
    pub(crate) fn scrolled(
        &mut self,
        tag: &'static str,
        class: &'static str,
        role: &'static str,
        label: &str,
        inside: impl FnOnce(&mut Html),
    ) -> &mut Self {
        let attributes: Attributes =
            &[("class", &class), ("role", &role), ("aria-label", &label), ("tabindex", &"0")];
        self.within(tag, attributes, inside)
    }

    /// Appends a literal of this crate: style sheet, document type. Never anything from outside.
    pub(crate) fn literal(&mut self, literal: &'static str) -> &mut Self {
        self.0.push_str(literal);
        self
    }

    /// Appends JSON as a block of data, which no browser runs. Texts in it come from outside: what means something to HTML is written as
    /// escapes of JSON, which stand for the same.
    pub(crate) fn json(&mut self, id: &'static str, json: &str) -> &mut Self {
        self.start("script", &[("type", &"application/json"), ("id", &id)]);
        self.0.reserve(json.len());
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' => {
                    self.0.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => self.0.push(c),
            }
        }
        self.0.push_str("</script>");
        self
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The markup, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    fn start(&mut self, tag: &'static str, attributes: Attributes) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape_into(&mut self.0, &visible::one_line(&value.to_string()));
            self.0.push('"');
        }
        self.0.push('>');
    }
}

/// The five characters that mean something in HTML text or in a quoted attribute.
fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_nest_and_text_is_escaped() {
        let mut html = Html::new();
        html.within("p", &[("title", &"a\"b")], |p| {
            p.text("1 < 2 & ").element("b", &[], "it's");
        });
        assert_eq!(html.as_str(), "<p title=\"a&quot;b\">1 &lt; 2 &amp; <b>it&#39;s</b></p>");
    }

    #[test]
    fn void_elements_are_not_closed() {
        let mut html = Html::new();
        html.empty("br", &[]);
        assert_eq!(html.as_str(), "<br>");
    }

    #[test]
    fn what_scrolls_is_reached_by_keys_and_has_a_name_that_is_read_out() {
        let mut html = Html::new();
        html.scrolled("pre", "map", "region", "a < b", |pre| {
            pre.lines("x\ny");
        });
        let start = "<pre class=\"map\" role=\"region\" aria-label=\"a &lt; b\" tabindex=\"0\">";
        assert_eq!(html.as_str(), format!("{start}x\ny</pre>"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_ends_a_block_of_data_and_each_is_read_back(text in "(?s)(</script>|<!--|.){0,40}") {
            let mut html = Html::new();
            html.json("data", &serde_json::to_string(&text).unwrap());
            let start = "<script type=\"application/json\" id=\"data\">";
            let inside = html.as_str().strip_prefix(start).unwrap().strip_suffix("</script>").unwrap();
            proptest::prop_assert!(!inside.contains(['<', '>', '&', '\'']));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(inside).unwrap(), text);
        }

        #[test]
        fn no_text_opens_a_tag_or_leaves_an_attribute(text in "(?s).{0,80}") {
            let mut html = Html::new();
            html.element("i", &[("title", &text)], &text);
            let inside = html.as_str().strip_prefix("<i title=\"").unwrap().strip_suffix("</i>").unwrap();
            let (attribute, content) = inside.split_once("\">").unwrap();
            proptest::prop_assert!(!attribute.contains(['<', '>', '"', '\'']));
            proptest::prop_assert!(!content.contains(['<', '>', '"', '\'']));
        }
    }
}
