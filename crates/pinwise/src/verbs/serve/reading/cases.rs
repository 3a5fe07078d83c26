//! The cases: their list, what each says, its report, and several compared.

use std::path::Path;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Path as InAddress, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use machine::{Class, Fault};

use super::super::answers::{Answered, Refusal};
use super::super::blocking::beside;
use super::super::cases;
use super::super::state::Served;
use super::Asked;
use crate::own_verb;

/// What a verb may take.
const AT_MOST: Duration = Duration::from_secs(120);

/// How long one request reads cases for the list.
const READING: Duration = Duration::from_secs(2);

/// How many cases can be compared.
const COMPARED: std::ops::RangeInclusive<usize> = 2..=16;

/// The longest text that is searched for, bytes.
const LONGEST_TEXT: usize = 256;

/// A report has a style and a script within it. Its own policy, in its head, allows only these two; here it is taken away from the page:
/// it can neither read what that keeps nor ask this server for anything.
const POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The list.
pub(in super::super) async fn list(State(served): State<Served>, Query(asked): Asked) -> Answered {
    let text = asked.into_iter().find(|(name, _)| name == "q").map(|(_, text)| text).unwrap_or_default();
    if text.len() > LONGEST_TEXT {
        let cause = format!("it has more than {LONGEST_TEXT} bytes");
        return Err(Fault::new(Class::Usage, "q", cause, "search for less").into());
    }
    let until = Instant::now() + READING;
    let list =
        beside("the list of cases", move || cases::list(&served.dir, &served.cases, &text, until)).await;
    Ok(Json(list?))
}

/// All that a case says. `pinwise explain` prints the same document as `pinwise report`, and writes nothing into the case.
pub(in super::super) async fn result(
    State(served): State<Served>,
    InAddress(id): InAddress<String>,
) -> Answered {
    let folder = cases::folder(served.dir.clone(), id).await?;
    let _turn = served.reading.acquire().await;
    Ok(Json(own_verb::json(&["explain".into(), argument(&folder)?], AT_MOST).await?))
}

/// The report as a file. Another process makes it, within the bounds of every verb.
pub(in super::super) async fn report(
    State(served): State<Served>,
    InAddress(id): InAddress<String>,
) -> Result<Response, Refusal> {
    let folder = cases::folder(served.dir.clone(), id).await?;
    let _turn = served.reporting.acquire().await;
    let html = own_verb::text(&["report-page".into(), argument(&folder)?], AT_MOST).await?;
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, html).into_response())
}

/// Several cases on one sheet.
pub(in super::super) async fn compare(State(served): State<Served>, Query(asked): Asked) -> Answered {
    let ids: Vec<String> = asked.into_iter().filter(|(name, _)| name == "case").map(|(_, id)| id).collect();
    if !COMPARED.contains(&ids.len()) {
        let cause = format!("{} cases are named", ids.len());
        return Err(Fault::new(Class::Usage, "case", cause, "name 2 to 16, as in ?case=A&case=B").into());
    }
    let mut arguments = vec!["compare".to_string()];
    for id in ids {
        arguments.push(argument(&cases::folder(served.dir.clone(), id).await?)?);
    }
    let _turn = served.reading.acquire().await;
    Ok(Json(own_verb::json(&arguments, AT_MOST).await?))
}

/// A folder as an argument of a verb. It begins with a slash, so that it is never taken for a flag.
fn argument(folder: &Path) -> Result<String, Fault> {
    folder.to_str().map(String::from).ok_or_else(|| {
        let remedy = "start pinwise serve with another folder";
        Fault::new(Class::Usage, folder.display(), "its path is not UTF-8 text", remedy)
    })
}
