//! The account of a window in words: who took CPU time.

use machine::Fault;
use report::number;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::diagnosis::{self, Judged, NotSeen};
use super::{Said, fields, picked, picked_of_each};

/// Takers in words.
const SHOWN: usize = 12;

/// Takers in the figures of a summary.
const SUMMED_UP: usize = 24;

#[derive(Debug, Deserialize)]
struct Sheet {
    how: String,
    window_s: Option<f64>,
    /// The sum of the target's threads; none where nobody in particular was watched.
    together: Option<IgnoredAny>,
    #[serde(default)]
    takers: Vec<Taker>,
    /// None where only counters were read.
    diagnosis: Option<Judged>,
    #[serde(default)]
    missing: Vec<NotSeen>,
}

#[derive(Debug, Deserialize)]
struct Taker {
    name: String,
    took_ns: u64,
    share: Option<f64>,
}

/// The account.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let sheet: Sheet = fields(document, "watch")?;
    let lines = match &sheet.diagnosis {
        Some(judged) => sheet.account(judged),
        None => sheet.counters(),
    };
    let mut summary =
        picked(document, &["target", "how", "window_s", "changed_cpus", "nearness", "paging", "missing"]);
    if let Some(diagnosis) = document.get("diagnosis") {
        let of_takers = ["kind", "name", "cpus", "count", "took_ns", "longest_ns", "share"];
        let mut takers = picked_of_each(document.get("takers"), &of_takers);
        if let Some(takers) = takers.as_array_mut() {
            takers.truncate(SUMMED_UP);
        }
        summary["takers"] = takers;
        summary["diagnosis"] = diagnosis::summary(diagnosis);
    }
    Ok(Said::of(lines, summary))
}

impl Sheet {
    fn account(&self, judged: &Judged) -> Vec<String> {
        let window = self.window_s.map_or("an unknown time".to_string(), |s| format!("{s:.1} s"));
        let of_what = match self.together {
            Some(_) => "What took the CPU from it, as a share of the time in which its threads wanted one",
            None => "Who had the CPUs, as a share of their time",
        };
        let mut lines = vec![format!("Window of {window}, by {}.", self.how), format!("{of_what}:")];
        lines.extend(self.takers.iter().take(SHOWN).map(Taker::words));
        match self.takers.len() {
            0 => lines.push("- nothing that was seen".into()),
            many if many > SHOWN => {
                lines.push(format!("- and {}", number::counted(many - SHOWN, "further one")))
            }
            _ => {}
        }
        lines.extend(judged.lines());
        lines
    }

    fn counters(&self) -> Vec<String> {
        let first = "Only counters were read: they do not show who took the CPU, which needs root, or CAP_BPF and CAP_PERFMON. \
            Ask for detail 'full' for the counters.";
        let mut lines = vec![first.to_string()];
        lines.extend(diagnosis::not_seen(&self.missing));
        lines
    }
}

impl Taker {
    fn words(&self) -> String {
        let share = self.share.map_or("an unknown share".to_string(), number::share);
        format!("- {}: {share}, {} ms", self.name, number::figure(self.took_ns as f64 / 1e6))
    }
}

#[cfg(test)]
mod tests {
    use probe::account::Account;
    use serde_json::json;

    use super::*;

    #[test]
    fn takers_have_share_and_time() {
        let mut document = serde_json::to_value(Account { window_s: 5.0, ..Account::default() }).unwrap();
        document["how"] = json!("tracepoints");
        document["target"] = json!({"asked": null});
        document["diagnosis"] = serde_json::to_value(advise::diagnosis::Diagnosis::default()).unwrap();
        let taker = json!({"kind": "process", "name": "backup (7)", "cpus": [0], "count": 3, "took_ns": 1_500_000_000_u64,
            "longest_ns": 900, "share": 0.3});
        document["takers"] = json!([taker]);
        let said = of(&document).unwrap();
        assert!(
            said.words.contains("Who had the CPUs") && said.words.contains("- backup (7): 30 %, 1,500 ms"),
            "{}",
            said.words
        );
        assert_eq!(said.summary["takers"][0]["took_ns"], 1_500_000_000_u64);
    }

    #[test]
    fn counters_alone_do_not_show_who() {
        let missing = json!([{"fact": "events of the kernel", "why": "not permitted"}]);
        let said = of(&json!({"target": {}, "how": "counters", "counters": [], "missing": missing})).unwrap();
        assert!(
            said.words.starts_with("Only counters")
                && said.words.contains("Cannot tell: events of the kernel")
        );
        assert!(said.summary.get("takers").is_none());
    }
}
