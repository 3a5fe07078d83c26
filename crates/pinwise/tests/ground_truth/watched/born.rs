//! Processes that are born and end while they are watched, and one that was never there.

use std::process::Command;

use super::figures::{NOT_HANDED_OVER, assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};
use crate::processes::Killed;

struct Script(Killed);

impl Script {
    fn run(script: &str) -> Self {
        Self(Killed(Command::new("sh").args(["-c", script]).spawn().unwrap()))
    }

    /// Once the file `mark` is there it has so many children, one after the other, makes `mark`.done, and sleeps.
    fn of_children(children: u32, mark: &str, sleep_s: f64) -> Self {
        // A subshell is a fork; one more for each of the ends of the waiting loop, which come before the window or are counted.
        Self::run(&format!(
            "n=0; while [ ! -e {mark} ] && [ $n -lt 200 ]; do sleep 0.1; n=$((n+1)); done; \
            i=0; while [ $i -lt {children} ]; do (exit 0); i=$((i+1)); done; : > {mark}.done; exec sleep {sleep_s}"
        ))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

fn ended(sheet: &Sheet) -> Vec<u64> {
    let rows = sheet.rows("threads").iter().filter(|row| row["ended"] == true);
    let mut tids: Vec<u64> = rows.map(|row| number(&row["tid"])).collect();
    tids.sort_unstable();
    tids.dedup();
    tids
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_short_lived_child_is_counted() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("go").display().to_string();
        let parent = Script::of_children(200, &mark, 20.0);
        let watching = stage.begin(&["--process", &parent.pid().to_string(), "--for", "5s", "--full"]);
        std::fs::write(&mark, "").unwrap();
        let sheet = watching.end();
        assert!(
            std::path::Path::new(&format!("{mark}.done")).exists(),
            "the window ended first: a machine too busy"
        );
        let ended = ended(&sheet);
        let sleeps =
            sheet.rows("threads").iter().filter(|row| row["comm"] == "sleep" && row["ended"] == true).count();
        eprintln!("{} ended, {sleeps} of them sleeps", ended.len());
        assert_near("children", (ended.len() - sleeps) as u64, 200, NOT_HANDED_OVER, 1);
        assert_eq!(sheet.losses(), Vec::<String>::new());
        assert!(sheet.rows("threads").iter().any(|row| row["tid"] == parent.pid() && row["ended"] == false));
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn more_children_than_the_table_has_room_for_are_counted_all_the_same() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("go").display().to_string();
        let parent = Script::of_children(6_000, &mark, 0.3);
        let watching = stage.begin(&["--process", &parent.pid().to_string(), "--for", "60s", "--full"]);
        std::fs::write(&mark, "").unwrap();
        let sheet = watching.end();
        assert!(
            std::path::Path::new(&format!("{mark}.done")).exists(),
            "the window ended first: a machine too busy"
        );
        assert_eq!(sheet.losses(), Vec::<String>::new());
        let rows = sheet.rows("threads").iter().filter(|row| row["ended"] == true && row["comm"] != "sleep");
        assert_near("children", rows.count() as u64, 6_000, NOT_HANDED_OVER, 0);
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_process_that_ends_is_reported_up_to_its_end() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        // Nobody waits for it: what is left of it is a zombie.
        let short = Script::run("exec sleep 2");
        let pid = short.pid();
        let sheet = stage.watch(&["--process", &pid.to_string(), "--for", "30s"]);
        assert!(sheet.stderr.contains("has ended"), "{}", sheet.stderr);
        assert!(sheet.wall_ns() < 20_000_000_000, "the window went on for {} ns", sheet.wall_ns());
        let row = sheet.thread(pid);
        assert_eq!((&row["ended"], &row["comm"]), (&true.into(), &"sleep".into()));
        let asleep = number(&row["asleep"]["total_ns"]);
        assert!(asleep > 0 && asleep <= number(&row["wall_ns"]), "{row:#}");
        assert!(number(&row["wall_ns"]) < sheet.wall_ns());
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_process_that_is_not_there_is_an_error() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let number = gone.id().to_string();
        for flag in ["--process", "--thread"] {
            let out = stage.command(&["watch", flag, &number, "--for", "1s"]).output().unwrap();
            let stderr = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(4), "{stderr}");
            assert!(stderr.contains(&number), "{stderr}");
            assert!(out.stdout.is_empty());
        }
    });
}
