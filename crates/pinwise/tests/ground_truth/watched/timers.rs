//! A storm of timer interrupts shows as timer interrupts, on its CPU, at its rate.

use super::actor::{Actor, spin};
use super::control::{Counters, Window};
use super::figures::{assert_counted_by, assert_near, interrupts, keep_reading};
use super::watching::{Stage, retried_where_switches_are_missed};

const RATE: u32 = 10_000;

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_timer_storm_is_in_the_row_of_the_timer_and_in_no_other() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        // Who is watched is hit by all of it, and nothing of it may show in its faults and migrations.
        let victim = Actor::start("victim", stage.cpu, spin);
        let (tid, flags) = (victim.tid.to_string(), ["--for", "3s", "--thread"]);
        let flags = [&flags[..], &[&tid]].concat();
        let quiet = Window::quiet(&stage, &flags, Some(victim.tid));
        let counters = Counters::now(Some(victim.tid));
        let Some(storm) = crate::storms::start(stage.cpu, RATE) else { return };
        let cpu = stage.cpu;
        let readings = keep_reading(stage.aside, move || interrupts("LOC", cpu));
        let sheet = stage.watch(&flags);
        let readings = readings.stop();
        let window = Window::of(&sheet, &counters, Some(victim.tid));
        drop(storm);
        victim.stop();

        let ticks = sheet.came(stage.cpu, "tick");
        assert_counted_by("timer interrupts", ticks, &sheet, &readings);
        let due = sheet.wall_ns() * u64::from(RATE) / 1_000_000_000;
        let fired = sheet.ran(stage.cpu, "hrtimer", "perf_swevent_hrtimer");
        assert_near("perf_swevent_hrtimer", fired, due, 0.02, 0);
        assert_eq!(sheet.ran(stage.aside, "hrtimer", "perf_swevent_hrtimer"), 0);
        window.rises_only_in(&[&format!("tick on CPU {}", stage.cpu)], ticks, &quiet);
        let longest = sheet.rows("functions").iter().find(|row| row["cpu"] == stage.cpu).unwrap();
        assert_eq!(longest["name"], "perf_swevent_hrtimer", "{longest:#}");
    });
}
