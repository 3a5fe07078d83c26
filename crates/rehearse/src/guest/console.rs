//! What a guest wrote to its console, for error messages.

use std::path::Path;

const LINES: usize = 12;

/// `; the console's last lines: ...`, or that nothing was written.
pub(super) fn last_lines(path: &Path) -> String {
    let text =
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => "nothing came on its console".into(),
        count => {
            format!("the last lines of its console:\n  {}", lines[count.saturating_sub(LINES)..].join("\n  "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_it_without_empty_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console");
        assert_eq!(last_lines(&path), "nothing came on its console");
        let text: String = (0..20).map(|n| format!("line {n}\r\n\r\n")).collect();
        std::fs::write(&path, text).unwrap();
        let last = last_lines(&path);
        assert!(last.contains("\n  line 8\n  line 9\n") && last.ends_with("line 19"), "{last}");
        assert!(!last.contains("line 7"));
    }
}
