//! Trees of real machines against what lstopo says of them (shared/snapshots, third-party data that the repository
//! does not carry). Where lstopo's word is not the kernel's, `exceptions.rs` names the file of the tree that says so.

#[path = "snapshots/exceptions.rs"]
mod exceptions;
#[path = "snapshots/truth.rs"]
mod truth;

use std::collections::BTreeMap;
use std::path::PathBuf;

use exceptions::EXCEPTIONS;
use pinwise_machine::{Machine, Root};
use truth::Truth;

/// One fact by name (`node 4 cpus`) as text, so that a difference reads as a sentence.
type Facts = BTreeMap<String, String>;

fn snapshots() -> Vec<PathBuf> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/snapshots/hwloc"));
    let Ok(entries) = dir.read_dir() else {
        eprintln!("skipped: {} is absent, and with it the trees of real machines", dir.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".tar.bz2"));
    paths.sort();
    assert!(paths.len() >= 20, "only {} trees in {}", paths.len(), dir.display());
    paths
}

/// The facts that differ, as `name: ours, lstopo's`.
fn differences(ours: &Facts, theirs: &Facts) -> BTreeMap<String, (String, String)> {
    let absent = || "-".to_string();
    let names = ours.keys().chain(theirs.keys());
    let pairs = names.map(|name| {
        let of = |facts: &Facts| facts.get(name).cloned().unwrap_or_else(absent);
        (name.clone(), (of(ours), of(theirs)))
    });
    pairs.filter(|(_, (ours, theirs))| ours != theirs).collect()
}

#[test]
fn every_tree_reads_as_lstopo_says_or_as_its_own_files_say() {
    let mut wrong = Vec::new();
    for path in snapshots() {
        let name = path.file_name().unwrap().to_string_lossy().trim_end_matches(".tar.bz2").to_string();
        let root = Root::at(&path).unwrap();
        let machine = Machine::read(&root);
        let truth = Truth::read(&path.with_file_name(format!("{name}.json")));
        let mut differences = differences(&truth::facts_of(&machine, &truth), &truth.facts());
        for exception in EXCEPTIONS.iter().filter(|e| e.tree == name) {
            let said = root.read(exception.file).unwrap_or_else(|e| e.to_string());
            assert!(said.contains(exception.says), "{name} {}: {said}", exception.file);
            for (fact, ours) in exception.ours {
                match differences.remove(*fact) {
                    Some((our, _)) if our == *ours => {}
                    other => wrong.push(format!("{name}: exception {fact} = {ours}, but found {other:?}")),
                }
            }
        }
        wrong.extend(
            differences
                .iter()
                .map(|(fact, (ours, theirs))| format!("{name}: {fact}: ours {ours}, lstopo {theirs}")),
        );
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// The table of docs/truth.md, made from the exceptions themselves so that it cannot go stale.
fn table() -> String {
    let mut text = String::from("| tree | fact | why | decided by |\n|---|---|---|---|\n");
    for exception in EXCEPTIONS {
        let facts: Vec<&str> = exception.ours.iter().map(|(fact, _)| *fact).collect();
        let says = exception.says.trim();
        text.push_str(&format!(
            "| {} | {} | {} | `{}`: {says} |\n",
            exception.tree,
            facts.join(", "),
            exception.why,
            exception.file,
        ));
    }
    text
}

#[test]
fn the_table_in_the_docs_is_that_of_the_exceptions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/truth.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = text.find("| tree |").expect("docs/truth.md has the table");
    let end = text[start..].find("\n\n").map_or(text.len(), |length| start + length + 1);
    if std::env::var_os("PINWISE_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{}{}{}", &text[..start], table(), &text[end..])).unwrap();
        return;
    }
    assert_eq!(text[start..end], table(), "run this test with PINWISE_WRITE_DOCS=1 to write the table anew");
}
