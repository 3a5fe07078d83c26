//! Cases, which may come from anybody: what `report`, `explain`, `plan` and `compare` make of them.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use advise::environment::{self, Surroundings};
use bolero::check;
use load::Outcome;
use machine::{Machine, Placement, Root};
use report::case::compare_text::{self, ComparedCases};
use report::case::html;
use report::case::json;
use report::case::junit;
use report::case::table;
use report::case::table::Style;
use report::{CaseView, Commands, absent};
use serde_json::{Value, json};
use study::case::search_log::{Asked, Found, Line};
use study::comparison::{self, Side};
use study::engine::prepare::resolve;
use study::search::Stage;
use study::{Arm, Case, Facts, Recipe, Resolved, Role, Trial, boots, schedule};

use crate::edits;

/// Files of a case by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Sound cases: a recorded one, and studies of a scaling server, across boots, and of a search.
fn cases() -> &'static [Files] {
    static CASES: OnceLock<Vec<Files>> = OnceLock::new();
    CASES.get_or_init(|| vec![recorded(), scaling(), across_boots(), search()])
}

/// The recorded case, of which two trials have kept their files.
fn recorded() -> Files {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/cases/receive-work-on-cpu-1"));
    let own =
        ["study.toml", "trials.jsonl", "machine.json", "as_found.json", "calibration.json", "proofs.json"];
    let of_trials =
        ["trials/0000/observation.json", "trials/0000/outcome.json", "trials/0001/observation.json"];
    own.iter()
        .chain(&of_trials)
        .map(|name| (name.to_string(), std::fs::read(dir.join(name)).unwrap()))
        .collect()
}

fn two_nodes() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let dir =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/machines/two-node-smt/capture.tar.zst"));
    MACHINE.get_or_init(|| Machine::read(&Root::at(dir).unwrap()))
}

fn resolved(recipe: &str) -> Resolved {
    resolve(Recipe::from_toml(recipe, "recipe").unwrap(), two_nodes()).unwrap()
}

/// The files of a study, each of whose trials gave a figure.
fn made(study: &Resolved, orders: &[Vec<usize>], arms: &[Arm]) -> Files {
    let mut trials = Vec::new();
    for (block, order) in orders.iter().enumerate() {
        for (position, arm) in order.iter().enumerate() {
            let figure = 1_000.0 * (1.0 + *arm as f64 / 10.0) + (trials.len() * 7 % 13) as f64;
            let figures = [("requests_per_s", figure), ("latency_p99_us", 1e6 / figure)];
            trials.push(Trial {
                index: trials.len(),
                block,
                position,
                arm: arms[*arm].name.clone(),
                figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
                boot: study
                    .boots
                    .as_ref()
                    .map(|_| boots::Booted { id: format!("boot-{block}"), ..Default::default() }),
                ..Trial::default()
            });
        }
    }
    Files::from([
        ("study.toml".into(), toml::to_string(study).unwrap().into_bytes()),
        ("trials.jsonl".into(), edits::to_lines(&json!(trials), |line| serde_json::to_vec(line).unwrap())),
        ("machine.json".into(), serde_json::to_vec(two_nodes()).unwrap()),
    ])
}

fn with_lines(mut files: Files, name: &str, lines: Value) -> Files {
    files.insert(name.into(), edits::to_lines(&lines, |line| serde_json::to_vec(line).unwrap()));
    files
}

fn scaling() -> Files {
    let study = resolved(
        "also = [{ metric = 'latency_p99_us' }]\nexpectations = ['requests_per_s of \"1 CPU\" >= 0.5 x baseline']\n\
         budget = { blocks = 8, looks = [7] }\n[[factors]]\nkind = 'cores'\ncounts = [1, 2, 4]\n",
    );
    let added = study.more_blocks(4, 7).unwrap();
    let orders = [&study.order[..], &added.order[..]].concat();
    let mut files = with_lines(made(&study, &orders, &study.arms), "added.jsonl", json!([added]));
    let screening = json!({ "figures": {"1": 900.0}, "slow": [1], "samples": [{"cpu": 0, "stands_for": [0, 2]}], "failed": [3] });
    files.insert("screening.json".into(), serde_json::to_vec(&screening).unwrap());
    files
}

fn across_boots() -> Files {
    let study = resolved(
        "budget = { blocks = 6 }\n[[factors]]\nkind = 'boot'\nlevels = [{ words = 'nohz_full=2-3' }]\n",
    );
    let asked =
        json!({ "block": 0, "boot": 0, "words": ["nohz_full=2-3"], "in_boot": "boot-0", "trials": 0 });
    with_lines(made(&study, &study.order, &study.arms), "boots.jsonl", json!([asked]))
}

