//! The result of a study as one JSON document, for `--format json`.

use std::path::Path;

use advise::{Explained, Finding, network_paths};
use serde_json::{Value, json};
use study::Facts;

use crate::absent;
use crate::case::headline;
use crate::case::next_steps;
use crate::case::unpinned;

/// Version of this document's form; raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Renders a study: `{format, case, metric, progress, answer, trust, unpinned, arms, contrasts, screening, paths, unequal_ends, expectations, effects, growth, cliffs, search, also, pooled, looks, given_up, standings, findings,
/// explanations, every_arm, observing, stalled, missing, notes, next}`.
///
/// Of a study under a server's own traffic also `harm` and `traffic_jumps`.
///
/// `standings` has by arm what is wrong with its trials (elsewhere, starved, harmful), and is empty where all ran as asked.
/// Ratios are ratios (0.739), not percent; intervals are `[low, high]` or null where there are too few blocks for one.
pub fn render(facts: &Facts, findings: &[Finding], explained: &Explained, dir: &Path) -> Value {
    let (study, evidence) = (&facts.study, &facts.evidence);
    let pooled = unpinned::pool(evidence);
    let mut document = json!({
        "format": FORMAT,
        "case": {
            "dir": dir.display().to_string(),
            "name": study.recipe.name,
            "pinwise": study.pinwise,
            "made_unix_s": study.made_unix_s,
            "command": study.command,
            "seed": study.recipe.seed,
        },
        "metric": {
            "name": evidence.metric,
            "unit": evidence.unit,
            "better": evidence.better,
            "margin": evidence.precision.margin,
            "alpha": evidence.precision.alpha,
        },
        "progress": {
            "trials_run": facts.trials.len(),
            "trials_planned": facts.planned(),
            "complete_blocks": evidence.blocks,
            "incomplete_blocks": evidence.incomplete_blocks,
        },
        "answer": headline::read(facts, findings),
        "slow_cpus": evidence.slow_cpus().iter().filter_map(|c| c.cpu).collect::<Vec<_>>(),
        "trust": evidence.trust,
        "unpinned": pooled.map(|u| json!({
            "figure": u.figure,
            "cpus_used": u.cpus_used.iter().map(|(cpu, share)| json!({"cpu": cpu, "share": share})).collect::<Vec<_>>(),
            "mixture": u.mixture,
        })),
        "arms": evidence.arms,
        "contrasts": {
            "a_a": evidence.a_a,
            "control": evidence.control,
            "against_baseline": evidence.against_baseline,
            "against_other_cpus": evidence.against_other_cpus,
        },
        "screening": facts.screening,
        "paths": facts.paths,
        "unequal_ends": network_paths::unequal_ends(&facts.paths),
        "expectations": evidence.expectations,
        "effects": evidence.effects,
        "growth": evidence.growth,
        "cliffs": evidence.cliffs,
        "search": evidence.search,
        "also": evidence.also,
        "pooled": evidence.pooled,
        "looks": evidence.looks,
        "given_up": evidence.given_up,
        "standings": evidence.standings,
        "findings": findings,
        "explanations": explained.explanations,
        "every_arm": explained.every_arm,
        "observing": explained.observing,
        "stalled": explained.stalled,
        "missing": absent::of_case(facts),
        "notes": evidence.notes,
        "next": next_steps::lines(&advise::next_steps(facts, findings), dir),
    });
    if let Some(harm) = &evidence.harm {
        document["harm"] = json!(harm);
        document["traffic_jumps"] = json!(evidence.traffic_jumps);
    }
    document
}
