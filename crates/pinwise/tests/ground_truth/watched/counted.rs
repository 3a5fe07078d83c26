//! Without the trace points of vectors, as on other architectures than x86: /proc/interrupts says how often interrupts came.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::figures::{Reading, assert_near, interrupts, number};
use super::ring::OfStorm;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

const RATE: u32 = 10_000;

/// The trace points that are on x86 only, and that of NMIs.
const ON_X86_ONLY: &str = "nmi_handler,local_timer,reschedule,call_function,call_function_single,irq_work,x86_platform_ipi,thermal_apic,\
    error_apic,spurious_apic,threshold_apic,deferred_error_apic";

/// How often a row came on a CPU, as the sheet has it of /proc/interrupts; 0 where it has none.
fn counted(sheet: &Sheet, cpu: u32, name: &str) -> u64 {
    let rows = sheet.rows("counted_only").iter();
    rows.filter(|row| row["cpu"] == cpu && row["name"] == name).map(|row| number(&row["count"])).sum()
}

/// Reads a row of /proc/interrupts again and again while something goes on.
fn while_read<T>(row: &'static str, cpu: u32, goes_on: impl FnOnce() -> T) -> (Vec<Reading>, T) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut readings = Vec::new();
            while !over.load(Ordering::Acquire) {
                readings.push(Reading::now(|| interrupts(row, cpu)));
                std::thread::sleep(Duration::from_millis(10));
            }
            readings
        });
        let came_of_it = goes_on();
        over.store(true, Ordering::Release);
        (reading.join().unwrap(), came_of_it)
    })
}

/// The count at a moment between two readings.
fn at(readings: &[Reading], moment_ns: u64) -> u64 {
    let after = readings.partition_point(|reading| reading.at_ns <= moment_ns);
    let (before, after) = (readings[after - 1], readings[after]);
    let part = (moment_ns - before.at_ns) as f64 / (after.at_ns - before.at_ns) as f64;
    before.count + (part * (after.count - before.count) as f64) as u64
}

/// The command on the stage, without those trace points.
fn command(stage: &Stage, flags: &[&str]) -> Command {
    let mut command = stage.command(&[&["watch"], flags].concat());
    command.env("PINWISE_LEAVE_OUT", ON_X86_ONLY);
    command
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn without_its_trace_point_a_timer_storm_is_counted() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(storm) = crate::storms::start(stage.cpu, RATE) else { return };
        let (readings, out) = while_read("LOC", stage.cpu, || {
            command(&stage, &["--for", "3s", "--format", "json"]).output().unwrap()
        });
        drop(storm);
        let sheet = Sheet::of(out);
        let (from_ns, to_ns) = sheet.window();
        let due = at(&readings, to_ns) - at(&readings, from_ns);
        assert_near("LOC", counted(&sheet, stage.cpu, "LOC"), due, 0.02, 0);
        assert!(counted(&sheet, stage.aside, "LOC") < due / 4, "{:#}", sheet.json["counted_only"]);
        let loc = sheet.rows("counted_only").iter().find(|row| row["name"] == "LOC").unwrap();
        assert_eq!(loc["label"], "Local timer interrupts");
        assert_eq!(sheet.came(stage.cpu, "tick"), 0, "no program saw it");
        let losses = sheet.losses();
        assert!(losses.iter().any(|fact| fact.starts_with("times of timer interrupts")), "{losses:?}");

        let cpu = stage.aside.to_string();
        let out = command(&stage, &["--for", "200ms", "--cpu", &cpu]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let table = text.split("By /proc/interrupts: how often, not how long").nth(1).unwrap_or_default();
        assert!(table.contains("LOC"), "{text}");
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn where_every_vector_has_its_trace_point_timers_are_not_counted_twice() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let sheet = stage.watch(&["--for", "1s"]);
        for name in ["LOC", "RES", "CAL", "TLB", "IWI", "NMI"] {
            assert_eq!(counted(&sheet, stage.cpu, name), 0, "{name}");
        }
        assert!(sheet.came(stage.cpu, "tick") > 0);
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_recorder_adds_up_what_was_counted() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let left_out = ("PINWISE_LEAVE_OUT", ON_X86_ONLY);
        let (readings, ring) =
            while_read("LOC", stage.cpu, || OfStorm::recorded(&stage, RATE, "500ms", left_out));
        let Some(ring) = ring else { return };
        let sheet = ring.replay(&stage, &[]);
        assert!(number(&sheet.json["recorded"]["intervals"]) >= 5, "{:#}", sheet.json["recorded"]);
        // Compared with what came, and not with what was requested: a hypervisor that takes the CPU away merges timers.
        let (from_ns, to_ns) = sheet.window();
        let due = at(&readings, to_ns) - at(&readings, from_ns);
        let seen = counted(&sheet, stage.cpu, "LOC");
        assert_near("LOC", seen, due, 0.02, 0);

        let series = ring.series(&stage, "counted");
        assert_eq!(series.head, "from_unix_ns,to_unix_ns,interval_ns,interrupt,label,cpu,count");
        let cpu = stage.cpu.to_string();
        let of_storm = series.rows.iter().filter(|row| row["interrupt"] == "LOC" && row["cpu"] == cpu);
        assert_eq!(of_storm.map(|row| row["count"].parse::<u64>().unwrap()).sum::<u64>(), seen);
    });
}
