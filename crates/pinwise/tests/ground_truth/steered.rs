//! rps_cpus steers the receive work of both veth ends onto CPU k. Feasibility: -49 to -54 % on k. Server and load both pay for it, so
//! that k is not said to be slow for the server: the cause is named and proved.

use crate::pinwise::{Bench, findings, summary, worse_cpus};
use crate::testbed::Testbed;

fn names_the_cpu_and_the_mechanism(cpu: u32) {
    let Some(bed) = Testbed::new() else { return };
    bed.steer_onto(cpu);
    let before = bed.steering();
    let bench = Bench::new();
    let Some(result) = bench.study_until_named(&bed, cpu, &[], worse_cpus, || true) else { return };
    let named = findings(&result);
    assert!(
        named.iter().any(|(rule, on, _)| rule == "receive-softirq" && *on == Some(u64::from(cpu))),
        "{}",
        summary(&result)
    );
    assert!(named.iter().all(|(_, on, _)| *on == Some(u64::from(cpu))), "{}", summary(&result));
    assert!(bench.prove("receive-softirq"), "moving the steering must move the slowness");
    assert_eq!(bed.steering(), before, "the steering must be as it was found");
}

/// `make soak`: the same on the other CPU.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make soak`"]
    fn receive_work_on_cpu_0_is_named_and_proved() {
        names_the_cpu_and_the_mechanism(0);
    }

    #[test]
    #[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make soak`"]
    fn receive_work_on_cpu_1_is_named_and_proved() {
        names_the_cpu_and_the_mechanism(1);
    }
}
