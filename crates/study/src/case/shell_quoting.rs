//! Paths of cases in command lines that are printed.

use std::path::Path;

/// The path as a shell and pinwise take it: quoted where it has to be, and never read as a flag.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.starts_with('-') {
        true => shell_words::quote(&format!("./{text}")).into_owned(),
        false => shell_words::quote(&text).into_owned(),
    }
}

/// The command that goes on with the case in `dir`.
pub fn resume_command(dir: &Path) -> String {
    format!("pinwise resume {}", quoted(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let of = |text: &str| quoted(Path::new(text));
        assert_eq!(of("cases/x-1"), "cases/x-1");
        assert_eq!(of("my case"), "'my case'");
        assert_eq!(of("-o"), "./-o");
        for path in ["it's", "a b/c$d", "tab\there", "\"", "`id`", "#x", "~/x", "a;b", "*", ""] {
            assert_eq!(shell_words::split(&of(path)).unwrap(), [path], "{path}");
        }
    }
}
