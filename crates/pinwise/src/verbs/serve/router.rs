//! The routes of the live page, and what holds for every request: who may ask for it, and what a browser may do with the answer.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};

use super::access::{Asked, Denied};
use super::answers::{self, Refusal};
use super::reading;
use super::state::Served;
use super::{changes, openapi, page};

/// The longest body of a request, bytes.
const LONGEST_BODY: usize = 64 << 10;

/// What the page may load: what this server gives, and no script or style within it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// A route that only reads, and who answers it.
type Route = (&'static str, fn() -> MethodRouter<Served>);

/// All that can be read, but for the page itself.
const READING: [Route; 12] = [
    ("/api/openapi.json", || get(openapi::answer)),
    ("/api/session", || get(reading::session)),
    ("/api/machine", || get(reading::map::document)),
    ("/api/machine.svg", || get(reading::map::picture)),
    ("/api/live", || get(reading::live)),
    ("/api/cases", || get(reading::cases::list)),
    ("/api/cases/{id}", || get(reading::cases::result)),
    ("/api/cases/{id}/explain", || get(reading::cases::result)),
    ("/api/cases/{id}/report.html", || get(reading::cases::report)),
    ("/api/compare", || get(reading::cases::compare)),
    ("/api/status", || get(reading::status)),
    ("/api/diagnose", || get(reading::diagnose)),
];

/// All paths of [`READING`].
#[cfg(test)]
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    READING.into_iter().map(|(path, _)| path)
}

/// The whole server.
pub(super) fn routes(served: Served) -> Router {
    let reading =
        READING.into_iter().fold(Router::new(), |router, (path, answer)| router.route(path, answer()));
    reading
        .layer(from_fn(only_get))
        .nest("/api/changes", changes::routes())
        .fallback(get(asset))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(from_fn_with_state(served.clone(), guard))
        .with_state(served)
}

/// Has what is read be read by GET. A HEAD would take all the work of a GET, since the status and the length are known only after it.
async fn only_get(request: Request, next: Next) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let (cause, remedy) = ("this path is read by GET alone", "send GET");
    let refused = answers::error(StatusCode::METHOD_NOT_ALLOWED, "usage", "the method", cause, remedy);
    ([(header::ALLOW, "GET")], refused).into_response()
}

/// Answers a request that may be answered, and sees to it that every answer has the headers and the form that answers have here.
async fn guard(State(served): State<Served>, request: Request, next: Next) -> Response {
    let decided = decided(&served, &request);
    let answer = match decided {
        Ok(()) => in_one_form(next.run(request).await),
        Err(denied) => refusal(denied),
    };
    with_headers(answer)
}

fn decided(served: &Served, request: &Request) -> Result<(), Denied> {
    let uri = request.uri();
    served.access.decide(&Asked {
        method: request.method(),
        is_open: page::asset(uri.path()).is_some(),
        authority: uri.authority().map(|authority| authority.as_str()),
        headers: request.headers(),
    })
}

fn refusal(denied: Denied) -> Response {
    let (status, [class, object, cause, remedy]) = denied.words();
    answers::error(status, class, object, cause, remedy)
}

/// A refusal as JSON: those of the framework are plain text.
fn in_one_form(answer: Response) -> Response {
    let status = answer.status();
    let is_json = answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !(status.is_client_error() || status.is_server_error()) || is_json {
        return answer;
    }
    let cause = status.canonical_reason().unwrap_or("the request is malformed");
    let class = if status == StatusCode::NOT_FOUND { "not-found" } else { "usage" };
    answers::error(status, class, "the request", cause, "see /api/openapi.json for what can be asked")
}

/// What every answer has; a policy of its own stays.
fn with_headers(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("same-origin"));
    }
    answer
}

