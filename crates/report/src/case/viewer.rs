//! What lets the pictures of a report be looked into: the data behind them, and a script of our own that draws them again from those.
//!
//! The page does not need it: without scripts, and on paper, the static pictures stand where they stood.

mod fall;
mod of_case;
mod plot;

use std::sync::LazyLock;

pub(crate) use of_case::{LATENCY, TRIALS, data, sequence};

use crate::Html;

/// The element that holds the data; start.js looks for it.
pub(crate) const DATA_ID: &str = "pinwise-data";

/// The files of the script, the last of which begins to do something. No text in them goes over several lines.
static FILES: [&str; 14] = [
    include_str!("viewer/scales.js"),
    include_str!("viewer/range.js"),
    include_str!("viewer/columns.js"),
    include_str!("viewer/nearest.js"),
    include_str!("viewer/csv.js"),
    include_str!("viewer/element.js"),
    include_str!("viewer/arms.js"),
    include_str!("viewer/marks.js"),
    include_str!("viewer/paint.js"),
    include_str!("viewer/pointer.js"),
    include_str!("viewer/plot.js"),
    include_str!("viewer/waterfall.js"),
    include_str!("viewer/tables.js"),
    include_str!("viewer/start.js"),
];

static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    // Every report holds it: its comments and indents are for those who read the source.
    let lines = FILES.iter().flat_map(|file| file.lines()).map(str::trim_start);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    format!("\"use strict\";\n(() => {{\n{}\n}})();\n", code.join("\n"))
});

/// The script as it stands in the page.
pub(crate) fn script() -> &'static str {
    &SCRIPT
}

/// Adds a drawing in the frame in which the script finds the picture with this id.
pub(crate) fn frame(html: &mut Html, id: &str, drawing: &Html) {
    html.within("div", &[("data-plot", &id)], |frame| {
        frame.add(drawing);
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Bytes that the script may have in a page.
    const MOST: usize = 28 * 1024;

    #[test]
    fn the_script_is_small_and_cannot_end_its_element() {
        let script = script().to_lowercase();
        assert!(script.len() <= MOST, "{} bytes", script.len());
        for ends in ["</script", "<script", "<!--"] {
            assert!(!script.contains(ends), "{ends}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_in_the_script_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/case/viewer");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let scripts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "js"));
        let texts: BTreeSet<String> = scripts.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let listed: BTreeSet<String> = FILES.iter().map(|file| file.to_string()).collect();
        assert_eq!((listed.len(), &listed), (FILES.len(), &texts));
    }

    #[test]
    fn no_text_of_the_script_goes_over_several_lines() {
        for line in FILES.iter().flat_map(|file| file.lines()) {
            assert_eq!(line.matches('`').count() % 2, 0, "{line}");
        }
    }
}
