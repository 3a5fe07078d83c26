//! Assignments in files as systemd's EnvironmentFile= takes them (systemd.exec(5)).

/// `KEY=VALUE` lines as systemd's EnvironmentFile= and its configuration files take them: blanks around are left out,
/// lines that begin with `#` or `;` are comments, a final backslash joins the next line, quotes are taken off.
pub(super) fn assignments(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut whole = String::new();
    for line in text.lines() {
        let start = whole.is_empty();
        let line = line.trim();
        if start && (line.starts_with('#') || line.starts_with(';')) {
            continue;
        }
        if let Some(more) = line.strip_suffix('\\') {
            whole.push_str(more);
            whole.push(' ');
            continue;
        }
        whole.push_str(line);
        if let Some((key, value)) = std::mem::take(&mut whole).split_once('=') {
            // /etc/sysconfig files are shell in spirit, and some begin their lines with `export`.
            let key = key.trim().trim_start_matches("export ").trim();
            found.push((key.to_string(), unquoted(value.trim()).to_string()));
        }
    }
    found
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_files_as_they_are_written() {
        let text = "# A=0\n; B=1\nC=\"x y\"\n D = '1' \nexport E=5\nF=a\\\n b\nnothing\n=\nG=\n";
        let told = assignments(text);
        let told: Vec<_> = told.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(told, [("C", "x y"), ("D", "1"), ("E", "5"), ("F", "a b"), ("", ""), ("G", "")]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s)([A-Z=\"'#\\\\\n ]|.){0,40}") {
            let _ = assignments(&text);
        }
    }
}
