//! The figures of a case in words.

use machine::Fault;
use report::case::result_words;
use report::number;
use serde::Deserialize;
use serde_json::{Value, json};
use study::{Trust, Verdict};

use super::finding::{self, Finding};
use super::{Said, fields, picked, picked_of_each};

/// Arms in words.
const ARMS: usize = 16;

/// Comparisons of one kind in words.
const CONTRASTS: usize = 24;

#[derive(Debug, Deserialize)]
struct Sheet {
    metric: Metric,
    progress: Progress,
    answer: Answer,
    trust: Trust,
    #[serde(default)]
    arms: Vec<Arm>,
    contrasts: Contrasts,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    next: Vec<NextStep>,
}

/// What is worth doing next.
#[derive(Debug, Deserialize)]
struct NextStep {
    why: String,
    command: Option<String>,
}

/// The deciding figure.
#[derive(Debug, Deserialize)]
struct Metric {
    name: String,
    unit: String,
    better: String,
    margin: f64,
    alpha: f64,
}

#[derive(Debug, Deserialize)]
struct Progress {
    trials_run: usize,
    trials_planned: usize,
    complete_blocks: usize,
}

#[derive(Debug, Deserialize)]
struct Answer {
    title: String,
    sure: String,
}

#[derive(Debug, Deserialize)]
struct Arm {
    arm: String,
    figure: Figure,
}

#[derive(Debug, Deserialize)]
struct Figure {
    n: usize,
    min: Option<f64>,
    median: Option<f64>,
    max: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Contrasts {
    a_a: Option<Contrast>,
    control: Option<Control>,
    #[serde(default)]
    against_baseline: Vec<Contrast>,
    #[serde(default)]
    against_other_cpus: Vec<Contrast>,
}

#[derive(Debug, Deserialize)]
struct Contrast {
    arm: String,
    reference: String,
    blocks: usize,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    verdict: Verdict,
}

/// The positive control.
#[derive(Debug, Deserialize)]
struct Control {
    outcome: Outcome,
}

/// Whether the control came out as it has to.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
enum Outcome {
    Seen,
    Helped,
    Unseen,
}

impl NextStep {
    fn words(&self) -> String {
        let why = self.why.trim_end_matches(':');
        self.command
            .as_ref()
            .map_or_else(|| format!("Next: {why}"), |command| format!("Next: {why}: {command}"))
    }
}

/// The figures of a case.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let sheet: Sheet = fields(document, "explain")?;
    let mut lines = vec![format!("{}.", sheet.answer.title.trim_end_matches('.')), sheet.answer.sure.clone()];
    lines.push(sheet.basis());
    lines.extend(sheet.arms.iter().take(ARMS).map(|arm| arm.words(&sheet.metric)));
    lines.extend(sheet.contrasts.lines(&sheet.metric));
    lines.extend(sheet.contrasts.intervals(&sheet.metric, sheet.trust));
    lines.extend(finding::lines(&sheet.findings));
    lines.extend(sheet.next.iter().map(NextStep::words));
    Ok(Said::of(lines, summary(document)))
}

fn summary(document: &Value) -> Value {
    let keys = [
        "case",
        "metric",
        "progress",
        "answer",
        "slow_cpus",
        "trust",
        "contrasts",
        "expectations",
        "effects",
        "pooled",
        "given_up",
        "missing",
        "notes",
        "next",
    ];
    let of_findings =
        ["id", "rule", "title", "cpu", "claim", "standing", "fit", "observed", "predicted_loss", "remedy"];
    let mut summary = picked(document, &keys);
    summary["arms"] = picked_of_each(document.get("arms"), &["arm", "role", "cpu", "figure"]);
    summary["findings"] = picked_of_each(document.get("findings"), &of_findings);
    summary["explained_arms"] = json!(super::length(document.get("explanations")));
    summary
}

impl Sheet {
    /// What the figures rest on.
    fn basis(&self) -> String {
        let Metric { name, unit, better, margin, alpha } = &self.metric;
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let Progress { trials_run, trials_planned, complete_blocks } = self.progress;
        format!(
            "Decided by {name}{unit} ({better} is better), from {trials_run} of {trials_planned} trials in {}; intervals of {}; equal means \
             within {}.",
            number::counted(complete_blocks, "complete block"),
            result_words::level_of(*alpha),
            number::share(*margin)
        )
    }
}

impl Arm {
    /// A median describes; what decides are the comparisons.
    fn words(&self, metric: &Metric) -> String {
        let value = |value: Option<f64>| value.map_or("not known".to_string(), number::figure);
        let Figure { n, min, median, max } = self.figure;
        format!(
            "- {}: median {} {} over {} (from {} to {})",
            self.arm,
            value(median),
            metric.unit,
            number::counted(n, "trial"),
            value(min),
            value(max)
        )
    }
}

impl Contrasts {
    fn lines(&self, metric: &Metric) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(a_a) = &self.a_a {
            lines.push(format!("The baseline against itself: {}", a_a.words(metric)));
        }
        lines.push(match self.control.as_ref().map(|control| control.outcome) {
            Some(Outcome::Seen) => "The positive control was seen.".into(),
            Some(Outcome::Helped) => {
                "The positive control made the figure better: nothing is claimed.".into()
            }
            Some(Outcome::Unseen) => {
                "The positive control was not seen: that arms are equal cannot be claimed.".into()
            }
            None => "There is no positive control.".into(),
        });
        for (kind, contrasts) in
            [("baseline", &self.against_baseline), ("other CPUs", &self.against_other_cpus)]
        {
            lines.extend(contrasts.iter().take(CONTRASTS).map(|contrast| contrast.words(metric)));
            if contrasts.len() > CONTRASTS {
                let more = number::counted(contrasts.len() - CONTRASTS, "further comparison");
                lines.push(format!("And {more} with the {kind}."));
            }
        }
        lines
    }

    /// What intervals are beside verdicts, as the sheet and the report have it; `None` where no comparison has an interval.
    fn intervals(&self, metric: &Metric, trust: Trust) -> Option<String> {
        let all = || self.against_baseline.iter().chain(&self.against_other_cpus);
        let has_intervals = self.a_a.iter().chain(all()).any(|contrast| contrast.interval.is_some());
        let surprising = all().filter(|contrast| contrast.is_surprising(trust)).map(Contrast::name);
        let surprising: Vec<String> = surprising.collect();
        has_intervals.then(|| {
            result_words::intervals_at(&result_words::level_of(metric.alpha), metric.margin, &surprising)
        })
    }
}

