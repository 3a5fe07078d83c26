//! The sheet of docs/compare.md: the directory scans of E4, simulated, as `pinwise compare` prints them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use advise::environment::{self, Surroundings};
use advise::fleet::Processor;
use machine::power::FrequencyPolicy;
use pinwise_report::case::compare_text::{self, ComparedCases};
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

/// What the CPUs call themselves.
const MODELS: [&str; 3] = [
    "Dual-Core AMD Opteron(tm) Processor 875",
    "Quad-Core AMD Opteron(tm) Processor 2347",
    "Intel(R) Xeon(R) CPU E5345 @ 2.33GHz",
];

fn surroundings<'a>(side: Side<'a>, processor: &'a Result<Processor, String>) -> Surroundings<'a> {
    let facts = side.facts;
    Surroundings {
        case: side.name,
        machine: &facts.machine,
        processor,
        pinwise: &facts.study.pinwise,
        hosts: &[],
        paths: &facts.paths,
    }
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
    let comparison = comparison::compare(&sides).unwrap();
    let processors = MODELS.map(|model| Ok(Processor { model: Some(model.into()), microcode: None }));
    let surroundings: Vec<Surroundings<'_>> =
        sides.iter().zip(&processors).map(|(side, processor)| surroundings(*side, processor)).collect();
    let environment = environment::compare(&surroundings, &comparison.recipes);
    let compared = ComparedCases { environment, comparison };
    let text = compare_text::render(&compared, false, Style { colour: false, width: 120 });
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    assert!(docs.contains(text.trim()), "docs/compare.md shows another sheet than this:\n{text}");
}
