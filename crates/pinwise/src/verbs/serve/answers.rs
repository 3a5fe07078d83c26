//! How a request that fails is answered: a status of HTTP, and the object, the cause and the remedy as JSON.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use machine::{Class, Fault};
use serde_json::{Value, json};

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The verb failed, or the request makes no sense to it.
    Fault(Fault),
    /// What may be done only once at a time is being done; the words say what.
    Busy(&'static str),
    /// The page, the case or the plan does not exist; the words are what was asked for.
    NotFound(String),
    /// This server keeps no plan of this id.
    NoPlan(String),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Fault(fault) => (status_of(fault.class), Json(json!({ "error": fault }))).into_response(),
            Self::Busy(what) => error(
                StatusCode::TOO_MANY_REQUESTS,
                "busy",
                "pinwise serve",
                what,
                "ask again when it has ended",
            ),
            Self::NotFound(what) => error(
                StatusCode::NOT_FOUND,
                "not-found",
                &what,
                "there is nothing of this name here",
                "reload the page",
            ),
            Self::NoPlan(id) => error(
                StatusCode::NOT_FOUND,
                "not-found",
                &format!("plan {id}"),
                "this server has not shown such a plan, or has shown many others since",
                "make the plan again, and check its dry run",
            ),
        }
    }
}

/// A refusal that no verb has pronounced.
pub(super) fn error(status: StatusCode, class: &str, object: &str, cause: &str, remedy: &str) -> Response {
    let error = json!({ "class": class, "object": object, "cause": cause, "remedy": remedy });
    (status, Json(json!({ "error": error }))).into_response()
}

/// The status that stands for a class of failure.
fn status_of(class: Class) -> StatusCode {
    match class {
        Class::Usage => StatusCode::BAD_REQUEST,
        Class::NotPermitted => StatusCode::FORBIDDEN,
        Class::No | Class::MachineLacks => StatusCode::CONFLICT,
        Class::WorkloadFailed | Class::Storage => StatusCode::INTERNAL_SERVER_ERROR,
        Class::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The answer of a handler that answers with JSON.
pub(super) type Answered = Result<Json<Value>, Refusal>;

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(refusal: Refusal) -> (StatusCode, Value) {
        let response = refusal.into_response();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_fault_is_answered_with_its_three_parts_and_the_status_of_its_class() {
        let fault = Fault::new(Class::Usage, "--for", "0 s is not a window", "1 to 30");
        let (status, body) = parts(fault.into()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let error = json!({ "class": "usage", "object": "--for", "cause": "0 s is not a window", "remedy": "1 to 30" });
        assert_eq!(body, json!({ "error": error }));
    }

    #[tokio::test]
    async fn what_is_busy_or_missing_is_answered_in_the_same_form() {
        let (busy, body) = parts(Refusal::Busy("a diagnosis is under way")).await;
        assert_eq!((busy, &body["error"]["class"]), (StatusCode::TOO_MANY_REQUESTS, &json!("busy")));
        assert_eq!(body["error"]["cause"], "a diagnosis is under way");
        let (missing, body) = parts(Refusal::NotFound("case-7".into())).await;
        assert_eq!((missing, &body["error"]["object"]), (StatusCode::NOT_FOUND, &json!("case-7")));
        let (no_plan, body) = parts(Refusal::NoPlan("7f".into())).await;
        assert_eq!((no_plan, &body["error"]["object"]), (StatusCode::NOT_FOUND, &json!("plan 7f")));
        assert!(body["error"]["remedy"].as_str().unwrap().contains("make the plan again"));
    }

    #[test]
    fn only_what_the_server_can_do_nothing_about_is_blamed_on_the_request() {
        assert_eq!(status_of(Class::NotPermitted), StatusCode::FORBIDDEN);
        assert_eq!(status_of(Class::MachineLacks), StatusCode::CONFLICT);
        assert_eq!(status_of(Class::No), StatusCode::CONFLICT);
        assert!(
            status_of(Class::WorkloadFailed).is_server_error() && status_of(Class::Storage).is_server_error()
        );
    }
}
