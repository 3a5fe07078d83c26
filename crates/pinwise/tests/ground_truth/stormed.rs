//! A storm of 10,000 timer interrupts a second on CPU k, made outside pinwise. Feasibility: -24 to -30 % on k.

use load::storm::Storm;

use crate::pinwise::{Bench, findings, slow_cpus, told};
use crate::testbed::Testbed;

fn names_the_cpu_and_the_mechanism(cpu: u32) {
    let Some(bed) = Testbed::new() else { return };
    let storm = match Storm::start(cpu, 10_000) {
        Ok(storm) => storm,
        Err(fault) => return eprintln!("skipped: {fault}"),
    };
    let bench = Bench::new();
    let result = bench.study(&bed, &[]);
    assert_eq!(slow_cpus(&result), [u64::from(cpu)], "{}", told(&result));
    let named = findings(&result);
    assert!(named.iter().any(|(rule, on, _)| rule == "interrupts" && *on == Some(u64::from(cpu))), "{}", told(&result));
    assert!(named.iter().all(|(rule, ..)| rule != "receive-softirq"), "{}", told(&result));
    drop(storm);
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make test`"]
fn a_timer_storm_on_cpu_0_is_named() {
    names_the_cpu_and_the_mechanism(0);
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make test`"]
fn a_timer_storm_on_cpu_1_is_named() {
    names_the_cpu_and_the_mechanism(1);
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make test`"]
fn a_storm_that_pinwise_started_itself_is_moved_and_proved() {
    let Some(bed) = Testbed::new() else { return };
    let bench = Bench::new();
    let neighbour = "1:{exe} storm --cpu {cpu} --rate 10000 --for 60";
    let result = bench.study(&bed, &["--neighbour", neighbour]);
    assert_eq!(slow_cpus(&result), [1], "{}", told(&result));
    let case = bench.case().display().to_string();
    let proved = bench.json(&["explain", &case, "--prove", "--format", "json"]);
    assert!(
        findings(&proved).iter().any(|(rule, _, standing)| rule == "interrupts" && standing == "proved"),
        "{}",
        told(&proved)
    );
}
