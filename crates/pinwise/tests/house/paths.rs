//! What a file names of other modules.

use proc_macro2::TokenTree;

use super::source::{is_punct, within, word};

/// A path as it is written, word by word.
pub type Path = Vec<String>;

/// The names of other modules in one file.
#[derive(Default)]
pub struct Paths {
    /// Imports: the path, and the name that it has in the file (`*`: all of it).
    pub imports: Vec<(Path, String)>,
    /// Paths of more than one word elsewhere.
    pub elsewhere: Vec<Path>,
    /// Modules that are declared there, in files of their own.
    pub declared: Vec<String>,
}

impl Paths {
    /// Of these tokens.
    pub fn of(tokens: &[TokenTree]) -> Self {
        let mut paths = Self::default();
        paths.read(tokens);
        paths
    }

    fn read(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            let word_here = word(&tokens[at]);
            match word_here.as_deref() {
                Some("use") => at = self.import(tokens, at + 1),
                Some("mod") => at = self.declaration(tokens, at + 1),
                // What it is visible in, and no use of it.
                Some("pub") => at += 1 + usize::from(matches!(tokens.get(at + 1), Some(TokenTree::Group(_)))),
                Some(_) => at = self.path(tokens, at),
                None => {
                    if let TokenTree::Group(group) = &tokens[at] {
                        self.read(&within(group));
                    }
                    at += 1;
                }
            }
        }
    }

    fn import(&mut self, tokens: &[TokenTree], from: usize) -> usize {
        let end = (from..tokens.len()).find(|at| is_punct(&tokens[*at], ';')).unwrap_or(tokens.len());
        self.tree(&tokens[from..end], &[]);
        end + 1
    }

    /// A tree of imports below a path.
    fn tree(&mut self, tokens: &[TokenTree], above: &[String]) {
        let mut path = above.to_vec();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => {
                    let inside = within(group);
                    for branch in inside.split(|token| is_punct(token, ',')) {
                        self.tree(branch, &path);
                    }
                    return;
                }
                token if is_punct(token, '*') => return self.imports.push((path, "*".into())),
                token => match word(token).as_deref() {
                    Some("as") => {
                        let name = tokens.get(at + 1).and_then(word).unwrap_or_default();
                        return self.imports.push((path, name));
                    }
                    Some("self") if !path.is_empty() => {}
                    Some(word) => path.push(word.to_string()),
                    None => {}
                },
            }
            at += 1;
        }
        if path.len() > above.len() || !above.is_empty() && !tokens.is_empty() {
            let name = path.last().cloned().unwrap_or_default();
            self.imports.push((path, name));
        }
    }

    fn declaration(&mut self, tokens: &[TokenTree], from: usize) -> usize {
        if let (Some(name), Some(end)) = (tokens.get(from).and_then(word), tokens.get(from + 1))
            && is_punct(end, ';')
        {
            self.declared.push(name);
        }
        from + 1
    }

    fn path(&mut self, tokens: &[TokenTree], from: usize) -> usize {
        let mut path: Path = word(&tokens[from]).into_iter().collect();
        let mut at = from + 1;
        while at + 2 < tokens.len() && is_punct(&tokens[at], ':') && is_punct(&tokens[at + 1], ':') {
            let Some(next) = word(&tokens[at + 2]) else { break };
            path.push(next);
            at += 3;
        }
        if path.len() > 1 {
            self.elsewhere.push(path);
        }
        at
    }
}
