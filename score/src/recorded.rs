//! Windows that were kept: what pinwise saw, so that rules can be scored without the cause.

use std::path::{Path, PathBuf};

use advise::diagnosis::diagnose;
use probe::Situation;

use crate::scenario::Scenario;
use crate::table::Row;

const LEVEL: i32 = 19;

fn file(scenario: &Scenario) -> PathBuf {
    scenario.folder.join("situation.json.zst")
}

/// Keeps a window of a scenario in its folder.
pub fn keep(scenario: &Scenario, situation: &Situation) -> Result<(), String> {
    let json = serde_json::to_vec(situation).map_err(|e| e.to_string())?;
    let packed = zstd::encode_all(json.as_slice(), LEVEL).map_err(|e| e.to_string())?;
    std::fs::write(file(scenario), packed).map_err(|e| format!("{}: {e}", file(scenario).display()))
}

/// Reads what was kept of a scenario: one window for each machine on which it was played (`situation*.json.zst`); of one that is made up, that.
pub fn read(scenario: &Scenario) -> Result<Vec<Situation>, String> {
    if let Some(simulated) = &scenario.simulated {
        return Ok(vec![simulated.situation()]);
    }
    let entries =
        std::fs::read_dir(&scenario.folder).map_err(|e| format!("{}: {e}", scenario.folder.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "zst")).collect();
    files.sort();
    files.iter().map(|file| read_one(file)).collect()
}

fn read_one(file: &Path) -> Result<Situation, String> {
    let said = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let packed = std::fs::read(file).map_err(|e| said(&e))?;
    let json = zstd::decode_all(packed.as_slice()).map_err(|e| said(&e))?;
    serde_json::from_slice(&json).map_err(|e| said(&e))
}

/// The first window of the scenario of this name, as JSON.
pub fn seen(name: &str) -> Result<String, String> {
    let scenario = Scenario::all(&[name.to_string()])?.into_iter().find(|scenario| scenario.name == name);
    let scenario = scenario.ok_or_else(|| format!("no scenario is called {name}"))?;
    let situation = read(&scenario)?.into_iter().next();
    let situation =
        situation.ok_or_else(|| format!("{name}: no window of it was kept; see 'score live --keep'"))?;
    serde_json::to_string(&situation).map_err(|e| e.to_string())
}

/// Judges all that were kept.
pub fn judge_all(names: &[String]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for scenario in Scenario::all(names)? {
        for situation in read(&scenario)? {
            rows.push(Row::judged(&scenario, &diagnose(&situation)));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use advise::diagnosis::rules::Costs;
    use advise::diagnosis::{Diagnosis, Limit};
    use report::account::diagnosis_text::{self, Wanted};

    use super::*;
    use crate::verdict::judge;

    fn kept() -> Vec<(Scenario, Situation)> {
        let all = Scenario::all(&[]).unwrap();
        all.iter()
            .flat_map(|scenario| {
                read(scenario).unwrap().into_iter().map(|situation| (scenario.clone(), situation))
            })
            .collect()
    }

    /// What the rules say of windows that were kept. A scenario that is not right here is a bug of a rule, or of its truth.
    #[test]
    fn every_window_that_was_kept_is_judged_right() {
        let rows = judge_all(&[]).unwrap();
        let wrong: Vec<String> = rows.iter().filter(|row| !row.is_right()).map(crate::table::line).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Rules of whole machines have unit tests alone.
    #[test]
    fn every_rule_of_a_server_has_a_scenario_in_which_it_must_be_named() {
        let scenarios = Scenario::all(&[]).unwrap();
        let is_named = |id: &str| scenarios.iter().any(|scenario| scenario.truth.as_deref() == Some(id));
        let without: Vec<&str> = advise::diagnosis::abouts()
            .filter(|about| about.costs != Costs::Machine && !is_named(about.id))
            .map(|about| about.id)
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn a_diagnosis_fits_a_terminal() {
        for (scenario, situation) in kept() {
            let text = diagnosis_text::render(&diagnose(&situation), &situation.target, Wanted::default());
            assert!(text.lines().count() <= 24, "{}:\n{text}", scenario.name);
        }
    }

    /// A part that is missing makes a diagnosis poorer, never wrong.
    #[test]
    fn what_is_missing_is_not_made_up() {
        type Strip = (&'static str, fn(&mut Situation));
        let strips: [Strip; 8] = [
            ("account", |situation| situation.account = None),
            ("counters", |situation| situation.observation = Default::default()),
            ("connections", |situation| situation.connections = Default::default()),
            ("memory limits", |situation| situation.memory.clear()),
            ("how tasks compete", |situation| situation.tasks.clear()),
            ("the server's processes", |situation| situation.server = Default::default()),
            ("other processes", |situation| situation.busy.clear()),
            ("waits at futexes", |situation| situation.futexes = None),
        ];
        let mut wrong = Vec::new();
        for (scenario, situation) in kept() {
            for (part, strip) in strips {
                let mut poorer = situation.clone();
                strip(&mut poorer);
                let diagnosis = diagnose(&poorer);
                let judged = judge(&scenario, &diagnosis);
                // Without its connections a client is a process like any other: it does run there. By its shape alone a pool may be a lock.
                let is_true = |rule: &String| {
                    matches!(
                        (part, rule.as_str()),
                        ("connections", "busy-task") | ("waits at futexes", "lock")
                    )
                };
                if !judged.wrong.iter().all(is_true) {
                    wrong.push(format!("{} without {part}: {}", scenario.name, judged.wrong.join(", ")));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn of_nothing_nothing_is_claimed() {
        let Diagnosis { time, limit, causes, missing, .. } = diagnose(&Situation::default());
        assert!(time.is_none() && limit == Limit::Unknown && causes.is_empty() && !missing.is_empty());
    }
}
