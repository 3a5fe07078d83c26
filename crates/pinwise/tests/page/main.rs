//! The page of `pinwise serve`, as far as it needs no browser: the files beside this one, which Node.js runs. Where that is not
//! installed they are skipped, and it is said.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::path::Path;
use std::process::Command;

/// The oldest version of Node.js with all that the tests use.
const OLDEST: u32 = 20;

/// The first part of the version of Node.js; `None` where it is not installed.
fn node_version() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[test]
fn the_functions_of_the_page_that_need_no_browser_hold() {
    match node_version() {
        None => return eprintln!("skipped: node is not installed"),
        Some(version) if version < OLDEST => {
            return eprintln!("skipped: node is version {version}, older than {OLDEST}");
        }
        Some(_) => {}
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    files.sort();
    assert!(files.len() > 3, "{files:?}");
    let output = Command::new("node").arg("--test").args(&files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}