fn search() -> Files {
    let study = resolved("budget = { blocks = 6 }\n[search]\ntrials = 10\n");
    let placed = Placement { server_cpus: Some("0-1".parse().unwrap()), ..Placement::default() };
    let arms = [&study.arms[..], &[Arm::new("cpus 0-1", Role::Candidate, placed)]].concat();
    let stages =
        [Stage::Start, Stage::Confirm, Stage::Confirm, Stage::Confirm, Stage::Confirm, Stage::Confirm];
    let order: Vec<usize> = (0..arms.len()).collect();
    let block = |(at, stage): (usize, &Stage)| {
        let new = if at == 0 { arms[study.arms.len()..].to_vec() } else { Vec::new() };
        Line::Block(Asked { stage: *stage, arms: new, order: order.clone() })
    };
    let end = Line::Found(Found { winner: Some("cpus 0-1".into()), ..Found::default() });
    let lines: Vec<Line> = stages.iter().enumerate().map(block).chain([end]).collect();
    with_lines(made(&study, &vec![order.clone(); stages.len()], &arms), "search.jsonl", json!(lines))
}

/// A file after edits of its values; `None` where its form cannot say them.
fn edited(name: &str, file: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(file).unwrap();
    let json = |value: &Value| serde_json::to_vec(value).unwrap();
    let mut value = match name.rsplit('.').next() {
        Some("toml") => json!(toml::from_str::<toml::Value>(text).unwrap()),
        Some("jsonl") => edits::lines(text),
        _ => serde_json::from_str(text).unwrap(),
    };
    edits::edit(&mut value, bytes);
    match name.rsplit('.').next() {
        Some("toml") => edits::to_toml(&value).map(String::into_bytes),
        Some("jsonl") => Some(edits::to_lines(&value, json)),
        _ => Some(json(&value)),
    }
}

/// Everything that is read and shown of a case that somebody else has made.
fn read_and_show(dir: &Path, beside: &Facts) {
    let Ok(case) = Case::open(dir) else { return };
    let facts = Facts::read(&case).unwrap();
    let findings = advise::examine(&facts);
    let style = Style { colour: true, width: 100 };
    table::render(&facts, &findings, dir, style);
    let explained = advise::Explained::of(&facts);
    json::render(&facts, &findings, &explained, dir).to_string();
    let _ = junit::render(&facts);
    html::render(&CaseView {
        facts: &facts,
        findings: &findings,
        explained: &explained,
        latency: latency(&case),
        operations: BTreeMap::new(),
        commands: Commands::default(),
        case_dir: PathBuf::new(),
        machine_text: report::map::machine_text::render(&facts.machine),
    });
    absent::of_files(&facts);
    let _ = advise::plan(&facts, &findings, true).plan.to_toml();
    let (base, other) = (Path::new("base"), Path::new("other"));
    let sides =
        [Side { name: "base", facts: beside, dir: base }, Side { name: "other", facts: &facts, dir: other }];
    if let Ok(comparison) = comparison::compare(&sides) {
        let unread = Err("no capture".to_string());
        let surroundings = sides.map(|side| Surroundings {
            case: side.name,
            machine: &side.facts.machine,
            processor: &unread,
            pinwise: &side.facts.study.pinwise,
            hosts: &[],
            paths: &side.facts.paths,
        });
        let environment = environment::compare(&surroundings, &comparison.recipes);
        let compared = ComparedCases { environment, comparison };
        compare_text::render(&compared, true, style);
        serde_json::to_string(&compared).unwrap();
    }
    schedule::next(&case.study, &case.trials);
    boots::used(&case.study, &case.trials);
    boots::next(&case.study, &case.trials, Some(&boots::Booted::default()));
}

/// The curve of the first trial, where its file is there.
fn latency(case: &Case) -> BTreeMap<String, Vec<(f64, f64)>> {
    let outcome = case.read_fact::<Outcome>("trials/0000/outcome.json").ok();
    let latency = case.trials.first().zip(outcome);
    let latency =
        latency.and_then(|(trial, outcome)| Some((trial, outcome.latency(trial.from_ns, trial.to_ns).ok()?)));
    latency.into_iter().map(|(trial, latency)| (trial.arm.clone(), latency.curve())).collect()
}

fn write(dir: &Path, files: &Files) {
    for (name, content) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// The first byte chooses a case and whether the rest is one of its files or edits of one, the second byte that file.
#[test]
fn a_case() {
    let dirs: Vec<tempfile::TempDir> = cases().iter().map(|_| tempfile::tempdir().unwrap()).collect();
    dirs.iter().zip(cases()).for_each(|(dir, files)| write(dir.path(), files));
    let facts = |dir: &tempfile::TempDir| Facts::read(&Case::open(dir.path()).unwrap()).unwrap();
    let known: Vec<Facts> = dirs.iter().map(facts).collect();
    check!().for_each(|bytes: &[u8]| {
        let [kind, file, rest @ ..] = bytes else { return };
        let at = usize::from(*kind) % cases().len();
        let (name, content) = cases()[at].iter().nth(usize::from(*file) % cases()[at].len()).unwrap();
        let other = if *kind < 128 { edited(name, content, rest) } else { Some(rest.to_vec()) };
        let Some(other) = other else { return };
        std::fs::write(dirs[at].path().join(name), other).unwrap();
        read_and_show(dirs[at].path(), &known[at]);
        std::fs::write(dirs[at].path().join(name), content).unwrap();
    });
}
