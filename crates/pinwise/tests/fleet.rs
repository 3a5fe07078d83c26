//! `pinwise fleet map` as its user runs it: captures of a folder, hosts that are reached, and what comes out in each form.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on is to fail there")]

mod folder_copy;
mod place;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use folder_copy::copy;
use machine::untrusted::text::is_hidden;
use place::Place;
use serde_json::Value;

/// Sets a title, fakes a line, and turns the reading direction.
const EVIL: &str = "web\x1b]0;x\x07\nFAKE\u{202e}";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(name)
}

/// Three hosts of one shape, of which one has a hostile name, one of another, and a capture that was cut off.
fn captures(place: &Place) -> PathBuf {
    let folder = place.path("captures");
    let archive = fs::read(fixture("two-node-smt/capture.tar.zst")).unwrap();
    fs::create_dir(&folder).unwrap();
    for host in ["web1", "web2", EVIL] {
        fs::write(folder.join(format!("{host}.tar.zst")), &archive).unwrap();
    }
    copy(&fixture("corsair"), &folder.join("db1"));
    fs::write(folder.join("broken.tar.zst"), &archive[..archive.len() / 2]).unwrap();
    fs::write(folder.join("README.txt"), "no capture").unwrap();
    folder
}

/// Both outputs of a run that succeeds; neither drives a terminal.
fn text(output: &Output) -> (String, String) {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8(bytes.clone()).unwrap());
    assert!(output.status.success(), "{stderr}");
    for said in [&stdout, &stderr] {
        assert!(!said.chars().any(is_hidden), "{said:?}");
        assert!(!said.lines().any(|line| line.trim_start().starts_with("FAKE")), "{said}");
    }
    (stdout, stderr)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output).0).unwrap()
}

/// The hosts of each shape.
fn shapes(document: &Value) -> BTreeSet<BTreeSet<String>> {
    let hosts = |shape: &Value| strings(&shape["hosts"]);
    document["shapes"].as_array().unwrap().iter().map(hosts).collect()
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(String::from).into()
}

#[test]
fn captures_of_a_folder_are_grouped_by_shape_and_a_damaged_one_is_listed() {
    let place = Place::new();
    captures(&place);
    let document = json(&place.pinwise(&["fleet", "map", "--from", "captures", "--format", "json"]));
    assert_eq!(
        shapes(&document),
        BTreeSet::from([set(["web1", "web2", EVIL]), set(["db1"])]),
        "{document:#}"
    );
    let not_read = document["not_read"].as_array().unwrap();
    assert_eq!(not_read.len(), 1, "{document:#}");
    assert_eq!(not_read[0]["host"], "broken");
    assert!(!not_read[0]["cause"].as_str().unwrap().is_empty(), "{document:#}");
    // Captures that are alike do not deviate.
    for shape in document["shapes"].as_array().unwrap() {
        assert_eq!(shape["differences"], serde_json::json!([]), "{shape:#}");
    }
}

#[test]
fn the_sheet_has_every_shape_and_what_was_not_read() {
    let place = Place::new();
    captures(&place);
    let (stdout, stderr) = text(&place.pinwise(&["fleet", "map", "--from", "captures"]));
    assert!(stdout.starts_with("4 hosts of 2 shapes"), "{stdout}");
    assert!(stdout.contains("web1, web2") && stdout.contains("  1 host: db1\n"), "{stdout}");
    let (_, not_read) = stdout.split_once("\nNot read\n").unwrap();
    assert!(not_read.contains("captures/broken.tar.zst: "), "{stdout}");
    assert!(stderr.contains("not captures: 1"), "{stderr}");
}

#[test]
fn a_setting_that_one_host_of_four_has_is_its_difference() {
    let place = Place::new();
    for host in ["vm1", "vm2", "vm3", "vm4"] {
        copy(&fixture("vm-2cpu"), &place.path("guests").join(host));
    }
    let huge_pages = "guests/vm3/sys/kernel/mm/transparent_hugepage/enabled";
    fs::write(place.path(huge_pages), "[always] madvise never\n").unwrap();
    let document = json(&place.pinwise(&["fleet", "map", "--from", "guests", "--format", "json"]));
    assert_eq!(shapes(&document), BTreeSet::from([set(["vm1", "vm2", "vm3", "vm4"])]));
    let differences = document["shapes"][0]["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{document:#}");
    let of = |key: &str| differences[0][key].as_str().unwrap();
    assert_eq!((of("host"), of("feature")), ("vm3", "transparent-huge-pages"));
    assert_eq!((of("usual"), of("here")), ("madvise", "always"));
    let (sheet, _) = text(&place.pinwise(&["fleet", "map", "--from", "guests"]));
    let lines = "  transparent-huge-pages: always, usually madvise\n      1 of 4 hosts: vm3\n";
    assert!(sheet.contains(lines), "{sheet}");
}

