use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::Tree;

/// What stands in the folder beside the knobs: this module with its tests, and the shapes of those that are alike.
const NO_KNOBS: [&str; 6] = ["ethtool", "file", "guest", "mod", "tests", "unit-drop-in"];

#[test]
fn ids_are_unique_sorted_and_those_of_the_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/knobs");
    let stem = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().path().file_stem().unwrap().to_string_lossy().replace('_', "-")
    };
    let files: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(stem).filter(|f| !NO_KNOBS.contains(&f.as_str())).collect();
    let ids: Vec<&str> = ALL.iter().map(|knob| knob.about().id).collect();
    assert_eq!(ids, files.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| find(id).is_some_and(|knob| knob.about().id == *id)));
    assert!(find("nonsense").is_none());
}

#[test]
fn every_field_of_about_says_something() {
    for about in ALL.iter().map(|knob| knob.about()) {
        let About { id, title, docs, unit, scope, owner, risk, may_set: _, source } = about;
        for text in [id, title, docs, unit, scope, owner, risk, source] {
            assert!(text.len() > 2 && text.trim() == *text, "{id}: '{text}'");
        }
        assert!(!title.ends_with('.') && title.len() < 80, "{id}: '{title}'");
    }
}

#[test]
fn an_empty_machine_offers_nothing_and_every_refusal_names_target_and_remedy() {
    let root = Root::from_tree(Tree::new().file("/sys/devices/system/cpu/online", "0-1\n"));
    for knob in ALL {
        assert_eq!(knob.targets(&root).unwrap_or_default(), [], "{}", knob.about().id);
        for target in ["", "nonsense", "../../etc", "99999999999999", "a:b:c/rx-0", "/"] {
            let faults =
                [knob.read(&root, target).unwrap_err(), knob.change(&root, target, "0").unwrap_err()];
            for fault in faults {
                assert!(!fault.remedy.is_empty(), "{}: {fault}", knob.about().id);
            }
        }
    }
}
