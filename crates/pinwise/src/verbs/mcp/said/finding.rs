//! Findings about slow CPUs in words.

use advise::Standing;
use report::number;
use serde::Deserialize;

/// Findings in words.
const SHOWN: usize = 8;

/// A finding.
#[derive(Debug, Deserialize)]
pub struct Finding {
    title: String,
    claim: String,
    standing: Standing,
    observed: Option<Observed>,
    #[serde(default)]
    remedy: String,
}

/// The slow CPU against the others.
#[derive(Debug, Deserialize)]
struct Observed {
    reference: String,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
}

/// A line each, with how far it can be relied on.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = findings.iter().take(SHOWN).map(Finding::words).collect();
    if findings.len() > SHOWN {
        lines.push(format!("And {}.", number::counted(findings.len() - SHOWN, "further finding")));
    }
    lines
}

impl Finding {
    fn words(&self) -> String {
        let observed = self.observed.as_ref().and_then(|observed| {
            let change = number::change_with_interval(observed.ratio?, observed.interval);
            Some(format!("; {change} against {}", observed.reference))
        });
        let remedy = if self.remedy.is_empty() { String::new() } else { format!(" Remedy: {}", self.remedy) };
        format!(
            "Finding: {} [{}{}] {}{remedy}",
            self.title,
            self.standing.word(),
            observed.unwrap_or_default(),
            self.claim
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finding_has_its_standing_and_its_interval() {
        let finding: Finding = serde_json::from_value(json!({
            "rule": "receive-work", "title": "Receive work", "claim": "It runs on CPU 1.", "standing": "proved", "remedy": "Move it.",
            "observed": {"arm": "cpu 1", "reference": "cpu 0", "ratio": 0.7, "interval": [0.68, 0.72]}
        }))
        .unwrap();
        let words = "Finding: Receive work [proved; -30.0 % [-32.0, -28.0] against cpu 0] It runs on CPU 1. Remedy: Move it.";
        assert_eq!(lines(&[finding]), [words]);
    }
}
