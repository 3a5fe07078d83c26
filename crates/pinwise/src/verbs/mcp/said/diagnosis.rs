//! A diagnosis in words.

use advise::diagnosis::{CauseId, Certainty, Remedy, ShareOf};
use machine::Fault;
use report::number;
use serde::Deserialize;
use serde_json::Value;

use super::{Said, fields, picked, picked_of_each};

/// Causes in words.
const CAUSES: usize = 8;

/// What could not be seen, in words.
const MISSING: usize = 5;

/// What a diagnosis is not.
const NO_PROOF: &str = "This was seen in one window: it has no interval and is not proved. Whether a remedy helps is measured by 'pinwise study'.";

/// Who it is about.
#[derive(Debug, Deserialize)]
struct Sheet {
    server: String,
    window_s: Option<f64>,
}

/// What was judged.
#[derive(Debug, Deserialize)]
pub struct Judged {
    limit: Limit,
    #[serde(default)]
    causes: Vec<Cause>,
    machine: Option<MachineTime>,
    #[serde(default)]
    missing: Vec<NotSeen>,
}

#[derive(Debug, Deserialize)]
struct Cause {
    id: CauseId,
    share: Option<f64>,
    #[serde(default)]
    share_of: ShareOf,
    share_at_most: Option<f64>,
    certainty: Certainty,
    claim: String,
    #[serde(default)]
    remedies: Vec<Remedy>,
}

/// CPUs by what they did, in CPUs.
#[derive(Debug, Deserialize)]
struct MachineTime {
    cpus: usize,
    busy_cpus: Option<f64>,
    interrupted_cpus: Option<f64>,
    idle_cpus: Option<f64>,
}

/// A fact that is not known.
#[derive(Debug, Deserialize)]
pub struct NotSeen {
    fact: String,
    why: String,
}

/// Which limit holds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Limit {
    Stopped,
    Quota,
    Cpu,
    Memory,
    Blocked,
    Lock,
    OneThread,
    OwnWork,
    Load,
    Unknown,
}

impl Limit {
    fn words(self) -> &'static str {
        match self {
            Self::Stopped => "it was stopped",
            Self::Quota => "the CPU quota of a cgroup",
            Self::Cpu => "CPU: it waited for CPUs that others, or its own threads, had",
            Self::Memory => "memory: it waited for pages",
            Self::Blocked => "a disk or a lock of the kernel",
            Self::Lock => "a lock of its own",
            Self::OneThread => "one thread, busy all the time with its own work",
            Self::OwnWork => "its CPUs, all busy with its own work",
            Self::Load => "its load: it waits for requests and could do more",
            Self::Unknown => "cannot tell",
        }
    }
}

/// The diagnosis of a window.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let sheet: Sheet = fields(document, "diagnose")?;
    let judged: Judged = fields(document, "diagnose")?;
    let window = sheet.window_s.map_or("a window of unknown length".to_string(), |s| format!("{s:.1} s"));
    let mut lines = vec![format!("{}, {window}.", sheet.server)];
    lines.extend(judged.lines());
    Ok(Said::of(lines, summary(document)))
}

/// The figures of a diagnosis that matter most.
pub fn summary(document: &Value) -> Value {
    let keys = [
        "server",
        "pids",
        "window_s",
        "limit",
        "time",
        "machine",
        "requests",
        "own_work",
        "observer",
        "ruled_out",
        "missing",
    ];
    let of_causes = [
        "id",
        "share",
        "share_of",
        "share_at_most",
        "certainty",
        "claim",
        "evidence",
        "figures",
        "remedies",
        "follows_from",
    ];
    let mut summary = picked(document, &keys);
    summary["causes"] = picked_of_each(document.get("causes"), &of_causes);
    summary
}

