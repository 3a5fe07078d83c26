//! Ids that lead nowhere else, and lists that nothing breaks.

use std::os::unix::fs::symlink;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A folder without links in its path.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

/// A folder that holds what looks like a case.
fn case(dir: &Path, id: &str) {
    std::fs::create_dir_all(dir.join(id)).unwrap();
    std::fs::write(dir.join(id).join(STUDY), "broken").unwrap();
}

/// A copy of a case that was recorded, but for its trials' folders.
fn recorded(dir: &Path, id: &str) {
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases/receive-work-on-cpu-1");
    std::fs::create_dir_all(dir.join(id)).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), dir.join(id).join(entry.file_name())).unwrap();
        }
    }
}

fn at_leisure() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

fn ids(list: &Value) -> Vec<&str> {
    list["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect()
}

#[test]
fn a_case_is_found_by_its_path_below_the_folder() {
    let (_dir, path) = place();
    case(&path, "a/b c");
    assert_eq!(folder_of(&path, "a/b c").unwrap(), path.join("a/b c"));
    case(&path, "");
    assert_eq!(folder_of(&path, ITSELF).unwrap(), path);
}

#[test]
fn no_id_leads_out_of_the_folder() {
    let (_dir, path) = place();
    let dir = path.join("cases");
    case(&path, "outside");
    case(&dir, "inside");
    symlink("../outside", dir.join("link")).unwrap();
    symlink("inside", dir.join("link-within")).unwrap();
    symlink("..", dir.join("up")).unwrap();
    let outside = path.join("outside");
    let long = "a/".repeat(LONGEST_ID);
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "inside/../../outside",
        "./inside",
        "inside/",
        "inside/.",
        "inside//",
        "/inside",
        "//",
        outside.to_str().unwrap(),
        "link",
        "link-within",
        "up/outside",
        "inside\0",
        "in\0side",
        "inside/study.toml",
        "nosuch",
        "%2e%2e/outside",
        "..\\outside",
        &long,
    ] {
        let fault = folder_of(&dir, id).unwrap_err();
        assert_eq!(fault.class, Class::Usage, "{id:?}");
        assert!(fault.object.chars().count() <= 200, "{id:?}");
    }
    assert!(folder_of(&dir, "inside").is_ok());
}

proptest! {
    #[test]
    fn whatever_an_id_is_its_folder_lies_below(id in "([a-z./\\\\%]|\\PC){0,20}") {
        if let Some(folder) = named(Path::new("/cases"), &id) {
            prop_assert!(folder.starts_with("/cases"));
            prop_assert!(folder.components().all(|part| !matches!(part, Component::ParentDir)));
        }
    }
}

#[test]
fn a_broken_case_is_listed_with_its_fault_and_stops_no_other() {
    let (_dir, path) = place();
    case(&path, "broken");
    recorded(&path, "sound");
    let list = list(&path, &Known::default(), "", at_leisure()).unwrap();
    let named =
        |id: &str| list["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap().clone();
    assert_eq!(named("broken")["fault"]["class"], "storage");
    assert!(named("broken")["trials"].is_null());
    let sound = named("sound");
    assert!(sound["fault"].is_null() && sound["trials"].as_u64().unwrap() > 0, "{sound}");
    assert!(sound["headline"].as_str().is_some_and(|title| !title.is_empty()), "{sound}");
    assert!(sound["blocks"]["done"].as_u64() <= sound["blocks"]["planned"].as_u64(), "{sound}");
    assert_eq!((&list["left_out"], &list["whole"]), (&json!(0), &json!(true)));
}

#[test]
fn a_case_that_is_known_is_not_read_again_until_its_files_change() {
    let (_dir, path) = place();
    recorded(&path, "sound");
    let known = Known::default();
    let first = list(&path, &known, "", at_leisure()).unwrap();
    // No time is left: what is shown was known before.
    assert_eq!(list(&path, &known, "", Instant::now()).unwrap(), first);
    std::fs::write(path.join("sound").join(STUDY), "broken by now").unwrap();
    let changed = list(&path, &known, "", at_leisure()).unwrap();
    assert_eq!(changed["cases"][0]["fault"]["class"], "storage");
}

#[test]
fn without_time_a_list_has_the_names_and_is_not_whole() {
    let (_dir, path) = place();
    recorded(&path, "sound");
    let list = list(&path, &Known::default(), "", Instant::now()).unwrap();
    assert_eq!((ids(&list), &list["whole"]), (vec!["sound"], &json!(false)));
    assert!(list["cases"][0]["headline"].is_null() && list["cases"][0]["fault"].is_null());
}

#[test]
fn a_list_is_searched_by_name() {
    let (_dir, path) = place();
    case(&path, "Redis-1");
    case(&path, "nginx-1");
    let of = |text: &str| list(&path, &Known::default(), text, at_leisure()).unwrap();
    assert_eq!(ids(&of("redis")), ["Redis-1"]);
    assert!(ids(&of("postgres")).is_empty());
}

#[tokio::test]
async fn what_is_no_case_does_not_exist_for_a_handler() {
    let (_dir, path) = place();
    let refused = folder(path, "../x".into()).await.unwrap_err();
    assert!(matches!(refused, Refusal::NotFound(id) if id == "../x"));
}

#[tokio::test]
async fn a_case_that_would_fill_the_memory_is_listed_and_not_read() {
    let (_dir, path) = place();
    case(&path, "huge");
    std::fs::File::create(path.join("huge/trials.jsonl")).unwrap().set_len(1 << 40).unwrap();
    let listed = list(&path, &Known::default(), "", at_leisure()).unwrap();
    let refused = folder(path, "huge".into()).await.unwrap_err();
    let Refusal::Fault(fault) = refused else { panic!("{refused:?}") };
    assert!(fault.class == Class::Storage && fault.cause.contains("256 MiB"), "{fault}");
    assert_eq!(listed["cases"][0]["fault"]["cause"], fault.cause);
}

#[tokio::test]
async fn a_report_in_a_case_is_not_read_however_large_it_is() {
    let (_dir, path) = place();
    case(&path, "reported");
    std::fs::File::create(path.join("reported/report.html")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(folder(path.clone(), "reported".into()).await.unwrap(), path.join("reported"));
}

#[test]
fn of_very_many_cases_the_newest_are_listed_and_the_others_are_found_by_their_path() {
    let (_dir, path) = place();
    (0..MOST).for_each(|n| case(&path, &format!("case-{n}")));
    case(&path, "needle");
    let study = std::fs::File::options().write(true).open(path.join("needle").join(STUDY)).unwrap();
    study.set_modified(std::time::UNIX_EPOCH).unwrap();
    let of = |text: &str| list(&path, &Known::default(), text, Instant::now()).unwrap();
    let all = of("");
    assert_eq!((ids(&all).len(), &all["left_out"], &all["searched"]), (MOST, &json!(1), &json!(true)));
    assert!(!ids(&all).contains(&"needle"));
    let found = of("Needle");
    assert_eq!((ids(&found), &found["left_out"]), (vec!["needle"], &json!(0)));
}
