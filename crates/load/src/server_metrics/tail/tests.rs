use std::fs::{OpenOptions, create_dir, remove_file, rename, write};
use std::io::Write as _;
use std::os::unix::fs::symlink;

use super::*;

fn append(path: &Path, text: impl AsRef<[u8]>) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_ref()).unwrap();
}

fn read(tail: &mut Tail) -> (Vec<String>, Option<&'static str>) {
    let mut lines = Vec::new();
    let lost = tail.read(&mut |line| lines.push(line.to_string())).unwrap();
    (lines, lost)
}

fn lines(tail: &mut Tail) -> Vec<String> {
    let (lines, lost) = read(tail);
    assert_eq!(lost, None);
    lines
}

#[test]
fn lines_count_once_they_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, "old\nold as wel");
    let mut tail = Tail::new(&path).unwrap();
    assert!(lines(&mut tail).is_empty());
    append(&path, "l\nfirst\nsec");
    assert_eq!(lines(&mut tail), ["first"], "what had begun before is none of ours");
    append(&path, "ond");
    assert!(lines(&mut tail).is_empty());
    append(&path, "\n\nthird \u{ff}\n");
    append(&path, b"\xff\n");
    assert_eq!(lines(&mut tail), ["second", "", "third \u{ff}", "\u{fffd}"]);
    assert!(lines(&mut tail).is_empty());
}

#[test]
fn a_log_that_is_renamed_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
    append(&path, "");
    let mut tail = Tail::new(&path).unwrap();
    append(&path, "one\n");
    rename(&path, &old).unwrap();
    append(&old, "two\nthr");
    assert_eq!(lines(&mut tail), ["one", "two"], "nothing has taken its place yet");
    append(&path, "four\n");
    append(&old, "ee\n");
    assert_eq!(lines(&mut tail), ["three", "four"]);
    append(&old, "five\n");
    append(&path, "six\n");
    assert_eq!(lines(&mut tail), ["five", "six"], "the server had not reopened it yet");
    rename(&path, &old).unwrap();
    append(&path, "seven\n");
    append(&old, "eight\n");
    assert_eq!(lines(&mut tail), ["eight", "seven"]);
}

#[test]
fn a_truncated_log_and_one_that_grows_too_fast_are_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, "a long line that was there\n");
    let mut tail = Tail::new(&path).unwrap();
    write(&path, "one\n").unwrap();
    assert_eq!(read(&mut tail), (vec!["one".to_string()], Some(TRUNCATED)));
    OpenOptions::new().write(true).open(&path).unwrap().set_len(MOST_AT_ONCE + 100).unwrap();
    assert_eq!(read(&mut tail), (Vec::new(), Some(TOO_MUCH)));
    append(&path, "\ntwo\n");
    assert_eq!(lines(&mut tail), ["two"]);
}

#[test]
fn a_line_that_is_too_long_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, "");
    let mut tail = Tail::new(&path).unwrap();
    append(&path, "x".repeat(LONGEST_LINE + 1));
    assert!(lines(&mut tail).is_empty() && tail.current.begun.is_empty());
    append(&path, format!("x\n{}\ny\n", "z".repeat(LONGEST_LINE)));
    let lengths: Vec<usize> = lines(&mut tail).iter().map(String::len).collect();
    assert_eq!(lengths, [LONGEST_LINE, 1]);
}

#[test]
fn only_a_link_that_was_named_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    append(&at("log"), "");
    let mut tail = Tail::new(&at("log")).unwrap();
    append(&at("other"), "secret\n");
    remove_file(at("log")).unwrap();
    assert!(lines(&mut tail).is_empty());
    symlink("other", at("log")).unwrap();
    let refused = tail.read(&mut |line| panic!("{line}")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
    append(&at("today"), "");
    symlink("today", at("current")).unwrap();
    let mut tail = Tail::new(&at("current")).unwrap();
    append(&at("today"), "one\n");
    assert_eq!(lines(&mut tail), ["one"]);
    append(&at("tomorrow"), "two\n");
    remove_file(at("current")).unwrap();
    symlink("tomorrow", at("current")).unwrap();
    assert_eq!(lines(&mut tail), ["two"]);
}

#[test]
fn what_is_no_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    create_dir(at("folder")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    for path in [at("none"), at("folder"), at("dangling"), "/dev/zero".into()] {
        assert!(Tail::new(&path).is_err(), "{}", path.display());
    }
}

proptest::proptest! {
    #[test]
    fn pieces_do_not_matter(text in "[ab\n]{0,40}", cuts in proptest::collection::vec(0usize..40, 0..6)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "");
        let mut tail = Tail::new(&path).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut read = Vec::new();
        for pair in cuts.windows(2) {
            append(&path, &text[pair[0]..pair[1]]);
            read.extend(lines(&mut tail));
        }
        let ended = text.rfind('\n').map_or("", |end| &text[..end]);
        let whole: Vec<&str> = if text.contains('\n') { ended.split('\n').collect() } else { Vec::new() };
        proptest::prop_assert_eq!(read, whole);
    }
}
