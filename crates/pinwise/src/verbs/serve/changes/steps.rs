//! The steps. Each runs the verb of its name, and what it changes is said on stderr of the server as it happens.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use machine::knobs::guest::is_of_server;
use machine::{Class, Fault, Plan, Planned, Root};
use serde_json::{Value, json};

use super::super::access::random_hex;
use super::super::answers::Refusal;
use super::super::blocking::beside;
use super::super::cases;
use super::kept_plans::{GOOD_FOR, KeptPlan};
use super::named_processes::NamedProcesses;
use super::note_queue::NoteQueue;
use super::outcome;
use super::plan_file::PlanFile;
use super::sent::CaseToPlan;
use crate::escape;
use crate::own_verb;

/// How long a plan may take to be made, and its dry run.
const PLANNING: Duration = Duration::from_secs(60);

/// How long an apply may go on after its deadline: until then it takes back what it has done.
const AFTER_THE_DEADLINE: Duration = Duration::from_secs(60);

/// How long it may take to confirm: another pinwise may have the ledger.
const CONFIRMING: Duration = Duration::from_secs(60);

/// How long everything that is outstanding may take to be taken back.
const UNDOING: Duration = Duration::from_secs(600);

/// In what time an apply may ask to be confirmed, s: long enough to look, and no longer than a person waits.
const CONFIRM_WITHIN_S: RangeInclusive<u64> = 10..=600;

/// What fails where the plan cannot be handed to the verb.
const FILE: &str = "the file of the plan";

/// What fails where a process cannot be looked at.
const PROCESSES: &str = "the processes of the plan";

/// The longest name of a server, bytes.
const LONGEST_NAME: usize = 256;

/// Makes the plan of a case below `dir`, and shows what it would do here. Nothing is changed.
///
/// # Errors
/// There is no such case, nothing in it is worth keeping, or the plan is for a server that was not named; a process that it names has ended
/// meanwhile.
pub(super) async fn plan(dir: &Path, asked: CaseToPlan) -> Result<(KeptPlan, Value), Refusal> {
    let CaseToPlan { case, server } = asked;
    server.as_deref().map_or(Ok(()), can_be_a_name)?;
    let folder = folder_of(dir, &case).await?;
    let document = own_verb::json(&["plan".into(), folder], PLANNING).await?;
    let plan = plan_in(&document)?;
    if server.is_none() && is_for_a_server(&plan) {
        return Err(not_named().into());
    }
    let settings = plan.settings.iter().map(Planned::setting).collect();
    let (id, text, processes) = (random_hex()?, plan.to_toml()?, NamedProcesses::default());
    let named = KeptPlan { id, case, text, settings, server, processes };
    let kept = beside(PROCESSES, move || {
        let processes = NamedProcesses::read(&Root::live(), named.server.as_deref(), &named.settings);
        Ok(KeptPlan { processes, ..named })
    })
    .await?;
    let dry_run = apply_with(&kept, "--dry-run".into(), PLANNING).await?;
    // What the dry run has looked at is what is identified.
    still_there(&kept).await?;
    let answer = shown(&kept, &document, &dry_run);
    Ok((kept, answer))
}

/// What the page gets to show.
fn shown(kept: &KeptPlan, plan: &Value, dry_run: &Value) -> Value {
    json!({
        "plan_id": kept.id,
        "plan": plan,
        "text": escape::toml(kept.text.clone()),
        "dry_run": dry_run,
        "processes": kept.processes,
        "good_for_s": GOOD_FOR.as_secs(),
    })
}

/// Whether the processes that a plan names are those that were shown.
async fn still_there(kept: &KeptPlan) -> Result<(), Fault> {
    let processes = kept.processes.clone();
    beside(PROCESSES, move || processes.check(&Root::live())).await
}

