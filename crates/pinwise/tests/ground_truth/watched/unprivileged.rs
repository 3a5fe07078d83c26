//! Without root: counters, and what is missing.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::watching::Stage;

#[test]
#[ignore = "ground truth: needs root, to give it up; run by `make test`"]
fn without_root_counters_are_shown_with_the_reason() {
    let Some(_stage) = Stage::new() else { return };
    // The folder of the build may be closed to others.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("pinwise");
    std::fs::copy(env!("CARGO_BIN_EXE_pinwise"), &program).unwrap();
    let out = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["watch", "--for", "1s", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("kernel events") && stderr.contains("root"), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["how"], "counters");
    let missing = json["missing"].as_array().unwrap();
    assert!(missing.iter().any(|missing| missing["fact"] == "kernel events"), "{missing:#?}");
    let counters = json["counters"].as_array().unwrap();
    assert!(!counters.is_empty(), "{json:#}");
}
