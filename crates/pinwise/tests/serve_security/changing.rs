//! A change from the plan to the undo, and what must not bring one about. A process of the test's own is placed, nothing else.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::folder_copy::copy;
use crate::place::Place;
use crate::requests::Request;
use crate::server::{Server, fixture, wait_for};
use crate::sleeper::Sleeper;

impl Place {
    /// With a case that advises CPU 0 for its server, and nothing else.
    fn with_case() -> Self {
        let place = Self::new();
        let case = place.path("cases/better");
        copy(&fixture(), &case);
        fs::remove_file(case.join("proofs.json")).unwrap();
        place
    }

    fn status(&self) -> Value {
        let out = self.pinwise(&["status", "--format", "json"]);
        serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {out:?}"))
    }

    fn sessions(&self) -> usize {
        self.status()["sessions"].as_array().unwrap().len()
    }

    fn is_tidy(&self) -> bool {
        fs::read_dir(self.path("state/serve")).map_or(true, |files| files.count() == 0)
    }
}

impl Server {
    /// The id of a plan that places the sleeper.
    fn plan(&self, sleeper: &Sleeper) -> String {
        let body = json!({ "case": "better", "server": sleeper.pid() }).to_string();
        let plan = self.change("/api/changes/plan", &body).answer().good();
        assert_eq!(plan["plan"]["setting"][0]["knob"], "process-affinity", "{plan:#}");
        let foreseen = &plan["dry_run"]["settings"][0];
        assert_eq!(foreseen["target"], sleeper.pid().as_str(), "{plan:#}");
        assert_eq!((&foreseen["value"], &foreseen["fault"]), (&json!("0"), &Value::Null), "{plan:#}");
        assert!(plan["text"].as_str().unwrap().contains("process-affinity"), "{plan:#}");
        plan["plan_id"].as_str().unwrap().to_string()
    }

    fn apply(&self, plan_id: &str, confirm_within_s: u64) -> Request<'_> {
        let body = json!({ "plan_id": plan_id, "confirm_within_s": confirm_within_s }).to_string();
        self.change("/api/changes/apply", &body)
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn a_plan_is_shown_applied_confirmed_and_undone() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::with_case();
    let server = Server::start(&place, &["--allow-changes"]);
    let before = sleeper.cpus();
    let plan = server.plan(&sleeper);
    assert_eq!((sleeper.cpus(), place.sessions()), (before.clone(), 0), "a plan changes nothing");
    let began_s = now_s();
    let applied = server.apply(&plan, 600).answer().good();
    assert_eq!((sleeper.cpus().as_str(), place.sessions()), ("0", 1), "{applied:#}");
    let deadline_s = applied["deadline_s"].as_u64().unwrap();
    assert!((began_s..=now_s() + 600).contains(&deadline_s), "{began_s}: {applied:#}");
    let second = server.apply(&plan, 600).answer();
    assert_eq!((second.status, sleeper.cpus().as_str()), (409, "0"), "{}", second.text());
    for (session, status) in [("1-1", 409), ("--help", 409), ("../x", 400)] {
        let other =
            server.change("/api/changes/confirm", &json!({ "session": session }).to_string()).answer();
        assert_eq!((other.status, place.sessions()), (status, 1), "{session}: {}", other.text());
    }
    let shown = json!({ "session": applied["session"] }).to_string();
    let confirmed = server.change("/api/changes/confirm", &shown).answer().good();
    assert_eq!(confirmed["confirmed"], json!([applied["session"]]));
    let undone = server.change("/api/changes/undo", "{}").answer().good();
    assert_eq!(undone["sessions"][0]["undone"][0]["result"], "restored", "{undone:#}");
    assert_eq!((sleeper.cpus(), place.sessions()), (before, 0));
    let again = server.change("/api/changes/confirm", "{}").answer();
    assert_eq!(again.status, 409, "{}", again.text());
    // The answer does not wait for the note.
    wait_for("the note of the undo", || server.said().contains("1 restored"));
    let said = server.said();
    for words in ["the plan of better", "process-affinity of server to 0", "confirmed: session", "1 restored"]
    {
        assert!(said.contains(words), "'{words}' is not in: {said}");
    }
    assert!(place.is_tidy());
}

#[test]
fn what_is_not_confirmed_in_time_is_taken_back_though_the_server_is_gone() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::with_case();
    let server = Server::start(&place, &["--allow-changes"]);
    let before = sleeper.cpus();
    let applied = server.apply(&server.plan(&sleeper), 10).answer().good();
    assert_eq!(applied["acts_in_force"], 1, "{applied:#}");
    server.signal(libc::SIGKILL);
    drop(server);
    wait_for("the revert", || sleeper.cpus() == before);
    wait_for("the end of the session", || place.sessions() == 0);
}

#[test]
fn a_plan_for_a_process_that_has_ended_is_refused() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::with_case();
    let server = Server::start(&place, &["--allow-changes"]);
    let plan = server.plan(&sleeper);
    drop(sleeper);
    let refused = server.apply(&plan, 600).answer();
    assert_eq!((refused.status, place.sessions()), (409, 0), "{}", refused.text());
    let cause = refused.json()["error"]["cause"].to_string();
    assert!(cause.contains("has ended since the plan was shown"), "{cause}");
    assert!(place.is_tidy());
}