/// Puts a plan in force that was shown; it is taken back by itself unless it is confirmed in time.
///
/// # Errors
/// The time is too short or too long, a process that was shown has ended, or a setting cannot be made: then all is as it was, or the fault says
/// what is not.
pub(super) async fn apply(kept: KeptPlan, within_s: u64, notes: NoteQueue) -> Result<Value, Refusal> {
    if !CONFIRM_WITHIN_S.contains(&within_s) {
        let (cause, remedy) = (format!("{within_s} s is too short or too long"), "choose 10 to 600");
        return Err(Fault::new(Class::Usage, "confirm_within_s", cause, remedy).into());
    }
    still_there(&kept).await?;
    outcome::announced(&kept, within_s, &notes);
    let at_most = Duration::from_secs(within_s) + AFTER_THE_DEADLINE;
    let applied = apply_with(&kept, format!("--confirm-within={within_s}s"), at_most).await;
    let applied = said(applied.and_then(outcome::in_force), &notes)?;
    notes.say(format!("pinwise: {}", outcome::of_apply(&applied)));
    Ok(applied)
}

/// Lets stay what waits to be confirmed; with a session, that one alone.
///
/// # Errors
/// Nothing waits, or its time is over; no session can have this id.
pub(super) async fn confirm(session: Option<String>, notes: NoteQueue) -> Result<Value, Refusal> {
    session.as_deref().map_or(Ok(()), can_be_a_session)?;
    let mut arguments = vec!["confirm".to_string()];
    arguments.extend(session.map(|session| format!("--session={session}")));
    let confirmed = said(own_verb::json(&arguments, CONFIRMING).await, &notes)?;
    notes.say(format!("pinwise: {}", outcome::of_confirm(&confirmed)));
    Ok(confirmed)
}

/// Takes back everything that is outstanding, be it of this server or of a shell.
///
/// # Errors
/// The ledger cannot be read, or another pinwise is changing the machine. What was left is in the answer.
pub(super) async fn undo(notes: NoteQueue) -> Result<Value, Refusal> {
    notes.say("pinwise: undoing everything that is in force".into());
    let undone = said(own_verb::json(&["undo".into()], UNDOING).await, &notes)?;
    notes.say(format!("pinwise: {}", outcome::of_undo(&undone)));
    Ok(undone)
}

/// What is said of a task that did not come to its end.
pub(super) fn cut_short() -> Fault {
    let (cause, remedy) =
        ("the server ended before it was done", "check in a shell what is in force: pinwise status");
    Fault::new(Class::Interrupted, "the change", cause, remedy)
}

/// Says what failed.
fn said(done: Result<Value, Fault>, notes: &NoteQueue) -> Result<Value, Fault> {
    done.inspect_err(|fault| notes.say(format!("pinwise: {fault}")))
}

/// The folder of a case, as an argument.
async fn folder_of(dir: &Path, case: &str) -> Result<String, Refusal> {
    let folder = cases::folder(dir.to_path_buf(), case.to_string()).await?;
    let text = folder.into_os_string().into_string();
    text.map_err(|folder| {
        let (cause, remedy) =
            ("the path is not UTF-8", "rename the folder, or plan in a shell: pinwise plan CASE");
        Fault::new(Class::Usage, folder.display(), cause, remedy).into()
    })
}

/// `pinwise apply` of a plan, with a further flag.
async fn apply_with(kept: &KeptPlan, flag: String, at_most: Duration) -> Result<Value, Fault> {
    let (id, text) = (kept.id.clone(), kept.text.clone());
    let file = beside(FILE, move || PlanFile::write(&id, &text)).await?;
    let mut arguments = vec!["apply".to_string(), file.path()?, flag];
    // One word with its flag: it cannot be taken for another flag.
    arguments.extend(kept.server.iter().map(|server| format!("--server={server}")));
    arguments.extend(kept.processes.arguments());
    let applied = own_verb::json_with_fault(&arguments, at_most).await;
    // Removed where no other request waits for the disk.
    let removed = move || {
        drop(file);
        Ok(())
    };
    let _ = beside(FILE, removed).await;
    applied
}

/// The plan in what `pinwise plan --format json` prints.
fn plan_in(document: &Value) -> Result<Plan, Fault> {
    let mut plan = document.clone();
    if let Some(fields) = plan.as_object_mut() {
        fields.remove("left_out");
    }
    let remedy = machine::IS_A_BUG;
    let bug = |error: serde_json::Error| Fault::new(Class::Storage, "pinwise plan", error, remedy);
    serde_json::from_value(plan).map_err(bug)
}

/// Whether it sets something for the server that was studied.
fn is_for_a_server(plan: &Plan) -> bool {
    plan.settings.iter().any(|planned| is_of_server(&planned.target))
}

