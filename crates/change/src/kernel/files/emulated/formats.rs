//! What files of the kernel read after a write where that is not the text that was written. It is written here once more, and
//! not taken from the code that the emulated machine tests.

use std::path::{Path, PathBuf};

/// A menu such as `always [madvise] never` with another choice; `None` for text that is not a menu with this word.
pub fn with_choice(menu: &str, word: &str) -> Option<String> {
    let is_chosen = |w: &str| w.starts_with('[') && w.ends_with(']');
    let bare = |w: &str| w.trim_matches(['[', ']']).to_string();
    if !menu.split_whitespace().any(is_chosen) {
        return None;
    }
    let words: Vec<String> = menu.split_whitespace().map(bare).collect();
    let marked = |w: &String| if w == word { format!("[{w}]") } else { w.clone() };
    words.iter().any(|w| w == word).then(|| words.iter().map(marked).collect::<Vec<_>>().join(" "))
}

/// The file that is set to 0 by a write to this one (mm/page-writeback.c).
pub fn twin(path: &Path) -> Option<PathBuf> {
    let name = path.strip_prefix("/proc/sys/vm").ok()?.to_str()?;
    let other = match name {
        "dirty_ratio" => "dirty_bytes",
        "dirty_bytes" => "dirty_ratio",
        "dirty_background_ratio" => "dirty_background_bytes",
        "dirty_background_bytes" => "dirty_background_ratio",
        _ => return None,
    };
    Some(path.with_file_name(other))
}

/// Name of the group in the text of /proc/PID/autogroup: `/autogroup-12 nice 0`.
pub fn autogroup(text: &str) -> Option<&str> {
    text.split_once(" nice ").map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn menus_twins_and_autogroups() {
        assert_eq!(with_choice("always [madvise] never", "never").unwrap(), "always madvise [never]");
        assert_eq!((with_choice("always [madvise]", "x"), with_choice("3", "3")), (None, None));
        assert_eq!(
            twin(Path::new("/proc/sys/vm/dirty_bytes")).unwrap(),
            Path::new("/proc/sys/vm/dirty_ratio")
        );
        assert_eq!(twin(Path::new("/cg/dirty_ratio")), None);
        assert_eq!((autogroup("/autogroup-12 nice -5\n"), autogroup("")), (Some("/autogroup-12"), None));
    }
}
