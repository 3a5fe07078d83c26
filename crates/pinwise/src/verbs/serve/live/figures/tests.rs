//! Shares and rates of texts that are as expected, old, odd, or nothing.

use machine::Class;
use proptest::prelude::*;

use super::*;

fn cpus_of(before: &str, after: &str) -> Value {
    cpus(Ok(before), Ok(after), 7.5)
}

fn interrupts_of(before: &str, after: &str) -> Value {
    interrupts(Ok(before), Ok(after), 2.0, 7.5)
}

#[test]
fn the_shares_of_a_cpu_are_of_the_time_that_passed() {
    let event = cpus_of("cpu0 100 0 50 800 50 0 0 0 30 0\n", "cpu0 110 10 60 840 60 5 5 10 30 0\n");
    assert_eq!(event["at_s"], 7.5);
    let cpu = &event["cpus"][0];
    let of = |name: &str| cpu[name].as_f64().unwrap();
    assert_eq!((of("user"), of("system"), of("irq")), (0.2, 0.1, 0.05));
    assert_eq!((of("softirq"), of("steal"), of("idle"), of("busy")), (0.05, 0.1, 0.5, 0.5));
}

#[test]
fn columns_that_an_old_kernel_does_not_print_are_null_and_not_zero() {
    let event = cpus_of("cpu0 10 0 10 80\n", "cpu0 20 0 10 90\n");
    let cpu = &event["cpus"][0];
    assert_eq!((cpu["user"].as_f64(), cpu["idle"].as_f64()), (Some(0.5), Some(0.5)));
    assert!(["irq", "softirq", "steal"].iter().all(|name| cpu[name].is_null()), "{cpu}");
}

#[test]
fn what_went_back_or_stood_still_or_is_new_has_no_shares() {
    let whole = "cpu0 100 0 50 800 50 0 0 0 0 0\n";
    let back = cpus_of(whole, "cpu0 110 0 50 810 40 0 0 0 0 0\n");
    let still = cpus_of(whole, whole);
    let new = cpus_of(whole, "cpu0 110 0 50 800 50 0 0 0 0 0\ncpu3 1 2 3 4 5 6 7 8 9 10\n");
    for (event, at) in [(&back, 0_usize), (&still, 0), (&new, 1)] {
        assert!(event["cpus"][at]["busy"].is_null() && event["cpus"][at]["user"].is_null(), "{event}");
    }
    assert_eq!(new["cpus"][1]["cpu"], 3);
    assert_eq!(new["cpus"][0]["user"], 1.0);
}

#[test]
fn a_text_that_cannot_be_read_is_missing_and_not_idle() {
    for event in [
        cpus_of("", "cpu0 1 2 3 4\n"),
        cpus_of("cpu0 1 2 3 4\n", "nothing"),
        cpus(Err("gone"), Err("gone"), 1.0),
    ] {
        assert!(event["cpus"].is_null() && event["missing"][0]["fact"] == "/proc/stat", "{event}");
    }
    let event = interrupts_of("", "");
    assert!(event["lines"].is_null() && event["missing"][0]["fact"] == "/proc/interrupts", "{event}");
}

const BEFORE: &str = "           CPU0       CPU2\n 24:        100         50   PCI-MSI 1-edge      eth0-rx\n\
    25:          0          7   PCI-MSI 2-edge      eth0-tx\nLOC:       1000       2000   Local timer interrupts\nERR:          0\n";

#[test]
fn rates_are_a_second_and_by_the_columns_of_the_table() {
    let after =
        BEFORE.replace("100         50", "120         50").replace("1000       2000", "1001       2500");
    let event = interrupts_of(BEFORE, &after);
    assert_eq!(event["cpus"], json!([0, 2]));
    let lines = event["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "what did not move is not listed: {event}");
    assert_eq!((&lines[0]["id"], &lines[0]["per_s"]), (&json!("LOC"), &json!([0.5, 250.0])));
    assert_eq!((&lines[1]["name"], &lines[1]["per_s"]), (&json!("eth0-rx"), &json!([10.0, 0.0])));
}

#[test]
fn a_cpu_that_came_and_a_counter_that_went_back_have_no_rate() {
    let after = "           CPU0       CPU1       CPU2\n 24:         90          5         60   PCI-MSI 1-edge      eth0-rx\n";
    let event = interrupts_of(BEFORE, after);
    assert_eq!(event["lines"][0]["per_s"], json!([null, null, 5.0]));
}

#[test]
fn of_many_lines_those_with_most_are_listed() {
    let table = |times: u64| {
        let row = |irq: u64| format!("{irq}: {} PCI-MSI {irq}-edge device{irq}\n", irq * times);
        format!("           CPU0\n{}", (1..=50).map(row).collect::<String>())
    };
    let event = interrupts_of(&table(1), &table(2));
    let ids: Vec<&str> =
        event["lines"].as_array().unwrap().iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[0], ids[19]), (MOST_LINES, "50", "31"));
}

