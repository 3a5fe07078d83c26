//! The search in a case, on simulated machines of which the engine knows only what a map reports.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::engine::prepare::resolve;
use crate::engine::{self, Event};
use crate::evidence::{self, Verdict};
use crate::simulated::{self, Landscape, Mixed, Noise, Studied, Truth};

fn truth(name: &str) -> Truth {
    let path = format!("{}/../../fixtures/landscapes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Landscape::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap().truth()
}

/// The case of a recipe on a simulated machine.
fn case(dir: &Path, truth: &Truth, recipe: &str) -> Case {
    let recipe = Recipe::from_toml(recipe, "recipe").unwrap();
    let case = Case::create(dir, resolve(recipe, truth.machine()).unwrap()).unwrap();
    case.write_json("machine.json", truth.machine()).unwrap();
    case
}

fn run(case: &mut Case, truth: &Truth) {
    let mut trials = Studied::new(truth.clone(), 7);
    engine::run(case, &mut trials, &AtomicBool::new(false), &mut |_| {}).unwrap();
}

const ARTEMIS: &str = "seed = 3\n[search]\ntrials = 100\n[budget]\nblocks = 8\n\
    [[factors]]\nkind = \"memory\"\npolicies = [\"local\", \"interleave:0-3\"]\n";

#[test]
fn artemis_is_searched_confirmed_and_claimed_on_fresh_blocks_alone() {
    let truth = truth("artemis");
    let dir = tempfile::tempdir().unwrap();
    let mut case = case(dir.path(), &truth, ARTEMIS);
    assert_eq!(case.study.arms.len(), 3, "it begins with its controls");
    run(&mut case, &truth);

    let evidence = evidence::of_case(&case.study, &case.trials);
    let found = evidence.search.clone().unwrap();
    let winner = case.study.arms.iter().find(|arm| Some(&arm.name) == found.winner.as_ref()).unwrap();
    assert_eq!(winner.placement.server_cpus, Some("1,3,5,7,9,11-23".parse().unwrap()), "{found:?}");
    assert_eq!(winner.levels["memory"], "interleave:0-3");
    assert_eq!(evidence.blocks, 8);
    let [claim] = evidence.against_baseline.as_slice() else { panic!("{evidence:?}") };
    assert_eq!((claim.arm.as_str(), claim.verdict), (winner.name.as_str(), Verdict::Better));
    let searched = case.trials.iter().filter(|trial| case.study.stages[trial.block] != Stage::Confirm);
    assert!(searched.count() <= 100 + 6, "the trials of the recipe and the controls of two blocks");
    let seen = Case::open(dir.path()).unwrap();
    assert_eq!(seen.study, case.study);
    assert!(seen.study.stages.ends_with(&[Stage::Confirm; 8]) && !seen.study.is_searching());
}

#[test]
fn cut_anywhere_a_search_goes_on_as_it_would_have() {
    let truth = truth("corsair");
    let recipe = "seed = 5\n[search]\nserver = [1]\ntrials = 24\n[budget]\nblocks = 3\n";
    let whole = tempfile::tempdir().unwrap();
    let mut undisturbed = case(whole.path(), &truth, recipe);
    run(&mut undisturbed, &truth);
    for after in [1, 9, 24, undisturbed.trials.len() - 1] {
        let dir = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut first = case(dir.path(), &truth, recipe);
        let mut trials = Studied::new(truth.clone(), 7);
        let stopped = engine::run(&mut first, &mut trials, &stop, &mut |event| {
            if matches!(event, Event::TrialEnded { trial, .. } if trial.index + 1 == after) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        assert!(stopped.is_err());
        drop(first);
        let mut again = Case::resume(dir.path()).unwrap();
        run(&mut again, &truth);
        assert_eq!((&again.study, &again.trials), (&undisturbed.study, &undisturbed.trials), "after {after}");
    }
}

#[test]
fn a_case_whose_blocks_are_not_its_searchs_is_refused() {
    let truth = truth("corsair");
    let dir = tempfile::tempdir().unwrap();
    let mut first = case(dir.path(), &truth, "seed = 5\n[search]\nserver = [1]\ntrials = 24\n");
    let mut searching = Searching::of(&first).unwrap().unwrap();
    let Line::Block(mut asked) = searching.further(&first).unwrap() else { panic!() };
    asked.order.swap(0, 1);
    first.append_asked(Line::Block(asked)).unwrap();
    let fault = Searching::of(&first).unwrap_err();
    assert!(fault.to_string().contains("block 0") && fault.object.ends_with("search.jsonl"), "{fault}");
}

#[test]
fn a_torn_line_of_the_search_is_asked_for_again() {
    let truth = truth("corsair");
    let dir = tempfile::tempdir().unwrap();
    let mut undisturbed = case(dir.path(), &truth, "seed = 5\n[search]\nserver = [1]\ntrials = 24\n");
    run(&mut undisturbed, &truth);
    drop(undisturbed);
    let path = dir.path().join("search.jsonl");
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 3]).unwrap();
    let mut again = Case::resume(dir.path()).unwrap();
    assert_eq!((again.repairs.len(), again.study.is_searching()), (1, true));
    run(&mut again, &truth);
    drop(again);
    assert_eq!(std::fs::read(&path).unwrap(), text);
}

/// A server that starts with the controls' placements alone.
struct Failing(Studied);

impl engine::Trials for Failing {
    fn run(&mut self, planned: &engine::Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
        match planned.arm.role {
            Role::Candidate => Err(Fault::new(Class::WorkloadFailed, "server", "died", "look")),
            _ => self.0.run(planned, dir),
        }
    }
}

#[test]
fn with_no_figure_at_all_it_ends_and_finds_nothing() {
    let truth = truth("corsair");
    // A first trial that fails ends a study: then it is the recipe that is wrong.
    let begins_with_a_control = |seed: &u64| {
        let dir = tempfile::tempdir().unwrap();
        let mut case =
            case(dir.path(), &truth, &format!("seed = {seed}\n[search]\nserver = [1]\ntrials = 24\n"));
        let mut trials = Failing(Studied::new(truth.clone(), 7));
        let ran = engine::run(&mut case, &mut trials, &AtomicBool::new(false), &mut |_| {});
        if ran.is_ok() {
            let evidence = evidence::of_case(&case.study, &case.trials);
            let found = evidence.search.unwrap();
            assert_eq!((found.winner, found.ran.len()), (None, 0));
            assert!(!found.failed.is_empty() && evidence.against_baseline.is_empty());
        }
        ran.is_ok()
    };
    assert!((0..40).any(|seed| begins_with_a_control(&seed)));
}

/// A server whose figure depends on keys alone.
struct OfKeys(Mixed, simulated::Trials);

const KEYS: [&str; 4] = ["variables.a", "variables.b", "variables.c", "variables.d"];

impl OfKeys {
    fn levels(arm: &Arm) -> Vec<usize> {
        let level = |key: &&str| arm.keys.get(*key).and_then(|value| value.as_integer()).unwrap_or_default();
        KEYS.iter().map(|key| level(key) as usize).collect()
    }
}

impl engine::Trials for OfKeys {
    fn run(&mut self, planned: &engine::Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
        let engine::Planned { index, block, position, attempt, arm, .. } = *planned;
        let dosed = if arm.role == Role::Dose { -0.22 } else { 0.0 };
        let figure = self.1.run((self.0.log_figure(&Self::levels(arm)) + dosed).exp());
        let figures = [(simulated::METRIC.to_string(), figure)].into();
        Ok(Trial { index, block, position, attempt, arm: arm.name.clone(), figures, ..Trial::default() })
    }
}

#[test]
fn levels_alone_are_searched_where_server_and_load_are() {
    let dir = tempfile::tempdir().unwrap();
    let factor =
        |key: &&str| format!("[[factors]]\nkind = \"key\"\nkey = \"{key}\"\nvalues = [0, 1, 2, 3, 4]\n");
    let factors: String = KEYS.iter().map(factor).collect();
    let recipe = format!("seed = 4\n[search]\ncpus = false\ntrials = 120\n[budget]\nblocks = 8\n{factors}");
    let mut case = case(dir.path(), &truth("corsair"), &recipe);
    let mut trials = OfKeys(Mixed::drawn(&[5; 4], 11), simulated::Trials::new(Noise::default(), 3));
    engine::run(&mut case, &mut trials, &AtomicBool::new(false), &mut |_| {}).unwrap();

    let evidence = evidence::of_case(&case.study, &case.trials);
    let found = evidence.search.clone().unwrap();
    assert_eq!((found.placements.as_str(), found.classes.as_str()), ("625", ""));
    let winner = case.study.arms.iter().find(|arm| Some(&arm.name) == found.winner.as_ref()).unwrap();
    assert!(trials.0.is_within(0.03, &OfKeys::levels(winner)), "{found:?}");
    assert!(case.study.arms.iter().all(|arm| arm.role == Role::Dose || arm.placement.server_cpus.is_none()));
    let [claim] = evidence.against_baseline.as_slice() else { panic!("{evidence:?}") };
    assert_eq!((claim.arm.as_str(), claim.blocks), (winner.name.as_str(), 8));
}
