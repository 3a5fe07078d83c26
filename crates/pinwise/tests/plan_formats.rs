//! Plans in the form of others and from their advice, as the command line has them. Nothing is set.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use machine::program_path::of_system;

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
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    for args in [
        &["plan"][..],
        &["plan", "case", "--from", "x.toml"],
        &["plan", "case", "--server", "web"],
        &["plan", "case", "--as", "systemd", "--format", "json"],
        &["plan", "--from", "plan.toml", "--between", "08:00-18:00"],
        &["plan", "--from", "plan.toml", "--as", "kubelet", "--between", "08:00-18:00"],
        &["plan", "--from", "plan.toml", "--as", "systemd", "--between", "8-18"],
        &["plan", "--from", "plan.toml", "--as", "systemd", "--between", "08:00-08:00"],
    ] {
        let out = pinwise(folder.path(), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", words(&out.stderr));
    }
}

/// The plan below the folder `root`, in force for these hours; the folder of its units.
fn by_hours(folder: &Path, hours: &str) -> PathBuf {
    std::fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let args = [
        "plan",
        "--from",
        "plan.toml",
        "--as",
        "systemd",
        "--server",
        "web",
        "--between",
        hours,
        "-o",
        "root",
    ];
    let out = pinwise(folder, &args);
    assert_eq!(out.status.code(), Some(0), "{}", words(&out.stderr));
    folder.join("root/etc/systemd/system")
}

#[test]
fn hours_begin_and_end_by_the_clock() {
    for (hours, within, outside) in [
        ("08:00-18:00", ["0800", "0908", "1759"], ["0000", "0759", "1800"]),
        ("22:00-06:00", ["2200", "0000", "0559"], ["0600", "1200", "2159"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        by_hours(folder.path(), hours);
        let date = folder.path().join("date");
        std::fs::write(&date, "#!/bin/sh\necho \"$NOW\"\n").unwrap();
        std::fs::set_permissions(&date, std::fs::Permissions::from_mode(0o755)).unwrap();
        let script = folder.path().join("root/etc/pinwise/hours.sh");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let holds = |what: &str, now: &str| {
            let mut command = Command::new("/bin/sh");
            command.arg(&script).arg(what).env("PATH", &path).env("NOW", now).stdin(Stdio::null());
            command.status().unwrap().code()
        };
        for now in within {
            assert_eq!((holds("within", now), holds("outside", now)), (Some(0), Some(1)), "{hours} {now}");
        }
        for now in outside {
            assert_eq!((holds("within", now), holds("outside", now)), (Some(1), Some(0)), "{hours} {now}");
        }
    }
}

#[test]
fn the_end_of_the_hours_undoes_the_session_of_their_beginning_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    by_hours(folder.path(), "08:00-18:00");
    let script = folder.path().join("root/etc/pinwise/hours.sh");
    let stand_in = folder.path().join("pinwise");
    std::fs::write(&stand_in, "#!/bin/sh\necho \"$@\"\n").unwrap();
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).unwrap();
    let undo = |applied: &str| {
        std::fs::write(folder.path().join("applied.json"), applied).unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(&script).arg("undo").env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
        let out = command.env("RUNTIME_DIRECTORY", folder.path()).stdin(Stdio::null()).output().unwrap();
        (out.status.code(), words(&out.stdout))
    };
    let applied = "{\n  \"session\": \"1763700000-4711\",\n  \"acts_in_force\": 2,\n  \"x\": 1\n}\n";
    assert_eq!(undo(applied), (Some(0), "undo --session 1763700000-4711\n".to_string()));
    // A session of none would be all of them: the flag has a value in any case.
    assert_eq!(undo("{}").1, "undo --session \n");
    assert_eq!(undo(&applied.replace("force\": 2", "force\": 0")), (Some(0), String::new()));
}

#[test]
fn systemd_takes_the_units_and_the_times() {
    let Some(analyze) = of_system("systemd-analyze") else {
        eprintln!("skipped: no systemd-analyze is installed here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let units = by_hours(folder.path(), "22:00-06:30");
    let names = [
        "pinwise-hours.service",
        "pinwise-hours.timer",
        "pinwise-hours-end.service",
        "pinwise-hours-end.timer",
    ];
    let mut verify = Command::new(&analyze);
    verify.args(["verify", "--man=no"]).args(names.map(|name| units.join(name)));
    let out = verify.stdin(Stdio::null()).output().unwrap();
    // About units of this machine there may be more to say, and about web.service, which it does not have.
    let said = words(&out.stderr);
    assert!(!said.lines().any(|line| line.contains("pinwise-hours")), "{said}");
    for (name, time) in [("pinwise-hours.timer", "22:00:00"), ("pinwise-hours-end.timer", "06:30:00")] {
        let text = std::fs::read_to_string(units.join(name)).unwrap();
        let calendar = text.lines().find_map(|line| line.strip_prefix("OnCalendar=")).unwrap();
        let out = Command::new(&analyze).args(["calendar", calendar]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", words(&out.stderr));
        assert!(
            words(&out.stdout).contains(&format!("Normalized form: *-*-* {time}")),
            "{}",
            words(&out.stdout)
        );
    }
}

#[test]
fn the_newer_forms_are_asked_for_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    for (form, part) in [("nri-balloons", "kind: BalloonsPolicy"), ("scx-layered", "\"cpus_range\": [1, 1]")]
    {
        let out = pinwise(folder.path(), &["plan", "--from", "plan.toml", "--as", form, "--server", "web"]);
        let (text, notes) = (words(&out.stdout), words(&out.stderr));
        assert_eq!(out.status.code(), Some(0), "{notes}");
        assert!(
            text.contains(part) && text.contains("swappiness") && notes.contains("swappiness"),
            "{text}{notes}"
        );
    }
}

#[test]
fn a_dry_run_of_perftune_becomes_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "# irqbalance is not running\nsysctl -w vm.swappiness=10\necho 2 > /sys/block/sda/queue/nomerges\n";
    std::fs::write(folder.path().join("perftune.txt"), text).unwrap();
    let out = pinwise(folder.path(), &["plan", "--from", "perftune:perftune.txt", "-o", "plan.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", words(&out.stderr));
    assert!(words(&out.stderr).contains("not taken over: echo 2 > /sys/block/sda/queue/nomerges"));
    let plan = machine::Plan::read(&folder.path().join("plan.toml")).unwrap();
    assert_eq!((plan.settings[0].knob.as_str(), plan.settings[0].value.as_str()), ("swappiness", "10"));
}

#[test]
fn settings_of_plans_are_levels_of_a_study_as_the_page_shows() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan-formats.md")).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (recipe, _) = rest.split_once("```").unwrap();
    let recipe = study::Recipe::from_toml(recipe, "docs/plan-formats.md").unwrap();
    let [study::recipe::Factor::Places(places)] = &recipe.factors[..] else { panic!("{:?}", recipe.factors) };
    let settings: Vec<usize> = places.levels.iter().map(|level| level.settings.len()).collect();
    assert_eq!(settings, [3, 2]);
}
