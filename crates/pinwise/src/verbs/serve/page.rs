//! The page that `pinwise serve` shows: its files, which stand in the binary and hold nothing of the machine.
//!
//! What they show they fetch from `/api/` with the token. Nothing comes from elsewhere, and no script or style stands within the HTML: the
//! content security policy refuses both.

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file by its name, with what stands in it.
macro_rules! of_page {
    ($kind:expr, $name:literal) => {
        ($name, $kind, include_bytes!(concat!("page/", $name)).as_slice())
    };
}

/// Every file of the page: its path below `/`, its content type, its bytes.
const FILES: &[(&str, &str, &[u8])] = &[
    of_page!(SCRIPT, "api.js"),
    of_page!(SCRIPT, "case.js"),
    of_page!(SCRIPT, "cases.js"),
    of_page!(SCRIPT, "change_control.js"),
    of_page!(SCRIPT, "changes.js"),
    of_page!(SCRIPT, "compare.js"),
    of_page!(SCRIPT, "connection.js"),
    of_page!(SCRIPT, "diagnose.js"),
    of_page!(SCRIPT, "dom.js"),
    of_page!(SCRIPT, "explanations.js"),
    of_page!(HTML, "index.html"),
    of_page!(SCRIPT, "interrupts.js"),
    of_page!(SCRIPT, "live_rows.js"),
    of_page!(SCRIPT, "machine.js"),
    of_page!(SCRIPT, "notice.js"),
    of_page!(SCRIPT, "outstanding.js"),
    of_page!(STYLE, "page.css"),
    of_page!(SCRIPT, "page.js"),
    of_page!(SCRIPT, "plan.js"),
    of_page!(HTML, "report.html"),
    of_page!(SCRIPT, "report.js"),
    of_page!(SCRIPT, "stream.js"),
    of_page!(SCRIPT, "takers.js"),
    of_page!(SCRIPT, "tiles.js"),
    of_page!(SCRIPT, "pure/address.js"),
    of_page!(SCRIPT, "pure/case_list.js"),
    of_page!(SCRIPT, "pure/countdown.js"),
    of_page!(SCRIPT, "pure/events.js"),
    of_page!(SCRIPT, "pure/figures.js"),
    of_page!(SCRIPT, "pure/heat.js"),
    of_page!(SCRIPT, "pure/problem.js"),
    of_page!(SCRIPT, "pure/shell.js"),
    of_page!(SCRIPT, "pure/taken_over.js"),
    of_page!(SCRIPT, "pure/topology.js"),
    of_page!(SCRIPT, "pure/verdicts.js"),
];

/// The content type and the bytes of a file of the page, by the path of its URL; `/` is `index.html`. `None` for every other path.
pub(super) fn asset(path: &str) -> Option<(&'static str, &'static [u8])> {
    let name = path.strip_prefix('/').unwrap_or(path);
    let name = if name.is_empty() { "index.html" } else { name };
    FILES.iter().find(|(own, ..)| *own == name).map(|(_, kind, bytes)| (*kind, *bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verbs/serve/page")
    }

    fn names_in(folder: &Path, below: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(folder.join(below)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                names.extend(names_in(folder, &format!("{name}/")));
            } else {
                names.insert(name);
            }
        }
        names
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_file_of_the_folder_is_in_the_binary_once() {
        let listed: BTreeSet<String> = FILES.iter().map(|(name, ..)| (*name).to_string()).collect();
        assert_eq!((listed.len(), listed), (FILES.len(), names_in(&folder(), "")));
    }

    #[test]
    fn the_root_is_the_page_and_nothing_but_its_files_is_found() {
        assert_eq!(asset("/"), asset("/index.html"));
        assert_eq!(asset("/page.js").map(|(kind, _)| kind), Some(SCRIPT));
        assert!(asset("/pure/heat.js").is_some());
        for other in [
            "/page.rs",
            "/pure",
            "/pure/",
            "//page.js",
            "/../page.rs",
            "/page.js/",
            "/%70age.js",
            "/api/session",
        ] {
            assert_eq!(asset(other), None, "{other}");
        }
    }

    #[test]
    fn the_content_type_is_that_of_the_files_name() {
        for (name, kind, _) in FILES {
            let by_name = match name.rsplit_once('.').unwrap().1 {
                "html" => HTML,
                "js" => SCRIPT,
                "css" => STYLE,
                other => panic!("{other}"),
            };
            assert_eq!(*kind, by_name, "{name}");
        }
    }

    #[test]
    fn no_script_or_style_stands_within_the_html_and_nothing_is_read_as_markup() {
        for (name, kind, bytes) in FILES {
            let text = text(bytes);
            if *kind == HTML {
                let is_listener = |word: &str| word.starts_with("on") && word.contains('=');
                assert!(
                    !text.contains("<style")
                        && !text.contains("style=")
                        && !text.split_whitespace().any(is_listener),
                    "{name}"
                );
                assert_eq!(text.matches("<script").count(), text.matches("></script>").count(), "{name}");
            }
            let refused = ["setAttribute(\"style\"", "{ style:", ", style:", "eval(", "new Function"];
            for way in
                refused.into_iter().chain(["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"])
            {
                assert!(!text.contains(way), "{name} has {way}");
            }
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_every_import_is_a_file_of_the_page() {
        for (name, _, bytes) in FILES {
            let text = text(bytes);
            assert!(
                !text.contains("http://") && !text.contains("https://") && !text.contains("@import"),
                "{name}"
            );
            let folder = name.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("/{folder}"));
            for from in text.split("from \"./").skip(1) {
                let path = format!("{folder}/{}", from.split('"').next().unwrap());
                assert!(asset(&path).is_some(), "{name} imports {path}");
            }
        }
    }
}
