//! What lets the pictures of the page be looked into: their data, the script, and the policy that allows it.

use advise::Explained;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use load::Operation;
use load::operations::{Kind, Phase};
use report::case::html;
use serde_json::Value;
use sha2::{Digest, Sha256};
use study::evidence::ArmCliff;

use crate::html::{check_nesting, of};
use crate::{e5, others};

/// What stands between the first `start` and the `end` that follows it.
fn between<'a>(html: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = html.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap().0
}

const DATA: &str = "<script type=\"application/json\" id=\"pinwise-data\">";

/// The data block as it stands in the page, and what a program reads from it.
fn data(html: &str) -> (&str, Value) {
    let text = between(html, DATA, "</script>");
    (text, serde_json::from_str(text).unwrap())
}

fn plot<'a>(data: &'a Value, id: &str) -> &'a Value {
    data["plots"].as_array().unwrap().iter().find(|plot| plot["id"] == id).unwrap()
}

/// The page of a case in which one trial is a sequence of so many operations.
fn with_sequence(count: u64) -> String {
    let mut facts = others::two_cpus();
    let shown = facts.trials[0].trial.index;
    let arm = facts.trials[0].trial.arm.clone();
    facts.evidence.cliffs =
        vec![ArmCliff { arm, trials: 1, broke: 0, breaks: None, first_swap: None, parts: Vec::new(), shown }];
    let operation = |number: u64| Operation {
        number,
        kind: if number.is_multiple_of(2) { Kind::Put } else { Kind::Get },
        phase: Phase::Exchange,
        begun_us: number * 100,
        // Pseudo-random, and a spike that must not be lost.
        took_us: if number == count / 3 { 90_000 } else { 80 + number.wrapping_mul(2_654_435_761) % 997 },
    };
    let explained = Explained::of(&facts);
    let mut view = e5::view(&facts, &[], &explained);
    let operations: Vec<Operation> = (0..count).map(operation).collect();
    view.operations.insert(shown, operations);
    html::render(&view)
}

#[test]
fn the_data_are_json_whose_names_end_no_script() {
    let html = of(&others::hostile());
    let (text, data) = data(&html);
    assert!(!text.contains(['<', '>', '&', '\'']), "{text}");
    let series = plot(&data, "trials")["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|series| series["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| name.starts_with("</svg><script>alert(1)</script>\" onload='x'")));
    assert!(names.iter().all(|name| !name.contains(['\x1b', '\u{202e}'])), "{names:?}");
}

#[test]
fn every_trial_is_in_the_data_with_its_figure_as_it_was_measured() {
    let facts = e5::facts();
    let html = of(&facts);
    let (_, data) = data(&html);
    let trials = plot(&data, "trials");
    assert_eq!((&trials["x"]["name"], &trials["y"]["name"]), (&"trial".into(), &"requests/s".into()));
    let mut points = 0;
    for series in trials["series"].as_array().unwrap() {
        let [x, y] = ["x", "y"].map(|axis| series[axis].as_array().unwrap());
        assert_eq!(x.len(), y.len());
        for (x, y) in x.iter().zip(y) {
            let number = x.as_u64().unwrap() as usize;
            let trial = &facts.trials.iter().find(|seen| seen.trial.index == number).unwrap().trial;
            assert_eq!(Some(trial.arm.as_str()), series["name"].as_str());
            assert_eq!(Some(trial.figures["requests_per_s"]), y.as_f64());
            points += 1;
        }
    }
    assert_eq!(points, facts.trials.len());
    assert_eq!(trials["levels"].as_array().unwrap().len(), 12, "one a block");
}

#[test]
fn every_picture_of_the_data_has_its_frame() {
    let html = with_sequence(5_000);
    check_nesting(&html);
    let (_, data) = data(&html);
    let ids: Vec<&str> =
        data["plots"].as_array().unwrap().iter().map(|plot| plot["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["trials", "latency", "operations-0"]);
    for id in ids {
        assert_eq!(html.matches(&format!("<div data-plot=\"{id}\">")).count(), 1, "{id}");
    }
    let series = plot(&data, "operations-0")["series"].as_array().unwrap();
    let counts: Vec<usize> = series.iter().map(|series| series["x"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [2_500, 2_500], "none is left out, other than in the static picture");
}

#[test]
fn operations_have_their_data_beside_them_without_scripts_unless_they_are_too_many() {
    let link = "download=\"operations-0.csv\"";
    assert_eq!(with_sequence(100).matches(link).count(), 1);
    assert_eq!(with_sequence(5_001).matches(link).count(), 0, "the script's link has them");
}

/// The hash by which a policy names a text.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

fn policy(html: &str) -> String {
    let policy = between(html, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    policy.replace("&#39;", "'")
}

#[test]
fn the_policy_allows_the_style_and_the_script_that_stand_there_and_nothing_else() {
    let html = of(&e5::facts());
    let (style, script) = (between(&html, "<style>", "</style>"), between(&html, "<script>", "</script>"));
    let [style, script] = [style, script].map(source);
    let expected = format!("default-src 'none'; style-src {style}; script-src {script}; img-src data:");
    assert_eq!(policy(&html), expected);
    assert!(!html.contains(" style=\"") && !html.contains(" onclick="), "the policy would not allow them");
}

#[test]
fn a_page_without_series_has_no_viewer() {
    let html = of(&others::empty());
    assert!(!html.contains("<script") && !html.contains("data-plot="));
    let style = source(between(&html, "<style>", "</style>"));
    assert_eq!(policy(&html), format!("default-src 'none'; style-src {style}; img-src data:"));
}

#[test]
fn the_page_of_a_machine_allows_both_of_its_styles_and_no_script() {
    let facts = e5::facts();
    let html = report::map::picture::page(&facts.machine, None);
    let styles: Vec<String> =
        html.split("<style>").skip(1).map(|part| source(part.split_once("</style>").unwrap().0)).collect();
    assert_eq!(styles.len(), 2);
    assert_eq!(
        policy(&html),
        format!("default-src 'none'; style-src {} {}; img-src data:", styles[0], styles[1])
    );
}

/// `PINWISE_VIEWER_PAGE=/tmp/viewer.html cargo test -p pinwise-report --test shapes -- --ignored a_million_points`. In the console of a
/// browser `performance.getEntriesByName("pinwise-draw")` has the time of each drawing, ms.
#[test]
#[ignore = "writes a page for a browser"]
fn write_a_page_of_a_million_points() {
    let Some(path) = std::env::var_os("PINWISE_VIEWER_PAGE") else {
        eprintln!("skipped: PINWISE_VIEWER_PAGE names no file");
        return;
    };
    std::fs::write(path, with_sequence(1_000_000)).unwrap();
}
