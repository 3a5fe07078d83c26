//! What differs between the studies themselves, so that nobody takes it for a difference of machines.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toml::Value;

use super::Side;
use crate::Trust;

/// Keys that say nothing of what is measured.
const NO_MATTER: [&str; 3] = ["name", "seed", "notes"];

/// A key of the recipes that is not the same in all cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyDifference {
    /// The key with the tables that it is in: `load.rate_per_s`.
    pub key: String,
    /// Its value in each case, as TOML; `None` where the recipe is without it.
    pub values: Vec<Option<String>>,
}

/// Notes on the built-in server's work, and on how far each case may be trusted.
pub(super) fn notes(sides: &[Side<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = own_work(sides).into_iter().collect();
    notes.extend(levels(sides));
    for side in sides {
        match side.facts.evidence.trust {
            Trust::Sound => {}
            Trust::Untrustworthy { ratio } => notes.push(format!(
                "{} makes no claim of its own: the baseline differed from itself by a factor of {ratio:.3}",
                side.name
            )),
            Trust::TooFew { blocks, needed } => notes.push(format!(
                "{} makes no claim of its own: it has {blocks} complete blocks, and a claim takes {needed}",
                side.name
            )),
        }
        let open = side.facts.evidence.incomplete_blocks;
        if open > 0 {
            notes.push(format!("{}: {open} blocks are not complete", side.name));
        }
    }
    notes
}

/// The keys of the recipes that are not the same in all, by name.
pub(super) fn differing_keys(sides: &[Side<'_>]) -> Vec<KeyDifference> {
    let flat: Vec<BTreeMap<String, String>> = sides.iter().map(flattened).collect();
    let keys: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    let difference = |key: &String| {
        let values: Vec<Option<String>> = flat.iter().map(|keys| keys.get(key).cloned()).collect();
        let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
        differ.then(|| KeyDifference { key: key.clone(), values })
    };
    keys.into_iter().filter_map(difference).collect()
}

fn flattened(side: &Side<'_>) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    // A recipe that came out of a file can be written down again.
    if let Ok(Value::Table(table)) = Value::try_from(&side.facts.study.recipe) {
        for (key, value) in table.iter().filter(|(key, _)| !NO_MATTER.contains(&key.as_str())) {
            flatten(key, value, &mut flat);
        }
    }
    flat
}

fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(word, value)| flatten(&format!("{key}.{word}"), value, into));
        }
        other => drop(into.insert(key.to_string(), other.to_string())),
    }
}

/// The built-in server's work is so many us *of each machine*: a faster CPU is given more of it.
fn own_work(sides: &[Side<'_>]) -> Option<String> {
    let rounds = |side: &Side<'_>| Some((side.name.to_string(), side.facts.study.string_rounds?));
    let known: Vec<(String, u64)> = sides.iter().filter_map(rounds).collect();
    if known.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return None;
    }
    let by_side: Vec<String> = known.iter().map(|(name, rounds)| format!("{name} {rounds}")).collect();
    Some(format!(
        "the built-in server's work was measured out on each machine, in time: rounds a request are {}. So the figures show how \
         each machine scales, not how fast its CPUs are",
        by_side.join(", ")
    ))
}

fn levels(sides: &[Side<'_>]) -> Option<String> {
    let of = |side: &Side<'_>| side.facts.evidence.precision.alpha;
    let differ = sides.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]));
    let by_side: Vec<String> = sides.iter().map(|side| format!("{} {}", side.name, 1.0 - of(side))).collect();
    differ.then(|| format!("the intervals of the laws are at different levels: {}", by_side.join(", ")))
}
