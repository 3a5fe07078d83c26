//! The last lines of what a process printed, for error messages.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use machine::untrusted::text::BAR;

const LINES: usize = 8;
const BYTES: u64 = 4096;

/// `; its last lines: ...`, or that it printed nothing.
pub fn of_text(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().flat_map(|l| l.split('\r')).map(str::trim_end).filter(|l| !l.is_empty()).collect();
    match lines.len() {
        0 => "it printed nothing".into(),
        n => {
            let lines = lines[n.saturating_sub(LINES)..].iter().map(|line| format!("\n{BAR}{line}"));
            format!("its last lines:{}", lines.collect::<String>())
        }
    }
}

/// The same of a log file.
pub fn of_file(path: &Path) -> String {
    match read_end(path, BYTES) {
        Ok(bytes) => of_text(&String::from_utf8_lossy(&bytes)),
        Err(why) => format!("its log {} cannot be read: {why}", path.display()),
    }
}

/// The last `most` bytes of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_end(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_shown() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let tail = of_text(&text);
        assert!(tail.contains("line 99") && tail.contains("line 92") && !tail.contains("line 91"), "{tail}");
        assert_eq!(of_text(" \n\n"), "it printed nothing");
        assert!(of_text("0 %\r50 %\r100 %").ends_with("100 %"));
        assert!(of_file(Path::new("/nowhere/log")).contains("/nowhere/log"));
    }
}
