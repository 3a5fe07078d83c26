//! The sheet of docs/compare.md: the directory scans of E4, simulated, as `pinwise compare` prints them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use machine::power::FrequencyPolicy;
use pinwise_report::case::compare_text;
use pinwise_report::case::table::Style;
use study::comparison::{self, Side};
use study::engine::{self, prepare::resolve};
use study::simulated::{Landscape, Studied};
use study::{Case, Facts, Recipe};

const RECIPE: &str = "name = \"scan of a whole directory\"\nseed = 3\n[budget]\nblocks = 10\n\
    [[factors]]\nkind = \"cores\"\ncounts = [1, 2, 3, 4, 6, 8]\n";

/// A case on a simulated machine, with the base frequency that the vendor states.
fn case(dir: &Path, landscape: &str, base_khz: u64) -> Facts {
    let file = format!("{}/../../fixtures/landscapes/{landscape}-scan.toml", env!("CARGO_MANIFEST_DIR"));
    let truth = Landscape::parse(&file, &std::fs::read_to_string(&file).unwrap()).unwrap().truth();
    let mut machine = truth.machine().clone();
    let (cpus, base_khz) = (machine.usable(), Some(base_khz));
    machine.power.frequency = vec![FrequencyPolicy { cpus, base_khz, ..FrequencyPolicy::default() }];
    let study = resolve(Recipe::from_toml(RECIPE, "recipe").unwrap(), &machine).unwrap();
    let beside = |case: &Case| case.write_json("machine.json", &machine).map(drop);
    let mut case = Case::create_with(&dir.join(landscape), study, beside).unwrap();
    engine::run(&mut case, &mut Studied::new(truth, 7), &AtomicBool::new(false), &mut |_| {}).unwrap();
    Facts::read(&case).unwrap()
}

#[test]
fn the_sheet_in_the_docs_is_what_comes_out() {
    let dir = tempfile::tempdir().unwrap();
    let clocks = [("opteron-875", 2_200_000), ("opteron-2347", 1_900_000), ("xeon-5345", 2_333_000)];
    let facts = clocks.map(|(name, khz)| case(dir.path(), name, khz));
    let sides: Vec<Side<'_>> = clocks
        .iter()
        .zip(&facts)
        .map(|((name, _), facts)| Side { name, facts, dir: Path::new(name) })
        .collect();
    let sheet = comparison::compare(&sides).unwrap();
    let text = compare_text::render(&sheet, Style { colour: false, width: 120 });
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(text.trim()), "docs/compare.md shows another sheet than this:\n{text}");
}
