//! What the requests send.

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::answers::error;

/// A plan that is to be made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseToPlan {
    /// The case, by its id.
    pub(super) case: String,
    /// What `server` in the plan stands for, as for `pinwise apply --server`.
    pub(super) server: Option<String>,
}

/// A plan that is to be put in force.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanToApply {
    /// The plan, by the id under which it was shown.
    pub(super) plan_id: String,
    /// After how long it is taken back unless it is confirmed, s.
    pub(super) confirm_within_s: u64,
}

/// What is to stay.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToConfirm {
    /// The session that the page has shown: by now another one may wait in its place. Without it, whatever waits.
    pub(super) session: Option<String>,
}

/// A request that is all said by its path: `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The body of a request, as JSON; one that is none is answered in the form of every other refusal.
pub(super) struct Sent<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => {
                let status = match rejection.status() {
                    StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
                    status => status,
                };
                let remedy = "see /api/openapi.json for what this path takes";
                Err(error(status, "usage", "the body of the request", &rejection.body_text(), remedy))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn status_of(content_type: &str, body: &str) -> Option<u16> {
        let request = axum::http::Request::builder().header("content-type", content_type);
        let request = request.body(Body::from(body.to_string())).unwrap();
        let sent = Sent::<PlanToApply>::from_request(request, &()).await;
        sent.err().map(|response| response.status().as_u16())
    }

    #[tokio::test]
    async fn a_body_that_is_another_is_refused_by_its_kind() {
        assert_eq!(status_of("application/json", r#"{"plan_id":"7","confirm_within_s":60}"#).await, None);
        assert_eq!(status_of("text/plain", r#"{"plan_id":"7","confirm_within_s":60}"#).await, Some(415));
        for wrong in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"plan_id":7,"confirm_within_s":60}"#,
            r#"{"plan_id":"7","confirm_within_s":-1}"#,
        ] {
            assert_eq!(status_of("application/json", wrong).await, Some(400), "{wrong}");
        }
        let unknown = r#"{"plan_id":"7","confirm_within_s":60,"persist":true}"#;
        assert_eq!(status_of("application/json", unknown).await, Some(400));
    }
}