#[test]
fn captures_may_be_named_one_by_one() {
    let place = Place::new();
    captures(&place);
    let from = ["fleet", "map", "--format", "json", "--from", "captures/web1.tar.zst", "captures/db1"];
    assert_eq!(shapes(&json(&place.pinwise(&from))), BTreeSet::from([set(["web1"]), set(["db1"])]));
}

#[test]
fn the_table_is_a_parquet_file_and_replaces_the_one_before() {
    let place = Place::new();
    captures(&place);
    let table = place.path("fleet.parquet");
    fs::write(&table, "of yesterday").unwrap();
    text(&place.pinwise(&["fleet", "map", "--from", "captures", "-o", "fleet.parquet"]));
    let bytes = fs::read(&table).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{} bytes", bytes.len());
    let left = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.filter(|name| name.to_string_lossy().contains("parquet")).count() == 1, "a part is left");
}

#[test]
fn a_fleet_of_which_nothing_can_be_read_fails_with_the_reason() {
    let place = Place::new();
    fs::create_dir(place.path("captures")).unwrap();
    fs::write(place.path("captures/broken.tar.zst"), "no archive").unwrap();
    fs::write(place.path("fleet.parquet"), "of yesterday").unwrap();
    let fails = |more: &[&str], code: i32, words: &str| {
        let output = place.pinwise(&[&["fleet", "map"][..], more].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {stderr}");
        assert!(stderr.contains(words), "{more:?}: {stderr}");
    };
    fails(&["--from", "captures", "-o", "fleet.parquet"], 6, "broken.tar.zst");
    assert_eq!(fs::read_to_string(place.path("fleet.parquet")).unwrap(), "of yesterday");
    fails(&["--from", "nowhere"], 6, "nowhere");
    fails(&["--from", "captures", "-o", "nowhere/fleet.parquet"], 6, "nowhere/fleet.parquet");
    for way in ["--from", "--hosts", "--host <"] {
        fails(&[], 2, way);
    }
    fails(&["--from", "captures", "--host", "load=web1"], 2, "--host");
}

/// A study has a use for hosts that drive load; here all of an inventory are of interest.
#[test]
fn hosts_of_every_group_are_read_whatever_they_do_in_a_study() {
    let place = Place::new();
    let inventory = "\
[servers]
a

[load]
b

[databases]
c

[all:vars]
ansible_connection=local
";
    fs::write(place.path("inventory.ini"), inventory).unwrap();
    let document = json(&place.pinwise(&["fleet", "map", "--hosts", "inventory.ini", "--format", "json"]));
    assert_eq!(shapes(&document), BTreeSet::from([set(["a", "b", "c"])]), "{document:#}");
}

/// Agents of this host, as a study on one host has them; the third is reached by nobody.
#[test]
fn hosts_that_answer_are_read_and_their_captures_kept_while_others_are_listed() {
    let place = Place::new();
    let hosts = "\
[[hosts]]
name = \"a\"
via = \"local\"

[[hosts]]
name = \"b\"
via = \"local\"

[[hosts]]
name = \"away\"
ssh_options = [\"-o\", \"ProxyCommand=false\"]
";
    fs::write(place.path("hosts.toml"), hosts).unwrap();
    let reach = ["fleet", "map", "--hosts", "hosts.toml", "--captures", "taken", "--parallel", "2"];
    let document = json(&place.pinwise(&[&reach[..], &["--format", "json"]].concat()));
    assert_eq!(shapes(&document), BTreeSet::from([set(["a", "b"])]), "{document:#}");
    assert_eq!(document["not_read"][0]["host"], "away", "{document:#}");
    let kept: BTreeSet<String> = fs::read_dir(place.path("taken"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(kept, set(["a.tar.zst", "b.tar.zst"]));
    let again = json(&place.pinwise(&["fleet", "map", "--from", "taken", "--format", "json"]));
    assert_eq!(shapes(&again), shapes(&document));
}
