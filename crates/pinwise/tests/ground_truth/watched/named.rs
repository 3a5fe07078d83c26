//! Containers by their id and guests by their name: cgroups and processes that look like an engine's and QEMU's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::figures::{assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};
use crate::processes::Killed;

/// A cgroup as Docker makes it without systemd, `docker/ID`; removed at the end, with `docker` where that was made here too.
struct Docker {
    folder: PathBuf,
    made: Option<PathBuf>,
}

impl Docker {
    fn new(id: &str) -> Option<Self> {
        let tops = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let top = tops.into_iter().find(|top| Path::new(top).join("cgroup.procs").exists())?;
        let parent = Path::new(top).join("docker");
        let made = (!parent.exists()).then(|| parent.clone());
        let folder = parent.join(id);
        fs::create_dir_all(&folder).ok()?;
        Some(Self { folder, made })
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // The kernel lets go of a cgroup a moment after its last process.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(parent) = &self.made {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// 64 digits that no other run has, of which the first 12 differ from another id's in the last one only.
fn id(last: char) -> String {
    format!("{:011x}{last}{:052x}", u64::from(std::process::id()), 7)
}

fn waits_for(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that spins on the stage's CPU in that cgroup.
fn spinning_in(docker: &Docker, stage: &Stage) -> Killed {
    let script = "echo $$ > \"$0/cgroup.procs\"; ulimit -t 30; while :; do :; done";
    let mut command = Command::new("taskset");
    command.args(["-c", &stage.cpu.to_string(), "sh", "-c", script]).arg(&docker.folder);
    let spinning = Killed(command.spawn().unwrap());
    let pid = spinning.0.id().to_string();
    let procs = docker.folder.join("cgroup.procs");
    waits_for("nobody came into the cgroup", || fs::read_to_string(&procs).unwrap().contains(&pid));
    spinning
}

/// On, preempted, waiting, throttled, blocked and asleep are the whole window of a thread.
fn assert_accounted(sheet: &Sheet, tid: u32) {
    let row = sheet.thread(tid);
    let of = |key: &str| number(&row[key]["total_ns"]);
    let keys = ["on_cpu", "preempted", "run_queue", "throttled", "blocked", "asleep"];
    let reported: u64 = keys.into_iter().map(of).sum::<u64>() + number(&row["interrupted_ns"]);
    assert_near("the time of the thread", reported, sheet.wall_ns(), 0.001, 0);
    // It always wants to run; how much it gets is for who else is here to say.
    assert!(of("on_cpu") > 0 && of("asleep") == 0, "{row:#}");
}

#[test]
#[ignore = "ground truth: needs root, BPF and a hierarchy of cgroups; run by `make test`"]
fn a_container_is_watched_by_the_beginning_of_its_id() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let (id, other) = (id('a'), id('b'));
        let Some(docker) = Docker::new(&id) else { return eprintln!("skipped: no cgroup can be made") };
        let spinning = spinning_in(&docker, &stage);
        let sheet = stage.watch(&["--process", &id[..12], "--for", "1s"]);
        assert_eq!(sheet.json["target"]["cgroup"], docker.folder.display().to_string());
        assert_eq!(sheet.rows("threads").len(), 1, "{:#}", sheet.json["threads"]);
        assert_accounted(&sheet, spinning.0.id());
        // Of version 1 or 2, whichever has the controllers.
        let cgroup = format!("/docker/{id}");
        assert_eq!(sheet.thread(spinning.0.id())["cgroup"], cgroup);
        let all = stage.watch(&["--full", "--for", "500ms"]);
        let task = all.rows("tasks").iter().find(|task| task["tid"] == spinning.0.id()).unwrap();
        assert_eq!(task["cgroup"], cgroup);

        // Another one whose id begins alike.
        let beside = Docker::new(&other).unwrap();
        let out = stage.command(&["watch", "--process", &id[..11], "--for", "100ms"]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(&id) && said.contains(&other), "{said}");
        drop(beside);
        let out = stage.command(&["map", "--process", &id[..8], "--format", "json"]).output().unwrap();
        let map: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(map["processes"][0]["pid"], spinning.0.id());
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_guest_is_watched_by_its_name_with_what_it_starts() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let monitor = folder.path().join("qemu-system-x86_64");
        symlink("/bin/sh", &monitor).unwrap();
        // The child spins, the monitor waits for it: as its own I/O and emulator threads would.
        let script = "(ulimit -t 30; while :; do :; done) & echo $! > \"$CHILD\"; wait";
        let name = format!("test-{}", std::process::id());
        let child = folder.path().join("child");
        let mut command = Command::new("taskset");
        command.args(["-c", &stage.cpu.to_string()]).arg(&monitor).args(["-c", script]);
        command.args(["-name", &format!("guest={name},debug-threads=on"), "-m", "64"]).env("CHILD", &child);
        let guest = Killed(command.spawn().unwrap());
        waits_for("the guest does not start", || {
            fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'))
        });
        let child: u32 = fs::read_to_string(&child).unwrap().trim().parse().unwrap();

        let sheet = stage.watch(&["--process", &name, "--for", "1s"]);
        assert_eq!(sheet.json["target"]["pids"], serde_json::json!([guest.0.id(), child]));
        assert_accounted(&sheet, child);
        assert_eq!(sheet.thread(guest.0.id())["comm"], "qemu-system-x86");
        let out =
            stage.command(&["watch", "--process", &format!("{name}0"), "--for", "100ms"]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(&format!("similar names: {name}")), "{said}");
        // What the spinning child is of, the map says too.
        let out = stage.command(&["map", "--format", "json"]).output().unwrap();
        let map: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let known = map["guests"].as_array().unwrap().iter().find(|one| one["pid"] == guest.0.id()).unwrap();
        assert_eq!(known["name"], name);
        Command::new("kill").arg(child.to_string()).status().unwrap();
    });
}