fn not_named() -> Fault {
    let cause = "the plan is for the server that was studied, but its process was not named";
    Fault::new(
        Class::Usage,
        "server",
        cause,
        "name a systemd unit, a process or its number, a cgroup or a container",
    )
}

fn can_be_a_name(server: &str) -> Result<(), Fault> {
    match server.is_empty() || server.len() > LONGEST_NAME || server.chars().any(char::is_control) {
        true => {
            Err(Fault::new(Class::Usage, "server", "no process or unit is called that", not_named().remedy))
        }
        false => Ok(()),
    }
}

fn can_be_a_session(id: &str) -> Result<(), Fault> {
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match is_plain && (1..=LONGEST_NAME).contains(&id.len()) {
        true => Ok(()),
        false => {
            let remedy = "send the id that /api/status has";
            Err(Fault::new(Class::Usage, "session", "no session has such an id", remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_what_the_verb_printed_without_what_it_left_out() {
        let setting = json!({ "knob": "swappiness", "target": "machine", "value": "1", "reason": "why" });
        let document = json!({ "purpose": "quiet", "setting": [setting], "left_out": ["a cause"] });
        let plan = plan_in(&document).unwrap();
        assert_eq!((plan.purpose.as_deref(), plan.settings.len()), (Some("quiet"), 1));
        assert_eq!(Plan::parse(&plan.to_toml().unwrap()).unwrap(), plan);
        assert!(plan_in(&json!("quiet")).is_err() && plan_in(&json!({ "surprise": 1 })).is_err());
    }

    #[test]
    fn a_plan_for_the_server_of_the_study_is_known_by_its_targets() {
        let with_target = |target: &str| {
            let planned =
                Planned { knob: "process-affinity".into(), target: target.into(), ..Planned::default() };
            is_for_a_server(&Plan { settings: vec![planned], ..Plan::default() })
        };
        assert!(with_target("server") && with_target("server/vcpu/0"));
        assert!(!with_target("machine") && !with_target("servers") && !with_target("4711"));
    }

    #[test]
    fn what_is_shown_has_the_processes_and_how_long_it_can_be_applied() {
        let pid = std::process::id();
        let processes = NamedProcesses::read(&Root::live(), Some(&pid.to_string()), &[]);
        let (id, text) = ("7f".to_string(), "[[setting]]\n".to_string());
        let kept = KeptPlan { id, case: "a".into(), text, settings: Vec::new(), server: None, processes };
        let shown = shown(&kept, &json!({ "purpose": "quiet" }), &json!({ "settings": [] }));
        assert_eq!((&shown["plan_id"], &shown["good_for_s"]), (&json!("7f"), &json!(900)));
        assert_eq!(shown["processes"][0]["pid"], pid);
        assert!(shown["processes"][0]["start_time_ticks"].is_u64(), "{shown}");
    }

    #[tokio::test]
    async fn a_plan_whose_process_is_another_by_now_is_not_applied() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let processes = NamedProcesses::read(&Root::live(), Some(&child.id().to_string()), &[]);
        child.kill().unwrap();
        child.wait().unwrap();
        let (id, text) = ("7f".to_string(), "[[setting]]\n".to_string());
        let kept = KeptPlan { id, case: "a".into(), text, settings: Vec::new(), server: None, processes };
        let refused = apply(kept, 60, NoteQueue::new(|_| {})).await;
        let Err(Refusal::Fault(fault)) = refused else { panic!("{refused:?}") };
        assert!(fault.object.starts_with("process ") && fault.cause.contains("ended"), "{fault}");
    }

    #[test]
    fn a_name_of_a_server_is_short_and_has_nothing_hidden() {
        assert!(can_be_a_name("nginx.service").is_ok() && can_be_a_name("--over").is_ok());
        for wrong in ["", "a\nb", "a\0b", &"x".repeat(LONGEST_NAME + 1)] {
            assert_eq!(can_be_a_name(wrong).unwrap_err().class, Class::Usage, "{wrong:?}");
        }
    }

    #[test]
    fn an_id_of_a_session_is_short_and_plain() {
        assert!(can_be_a_session("4711-12345").is_ok());
        for wrong in ["", "a b", "a\0b", "../x", "a=b", &"x".repeat(LONGEST_NAME + 1)] {
            assert_eq!(can_be_a_session(wrong).unwrap_err().class, Class::Usage, "{wrong:?}");
        }
    }
}
