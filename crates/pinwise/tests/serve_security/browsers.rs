//! What a browser is given, and what keeps the pages of others from it.

use std::collections::BTreeSet;

use crate::folder_copy::copy;
use crate::place::Place;
use crate::requests::Answer;
use crate::server::{Server, fixture};

/// The files that a text names in quotes, as paths from the root of the server.
fn named_in(text: &str, at: &str) -> Vec<String> {
    let folder = at.rsplit_once('/').map_or("", |(folder, _)| folder);
    let quoted = text.split(['"', '\'']).filter(|word| word.ends_with(".js") || word.ends_with(".css"));
    let plain = quoted
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte)));
    let from_root = plain.map(|word| {
        let path = if word.starts_with('/') { word.to_string() } else { format!("{folder}/{word}") };
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match part {
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        format!("/{}", parts.join("/"))
    });
    from_root.collect()
}

#[test]
fn the_page_needs_no_token_and_holds_no_secret() {
    let place = Place::new();
    let server = Server::start(&place, &["--allow-changes"]);
    let csrf = server.read("/api/session").answer().json()["csrf"].as_str().map(str::to_string);
    let (mut to_do, mut seen) = (vec!["/".to_string()], BTreeSet::new());
    while let Some(path) = to_do.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let answer = server.ask(&format!("GET {path}")).answer();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let text = answer.text();
        assert!(!text.contains(&server.token), "{path} has the token");
        assert!(csrf.as_ref().is_none_or(|csrf| !text.contains(csrf.as_str())), "{path} has the CSRF value");
        to_do.extend(named_in(&text, &path));
    }
    assert!(seen.len() > 5 && seen.contains("/page.js") && seen.contains("/page.css"), "{seen:?}");
}

#[test]
fn only_the_own_names_with_the_own_port_are_the_host() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let port = server.port;
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        assert_eq!(server.read("/api/session").with("Host", &host).answer().status, 200, "{host}");
    }
    for host in [
        "evil.example".to_string(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("localhost:{port}.evil.example"),
        format!("evil@localhost:{port}"),
        format!("127.0.0.2:{port}"),
        format!("[::2]:{port}"),
        format!("::1:{port}"),
        format!("localhost:{}", port.wrapping_add(1)),
        "localhost".into(),
        "localhost:".into(),
        String::new(),
    ] {
        // The page, too: whoever resolves a name of theirs to 127.0.0.1 gets nothing to run there.
        for path in ["/api/session", "/", "/page.js"] {
            let answer = server.read(path).with("Host", &host).answer();
            assert_eq!(answer.status, 421, "{path}, '{host}': {}", answer.text());
        }
    }
    assert_eq!(server.read("/api/session").without("Host").answer().status, 421);
    let own = format!("127.0.0.1:{port}");
    let two = server.read("/api/session").also("Host", &own).answer().status;
    assert!([400, 421].contains(&two), "{two}");
    let line =
        server.read("/api/session").line(&format!("GET http://evil.example:{port}/api/session")).answer();
    assert_eq!(line.status, 421, "{}", line.text());
}

#[test]
fn a_request_of_another_page_is_refused() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let port = server.port;
    let own = format!("http://127.0.0.1:{port}");
    assert_eq!(server.read("/api/session").with("Origin", &own).answer().status, 200);
    for origin in [
        "http://evil.example".to_string(),
        format!("http://evil.example:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port.wrapping_add(1)),
        "http://127.0.0.1".into(),
        format!("http://127.0.0.1:{port}.evil.example"),
        "null".into(),
        String::new(),
    ] {
        let answer = server.read("/api/session").with("Origin", &origin).answer();
        assert_eq!(answer.status, 403, "'{origin}': {}", answer.text());
        let preflight =
            server.read("/api/changes/undo").line("OPTIONS /api/changes/undo").with("Origin", &origin);
        let preflight = preflight.with("Access-Control-Request-Method", "POST").answer();
        assert_eq!(preflight.status, 403, "'{origin}': {}", preflight.text());
        let allows = |answer: &Answer| answer.head.contains("access-control-");
        assert!(!allows(&answer) && !allows(&preflight), "{}{}", answer.head, preflight.head);
    }
}

#[test]
fn every_answer_has_the_headers_that_keep_it_to_this_page() {
    let place = Place::new();
    copy(&fixture(), &place.path("cases/better"));
    let server = Server::start(&place, &[]);
    let answers = [
        (200, server.ask("GET /")),
        (200, server.ask("GET /page.js")),
        (200, server.read("/api/session")),
        (200, server.read("/api/cases")),
        (401, server.ask("GET /api/session")),
        (403, server.read("/api/session").with("Origin", "http://evil.example")),
        (403, server.change("/api/changes/undo", "{}")),
        (404, server.read("/api/cases/nosuch")),
        (404, server.read("/nosuch")),
        (405, server.read("/api/changes/undo")),
        (421, server.read("/").with("Host", "evil.example")),
    ];
    for (status, request) in answers {
        let line = request.shown();
        let answer = request.answer();
        assert_eq!(answer.status, status, "{line}: {}", answer.text());
        let policy = answer.header("content-security-policy");
        let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
        for rule in ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
        {
            assert!(rules.contains(&rule), "{line}: '{rule}' is not in '{policy}'");
        }
        assert!(!policy.contains("unsafe"), "{line}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{line}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{line}");
        assert_eq!(answer.header("cache-control"), "no-store", "{line}");
        assert!(
            !answer.head.contains("access-control-") && !answer.head.contains("set-cookie"),
            "{}",
            answer.head
        );
    }
}