impl Judged {
    /// The limit, the causes, and what could not be seen.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match &self.machine {
            Some(machine) => machine.words(),
            None => format!("Limit: {}.", self.limit.words()),
        }];
        if self.causes.is_empty() {
            lines.push("No cause was found in what could be seen.".into());
        }
        lines.extend(self.causes.iter().take(CAUSES).enumerate().map(|(at, cause)| cause.words(at + 1)));
        if self.causes.len() > CAUSES {
            lines.push(format!("And {}.", number::counted(self.causes.len() - CAUSES, "further cause")));
        }
        lines.extend(not_seen(&self.missing));
        lines.push(NO_PROOF.into());
        lines
    }
}

impl Cause {
    fn words(&self, rank: usize) -> String {
        let of = self.share_of.words();
        let cost = match (self.share, self.share_at_most) {
            (Some(share), _) => format!("costs {} {of}", number::share(share)),
            (None, Some(share)) => format!("costs at most {} {of}", number::share(share)),
            (None, None) => "its cost is not known".into(),
        };
        let certainty = match self.certainty {
            Certainty::Seen => "seen",
            Certainty::Possible => "possible",
        };
        let remedy =
            self.remedies.first().map(|remedy| format!(" Remedy: {}", remedy.words)).unwrap_or_default();
        format!("{rank}. {} [{certainty}; {cost}] {}{remedy}", self.id, self.claim)
    }
}

impl MachineTime {
    fn words(&self) -> String {
        let cpus =
            |cpus: Option<f64>| cpus.map_or("an unknown number".to_string(), |cpus| format!("{cpus:.1}"));
        format!(
            "Of {} {} ran tasks, {} served interrupts, {} were idle, on average.",
            number::counted(self.cpus, "CPU"),
            cpus(self.busy_cpus),
            cpus(self.interrupted_cpus),
            cpus(self.idle_cpus)
        )
    }
}

/// What could not be seen, a line each.
pub fn not_seen(missing: &[NotSeen]) -> Vec<String> {
    let shown = missing.iter().take(MISSING);
    let mut lines: Vec<String> =
        shown.map(|missing| format!("Cannot tell: {}: {}", missing.fact, missing.why)).collect();
    if missing.len() > MISSING {
        lines.push(format!(
            "And {} that could not be seen.",
            number::counted(missing.len() - MISSING, "further fact")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn causes_have_certainty_and_cost() {
        let document = json!({
            "server": "nginx", "pids": [7], "window_s": 10.0, "limit": "cpu",
            "causes": [
                {
                    "id": {"rule": "busy-task", "subject": {"kind": "process", "pid": 7}}, "share": 0.12, "certainty": "seen",
                    "claim": "backup had its CPU.", "evidence": [], "figures": [],
                    "remedies": [{"words": "Move backup away", "setting": null}], "follows_from": null
                },
                {
                    "id": {"rule": "low-clock", "subject": {"kind": "cpu", "cpu": 3}}, "share": null, "certainty": "possible",
                    "claim": "CPU 3 is slow.", "evidence": [], "figures": [], "remedies": [], "follows_from": null
                }
            ],
            "missing": [{"fact": "requests", "why": "run it as root"}]
        });
        let said = of(&document).unwrap();
        assert!(said.words.contains("Limit: CPU"), "{}", said.words);
        assert!(said.words.contains(
            "1. busy-task/process:7 [seen; costs 12 % of active time] backup had its CPU. Remedy: Move backup away"
        ));
        assert!(said.words.contains("2. low-clock/cpu:3 [possible; its cost is not known]"));
        assert!(
            said.words.contains("Cannot tell: requests: run it as root") && said.words.contains("not proved")
        );
        assert_eq!(said.summary["causes"][0]["share"], 0.12);
    }

    #[test]
    fn a_limit_that_is_not_known_is_said() {
        let said = of(&json!({"server": "x", "limit": "unknown", "causes": []})).unwrap();
        assert!(
            said.words.contains("Limit: cannot tell.") && said.words.contains("No cause was found"),
            "{}",
            said.words
        );
    }

    #[test]
    fn a_diagnosis_of_advise_fits() {
        let diagnosis = serde_json::to_value(advise::diagnosis::Diagnosis::default()).unwrap();
        assert!(fields::<Judged>(&diagnosis, "diagnose").is_ok());
    }
}
