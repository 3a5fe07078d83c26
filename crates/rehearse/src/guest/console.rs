//! What a guest wrote to its console, for error messages.

use std::path::Path;

const LINES: usize = 12;

/// Starts the kernel's own word on why it gives up (kernel/panic.c); what called what follows, and pushes it out.
const PANIC: &str = "Kernel panic - not syncing";

/// Lines of the reason that stand in front of that.
const BEFORE_PANIC: usize = 3;

/// Its last lines, or those around a panic, or that nothing was written.
pub(super) fn last_lines(path: &Path) -> String {
    let text =
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let shown = |from: usize| lines.iter().skip(from).take(LINES).copied().collect::<Vec<_>>().join("\n  ");
    match lines.iter().position(|line| line.contains(PANIC)) {
        _ if lines.is_empty() => "nothing came on its console".into(),
        Some(at) => format!("its console shows a panic:\n  {}", shown(at.saturating_sub(BEFORE_PANIC))),
        None => {
            format!("the last lines of its console:\n  {}", shown(lines.len().saturating_sub(LINES)))
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

    #[test]
    fn a_panic_is_shown_with_its_reason_whatever_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console");
        let calls: String = (0..20).map(|n| format!("  call {n}\n")).collect();
        std::fs::write(&path, format!("a\nb\nno init found\n[ 2.1] {PANIC}: VFS\n{calls}")).unwrap();
        let last = last_lines(&path);
        assert!(
            last.contains("no init found") && last.contains(PANIC) && !last.contains("call 19"),
            "{last}"
        );
    }
}