#[test]
fn apply_refuses_a_process_that_is_not_the_one_it_is_to_expect() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::new();
    let (pid, before, start) = (sleeper.pid(), sleeper.cpus(), sleeper.start_time_ticks());
    let set = format!("process-affinity:{pid}=0");
    let apply = |start: u64, more: &[&str]| {
        let expected = format!("--expect-process={pid}:{start}");
        place.pinwise(&[&["apply", "--set", &set, &expected][..], more].concat())
    };
    for more in [&["--dry-run"][..], &[], &["--confirm-within=600s"]] {
        let refused = apply(start - 1, more);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!((refused.status.code(), sleeper.cpus()), (Some(4), before.clone()), "{more:?}: {said}");
        assert!(said.contains("another process has its number now"), "{more:?}: {said}");
        assert_eq!(place.sessions(), 0, "{more:?}");
    }
    let applied = apply(start, &[]);
    assert_eq!((applied.status.code(), sleeper.cpus().as_str()), (Some(0), "0"), "{applied:?}");
    assert!(place.pinwise(&["undo"]).status.success());
    assert_eq!((sleeper.cpus(), place.sessions()), (before, 0));
}

#[test]
fn no_request_changes_anything_that_has_not_all_that_it_takes() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::with_case();
    let server = Server::start(&place, &["--allow-changes"]);
    let (before, port) = (sleeper.cpus(), server.port);
    let plan = server.plan(&sleeper);
    let right = || server.apply(&plan, 600);
    let csrf = server.read("/api/session").answer().good()["csrf"].as_str().unwrap().to_string();
    let padded = json!({ "plan_id": plan, "confirm_within_s": 600, "x": "a".repeat(65 << 10) }).to_string();
    let more = json!({ "plan_id": plan, "confirm_within_s": 600, "persist": true }).to_string();
    let wrong = [
        ("without the token", 401, right().without("Authorization")),
        ("with the CSRF value for a token", 401, right().with("Authorization", &format!("Bearer {csrf}"))),
        ("without CSRF", 403, right().without("X-Pinwise-CSRF")),
        ("with no CSRF value", 403, right().with("X-Pinwise-CSRF", "")),
        ("with the token for CSRF", 403, right().with("X-Pinwise-CSRF", &server.token)),
        ("with half of CSRF", 403, right().with("X-Pinwise-CSRF", &csrf[..csrf.len() / 2])),
        ("with CSRF twice", 403, right().also("X-Pinwise-CSRF", &csrf)),
        (
            "with CSRF in the query",
            403,
            right().without("X-Pinwise-CSRF").line(&format!("POST /api/changes/apply?csrf={csrf}")),
        ),
        ("without an origin", 403, right().without("Origin")),
        ("with a foreign origin", 403, right().with("Origin", "http://evil.example")),
        (
            "with an origin at another port",
            403,
            right().with("Origin", &format!("http://127.0.0.1:{}", port ^ 1)),
        ),
        ("with the origin of a sandbox", 403, right().with("Origin", "null")),
        ("with a foreign host", 421, right().with("Host", &format!("evil.example:{port}"))),
        ("by GET", 405, right().line("GET /api/changes/apply")),
        ("by HEAD", 405, right().line("HEAD /api/changes/apply")),
        ("by PUT", 405, right().line("PUT /api/changes/apply")),
        ("as a form", 403, right().with("Content-Type", "application/x-www-form-urlencoded")),
        ("as plain text", 403, right().with("Content-Type", "text/plain")),
        ("as nothing", 403, right().without("Content-Type")),
        ("with a body that is too large", 413, right().body(&padded)),
        ("with half a body", 400, right().body("{\"plan_id\":")),
        ("with no body", 400, right().body("")),
        ("with more than it takes", 400, right().body(&more)),
        ("with another plan", 404, server.apply("0", 600)),
        ("with too short a time", 400, server.apply(&plan, 9)),
        ("with too long a time", 400, server.apply(&plan, 601)),
    ];
    for (how, status, request) in wrong {
        let answer = request.answer();
        assert_eq!(answer.status, status, "{how}: {}", answer.text());
        assert_eq!((sleeper.cpus(), place.sessions()), (before.clone(), 0), "{how}");
    }
    // Nothing but what was left out stood in the way.
    right().answer().good();
    assert_eq!(sleeper.cpus(), "0");
    server.change("/api/changes/undo", "{}").answer().good();
    assert_eq!((sleeper.cpus(), place.sessions()), (before, 0));
}

#[test]
fn a_plan_is_made_of_no_case_outside_and_for_no_flag() {
    let Some(sleeper) = Sleeper::new() else { return };
    let place = Place::with_case();
    copy(&fixture(), &place.path("outside"));
    std::os::unix::fs::symlink("../outside", place.path("cases/link")).unwrap();
    let server = Server::start(&place, &["--allow-changes"]);
    let outside = place.path("outside").display().to_string();
    let plan = |body: Value| server.change("/api/changes/plan", &body.to_string()).answer();
    for case in ["link", "../outside", "better/../../outside", "--from", "", "better\0", &outside] {
        let answer = plan(json!({ "case": case, "server": sleeper.pid() }));
        assert_eq!(answer.status, 404, "{case}: {}", answer.text());
    }
    for name in ["", "--over", "--persist", "-h", "nosuch\nthing", "nosuch.service"] {
        let answer = plan(json!({ "case": "better", "server": name }));
        assert!([400, 409].contains(&answer.status), "{name:?}: {} {}", answer.status, answer.text());
    }
    let unnamed = plan(json!({ "case": "better" }));
    assert_eq!((unnamed.status, &unnamed.json()["error"]["object"]), (400, &json!("server")));
    assert!(place.is_tidy());
}
