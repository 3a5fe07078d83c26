//! The same requests in `pinwise watch`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{BEGUN, ONE_CONNECTION, Served, WINDOW, driven, number, possible};

/// Watches the server for a window, and prints in this form.
fn watching(served: &Served, format: &str) -> Child {
    let pid = served.server.id().to_string();
    let arguments = ["watch", "--process", &pid, "--for", WINDOW, "--format", format];
    served.bench.command(&arguments).stdout(Stdio::piped()).spawn().unwrap()
}

fn printed(watching: Child) -> String {
    let out = watching.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", out.status);
    String::from_utf8(out.stdout).unwrap()
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn watch_shows_the_requests_of_the_driver_in_words_and_in_figures() {
    let Some(served) = Served::start() else { return };
    let (in_words, in_figures) = (watching(&served, "text"), watching(&served, "json"));
    std::thread::sleep(BEGUN);
    let document = driven(&served.first, "string", "127.0.0.1", served.port, &ONE_CONNECTION);
    let (text, sheet) = (printed(in_words), printed(in_figures));
    let sheet: Value = serde_json::from_str(&sheet).unwrap();
    let diagnosis = &sheet["diagnosis"];
    if diagnosis["requests"].is_null() {
        // What is not seen is listed where people look, too.
        let why = diagnosis["requests_missing"]["why"].as_str().unwrap();
        assert!(text.contains("requests in the kernel: "), "{text}");
        return eprintln!("skipped: {why}");
    }
    let port = &diagnosis["requests"]["ports"][0];
    assert_eq!((&port["port"], &port["counted"]), (&json!(served.port), &json!("requests")), "{port:#}");
    let possible = possible(&document);
    assert!(possible.contains(&number(&port["answered"])), "{possible:?}: {port:#}");
    assert_eq!(port["accept_queue"]["waiting"], json!(0), "{port:#}");
    assert_eq!(sheet["missing"].to_string().matches("requests in the kernel").count(), 0, "{sheet:#}");
    let line = format!("/s on port {}; wait in the socket ", served.port);
    assert!(text.contains("\n  requests: ") && text.contains(&line), "{text}");
}

#[test]
#[ignore = "ground truth: needs root, to give it up, and two CPUs; run by `make test`"]
fn without_root_watch_says_why_requests_are_not_seen() {
    let Some(served) = Served::start() else { return };
    // The folder of the build may be closed to others.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("pinwise");
    std::fs::copy(env!("CARGO_BIN_EXE_pinwise"), &program).unwrap();
    let as_nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let pid = served.server.id().to_string();
    let out = Command::new("setpriv")
        .args(as_nobody)
        .arg(&program)
        .args(["watch", "--process", &pid, "--for", "1s", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let sheet: Value = serde_json::from_slice(&out.stdout).unwrap();
    let missing = sheet["missing"].as_array().unwrap();
    let requests = missing.iter().find(|missing| missing["fact"] == "requests in the kernel");
    let why = requests.map(|missing| missing["why"].as_str().unwrap());
    assert!(why.is_some_and(|why| why.contains("root")), "{missing:#?}");
}
