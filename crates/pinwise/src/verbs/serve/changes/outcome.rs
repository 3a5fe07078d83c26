//! What came of a step: as a value for the page, and in a line for whoever reads the server's stderr.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use machine::Fault;
use machine::wording::counted;
use serde_json::{Value, json};

use super::kept_plans::KeptPlan;
use super::note_queue::NoteQueue;
use crate::own_verb;

/// The most settings of a plan that are named.
const MOST_NAMED: usize = 20;

/// Says what is about to be set.
pub(super) fn announced(kept: &KeptPlan, within_s: u64, notes: &NoteQueue) {
    let server = kept.server.iter().map(|server| format!(" for {server}")).collect::<String>();
    let case = &kept.case;
    let until = format!("it is undone after {within_s} s unless it is confirmed");
    notes.say(format!("pinwise: applying the plan of {case}{server}; {until}"));
    for setting in kept.settings.iter().take(MOST_NAMED) {
        let (knob, target, value) = (&setting.knob, &setting.target, &setting.value);
        notes.say(format!("pinwise: setting {knob} of {target} to {value}"));
    }
    let more = kept.settings.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        notes.say(format!("pinwise: and {more} more"));
    }
}

/// What an apply printed, with the time until when it can be confirmed. Also one that failed prints what it has done.
///
/// # Errors
/// Why it was taken back.
pub(super) fn in_force(mut applied: Value) -> Result<Value, Fault> {
    if let Some(fault) = fault_in(&applied) {
        return Err(fault);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let deadline_s = deadline_s(&applied, now.as_secs_f64());
    if let Some(fields) = applied.as_object_mut() {
        fields.insert("deadline_s".into(), json!(deadline_s));
    }
    Ok(applied)
}

/// Until when what was applied can be confirmed, seconds since 1970; `None` where nothing waits for it.
fn deadline_s(applied: &Value, now_s: f64) -> Option<u64> {
    let left_s = applied.get("confirm_within_s")?.as_f64()?;
    // Rounded down: a page that counts must not promise what is over.
    Some((now_s + left_s) as u64)
}

fn fault_in(applied: &Value) -> Option<Fault> {
    let fault = own_verb::stated(applied)?;
    match applied["acts_in_force"].as_u64() {
        Some(0) => Some(fault),
        _ => {
            let left = "see what is left with 'pinwise status', and run 'pinwise undo' to try again";
            Some(Fault { remedy: left.into(), ..fault })
        }
    }
}

/// What an apply has done, in a line.
pub(super) fn of_apply(applied: &Value) -> String {
    let session = applied["session"].as_str().unwrap_or("?");
    match applied["acts_in_force"].as_u64() {
        Some(0) => format!("session {session}: everything was so already, and nothing was done"),
        _ => format!("session {session}: in force, and waits to be confirmed"),
    }
}

/// What a confirmation has let stay, in a line.
pub(super) fn of_confirm(confirmed: &Value) -> String {
    let sessions: Vec<&str> = items(confirmed, "confirmed").filter_map(Value::as_str).collect();
    format!("confirmed: session {}", sessions.join(", "))
}

/// What an undo has done, in a line.
pub(super) fn of_undo(undone: &Value) -> String {
    let acts = items(undone, "sessions").flat_map(|session| items(session, "undone"));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for act in acts {
        *counts.entry(act["result"].as_str().unwrap_or("unknown")).or_default() += 1;
    }
    let mut counts: Vec<String> =
        counts.into_iter().map(|(result, count)| format!("{count} {result}")).collect();
    let refused = items(undone, "refused").count();
    counts.extend((refused > 0).then(|| format!("{} left alone", counted(refused, "session"))));
    match counts.is_empty() {
        true => "nothing was in force".into(),
        false => format!("undo: {}", counts.join(", ")),
    }
}

/// The items of a list; none where there is no list.
fn items<'a>(document: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    document.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use machine::Class;

    use super::*;

    #[test]
    fn what_is_in_force_has_a_deadline_and_what_was_so_already_has_none() {
        let waits = json!({ "acts_in_force": 1, "fault": null, "confirm_within_s": 59.5 });
        assert_eq!(deadline_s(&waits, 1_000.75), Some(1_060));
        assert!(in_force(waits).unwrap()["deadline_s"].is_u64());
        let already = json!({ "acts_in_force": 0, "fault": null });
        assert_eq!(in_force(already).unwrap()["deadline_s"], Value::Null);
    }

    #[test]
    fn a_plan_that_was_taken_back_is_a_failure_and_says_what_is_left() {
        let fault = json!({ "class": "machine-lacks", "object": "irq 38", "cause": "it refuses", "remedy": "leave it" });
        let back = in_force(json!({ "acts_in_force": 0, "fault": fault })).unwrap_err();
        assert_eq!(back, Fault::new(Class::MachineLacks, "irq 38", "it refuses", "leave it"));
        let stuck = in_force(json!({ "acts_in_force": 1, "fault": fault })).unwrap_err();
        assert!(stuck.remedy.contains("pinwise undo"), "{stuck}");
    }

    #[test]
    fn lines_say_what_came_of_it() {
        assert!(
            of_apply(&json!({ "session": "17-4", "acts_in_force": 0 }))
                .contains("17-4: everything was so already")
        );
        assert!(
            of_apply(&json!({ "session": "17-4", "acts_in_force": 2 })).contains("waits to be confirmed")
        );
        assert_eq!(of_confirm(&json!({ "confirmed": ["17-4", "18-5"] })), "confirmed: session 17-4, 18-5");
        let acts = json!([{ "result": "restored" }, { "result": "gone" }, { "result": "restored" }]);
        let undone = json!({ "sessions": [{ "undone": acts }], "refused": [{}] });
        assert_eq!(of_undo(&undone), "undo: 1 gone, 2 restored, 1 session left alone");
        assert_eq!(of_undo(&json!({ "sessions": [], "refused": [] })), "nothing was in force");
    }

    #[test]
    fn no_document_makes_it_panic() {
        for document in
            [json!(null), json!([1]), json!({ "sessions": 1, "fault": {}, "confirm_within_s": "x" })]
        {
            let _ = (of_apply(&document), of_confirm(&document), of_undo(&document), in_force(document));
        }
    }
}
