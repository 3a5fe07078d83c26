//! What users read is plain English: no word of the list in CONTRIBUTING.md stands in a message or on a page.

use proc_macro2::TokenTree;

use super::modules::walk;
use super::source::{crates, within, workspace};

/// Words and phrases that stand for none of the field's own.
const AVOIDED: [&str; 12] = [
    "told",
    "tells",
    "lacks",
    "mend",
    "mends",
    "whom",
    "for oneself",
    "made of it",
    "to be known",
    "fault of pinwise",
    "started again since",
    "has been started again",
];

/// The first of them that stands in a text as words of its own.
fn avoided(text: &str) -> Option<&'static str> {
    let text: String = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    AVOIDED.into_iter().find(|words| {
        text.match_indices(words).any(|(at, _)| {
            let is_part = |character: Option<char>| {
                character.is_some_and(|character| character.is_alphanumeric() || "_-".contains(character))
            };
            !is_part(text[..at].chars().next_back()) && !is_part(text[at + words.len()..].chars().next())
        })
    })
}

#[test]
fn messages_are_plain_english() {
    let mut found = Vec::new();
    for (_, folder) in crates() {
        walk(&folder, &mut |of| {
            for text in strings(of.tokens) {
                if let Some(words) = avoided(&text) {
                    found.push(format!("{}: '{words}' in \"{text}\"", of.file.display()));
                }
            }
        });
    }
    assert!(found.is_empty(), "see English in CONTRIBUTING.md:\n{}", found.join("\n"));
}

#[test]
fn pages_are_plain_english() {
    let docs = std::fs::read_dir(workspace().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut found = Vec::new();
    for page in pages.chain([workspace().join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        let paragraphs = without_code(&text);
        for paragraph in paragraphs.split("\n\n") {
            if let Some(words) = avoided(paragraph) {
                found.push(format!("{}: '{words}' in: {}", page.display(), paragraph.trim()));
            }
        }
    }
    assert!(found.is_empty(), "see English in CONTRIBUTING.md:\n{}", found.join("\n"));
}

#[test]
fn an_avoided_word_is_found_as_a_word_alone() {
    assert_eq!(avoided("the firmware\n      Told it"), Some("told"));
    assert_eq!(avoided("a fault of\n pinwise"), Some("fault of pinwise"));
    for fine in ["it was untold", "not-told", "amend the file", "{told_apart}"] {
        assert_eq!(avoided(fine), None, "{fine}");
    }
    assert_eq!(without_code("a `told` b ```\ntold\n``` c").trim(), "a   b   c");
}

/// The text without what stands between backticks.
fn without_code(text: &str) -> String {
    let parts = text.split("```").step_by(2);
    parts.map(|part| part.split('`').step_by(2).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(" ")
}

/// Messages: literals of more than one word, without what is put into them.
fn strings(tokens: &[TokenTree]) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(strings(&within(group))),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') && text.contains(' ') {
                    found.push(without_arguments(&text.replace("\\\n", "")));
                }
            }
            _ => {}
        }
    }
    found
}

/// A message without `{name}`.
fn without_arguments(text: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}
