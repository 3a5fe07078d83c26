//! A study that scales its server in two orders of filling, on the simulated four nodes of E1's artemis.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use study::engine::{self, prepare::resolve};
use study::simulated::{Landscape, Studied};
use study::{Case, Facts, Recipe};

const RECIPE: &str = "name = \"a broker on more and more CPUs\"\nseed = 3\n[budget]\nblocks = 10\n\
    [[factors]]\nkind = \"cores\"\nfill = [\"cores-first\", \"spread\"]\ncounts = COUNTS\n";

/// The facts of such a study of these numbers of CPUs, in TOML.
pub fn facts(counts: &str) -> Facts {
    let dir = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/landscapes/artemis.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let truth = Landscape::parse(&file.display().to_string(), &text).unwrap().truth();
    let recipe = Recipe::from_toml(&RECIPE.replace("COUNTS", counts), "recipe").unwrap();
    let study = resolve(recipe, truth.machine()).unwrap();
    let beside = |case: &Case| case.write_json("machine.json", truth.machine()).map(drop);
    let mut case = Case::create_with(dir.path(), study, beside).unwrap();
    let mut trials = Studied::new(truth.clone(), 7);
    engine::run(&mut case, &mut trials, &AtomicBool::new(false), &mut |_| {}).unwrap();
    Facts::read(&case).unwrap()
}
