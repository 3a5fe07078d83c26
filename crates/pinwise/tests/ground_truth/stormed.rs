//! A storm of timer interrupts that takes a quarter of CPU k, made outside pinwise.

use crate::pinwise::{Bench, findings, slow_cpus, summary};
use crate::storms;
use crate::testbed::Testbed;

/// Work enough for the server to be the limit on slow hosts, too, when the storm is on the client's CPU: with 50 us the client was
/// 94 % busy on one of them, and the server 85 %, and the pilot refused the study.
const HEAVY: [&str; 2] = ["--work-us", "100"];

fn names_the_cpu_and_the_mechanism(cpu: u32) {
    let Some(bed) = Testbed::new() else { return };
    let Some((storm, rate_per_s)) = storms::start_taking_a_quarter(cpu) else { return };
    let watched = storms::Rate::of(cpu);
    let bench = Bench::new();
    let held = || watched.is_at_least(rate_per_s);
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

/// `make soak`: on both CPUs. `make test` has a storm of pinwise's own below, and one made outside in `verified`.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make soak`"]
    fn a_timer_storm_on_cpu_1_is_named() {
        names_the_cpu_and_the_mechanism(1);
    }

    #[test]
    #[ignore = "ground truth: needs root, ip netns and some 2 minutes; run by `make soak`"]
    fn a_timer_storm_on_cpu_0_is_named() {
        names_the_cpu_and_the_mechanism(0);
    }
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make test`"]
fn a_storm_that_pinwise_started_itself_is_moved_and_proved() {
    let Some(bed) = Testbed::new() else { return };
    let Some(rate_per_s) = storms::taking_a_quarter(1) else { return };
    let bench = Bench::new();
    let neighbour = format!("1:{{exe}} storm --cpu {{cpu}} --rate {rate_per_s} --for 60");
    let Some(_) =
        bench
            .study_until_named(&bed, 1, &[HEAVY[0], HEAVY[1], "--neighbour", &neighbour], slow_cpus, || true)
    else {
        return;
    };
    assert!(bench.prove("interrupts"), "moving the storm must move the slowness");
}
