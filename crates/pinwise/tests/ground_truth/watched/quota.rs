//! A cgroup with a quota: what its thread is throttled is what the cgroup's own counter says.

use std::process::Command;
use std::time::Duration;

use super::figures::{assert_between, number};
use super::limited::Limited;
use super::watching::{Stage, retried_where_switches_are_missed};
use crate::processes::Killed;

const QUOTA_US: u64 = 20_000;
const PERIOD_US: u64 = 100_000;

/// A cgroup with the quota, and with a share so large that nothing but the quota takes the CPU from it.
fn with_quota() -> Option<Limited> {
    let (quota, period) = (QUOTA_US.to_string(), PERIOD_US.to_string());
    let both = format!("{quota} {period}");
    let first =
        [("cpu.cfs_period_us", period.as_str()), ("cpu.cfs_quota_us", &quota), ("cpu.shares", "262144")];
    let second = [("cpu.max", both.as_str()), ("cpu.weight", "10000")];
    Limited::new("cpu", &first, &second)
}

fn throttled_ns(limited: &Limited) -> u64 {
    match limited.is_second() {
        true => limited.cpu_stat("throttled_usec") * 1_000,
        false => limited.cpu_stat("throttled_time"),
    }
}

#[test]
#[ignore = "ground truth: needs root, BPF and a cgroup with the CPU controller; run by `make test`"]
fn a_throttled_thread_is_throttled_for_as_long_as_its_cgroup_says() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(limited) = with_quota() else {
            return eprintln!("skipped: no cgroup with the CPU controller");
        };
        let script = "echo $$ > \"$0/cgroup.procs\"; ulimit -t 10; while :; do :; done";
        let folder = limited.folder().display().to_string();
        let spinning =
            Command::new("taskset").args(["-c", &stage.cpu.to_string(), "sh", "-c", script, &folder]).spawn();
        let spinning = Killed(spinning.unwrap());
        let (around, times_around) = (throttled_ns(&limited), limited.cpu_stat("nr_throttled"));
        let watching = stage.begin(&["--process", &spinning.0.id().to_string(), "--for", "5s"]);
        let (inside, times_inside) = (throttled_ns(&limited), limited.cpu_stat("nr_throttled"));
        std::thread::sleep(Duration::from_secs(4));
        let (inside, times_inside) =
            (throttled_ns(&limited) - inside, limited.cpu_stat("nr_throttled") - times_inside);
        let sheet = watching.end();
        let (around, times_around) =
            (throttled_ns(&limited) - around, limited.cpu_stat("nr_throttled") - times_around);
        let row = sheet.thread(spinning.0.id());
        drop(spinning);

        let reported = number(&row["throttled"]["total_ns"]);
        // The counter rises at the end of a stretch: it may know nothing of one that goes on, or all of one that had begun before.
        let stretch_ns = PERIOD_US * 1_000;
        assert_between("throttled, ns", reported, inside.saturating_sub(stretch_ns), around + stretch_ns);
        assert_between("times throttled", number(&row["throttled"]["count"]), times_inside, times_around + 1);
        let share = reported as f64 / sheet.wall_ns() as f64;
        let mean = reported as f64 / number(&row["throttled"]["count"]) as f64;
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
