//! A recorded case weighed by pinwise, against what `docs/recompute.py` makes of the same trials with SciPy 1.17.1:
//! `python3 docs/recompute.py fixtures/cases/receive-work-on-cpu-1 --print > crates/study/tests/recomputed.json`

#![allow(clippy::unwrap_used)]

use std::path::Path;

use pinwise_study::{Arm, Contrast, Evidence, Recipe, Trial, evidence};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Row {
    family: String,
    arm: String,
    ratio: f64,
    interval: Option<(f64, f64)>,
    p_adjusted: f64,
    verdict: String,
}

#[derive(Deserialize)]
struct Study {
    recipe: Recipe,
    arms: Vec<Arm>,
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

fn weighed(case: &Path) -> Evidence {
    let Study { recipe, arms } =
        toml::from_str(&std::fs::read_to_string(case.join("study.toml")).unwrap()).unwrap();
    let trials: Vec<Trial> = std::fs::read_to_string(case.join("trials.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    evidence::weigh(&arms, &trials, &recipe.metric, recipe.direction(), recipe.precision)
}

#[test]
fn scipy_comes_to_the_same_claims() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = weighed(&root.join("../../fixtures/cases/receive-work-on-cpu-1"));
    let families: [(&str, Vec<&Contrast>); 4] = [
        ("a_a", found.a_a.iter().collect()),
        ("control", found.control.iter().collect()),
        ("against_baseline", found.against_baseline.iter().collect()),
        ("against_other_cpus", found.against_other_cpus.iter().collect()),
    ];
    let ours: Vec<(&str, &Contrast)> =
        families.iter().flat_map(|(family, c)| c.iter().map(|c| (*family, *c))).collect();
    let theirs: Vec<Row> =
        serde_json::from_str(&std::fs::read_to_string(root.join("tests/recomputed.json")).unwrap()).unwrap();
    assert_eq!(ours.len(), theirs.len());
    for ((family, ours), theirs) in ours.into_iter().zip(&theirs) {
        assert_eq!((family, &ours.arm), (theirs.family.as_str(), &theirs.arm));
        assert!(near(ours.ratio, theirs.ratio), "{ours:?} {theirs:?}");
        assert!(near(ours.p_adjusted, theirs.p_adjusted), "{ours:?} {theirs:?}");
        let (ours_ends, theirs_ends) = ours.interval.zip(theirs.interval).unwrap();
        assert!(near(ours_ends.0, theirs_ends.0) && near(ours_ends.1, theirs_ends.1), "{ours:?} {theirs:?}");
        assert_eq!(ours.verdict.word(0.0), theirs.verdict);
    }
}
