//! What the page reads of the machine and of the server.

pub(super) mod cases;
pub(super) mod map;

use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use machine::{Class, Fault};
use serde_json::json;

use super::answers::{Answered, Refusal};
use super::state::Served;
use crate::own_verb;

/// What a query has, as it stands there: a name may come several times.
type Asked = Query<Vec<(String, String)>>;

/// The shortest and the longest diagnosis, s.
const DIAGNOSIS_S: std::ops::RangeInclusive<u64> = 1..=30;

/// The diagnosis where no length is given, s.
const USUAL_DIAGNOSIS_S: u64 = 10;

/// What a verb may take beside its window.
const AT_MOST: Duration = Duration::from_secs(60);

/// Who serves, and what it allows.
pub(super) async fn session(State(served): State<Served>) -> Answered {
    let access = &served.access;
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": rustix::system::uname().nodename().to_string_lossy(),
        "root": access.is_root,
        "allow_changes": access.allows_changes,
        "csrf": access.csrf,
        "dir": served.dir.display().to_string(),
    })))
}

/// The events of the hub.
pub(super) async fn live(State(served): State<Served>) -> Result<Response, Refusal> {
    let events =
        served.live.subscribe().ok_or(Refusal::Busy("too many pages are already watching the machine"))?;
    Ok(Sse::new(events).keep_alive(KeepAlive::new()).into_response())
}

/// What has been changed and not undone.
pub(super) async fn status() -> Answered {
    Ok(Json(own_verb::json(&["status".into()], AT_MOST).await?))
}

/// What slows a server, or the machine, down.
pub(super) async fn diagnose(State(served): State<Served>, Query(asked): Asked) -> Answered {
    let (arguments, window_s) = diagnosis(&asked)?;
    let _turn = served.diagnosing.try_acquire().map_err(|_| Refusal::Busy("a diagnosis is in progress"))?;
    Ok(Json(own_verb::json(&arguments, AT_MOST + Duration::from_secs(window_s)).await?))
}

/// The arguments of the verb, and the length of its window in s.
fn diagnosis(asked: &[(String, String)]) -> Result<(Vec<String>, u64), Fault> {
    let (mut process, mut window_s) = (None, USUAL_DIAGNOSIS_S);
    for (name, value) in asked {
        match name.as_str() {
            "process" if !value.is_empty() && !value.contains('\0') => process = Some(value),
            "process" => {
                return Err(wrong("process", "it names nothing", "name a unit, a process or its number"));
            }
            "for_s" => {
                let given = value.parse::<u64>().ok().filter(|given| DIAGNOSIS_S.contains(given));
                window_s =
                    given.ok_or_else(|| wrong("for_s", "its length is not permitted", "choose 1 to 30"))?;
            }
            _ => {
                return Err(wrong(
                    "the query",
                    "it has a parameter other than process and for_s",
                    "leave it out",
                ));
            }
        }
    }
    let mut arguments = vec!["diagnose".to_string(), format!("--for={window_s}s")];
    // In one word: a name that begins as a flag does is none.
    arguments.extend(process.map(|process| format!("--process={process}")));
    Ok((arguments, window_s))
}

fn wrong(object: &str, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::Usage, object, cause, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(asked: &[(&str, &str)]) -> Result<(Vec<String>, u64), Fault> {
        let asked: Vec<(String, String)> =
            asked.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        diagnosis(&asked)
    }

    #[test]
    fn a_diagnosis_is_of_a_server_or_of_the_machine() {
        assert_eq!(of(&[]).unwrap(), (vec!["diagnose".into(), "--for=10s".into()], 10));
        let (arguments, window_s) = of(&[("process", "nginx"), ("for_s", "3")]).unwrap();
        assert_eq!(
            (arguments, window_s),
            (vec!["diagnose".into(), "--for=3s".into(), "--process=nginx".into()], 3)
        );
    }

    #[test]
    fn no_value_becomes_a_flag_or_a_long_window() {
        let (arguments, _) = of(&[("process", "--keep=/etc/passwd")]).unwrap();
        assert_eq!(arguments[2], "--process=--keep=/etc/passwd");
        for asked in [
            ("for_s", "0"),
            ("for_s", "31"),
            ("for_s", "1s"),
            ("for_s", ""),
            ("for_s", "-1"),
            ("process", ""),
            ("keep", "x"),
        ] {
            assert_eq!(of(&[asked]).unwrap_err().class, Class::Usage, "{asked:?}");
        }
        assert!(of(&[("process", "a\0b")]).is_err());
    }
}
