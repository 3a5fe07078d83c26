//! Several cases on one sheet in words.

use machine::Fault;
use report::number;
use serde::Deserialize;
use serde_json::Value;

use super::{Said, fields, length, picked};

/// Arms in words.
const ARMS: usize = 24;

#[derive(Debug, Deserialize)]
struct Sheet {
    metric: String,
    unit: String,
    better: String,
    level: f64,
    cases: Vec<Case>,
    #[serde(default)]
    arms: Vec<Arm>,
}

#[derive(Debug, Deserialize)]
struct Case {
    name: String,
    title: String,
    cpus: Option<usize>,
    ghz: Option<f64>,
    blocks: usize,
}

/// An arm that several cases have: a figure, and its ratio to the first, for each case.
#[derive(Debug, Deserialize)]
struct Arm {
    arm: String,
    figures: Vec<Option<Figure>>,
    to_first: Vec<Option<f64>>,
}

#[derive(Debug, Deserialize)]
struct Figure {
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    trials: usize,
}

/// The sheet.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let sheet: Sheet = fields(document, "compare")?;
    let differences = length(document.pointer("/environment/differences"));
    let mut lines = vec![format!(
        "{} ({} is better), {} intervals of each figure by itself. No difference between cases is claimed: their trials share no \
         block. {} between their environments.",
        named(&sheet.metric, &sheet.unit),
        sheet.better,
        number::share(sheet.level),
        number::counted(differences, "difference")
    )];
    lines.extend(sheet.cases.iter().map(Case::words));
    for arm in sheet.arms.iter().take(ARMS) {
        lines.extend(arm.lines(&sheet));
    }
    if sheet.arms.len() > ARMS {
        lines.push(format!("And {}.", number::counted(sheet.arms.len() - ARMS, "further arm")));
    }
    let keys =
        ["metric", "unit", "better", "level", "cases", "environment", "arms", "curves", "recipes", "notes"];
    Ok(Said::of(lines, picked(document, &keys)))
}

fn named(metric: &str, unit: &str) -> String {
    if unit.is_empty() { metric.to_string() } else { format!("{metric}, {unit}") }
}

impl Case {
    fn words(&self) -> String {
        let cpus =
            self.cpus.map_or("an unknown number of CPUs".to_string(), |cpus| number::counted(cpus, "CPU"));
        let ghz = self.ghz.map_or("an unknown clock".to_string(), |ghz| format!("{ghz:.2} GHz"));
        let blocks = number::counted(self.blocks, "complete block");
        format!("Case {}: {}, {cpus}, {ghz}, {blocks}.", self.name, self.title)
    }
}

impl Arm {
    fn lines(&self, sheet: &Sheet) -> Vec<String> {
        let of_cases =
            sheet.cases.iter().zip(&self.figures).zip(self.to_first.iter().chain(std::iter::repeat(&None)));
        let line = |((case, figure), to_first): ((&Case, &Option<Figure>), &Option<f64>)| {
            let figure = figure.as_ref()?;
            let value = number::figure_with_interval(figure.value?, figure.interval);
            let ratio =
                to_first.map(|ratio| format!(", {} of the first", number::figure(ratio))).unwrap_or_default();
            let trials = number::counted(figure.trials, "trial");
            Some(format!("- {} in {}: {value} {}{ratio}, {trials}", self.arm, case.name, sheet.unit))
        };
        of_cases.filter_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_have_intervals_and_no_difference_is_claimed() {
        let said = of(&json!({
            "metric": "requests_per_s", "unit": "requests/s", "better": "higher", "level": 0.95,
            "cases": [
                {"name": "a", "title": "x", "cpus": 2, "ghz": 2.5, "ghz_missing": null, "blocks": 14, "trust": {"is": "sound"}},
                {"name": "b", "title": "x", "cpus": null, "ghz": null, "ghz_missing": "no", "blocks": 3, "trust": {"is": "sound"}}
            ],
            "arms": [{"arm": "unpinned", "role": "baseline", "to_first": [null, 1.1], "figures": [
                {"value": 320.0, "interval": [288.0, 352.0], "trials": 14}, {"value": 352.0, "interval": null, "trials": 3}
            ]}],
            "curves": [], "recipes": [], "notes": [], "environment": {"differences": [{}], "cannot_tell": []}
        }))
        .unwrap();
        assert!(said.words.contains("share no block. 1 difference between"), "{}", said.words);
        assert!(
            said.words.contains("- unpinned in a: 320.0 [288.0, 352.0] requests/s, 14 trials"),
            "{}",
            said.words
        );
        assert!(
            said.words.contains("- unpinned in b: 352.0 requests/s, 1.100 of the first, 3 trials"),
            "{}",
            said.words
        );
        assert!(
            said.words.contains("Case b: x, an unknown number of CPUs, an unknown clock, 3 complete blocks."),
            "{}",
            said.words
        );
    }
}
