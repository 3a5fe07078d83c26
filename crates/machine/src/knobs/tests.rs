use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::Tree;

/// Shapes of knobs that are alike: no knobs themselves.
const SHAPES: [&str; 2] = ["ethtool", "unit-drop-in"];

/// Modules that the fields declare, with dashes as ids have them.
fn modules_by_field() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/knobs");
    let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let fields = entries(&folder).filter(|path| path.is_dir() && !path.ends_with("file"));
    let stems = fields.flat_map(|field| {
        let modules = std::fs::read_to_string(field.join("mod.rs")).unwrap();
        let declared = modules.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        declared.map(|module| module.replace('_', "-")).collect::<Vec<_>>()
    });
    stems.filter(|stem| !SHAPES.contains(&stem.as_str())).collect()
}

#[test]
fn ids_are_unique_sorted_and_those_of_the_files() {
    let modules = modules_by_field();
    let ids: Vec<&str> = ALL.iter().map(|knob| knob.about().id).collect();
    assert_eq!(ids, modules.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| find(id).is_some_and(|knob| knob.about().id == *id)));
    assert!(find("nonsense").is_none());
}

#[test]
fn every_field_of_about_says_something() {
    for about in ALL.iter().map(|knob| knob.about()) {
        let About { id, title, docs, unit, scope, owner, owners: _, risk, may_set: _, source } = about;
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
