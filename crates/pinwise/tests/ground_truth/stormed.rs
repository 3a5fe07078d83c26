//! A storm of 10,000 timer interrupts a second on CPU k, made outside pinwise. Feasibility: -24 to -30 % on k.

use crate::pinwise::{Bench, findings, slow_cpus, summary};
use crate::storms;
use crate::testbed::Testbed;

const RATE_PER_S: u32 = 10_000;
/// Work enough for the server to be the limit on slow hosts, too, when the storm is on the client's CPU: with 50 us the client was
/// 94 % busy on one of them, and the server 85 %, and the pilot refused the study.
const HEAVY: [&str; 2] = ["--work-us", "100"];

fn names_the_cpu_and_the_mechanism(cpu: u32) {
    let Some(bed) = Testbed::new() else { return };
    let Some(storm) = storms::start(cpu, RATE_PER_S) else { return };
    let watched = storms::Rate::of(cpu);
    let bench = Bench::new();
    let held = || watched.is_at_least(RATE_PER_S);
    let Some(result) = bench.study_until_named(&bed, cpu, &HEAVY, slow_cpus, held) else { return };
    let named = findings(&result);
    assert!(
        named.iter().any(|(rule, on, _)| rule == "interrupts" && *on == Some(u64::from(cpu))),
        "{}",
        summary(&result)
    );
    assert!(named.iter().all(|(rule, ..)| rule != "receive-softirq"), "{}", summary(&result));
    drop(storm);
}

/// `make soak`: the same on the other CPU.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make soak`"]
    fn a_timer_storm_on_cpu_0_is_named() {
        names_the_cpu_and_the_mechanism(0);
    }
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
    let Some(_) =
        bench.study_until_named(&bed, 1, &[HEAVY[0], HEAVY[1], "--neighbour", neighbour], slow_cpus, || true)
    else {
        return;
    };
    assert!(bench.prove("interrupts"), "moving the storm must move the slowness");
}