impl Contrast {
    fn is_surprising(&self, trust: Trust) -> bool {
        result_words::is_surprising(trust, self.interval, self.verdict)
    }

    /// `cpu 1 against unpinned`.
    fn name(&self) -> String {
        format!("{} against {}", self.arm, self.reference)
    }

    /// `- cpu 1 against unpinned: requests_per_s -26.1 % [-28.0, -24.3], in 14 blocks: worse`.
    fn words(&self, metric: &Metric) -> String {
        let change = self
            .ratio
            .map_or("not known".to_string(), |ratio| number::change_with_interval(ratio, self.interval));
        let blocks = number::counted(self.blocks, "block");
        let verdict = self.verdict.word(metric.margin);
        format!("- {}: {} {change}, in {blocks}: {verdict}", self.name(), metric.name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use study::{Case, Facts};

    use super::*;

    /// What `pinwise explain --format json` prints of a recorded case.
    fn recorded() -> Value {
        let dir = format!("{}/../../fixtures/cases/receive-work-on-cpu-1", env!("CARGO_MANIFEST_DIR"));
        let facts = Facts::read(&Case::open(Path::new(&dir)).unwrap()).unwrap();
        let (findings, explained) = (advise::examine(&facts), advise::Explained::of(&facts));
        report::case::json::render(&facts, &findings, &explained, Path::new("case"))
    }

    #[test]
    fn a_recorded_case_has_its_verdicts_with_intervals() {
        let said = of(&recorded()).unwrap();
        let is_worse = |line: &str| line.starts_with("- cpu 1 against ") && line.ends_with(": worse");
        let worse = said.words.lines().find(|line| is_worse(line)).unwrap();
        assert!(worse.contains("requests_per_s -") && worse.contains(" % [-"), "{}", said.words);
        assert!(said.words.contains("intervals of 96 %; equal means within 3 %"), "{}", said.words);
        let caveat = "Intervals are of each comparison by itself (96 %); verdicts are of all together";
        assert_eq!(said.words.lines().filter(|line| line.starts_with(caveat)).count(), 1, "{}", said.words);
        assert!(said.words.contains("Finding: ") && said.summary["findings"][0]["standing"].is_string());
        assert!(said.summary["arms"][0].get("by_block").is_none());
    }

    #[test]
    fn what_cannot_be_told_apart_is_said_so() {
        let contrast = |verdict: &str| {
            let made = json!({"arm": "a", "reference": "b", "blocks": 3, "ratio": 1.0, "interval": null, "verdict": verdict});
            serde_json::from_value::<Contrast>(made).unwrap()
        };
        let metric = Metric {
            name: "x".into(),
            unit: "/s".into(),
            better: "higher".into(),
            margin: 0.03,
            alpha: 0.05,
        };
        assert_eq!(
            contrast("cannot-tell").words(&metric),
            "- a against b: x 0.0 % [no interval], in 3 blocks: cannot tell"
        );
        assert!(contrast("undecided").words(&metric).ends_with("undecided"));
        assert!(contrast("equal").words(&metric).ends_with("equal within 3 %"));
    }

    #[test]
    fn an_interval_that_seems_to_say_more_than_its_verdict_is_named_and_without_intervals_none_is() {
        let contrast = |arm: &str, interval: Value, verdict: &str| json!({"arm": arm, "reference": "unpinned", "blocks": 14, "ratio": 1.05, "interval": interval, "verdict": verdict});
        let words = |contrasts: &[Value], trust: Trust| {
            let made = json!({"a_a": null, "control": null, "against_baseline": contrasts});
            let metric = Metric {
                name: "x".into(),
                unit: "/s".into(),
                better: "higher".into(),
                margin: 0.03,
                alpha: 0.05,
            };
            serde_json::from_value::<Contrasts>(made).unwrap().intervals(&metric, trust)
        };
        let beyond = json!([1.02, 1.09]);
        let both = [contrast("cpu 1", beyond.clone(), "undecided"), contrast("cpu 2", beyond, "better")];
        let named = words(&both, Trust::Sound).unwrap();
        assert!(named.contains("(95 %)") && named.contains("(cpu 1 against unpinned)"), "{named}");
        let early = words(&both, Trust::TooFew { blocks: 3, needed: 6 }).unwrap();
        assert!(early.ends_with("and beyond 3 %."), "{early}");
        assert_eq!(words(&[contrast("cpu 1", Value::Null, "undecided")], Trust::Sound), None);
    }

    #[test]
    fn every_outcome_of_a_control_fits() {
        use study::evidence::{ControlOutcome, Unseen};
        for outcome in
            [ControlOutcome::Seen, ControlOutcome::Helped, ControlOutcome::Unseen(Unseen::Unexplained)]
        {
            let made = json!({"arm": "dose", "ratio": 0.8, "outcome": outcome});
            assert!(serde_json::from_value::<Control>(made).is_ok(), "{outcome:?}");
        }
    }
}
