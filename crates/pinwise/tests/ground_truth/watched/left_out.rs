//! Readings that leave out lengths and functions, as on machines with very many CPUs: nothing is lost, and what is of another time is reported.

use serde_json::Value;

use super::figures::{assert_near, number};
use super::ring::OfStorm;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

const RATE: u32 = 5_000;

fn tick(sheet: &Sheet, cpu: u32) -> Value {
    sheet.cpu(cpu)["sources"]["tick"].clone()
}

/// What is missing because it is of another time.
fn of_another_time(sheet: &Sheet) -> Option<String> {
    let missing = sheet.rows("missing").iter();
    let mut reported =
        missing.filter(|missing| missing["fact"].as_str().unwrap().ends_with("of exactly this time"));
    reported.next().map(|missing| missing["why"].as_str().unwrap().to_string())
}

/// How often timer functions ran on a CPU, and how many lengths of its timer interrupt there are.
fn detail(sheet: &Sheet, cpu: u32) -> (u64, u64) {
    let functions = sheet.rows("functions").iter();
    let timers = functions.filter(|row| row["kind"] == "hrtimer" && row["cpu"] == cpu);
    let lengths = tick(sheet, cpu)["lengths"].as_array().cloned().unwrap_or_default();
    (timers.map(|row| number(&row["ran"]["count"])).sum(), lengths.iter().map(|step| number(&step[1])).sum())
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_recorder_that_leaves_out_lengths_and_functions_has_all_of_them_in_the_end() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        // However little a reading takes, it is read whole as seldom as can be: 0.7 s apart.
        let seldom = ("PINWISE_WHOLE_READINGS", "1000000000");
        let Some(ring) = OfStorm::recorded(&stage, RATE, "100ms", seldom) else { return };

        let all = ring.replay(&stage, &["--full"]);
        assert_eq!(of_another_time(&all), None, "the last reading has everything");
        let came = number(&tick(&all, stage.cpu)["count"]);
        assert_near("timer interrupts", came, 3 * u64::from(RATE), 0.15, 0);
        let (timers, lengths) = detail(&all, stage.cpu);
        assert_near("their lengths", lengths, came, 0.001, 2);
        assert!(timers >= came - came / 100, "{timers} timers in {came} interrupts");
        assert!(tick(&all, stage.cpu)["p99_ns"].is_number(), "{:#}", tick(&all, stage.cpu));

        // The series of lengths goes by leaps, that of counts does not.
        let series = ring.series(&stage, "sources");
        let cpu = stage.cpu.to_string();
        let of_storm = series.rows.iter().filter(|row| row["source"] == "tick" && row["cpu"] == cpu);
        let of_storm: Vec<_> = of_storm.collect();
        let known = of_storm.iter().filter(|row| !row["p99_ns"].is_empty()).count();
        assert!(of_storm.len() >= 20 && known * 3 < of_storm.len(), "{known} of {}", of_storm.len());
        let sum: u64 = of_storm.iter().map(|row| row["count"].parse::<u64>().unwrap()).sum();
        assert_eq!(sum, came);

        // Some intervals at the end, which begin after a reading that left them out.
        let last = ring.replay(&stage, &["--full", "--last", "250ms"]);
        let why = of_another_time(&last).expect("lengths of some time before");
        assert!(why.contains("of a time that began") && !why.contains("  "), "{why}");
        assert!(tick(&last, stage.cpu)["p99_ns"].is_null(), "{:#}", tick(&last, stage.cpu));
    });
}
