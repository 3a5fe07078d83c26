//! What pinwise has changed, in words.

use machine::Fault;
use report::number;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Said, fields};

/// Changes in words.
const SHOWN: usize = 40;

#[derive(Debug, Deserialize)]
struct Status {
    sessions: Vec<Session>,
}

#[derive(Debug, Deserialize)]
struct Session {
    session: String,
    purpose: String,
    owner_alive: bool,
    before_this_boot: bool,
    #[serde(default)]
    being_undone: bool,
    undone_by_pid: Option<u32>,
    outstanding: Vec<Act>,
    #[serde(default)]
    problems: Vec<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Act {
    object: String,
    old: String,
    new: String,
    now: Option<String>,
    changed_since: Option<bool>,
}

/// The changes in force.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let status: Status = fields(document, "status")?;
    let acts: usize = status.sessions.iter().map(|session| session.outstanding.len()).sum();
    let mut lines = vec![match acts {
        0 => "Nothing that pinwise changed on this machine is in force.".to_string(),
        acts => format!("In force: {} that pinwise made.", number::counted(acts, "change")),
    }];
    lines.extend(status.sessions.iter().flat_map(Session::lines));
    if lines.len() > SHOWN {
        let more = lines.len() - SHOWN;
        lines.truncate(SHOWN);
        lines.push(format!("And {}.", number::counted(more, "further line")));
    }
    Ok(Said::of(lines, document.clone()))
}

impl Session {
    fn lines(&self) -> Vec<String> {
        let runs = match (self.before_this_boot, self.owner_alive) {
            (true, _) => "of before this boot",
            (false, true) => "whose process still runs",
            (false, false) => "whose process has ended",
        };
        let who = self.undone_by_pid.map_or("a second process".to_string(), |pid| format!("process {pid}"));
        let runs = match self.being_undone {
            true => format!("{runs}, and which {who} is undoing by itself"),
            false => runs.to_string(),
        };
        let mut lines = vec![format!("Session {} for {}, {runs}:", self.session, self.purpose)];
        lines.extend(self.outstanding.iter().map(Act::words));
        if !self.problems.is_empty() {
            let many = number::counted(self.problems.len(), "line");
            lines.push(format!("- its ledger has {many} that cannot be read"));
        }
        lines
    }
}

impl Act {
    fn words(&self) -> String {
        let now = self.now.as_deref().unwrap_or("not known");
        let since = match self.changed_since {
            Some(true) => "; somebody else has changed it since",
            Some(false) => "",
            None => "; whether it was changed since is not known",
        };
        format!("- {}: was {}, set to {}, now {now}{since}", self.object, self.old, self.new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_in_force_is_said() {
        assert!(of(&json!({"sessions": []})).unwrap().words.starts_with("Nothing"));
        let nothing = serde_json::to_value(change::Status { sessions: Vec::new() }).unwrap();
        assert!(of(&nothing).is_ok());
    }

    #[test]
    fn a_change_is_shown_with_what_is_there_now() {
        let act = json!({"seq": 1, "object": "governor of CPU 3", "old": "powersave", "new": "performance", "now": null, "changed_since": null});
        let session = json!({"session": "1-2", "purpose": "apply plan.toml", "owner": null, "owner_alive": false, "before_this_boot": false,
            "began_unix_s": 0, "outstanding": [act], "problems": []});
        let words = of(&json!({"sessions": [session]})).unwrap().words;
        assert!(words.starts_with("In force: 1 change that pinwise made."), "{words}");
        assert!(
            words.contains("governor of CPU 3: was powersave, set to performance, now not known; whether"),
            "{words}"
        );
        assert!(!words.contains("undoing"), "{words}");
    }

    #[test]
    fn what_a_second_process_undoes_is_said() {
        let session = json!({"session": "1-2", "purpose": "study", "owner": null, "owner_alive": false, "before_this_boot": false,
            "began_unix_s": 0, "being_undone": true, "undone_by_pid": 4711, "outstanding": [], "problems": []});
        let words = of(&json!({"sessions": [session]})).unwrap().words;
        let said = "whose process has ended, and which process 4711 is undoing by itself:";
        assert!(words.contains(said), "{words}");
    }
}
