//! Recorded cases with known truth (`fixtures/cases/*/truth.toml`): evidence and findings computed again from the files
//! alone must still name what was true. No root, no server, any machine.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use study::{Case, Facts};

/// What was built when the case was recorded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    /// How it was built, in words.
    built: String,
    /// CPUs that were made slow.
    slow_cpus: BTreeSet<u32>,
    /// The rule that must explain them; none when nothing was built.
    rule: Option<String>,
    /// The standing that the finding must have.
    standing: Option<String>,
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    cases.sort();
    cases
}

#[test]
fn every_recorded_case_still_yields_its_truth() {
    let cases = cases();
    assert!(!cases.is_empty(), "fixtures/cases holds no case");
    for dir in cases {
        let truth: Truth = toml::from_str(&std::fs::read_to_string(dir.join("truth.toml")).unwrap()).unwrap();
        let facts = Facts::read(&Case::open(&dir).unwrap()).unwrap();
        let context = format!("{} ({})", dir.display(), truth.built);
        let slow: BTreeSet<u32> = facts.evidence.slow_cpus().iter().filter_map(|c| c.cpu).collect();
        assert_eq!(slow, truth.slow_cpus, "{context}");
        let findings = advise::examine(&facts);
        match &truth.rule {
            None => assert!(findings.is_empty(), "{context}: {findings:#?}"),
            Some(rule) => {
                for cpu in &truth.slow_cpus {
                    let finding = findings.iter().find(|f| f.rule == *rule && f.cpu == Some(*cpu));
                    let finding =
                        finding.unwrap_or_else(|| panic!("{context}: no {rule} on {cpu} in {findings:#?}"));
                    if let Some(standing) = &truth.standing {
                        assert_eq!(finding.standing.word(), standing, "{context}");
                    }
                }
            }
        }
    }
}
