//! A CPU goes offline, or comes back, while `pinwise watch` and `pinwise noise` count.

use rehearse::Outcome;
use serde_json::Value;

use crate::guest::{self, sheet};

/// What /proc/uptime and a look at which CPUs are online are late by, s.
const LATE_S: f64 = 0.1;
/// The same where a guest has little of its host's CPUs.
const LATE_AT_MOST_S: f64 = 2.0;

/// A moment that the script wrote down, s since boot.
fn moment(outcome: &Outcome, name: &str) -> f64 {
    guest::text(outcome, name).trim().parse().unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn ns(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The row of CPU 3, which adds up; all others were online.
fn changed_row(sheet: &Value) -> &Value {
    let rows = sheet["cpus"].as_array().unwrap();
    assert_eq!(rows.len(), 8, "{sheet:#}");
    for row in rows {
        let parts = ["target_ns", "other_ns", "idle_ns", "interrupted_ns", "unknown_ns"];
        let offline_ns = row["offline"]["total_ns"].as_f64().unwrap_or(0.0);
        let sum = parts.iter().map(|part| ns(&row[*part])).sum::<f64>() + offline_ns;
        let wall_ns = ns(&row["wall_ns"]);
        assert!((sum - wall_ns).abs() <= wall_ns * 0.01, "{sum} of {wall_ns}: {row:#}");
        assert_eq!(row.get("offline").is_some(), row["cpu"] == 3, "{row:#}");
    }
    rows.iter().find(|row| row["cpu"] == 3).unwrap()
}

/// It was offline from between two moments to between two others, and nobody had it meanwhile.
fn was_offline(outcome: &Outcome, case: &str, came: u64) {
    let sheet = sheet(outcome, case);
    let at = |name: &str| moment(outcome, &format!("{case}.{name}"));
    let row = changed_row(&sheet);
    let offline_s = ns(&row["offline"]["total_ns"]) / 1e9;
    let (least_s, most_s) = (at("over-from") - at("left-to"), at("over-to") - at("left-from"));
    assert!(
        offline_s > least_s - LATE_S && offline_s < most_s + LATE_AT_MOST_S,
        "{case}: {offline_s} s, {least_s} to {most_s}"
    );
    assert_eq!((row["offline"]["left"].as_u64(), row["offline"]["came"].as_u64()), (Some(1), Some(came)));
    let changed = sheet["changed_cpus"].as_array().unwrap();
    assert!(changed.len() == 1 && changed[0]["cpu"] == 3, "{changed:#?}");
    for task in sheet["tasks"].as_array().unwrap() {
        let had_s = task["on_cpu_by_cpu"]["3"].as_f64().unwrap_or(0.0) / 1e9;
        let of_the_rest_s = ns(&row["wall_ns"]) / 1e9 - offline_s;
        assert!(had_s <= of_the_rest_s + LATE_S, "{case}: {task:#}");
        assert!(task["comm"] != "migration/3" || had_s < offline_s / 2.0, "{case}: {task:#}");
    }
    assert!(!sheet["diagnosis"].to_string().contains("kernel thread migration"), "{:#}", sheet["diagnosis"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_cpu_that_is_offline_is_neither_busy_nor_idle_nor_noise() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    let outcome = guest::run(
        &guest,
        "cpu() { echo $1 > /sys/devices/system/cpu/cpu3/online; }
        now() { cut -d ' ' -f 1 /proc/uptime; }
        # Its programs are attached when it holds many of them and gets no more.
        held() { ls -l /proc/$counts/fd | grep -c bpf || true; }
        attached() { before=0; now=$(held); while [ $now -lt 30 ] || [ $now -ne $before ]; do sleep 3; before=$now; now=$(held); done; }
        leaves() { now > $1.left-from; cpu 0; now > $1.left-to; sleep 4; }
        pinwise watch --all --format json --for 120s > gone & counts=$!
        attached; leaves gone
        now > gone.over-from; kill -INT $counts; wait $counts || true; now > gone.over-to
        cpu 1
        pinwise watch --all --format json --for 120s > back & counts=$!
        attached; leaves back
        now > back.over-from; cpu 1; now > back.over-to; sleep 2
        kill -INT $counts; wait $counts || true
        pinwise diagnose --for 120s > diagnosis & counts=$!
        attached; leaves diagnosis
        kill -INT $counts; wait $counts || true
        cpu 1
        pinwise noise --cpu 3 --for 60s --format json > noise & counts=$!
        attached; cpu 0
        wait $counts",
    );
    was_offline(&outcome, "gone", 0);
    was_offline(&outcome, "back", 1);
    let diagnosis = guest::text(&outcome, "diagnosis");
    assert!(diagnosis.starts_with("CPU 3 was offline for "), "{diagnosis}");
    assert!(!diagnosis.contains("kernel thread migration"), "{diagnosis}");
    let noise = sheet(&outcome, "noise");
    let cpu = &noise["cpus"][0];
    assert_eq!((&cpu["cpu"], &cpu["left"]), (&Value::from(3), &Value::from("offline")), "{cpu:#}");
    assert!(cpu["window_s"].as_f64().unwrap() < 50.0, "it ends when the CPU goes: {cpu:#}");
    assert_eq!(noise["verdict"]["cpus"].as_array().unwrap().len(), 0, "{:#}", noise["verdict"]);
    assert!(noise["missing"].to_string().contains("went offline"), "{:#}", noise["missing"]);
}
