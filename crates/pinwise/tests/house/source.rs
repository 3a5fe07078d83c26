//! Source files as tokens, without tests.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folders with the sources of the crates, by name.
pub fn crates() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(workspace().join("crates")).unwrap();
    let mut all: Vec<(String, PathBuf)> = folders
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path().join("src")))
        .filter(|(_, folder)| folder.is_dir())
        .collect();
    all.push(("score".into(), workspace().join("score/src")));
    all.sort();
    all
}

/// The tokens of a file, without items for tests alone and without documentation.
pub fn tokens(file: &Path) -> Vec<TokenTree> {
    let text = std::fs::read_to_string(file).unwrap();
    let stream: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    without_tests(stream)
}

fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#') {
            // The exclamation mark of an inner attribute.
            if tokens.peek().is_some_and(|next| is_punct(next, '!')) {
                tokens.next();
            }
            let Some(TokenTree::Group(attribute)) = tokens.next() else { continue };
            let words = attribute.stream().to_string();
            if words.starts_with("cfg") && words.contains("test") && !words.contains("not") {
                skip_item(&mut tokens);
            }
            continue;
        }
        kept.push(token);
    }
    kept
}

/// Passes over an item: up to a semicolon, or to the end of a block.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    for token in tokens {
        match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            token if is_punct(token, ';') => return,
            _ => {}
        }
    }
}

/// The tokens within a group, likewise.
pub fn within(group: &proc_macro2::Group) -> Vec<TokenTree> {
    without_tests(group.stream())
}

/// Whether it is this character.
pub fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// The word, where it is one.
pub fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}
