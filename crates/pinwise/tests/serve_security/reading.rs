//! The token: without it nothing is read, and it stands nowhere but in its header. And what is read of a case that is broken.

use std::fs;

use serde_json::json;

use crate::folder_copy::copy;
use crate::place::Place;
use crate::server::{Server, fixture};

/// What is read below `/api/`.
const READ: [&str; 10] = [
    "/api/session",
    "/api/machine",
    "/api/machine.svg",
    "/api/live",
    "/api/cases",
    "/api/cases/better",
    "/api/cases/better/explain",
    "/api/compare?case=better&case=better",
    "/api/status",
    "/api/diagnose?process=1&for_s=1",
];

#[test]
fn a_report_that_cannot_be_made_is_a_failure_of_one_request_with_its_cause() {
    let place = Place::new();
    for id in ["better", "broken"] {
        copy(&fixture(), &place.path(&format!("cases/{id}")));
    }
    fs::write(place.path("cases/broken/study.toml"), "no study").unwrap();
    let server = Server::start(&place, &[]);
    let broken = server.read("/api/cases/broken/report.html").answer();
    let error = broken.json()["error"].clone();
    assert_eq!((broken.status, &error["class"]), (500, &json!("storage")), "{error}");
    assert!(error["cause"].to_string().contains("study.toml"), "{error}");
    let report = server.read("/api/cases/better/report.html").answer();
    assert!(report.status == 200 && report.text().contains("</html>"), "{}", report.text());
    assert!(report.header("content-security-policy").contains("sandbox"), "{}", report.head);
}

#[test]
fn nothing_is_read_without_the_token() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let token = server.token.as_str();
    let first = if token.starts_with('0') { "1" } else { "0" };
    let last = if token.ends_with('0') { "1" } else { "0" };
    let wrong = [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        token.to_string(),
        format!("Basic {token}"),
        format!("Bearer {first}{}", &token[1..]),
        format!("Bearer {}{last}", &token[..token.len() - 1]),
        format!("Bearer {}", &token[1..]),
        format!("Bearer {token}0"),
        format!("Bearer {token}{token}"),
    ];
    for path in READ {
        let without = server.ask(&format!("GET {path}")).answer();
        assert_eq!(without.status, 401, "{path}: {}", without.text());
        for given in &wrong {
            let answer = server.ask(&format!("GET {path}")).with("Authorization", given).answer();
            assert_eq!(answer.status, 401, "{path}, '{given}': {}", answer.text());
        }
    }
    let right = server.read("/api/session").answer();
    assert_eq!(right.status, 200, "{}", right.text());
    let twice = server.read("/api/session").also("Authorization", &format!("Bearer {token}")).answer();
    assert_eq!(twice.status, 401, "of two tokens none counts");
}

#[test]
fn a_refusal_names_its_cause_and_a_remedy_and_no_secret() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let refused = server.ask("GET /api/session").answer();
    let error = &refused.json()["error"];
    for part in ["class", "object", "cause", "remedy"] {
        assert!(error[part].as_str().is_some_and(|text| !text.is_empty()), "{part}: {}", refused.text());
    }
    assert!(!refused.text().contains(&server.token));
}

#[test]
fn the_token_is_in_no_path_no_query_and_no_cookie() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let token = &server.token;
    let (before, after) = server.url.split_once('#').unwrap();
    assert!(!before.contains(token.as_str()) && after == format!("token={token}"), "{}", server.url);
    for path in [
        format!("/api/session?token={token}"),
        format!("/api/session?access_token={token}"),
        format!("/api/session?Authorization=Bearer%20{token}"),
        format!("/{token}/api/session"),
        format!("/api/session/{token}"),
        format!("/api/{token}"),
    ] {
        let answer = server.ask(&format!("GET {path}")).answer();
        assert_ne!(answer.status, 200, "{path}: {}", answer.text());
    }
    let cookie = server.ask("GET /api/session").with("Cookie", &format!("token={token}")).answer();
    assert_eq!(cookie.status, 401);
    assert!(!server.said().contains(token.as_str()), "{}", server.said());
}

#[test]
fn each_start_has_a_token_of_its_own() {
    let (one, other) = (Place::new(), Place::new());
    let (one, other) = (Server::start(&one, &[]), Server::start(&other, &[]));
    assert_ne!(one.token, other.token);
    assert!(one.token.len() >= 64 && one.token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", one.token);
    let answer =
        one.ask("GET /api/session").with("Authorization", &format!("Bearer {}", other.token)).answer();
    assert_eq!(answer.status, 401);
}
