//! Who gets what from `pinwise serve`, asked over a socket as a browser, a foreign page and another user of this host would. What only
//! root can show (changes are for root alone) is skipped for others, and says so. No setting of this machine is touched but the CPUs of a
//! process that the test has started, and the ledger is one of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

#[path = "serve_security/browsers.rs"]
mod browsers;
#[path = "serve_security/changing.rs"]
mod changing;
mod folder_copy;
mod place;
#[path = "serve_security/reading.rs"]
mod reading;
#[path = "serve_security/requests.rs"]
mod requests;
#[path = "serve_security/server.rs"]
mod server;
#[path = "serve_security/sleeper.rs"]
mod sleeper;
#[path = "serve_security/torn.rs"]
mod torn;

use std::fs;
use std::os::unix::fs::symlink;

use folder_copy::copy;
use place::Place;
use server::{Server, as_nobody, fixture, refused_to_start};

#[test]
fn no_id_of_a_case_leads_out_of_the_folder() {
    let place = Place::new();
    for name in ["cases/better", "outside"] {
        copy(&fixture(), &place.path(name));
    }
    symlink("../outside", place.path("cases/link")).unwrap();
    symlink("..", place.path("cases/up")).unwrap();
    let absolute = place.path("outside").display().to_string().replace('/', "%2F");
    let server = Server::start(&place, &[]);
    let inside = server.read("/api/cases/better").answer();
    assert_eq!(inside.status, 200, "{}", inside.text());
    for id in [
        "link",
        "up%2Foutside",
        "..%2Foutside",
        "..%2foutside",
        "../outside",
        "%2e%2e%2Foutside",
        "%2E%2E/outside",
        "better%2F..%2F..%2Foutside",
        "better/../../outside",
        ".%2F..%2Foutside",
        "%2e%2e%5coutside",
        "%252e%252e%252foutside",
        &absolute,
        "%2Fetc",
        "%2Fetc%2Fpasswd",
        "..",
        "%2e%2e",
        "better%00",
        "better%2Fstudy.toml",
        "better%2Ftrials",
        "%ff",
        &"a".repeat(5000),
        &"%2e%2e%2F".repeat(500),
    ] {
        for of in ["", "/explain", "/report.html"] {
            let answer = server.read(&format!("/api/cases/{id}{of}")).answer();
            assert!((400..500).contains(&answer.status), "{id}{of}: {} {}", answer.status, answer.text());
        }
        let answer = server.read(&format!("/api/compare?case=better&case={id}")).answer();
        assert!((400..500).contains(&answer.status), "{id}: {} {}", answer.status, answer.text());
    }
    let listed = server.read("/api/cases").answer().json();
    let ids: Vec<&str> =
        listed["cases"].as_array().unwrap().iter().filter_map(|case| case["id"].as_str()).collect();
    assert_eq!(ids, ["better"], "{listed:#}");
}

#[test]
fn an_address_that_others_reach_is_refused_with_the_way_to_do_it() {
    let place = Place::new();
    for address in
        ["0.0.0.0:0", "[::]:0", "192.0.2.1:9119", "[2001:db8::1]:9119", "0:9119", "evil.example:80"]
    {
        let (code, said) = refused_to_start(&place, &["--listen", address]);
        assert_eq!(code, Some(2), "{address}: {said}");
    }
    let (_, said) = refused_to_start(&place, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("0.0.0.0") && said.contains("ssh -L"), "{said}");
}

#[test]
fn what_changes_is_refused_where_it_was_not_allowed() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.read("/api/session").answer().json();
    assert!(session["allow_changes"] == false && session["csrf"].is_null(), "{session:#}");
    for step in ["plan", "apply", "confirm", "undo"] {
        let answer = server.change(&format!("/api/changes/{step}"), "{}").answer();
        assert_eq!(answer.status, 403, "{step}: {}", answer.text());
    }
}

#[test]
fn what_changes_is_refused_where_the_server_is_not_root() {
    let place = Place::new();
    let Some(command) = as_nobody(&place, &["--allow-changes"]) else { return };
    let server = Server::of(&place, command);
    let session = server.read("/api/session").answer().json();
    assert!(session["root"] == false && session["csrf"].is_null(), "{session:#}");
    for step in ["plan", "apply", "confirm", "undo"] {
        let answer = server.change(&format!("/api/changes/{step}"), "{}").answer();
        assert_eq!(answer.status, 403, "{step}: {}", answer.text());
        assert!(answer.json()["error"]["remedy"].as_str().unwrap().contains("root"), "{}", answer.text());
    }
    assert!(fs::read_dir(place.path("state/ledger")).is_err(), "nothing has a ledger");
}
