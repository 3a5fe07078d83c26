//! A cgroup with a quota: what its thread is throttled is what the cgroup's own counter says.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::figures::{assert_between, number};
use super::watching::{Stage, when_told};

const QUOTA_US: u64 = 20_000;
const PERIOD_US: u64 = 100_000;

/// A cgroup of our own with a CPU quota, of version 1 or 2.
struct Limited {
    folder: PathBuf,
    second: bool,
}

impl Limited {
    fn new() -> Option<Self> {
        let controllers =
            |top: &Path| std::fs::read_to_string(top.join("cgroup.subtree_control")).unwrap_or_default();
        let tops = [("/sys/fs/cgroup", true), ("/sys/fs/cgroup/cpu", false)];
        let usable = |(top, second): &(&str, bool)| match second {
            true => controllers(Path::new(top)).split_whitespace().any(|name| name == "cpu"),
            false => {
                Path::new(top).join("cpu.cfs_quota_us").exists() || Path::new(top).join("cpu.shares").exists()
            }
        };
        let (top, second) = tops.into_iter().find(usable)?;
        let folder = Path::new(top).join(format!("pinwise-truth-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let limited = Self { folder, second };
        let set = match second {
            true => {
                limited.write("cpu.max", &format!("{QUOTA_US} {PERIOD_US}"))
                    && limited.write("cpu.weight", "10000")
            }
            false => {
                limited.write("cpu.cfs_period_us", &PERIOD_US.to_string())
                    && limited.write("cpu.cfs_quota_us", &QUOTA_US.to_string())
                    && limited.write("cpu.shares", "262144")
            }
        };
        set.then_some(limited)
    }

    fn write(&self, file: &str, text: &str) -> bool {
        std::fs::write(self.folder.join(file), text).is_ok()
    }

    fn read(&self, key: &str) -> u64 {
        let text = std::fs::read_to_string(self.folder.join("cpu.stat")).unwrap();
        let found = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {key} in {text}"))
    }

    fn throttled_ns(&self) -> u64 {
        if self.second { self.read("throttled_usec") * 1_000 } else { self.read("throttled_time") }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // The kernel lets go of a cgroup a moment after its last process.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "ground truth: needs root, BPF and a cgroup with the CPU controller; run by `make test`"]
fn a_throttled_thread_is_throttled_for_as_long_as_its_cgroup_says() {
    when_told(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(limited) = Limited::new() else {
            return eprintln!("skipped: no cgroup with the CPU controller");
        };
        let script = "echo $$ > \"$0/cgroup.procs\"; ulimit -t 10; while :; do :; done";
        let folder = limited.folder.display().to_string();
        let spinning =
            Command::new("taskset").args(["-c", &stage.cpu.to_string(), "sh", "-c", script, &folder]).spawn();
        let spinning = Spinning(spinning.unwrap());
        let (around, times_around) = (limited.throttled_ns(), limited.read("nr_throttled"));
        let watching = stage.begin(&["--process", &spinning.0.id().to_string(), "--for", "5s"]);
        let (inside, times_inside) = (limited.throttled_ns(), limited.read("nr_throttled"));
        std::thread::sleep(Duration::from_secs(4));
        let (inside, times_inside) =
            (limited.throttled_ns() - inside, limited.read("nr_throttled") - times_inside);
        let sheet = watching.end();
        let (around, times_around) =
            (limited.throttled_ns() - around, limited.read("nr_throttled") - times_around);
        let row = sheet.thread(spinning.0.id());
        drop(spinning);

        let told = number(&row["throttled"]["total_ns"]);
        // The counter rises at the end of a stretch: it may know nothing of one that goes on, or all of one that had begun before.
        let stretch_ns = PERIOD_US * 1_000;
        assert_between("throttled, ns", told, inside.saturating_sub(stretch_ns), around + stretch_ns);
        assert_between("times throttled", number(&row["throttled"]["count"]), times_inside, times_around + 1);
        let share = told as f64 / sheet.wall_ns() as f64;
        let mean = told as f64 / number(&row["throttled"]["count"]) as f64;
        let by_kernel = around as f64 / times_around as f64;
        eprintln!(
            "throttled {share:.3} of the window; a stretch took {mean:.0} ns, {by_kernel:.0} by the cgroup"
        );
        assert!(
            (mean / by_kernel - 1.0).abs() < 0.05,
            "a stretch took {mean:.0} ns, by the cgroup {by_kernel:.0}"
        );
        let first = &sheet.json["takers"][0];
        assert_eq!(first["kind"], "quota", "{:#}", sheet.json["takers"]);
    });
}
