//! A storm of timer interrupts shows as timer interrupts, on its CPU, at its rate.

use super::figures::{Reading, assert_counted, assert_near, interrupts, sources};
use super::watching::{Stage, when_told};

const RATE: u32 = 10_000;

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_timer_storm_is_in_the_row_of_the_timer_and_in_no_other() {
    when_told(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(storm) = crate::storms::start(stage.cpu, RATE) else { return };
        let loc = || interrupts("LOC", stage.cpu);
        let before = Reading::now(loc);
        let watching = stage.begin(&["--for", "3s"]);
        let first = Reading::now(loc);
        std::thread::sleep(std::time::Duration::from_secs(2));
        let last = Reading::now(loc);
        let sheet = watching.end();
        let after = Reading::now(loc);
        drop(storm);

        assert_counted(
            "timer interrupts",
            sheet.came(stage.cpu, "tick"),
            &sheet,
            [before, first, last, after],
        );
        let due = sheet.wall_ns() * u64::from(RATE) / 1_000_000_000;
        let fired = sheet.ran(stage.cpu, "hrtimer", "perf_swevent_hrtimer");
        assert_near("perf_swevent_hrtimer", fired, due, 0.02, 0);
        assert_eq!(sheet.ran(stage.aside, "hrtimer", "perf_swevent_hrtimer"), 0);
        for (name, count, _) in sources(sheet.cpu(stage.cpu)) {
            assert!(name == "tick" || count < due / 4, "{name} came {count} times beside {due} of the timer");
        }
        let longest = sheet.rows("functions").iter().find(|row| row["cpu"] == stage.cpu).unwrap();
        assert_eq!(longest["name"], "perf_swevent_hrtimer", "{longest:#}");
    });
}