/// A part of the page itself.
async fn asset(uri: Uri) -> Result<Response, Refusal> {
    let (kind, content) = page::asset(uri.path()).ok_or_else(|| Refusal::NotFound(uri.path().into()))?;
    Ok(([(header::CONTENT_TYPE, kind)], content).into_response())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::verbs::serve::access::Access;

    #[test]
    fn every_answer_has_the_headers_that_bind_a_browser() {
        let answer = with_headers("text".into_response());
        let of = |name: &str| answer.headers()[name].to_str().unwrap();
        assert_eq!((of("content-security-policy"), of("x-content-type-options")), (POLICY, "nosniff"));
        assert_eq!((of("referrer-policy"), of("cache-control")), ("no-referrer", "no-store"));
        assert!(!POLICY.contains("unsafe"), "{POLICY}");
    }

    #[test]
    fn an_answer_with_a_policy_of_its_own_keeps_it() {
        let answer = with_headers(([(header::CONTENT_SECURITY_POLICY, "sandbox")], "text").into_response());
        assert_eq!(answer.headers()["content-security-policy"], "sandbox");
        assert_eq!(answer.headers().get_all("content-security-policy").iter().count(), 1);
    }

    #[tokio::test]
    async fn a_refusal_of_the_framework_is_json_as_well() {
        let answer = in_one_form((StatusCode::METHOD_NOT_ALLOWED, "plain").into_response());
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(document["error"]["class"], "usage");
        let own = in_one_form(Refusal::Busy("a diagnosis").into_response());
        let body = axum::body::to_bytes(own.into_body(), 1 << 16).await.unwrap();
        let document: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(document["error"]["cause"], "a diagnosis");
        assert_eq!(in_one_form("fine".into_response()).status(), StatusCode::OK);
    }

    #[test]
    fn a_denied_request_is_answered_with_its_status() {
        assert_eq!(refusal(Denied::ForeignHost).status(), StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(refusal(Denied::NoToken).status(), StatusCode::UNAUTHORIZED);
        assert_eq!(refusal(Denied::WrongCsrf).status(), StatusCode::FORBIDDEN);
    }

    /// What comes to a request that has the token, in small letters.
    async fn answered(method: &str, path: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let access = Access::new(port, false).unwrap();
        let token = access.token.clone();
        let router = routes(Served::new("/nosuch".into(), access));
        let server = tokio::spawn(axum::serve(listener, router).into_future());
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let headers = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close");
        let request = format!("{method} {path} HTTP/1.1\r\n{headers}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        server.abort();
        answer.to_lowercase()
    }

    fn header_of<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
        answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    #[tokio::test]
    async fn a_head_does_not_do_the_work_of_a_get() {
        for path in paths().map(|path| path.replace("{id}", "a")) {
            let answer = answered("HEAD", &path).await;
            assert!(answer.starts_with("http/1.1 405 "), "{path}: {answer}");
            let headers = [header_of(&answer, "allow"), header_of(&answer, "cache-control")];
            assert_eq!(headers, [Some("get"), Some("no-store")], "{path}: {answer}");
        }
        let change = answered("HEAD", "/api/changes/apply").await;
        assert!(change.starts_with("http/1.1 405 "), "{change}");
        assert_eq!(header_of(&change, "allow"), Some("post"));
    }

    #[tokio::test]
    async fn a_get_is_answered_and_the_page_itself_by_head_as_well() {
        let session = answered("GET", "/api/session").await;
        assert!(session.starts_with("http/1.1 200 "), "{session}");
        for path in ["/", "/page.js"] {
            let [get, head] = [answered("GET", path).await, answered("HEAD", path).await];
            assert!(get.starts_with("http/1.1 200 ") && head.starts_with("http/1.1 200 "), "{path}: {head}");
            assert!(header_of(&head, "content-length").is_some(), "{path}: {head}");
            assert_eq!(header_of(&get, "content-length"), header_of(&head, "content-length"), "{path}");
        }
        assert!(answered("HEAD", "/nosuch").await.starts_with("http/1.1 404 "));
    }

    #[test]
    fn all_routes_fit_together() {
        let access = Access::new(9119, false).unwrap();
        // It panics where two overlap.
        let _ = routes(Served::new("/".into(), access));
    }
}
