//! What makes the difference between arms in words.

use advise::diagnosis::CauseId;
use machine::Fault;
use report::number;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{Basis, Change};
use super::finding::{self, Finding};
use super::{Said, fields, picked, picked_of_each};

/// Explanations in words.
const ARMS: usize = 12;

/// Terms of each.
const TERMS: usize = 5;

/// Claims of each.
const CLAIMS: usize = 5;

#[derive(Debug, Deserialize)]
struct Sheet {
    #[serde(default)]
    explanations: Vec<Explanation>,
    #[serde(default)]
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Explanation {
    arm: String,
    against: String,
    basis: Basis,
    blocks: usize,
    server: Waterfall,
    #[serde(default)]
    claims: Vec<Claim>,
    unexplained_share: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Waterfall {
    total: Change,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Step {
    term: String,
    #[serde(flatten)]
    change: Change,
}

#[derive(Debug, Deserialize)]
struct Claim {
    id: CauseId,
    support: Support,
    evidence: Evidence,
    #[serde(default)]
    outweighed: bool,
    #[serde(default)]
    own_work: bool,
    example: Option<Example>,
    #[serde(default)]
    words: String,
}

/// The cause as it was found in one trial.
#[derive(Debug, Deserialize)]
struct Example {
    claim: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Support {
    Proved,
    Supported,
    Possible,
    Refuted,
}

/// What shows it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
enum Evidence {
    Cost {
        #[serde(flatten)]
        change: Change,
    },
    Presence {
        found_in: Side,
    },
    AtMost {
        #[serde(flatten)]
        change: Change,
    },
    Frequency {
        #[serde(flatten)]
        change: Change,
    },
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Arm,
    Against,
}

/// Keys of an explanation that a summary has.
const OF_EXPLANATION: [&str; 11] = [
    "arm",
    "against",
    "basis",
    "blocks",
    "threads",
    "server",
    "latency",
    "work",
    "claims",
    "unexplained_share",
    "missing",
];

/// All that explains the differences between the arms of a case.
pub fn of_case(document: &Value) -> Result<Said, Fault> {
    let sheet: Sheet = fields(document, "explain")?;
    let mut lines = Vec::new();
    if sheet.explanations.is_empty() {
        lines.push(
            "Cannot tell what makes the difference between arms: no arm was observed beside the baseline, so no account of the server's \
             time is there to compare."
                .to_string(),
        );
    }
    lines.extend(sheet.explanations.iter().take(ARMS).flat_map(Explanation::lines));
    if sheet.explanations.len() > ARMS {
        lines.push(format!("And {}.", number::counted(sheet.explanations.len() - ARMS, "further arm")));
    }
    lines.extend(finding::lines(&sheet.findings));
    let mut summary = picked(document, &["case", "metric", "trust", "observing", "stalled"]);
    summary["explanations"] = picked_of_each(document.get("explanations"), &OF_EXPLANATION);
    summary["findings"] =
        picked_of_each(document.get("findings"), &["id", "title", "cpu", "claim", "standing", "remedy"]);
    Ok(Said::of(lines, summary))
}

/// What makes the difference between two arms.
pub fn of_one(document: &Value) -> Result<Said, Fault> {
    let explanation: Explanation = fields(document, "explain --arm")?;
    Ok(Said::of(explanation.lines(), json!({ "explanation": picked(document, &OF_EXPLANATION) })))
}

impl Explanation {
    fn lines(&self) -> Vec<String> {
        let Self { arm, against, basis, server, .. } = self;
        let blocks = number::counted(self.blocks, "observed block");
        let of_what = basis.of_what();
        let mut lines =
            vec![format!("{arm} against {against}, {of_what}: {}, in {blocks}.", server.total.words(*basis))];
        lines.extend(
            server
                .steps
                .iter()
                .take(TERMS)
                .map(|step| format!("- {}: {}", step.term, step.change.words(*basis))),
        );
        lines.extend(self.claims.iter().take(CLAIMS).map(|claim| self.claim(claim)));
        if self.claims.is_empty() {
            lines.push("No mechanism was found that costs one of them more.".into());
        }
        if self.claims.len() > CLAIMS {
            lines.push(format!("And {}.", number::counted(self.claims.len() - CLAIMS, "further mechanism")));
        }
        if let Some(share) = self.unexplained_share {
            lines.push(format!("Of what changed, {} is not explained.", number::share(share)));
        }
        lines
    }

    fn claim(&self, claim: &Claim) -> String {
        let what = claim.example.as_ref().map_or(&claim.words, |example| &example.claim);
        let outweighed =
            if claim.outweighed { "; the arm that it costs more is the faster one all the same" } else { "" };
        let own = if claim.own_work { "; the server's own work" } else { "" };
        format!(
            "Mechanism: {} [{}{outweighed}{own}] {}. {what}",
            claim.id,
            claim.support.word(),
            self.evidence(&claim.evidence)
        )
    }

    fn evidence(&self, evidence: &Evidence) -> String {
        match evidence {
            Evidence::Cost { change } => format!("What it takes: {}", change.words(self.basis)),
            Evidence::AtMost { change } => {
                format!("The most that it can take: {}; what it takes is not known", change.words(self.basis))
            }
            Evidence::Frequency { change } => {
                let count = |value: Option<f64>| value.map_or("not known".to_string(), number::figure);
                let (from, to) = (count(change.from), count(change.to));
                format!("How often a request: from {from} to {to}; what it takes is not known")
            }
            Evidence::Presence { found_in } => {
                let (has, other) = match found_in {
                    Side::Arm => (&self.arm, &self.against),
                    Side::Against => (&self.against, &self.arm),
                };
                format!(
                    "It was found in most blocks of {has} and in few of {other}; what it takes is not known"
                )
            }
        }
    }
}

impl Support {
    fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Supported => "supported",
            Self::Possible => "possible",
            Self::Refuted => "refuted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation() -> Value {
        json!({
            "arm": "cpu 1", "against": "unpinned", "basis": "request", "blocks": 6, "threads": [1, 1],
            "server": {"total": {"from": 20.0, "to": 23.0, "interval": [2.5, 3.5]}, "steps": [
                {"term": "waiting", "from": 1.0, "to": 4.0, "interval": null, "parts": []}
            ]},
            "claims": [
                {
                    "id": {"rule": "busy-task", "subject": {"kind": "program", "name": "hog"}}, "support": "supported",
                    "evidence": {"by": "cost", "from": 0.0, "to": 3.0, "interval": [2.5, 3.5]}, "outweighed": false, "own_work": false,
                    "example": {"claim": "hog had its CPU."}, "words": ""
                },
                {
                    "id": {"rule": "swap", "subject": {"kind": "machine"}}, "support": "refuted",
                    "evidence": {"by": "presence", "found_in": "against"}, "outweighed": true, "own_work": false, "example": null, "words": "it swaps"
                }
            ],
            "unexplained_share": 0.1, "missing": []
        })
    }

    #[test]
    fn claims_have_support_and_an_interval_with_units() {
        let said = of_one(&explanation()).unwrap();
        let total = "cpu 1 against unpinned, time of a request and thread: from 20.00 us to 23.00 us, a difference of 3.000 us [2.500 us, 3.500 us]";
        assert!(said.words.starts_with(total), "{}", said.words);
        assert!(
            said.words
                .contains("- waiting: from 1.000 us to 4.000 us, a difference of 3.000 us [no interval]"),
            "{}",
            said.words
        );
        assert!(
            said.words.contains("Mechanism: busy-task/program:hog [supported] What it takes: from"),
            "{}",
            said.words
        );
        assert!(said.words.contains("[refuted; the arm that it costs more is the faster one all the same] It was found in most blocks of unpinned"));
        assert!(said.words.contains("10 % is not explained") && said.summary["explanation"]["blocks"] == 6);
    }

    #[test]
    fn without_observed_arms_it_cannot_be_told() {
        let said = of_case(&json!({"case": {"name": "x"}, "explanations": [], "findings": []})).unwrap();
        assert!(said.words.starts_with("Cannot tell"), "{}", said.words);
        let said = of_case(&json!({"explanations": [explanation()], "findings": []})).unwrap();
        assert_eq!(said.summary["explanations"][0]["arm"], "cpu 1");
    }

    #[test]
    fn every_kind_of_evidence_fits() {
        for by in ["cost", "at_most", "frequency"] {
            let made = json!({"by": by, "from": 1.0, "to": 2.0, "interval": null});
            assert!(serde_json::from_value::<Evidence>(made).is_ok(), "{by}");
        }
    }
}
