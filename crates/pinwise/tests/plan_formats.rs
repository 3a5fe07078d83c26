//! Plans in the form of others and from their advice, as the command line has them. Nothing is set.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

const PLAN: &str = "purpose = \"quiet\"\n[[setting]]\nknob = \"swappiness\"\nvalue = \"10\"\n\
                    [[setting]]\nknob = \"process-affinity\"\ntarget = \"server\"\nvalue = \"0\"\n";

fn pinwise(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(args).current_dir(folder).env("PINWISE_STATE_DIR", folder.join("state"));
    command.stdin(Stdio::null()).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_a_form_cannot_say_is_in_the_file_and_on_stderr() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let out = pinwise(folder.path(), &["plan", "--from", "plan.toml", "--as", "tuned-profile"]);
    let (text, notes) = (words(&out.stdout), words(&out.stderr));
    assert_eq!(out.status.code(), Some(0), "{notes}");
    assert!(text.lines().any(|line| line == "vm.swappiness=10"), "{text}");
    let left = "not expressible here: process-affinity of server = 0";
    assert!(text.contains(&format!("# {left}")) && notes.contains(left), "{text}{notes}");
}

#[test]
fn files_are_placed_below_the_folder_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let args = ["plan", "--from", "plan.toml", "--as", "systemd", "--server", "web", "-o", "root"];
    let out = pinwise(folder.path(), &args);
    assert_eq!(out.status.code(), Some(0), "{}", words(&out.stderr));
    let file = |path: &str| std::fs::read_to_string(folder.path().join("root/etc").join(path)).unwrap();
    assert!(file("sysctl.d/90-pinwise.conf").ends_with("\nvm/swappiness = 10\n"));
    assert!(
        file("systemd/system/web.service.d/50-pinwise.conf")
            .ends_with("\n[Service]\nCPUAffinity=\nCPUAffinity=0\n")
    );
}

#[test]
fn a_form_that_says_nothing_of_the_plan_answers_no() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let out = pinwise(folder.path(), &["plan", "--from", "plan.toml", "--as", "irqbalance-policy"]);
    assert_eq!((out.status.code(), words(&out.stdout)), (Some(1), String::new()));
    assert!(words(&out.stderr).contains("swappiness"));
}

#[test]
fn a_profile_of_tuned_becomes_a_plan_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let profile = "[sysctl]\nvm.swappiness=10\n[disk]\nreadahead=4096\n";
    std::fs::write(folder.path().join("tuned.conf"), profile).unwrap();
    let out = pinwise(folder.path(), &["plan", "--from", "tuned.conf", "-o", "plan.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", words(&out.stderr));
    assert!(words(&out.stderr).contains("not taken over: [disk] readahead=4096"));
    let plan = machine::Plan::read(&folder.path().join("plan.toml")).unwrap();
    assert_eq!((plan.settings[0].knob.as_str(), plan.settings[0].value.as_str()), ("swappiness", "10"));
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["plan"][..],
        &["plan", "case", "--from", "x.toml"],
        &["plan", "case", "--server", "web"],
        &["plan", "case", "--as", "systemd", "--format", "json"],
        &["plan", "--from", "perftune:x.yaml"],
    ] {
        let out = pinwise(folder.path(), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", words(&out.stderr));
    }
}