#[test]
fn without_the_rights_the_event_of_takers_says_what_is_missing() {
    let counters = json!({ "how": "counters", "missing": [{ "fact": "BPF", "why": "not permitted" }] });
    let event = takers(Ok(counters), 1.0);
    assert!(event["takers"].is_null() && event["window_s"].is_null());
    assert_eq!(event["missing"][0]["why"], "not permitted");
    let event = takers(Err(Fault::new(Class::NotPermitted, "pinwise watch", "no", "")), 1.0);
    assert!(event["takers"].is_null() && event["fault"]["class"] == "not-permitted", "{event}");
}

#[test]
fn takers_are_those_of_the_window_and_not_too_many() {
    let all: Vec<Value> = (0..100).map(|n| json!({ "name": n })).collect();
    let event =
        takers(Ok(json!({ "takers": all, "from_ns": 1_000_000_000_u64, "to_ns": 3_000_000_000_u64 })), 1.0);
    assert_eq!((event["takers"].as_array().unwrap().len(), &event["window_s"]), (MOST_TAKERS, &json!(2.0)));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_no_share_is_beyond_the_whole(
        before in "(cpu[0-9]{0,3}( [0-9]{1,20}){0,12}\n|\\PC|\n){0,12}",
        after in "(cpu[0-9]{0,3}( [0-9]{1,20}){0,12}\n|\\PC|\n){0,12}",
    ) {
        let event = cpus_of(&before, &after);
        for cpu in event["cpus"].as_array().into_iter().flatten() {
            for name in ["busy", "user", "system", "irq", "softirq", "steal", "idle"] {
                let share = &cpu[name];
                prop_assert!(share.is_null() || share.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{}", cpu);
            }
        }
    }

    #[test]
    fn the_shares_of_whole_lines_add_up(
        before in proptest::collection::vec(0_u64..1 << 40, 10),
        passed in proptest::collection::vec(0_u64..1 << 30, 10),
        columns in 4..=10_usize,
    ) {
        let line = |ticks: &[u64]| {
            let words: Vec<String> = ticks[..columns].iter().map(u64::to_string).collect();
            format!("cpu0 {}\n", words.join(" "))
        };
        let after: Vec<u64> = before.iter().zip(&passed).map(|(before, passed)| before + passed).collect();
        let event = cpus_of(&line(&before), &line(&after));
        let cpu = &event["cpus"][0];
        let whole: u64 = passed[..columns.min(8)].iter().sum();
        let sum: f64 = ["user", "system", "irq", "softirq", "steal", "idle"].iter().filter_map(|name| cpu[name].as_f64()).sum();
        prop_assert!(whole == 0 || (sum - 1.0).abs() < 1e-9, "{}", cpu);
        prop_assert_eq!(cpu["steal"].is_null(), columns < 8 || whole == 0);
    }

    #[test]
    fn no_table_of_interrupts_makes_it_panic(
        before in "( {5}CPU0 {5}CPU1\n)?([0-9]{1,2}: [0-9]{1,12} [0-9]{1,12} A 1-edge b\n|\\PC|\n){0,12}",
        after in "( {5}CPU0 {5}CPU1\n)?([0-9]{1,2}: [0-9]{1,12} [0-9]{1,12} A 1-edge b\n|\\PC|\n){0,12}",
    ) {
        let event = interrupts_of(&before, &after);
        for line in event["lines"].as_array().into_iter().flatten() {
            prop_assert!(line["per_s"].as_array().unwrap().iter().all(|rate| rate.as_f64().is_none_or(|rate| rate >= 0.0)));
        }
    }
}
