//! The manual of all rules: docs/causes.md.

use advise::diagnosis::abouts;

use crate::scenario::Scenario;

const HEAD: &str = "# Causes\n\nWhat `pinwise diagnose` knows, one section a rule: shape, look-alikes, where to look next. This page is \
    made by `cargo run -p score -- causes` from the rules themselves; a test holds the two together. Scenarios are folders of \
    `scenarios/`, in which the cause is made on purpose; [score.md](score.md) says how often each is named.\n";

/// The page.
pub fn text() -> String {
    let scenarios = Scenario::all(&[]).unwrap_or_default();
    let mut text = HEAD.to_string();
    for about in abouts() {
        text.push_str(&format!("\n## {}\n\n*{}.* {}\n", about.id, about.title, wrapped(about.docs)));
        let of_it = scenarios.iter().filter(|scenario| scenario.truth.as_deref() == Some(about.id));
        let of_it: Vec<String> = of_it.map(line).collect();
        if !of_it.is_empty() {
            text.push_str(&format!("\n{}\n", of_it.join("\n")));
        }
    }
    text
}

/// A scenario, and what it is distinguished from.
fn line(scenario: &Scenario) -> String {
    let alike =
        scenario.looks_like.as_ref().map(|other| format!(" Looks like `{other}`.")).unwrap_or_default();
    format!("- `{}`: {}{alike}", scenario.name, scenario.about)
}

/// Blanks within string literals that go over several lines are one.
fn wrapped(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_what_the_rules_say() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/causes.md");
        let page = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            page == super::text(),
            "docs/causes.md is out of date: cargo run -p score -- causes > docs/causes.md"
        );
    }
}
