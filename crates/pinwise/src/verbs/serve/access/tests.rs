//! Each rule with what looks like it.

use axum::http::HeaderValue;

use super::*;

const TOKEN: &str = "0123456789abcdef";
const CSRF: &str = "fedcba9876543210";

fn access() -> Access {
    let (token, csrf) = (TOKEN.into(), Some(CSRF.into()));
    Access { token, csrf, port: 9119, is_root: true, allows_changes: true }
}

/// The headers of a request that changes something, and is allowed to.
fn all_headers() -> Vec<(&'static str, String)> {
    vec![
        ("host", "127.0.0.1:9119".into()),
        ("origin", "http://127.0.0.1:9119".into()),
        ("authorization", format!("Bearer {TOKEN}")),
        ("x-pinwise-csrf", CSRF.into()),
        ("content-type", "application/json".into()),
    ]
}

/// The same with another value of one header; `None`: without it.
fn with(name: &'static str, value: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = all_headers();
    headers.retain(|(other, _)| *other != name);
    headers.extend(value.map(|value| (name, value.to_string())));
    headers
}

fn decided(
    access: &Access,
    method: Method,
    is_open: bool,
    headers: &[(&'static str, String)],
) -> Result<(), Denied> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    access.decide(&Asked { method: &method, is_open, authority: None, headers: &map })
}

fn posted(headers: &[(&'static str, String)]) -> Result<(), Denied> {
    decided(&access(), Method::POST, false, headers)
}

fn read(headers: &[(&'static str, String)]) -> Result<(), Denied> {
    decided(&access(), Method::GET, false, headers)
}

#[test]
fn a_request_with_all_that_is_asked_for_is_answered() {
    assert_eq!(read(&all_headers()), Ok(()));
    assert_eq!(posted(&all_headers()), Ok(()));
    assert_eq!(posted(&with("content-type", Some("application/json; charset=utf-8"))), Ok(()));
}

#[test]
fn only_the_own_names_and_the_own_port_are_the_host() {
    for host in ["127.0.0.1:9119", "localhost:9119", "[::1]:9119"] {
        assert_eq!(read(&with("host", Some(host))), Ok(()), "{host}");
    }
    for host in [
        "evil.example:9119",
        "127.0.0.1",
        "127.0.0.1:9118",
        "127.0.0.1:91190",
        "127.0.0.1:",
        "127.0.0.1.evil.example:9119",
        "localhost.evil.example:9119",
        "localhost:9119.evil.example",
        "user@localhost:9119",
        " localhost:9119",
        "localhost:+9119",
        "127.0.0.2:9119",
        "::1:9119",
        "[::1]9119",
        "",
    ] {
        assert_eq!(read(&with("host", Some(host))), Err(Denied::ForeignHost), "{host:?}");
    }
    assert_eq!(read(&with("host", None)), Err(Denied::ForeignHost));
}

#[test]
fn of_two_hosts_none_counts_and_the_request_line_counts_as_one() {
    let mut twice = all_headers();
    twice.push(("host", "127.0.0.1:9119".into()));
    assert_eq!(read(&twice), Err(Denied::ForeignHost));
    let mut map = HeaderMap::new();
    map.insert("host", HeaderValue::from_static("127.0.0.1:9119"));
    let of = |authority| {
        access().decide(&Asked {
            method: &Method::GET,
            is_open: true,
            authority: Some(authority),
            headers: &map,
        })
    };
    assert_eq!(of("127.0.0.1:9119"), Ok(()));
    assert_eq!(of("evil.example"), Err(Denied::ForeignHost));
}

#[test]
fn the_port_that_browsers_leave_out_may_be_left_out_where_it_is_the_own() {
    let at_80 = Access { port: 80, ..access() };
    let headers = [("host", "localhost".to_string()), ("authorization", format!("Bearer {TOKEN}"))];
    assert_eq!(decided(&at_80, Method::GET, false, &headers), Ok(()));
}

#[test]
fn only_a_page_of_this_server_is_an_origin() {
    for origin in ["http://127.0.0.1:9119", "http://localhost:9119", "http://[::1]:9119"] {
        assert_eq!(read(&with("origin", Some(origin))), Ok(()), "{origin}");
    }
    for origin in [
        "null",
        "",
        "https://127.0.0.1:9119",
        "http://127.0.0.1:9118",
        "http://127.0.0.1",
        "http://evil.example",
        "http://127.0.0.1:9119.evil.example",
        "http://localhost:9119/",
        "file://localhost:9119",
        "127.0.0.1:9119",
    ] {
        assert_eq!(read(&with("origin", Some(origin))), Err(Denied::ForeignOrigin), "{origin:?}");
        assert_eq!(posted(&with("origin", Some(origin))), Err(Denied::ForeignOrigin), "{origin:?}");
    }
}

#[test]
fn a_browser_sends_no_origin_where_it_reads_and_one_where_it_writes() {
    assert_eq!(read(&with("origin", None)), Ok(()));
    assert_eq!(posted(&with("origin", None)), Err(Denied::NoOrigin));
}

#[test]
fn only_the_whole_token_is_the_token() {
    let basic = format!("Basic {TOKEN}");
    let longer = format!("Bearer {TOKEN}0");
    let shorter = format!("Bearer {}", &TOKEN[1..]);
    let upper = format!("Bearer {}", TOKEN.to_uppercase());
    let wrong = [basic.as_str(), &longer, &shorter, &upper, TOKEN, "Bearer ", "Bearer", ""];
    for given in wrong {
        assert_eq!(read(&with("authorization", Some(given))), Err(Denied::NoToken), "{given:?}");
    }
    assert_eq!(read(&with("authorization", None)), Err(Denied::NoToken));
    let mut twice = all_headers();
    twice.push(("authorization", format!("Bearer {TOKEN}")));
    assert_eq!(read(&twice), Err(Denied::NoToken));
}

#[test]
fn the_page_itself_needs_no_token_but_the_right_host_and_is_only_read() {
    let open = |method, headers: &[_]| decided(&access(), method, true, headers);
    assert_eq!(open(Method::GET, &with("authorization", None)), Ok(()));
    assert_eq!(open(Method::HEAD, &with("authorization", None)), Ok(()));
    assert_eq!(open(Method::POST, &with("authorization", None)), Err(Denied::NoToken));
    assert_eq!(open(Method::GET, &[("host", "evil.example".into())]), Err(Denied::ForeignHost));
}

#[test]
fn every_method_that_does_not_only_read_is_one_that_changes() {
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS, Method::TRACE] {
        let without = with("x-pinwise-csrf", None);
        assert_eq!(decided(&access(), method.clone(), false, &without), Err(Denied::WrongCsrf), "{method}");
    }
}

#[test]
fn a_change_repeats_what_the_page_was_given() {
    for given in [None, Some(""), Some(TOKEN), Some("fedcba987654321"), Some("FEDCBA9876543210")] {
        assert_eq!(posted(&with("x-pinwise-csrf", given)), Err(Denied::WrongCsrf), "{given:?}");
    }
}

#[test]
fn a_change_is_in_a_form_that_forms_of_other_pages_cannot_send() {
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "application/json-patch+json", "text/json", ""]
    {
        assert_eq!(posted(&with("content-type", Some(kind))), Err(Denied::NotJson), "{kind:?}");
    }
    assert_eq!(posted(&with("content-type", None)), Err(Denied::NotJson));
}

#[test]
fn nothing_is_changed_without_leave_or_without_root() {
    let not_allowed = Access { csrf: None, allows_changes: false, ..access() };
    assert_eq!(decided(&not_allowed, Method::POST, false, &all_headers()), Err(Denied::ChangesNotAllowed));
    let not_root = Access { csrf: None, is_root: false, ..access() };
    assert_eq!(decided(&not_root, Method::POST, false, &all_headers()), Err(Denied::NotRoot));
    assert_eq!(decided(&not_root, Method::GET, false, &all_headers()), Ok(()));
}

#[test]
fn a_secret_is_long_and_never_the_same() {
    let [one, other] = [random_hex().unwrap(), random_hex().unwrap()];
    assert_eq!((one.len(), other.len()), (64, 64));
    assert!(one != other && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn two_texts_are_the_same_only_as_wholes() {
    assert!(is_same("abc", "abc") && is_same("", ""));
    for (one, other) in [("abc", "abd"), ("abc", "ab"), ("ab", "abc"), ("", "a")] {
        assert!(!is_same(one, other), "{one} {other}");
    }
}
