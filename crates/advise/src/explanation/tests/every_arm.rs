//! What costs every arm.

use probe::{Party, Situation};

use super::{MS, case, crowded};
use crate::case_builder::CaseBuilder;
use crate::diagnosis::situation_builder::situation;
use crate::explanation::{Explained, common_causes};

#[test]
fn what_costs_every_arm_is_said_and_what_costs_one_is_not() {
    let throttled = |ns: u64| {
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.throttled.total_ns += ns;
        thread.asleep.total_ns -= ns;
        it.observation.quotas.push(probe::QuotaSeen {
            party: Party::Server,
            cgroup: "/a".into(),
            cpus: 0.5,
            periods: 10,
            throttled_periods: 8,
            throttled_us: ns / 1_000,
        });
        it
    };
    let both = case(6, |arm, block| {
        let ns = if arm == "cpu 0" { 200 } else { 250 } * MS;
        (throttled(ns + block as u64), Some(8_000.0))
    });
    let every = Explained::of(&both).every_arm;
    let ids: Vec<String> = every.causes.iter().map(|cause| cause.id.to_string()).collect();
    assert_eq!(ids, ["quota/cgroup:/a"]);
    assert_eq!(every.causes[0].share_by_arm.len(), 2);
    assert_eq!(every.limit_by_arm["cpu 0"], crate::diagnosis::Limit::Quota);
    let one =
        case(6, |arm, _| (if arm == "cpu 0" { throttled(200 * MS) } else { situation() }, Some(8_000.0)));
    assert!(Explained::of(&one).every_arm.causes.is_empty());
    assert_eq!(Explained::of(&CaseBuilder::of_cpus(2).build()).every_arm, common_causes::EveryArm::default());
}

#[test]
fn what_the_wide_arms_wait_as_well_is_no_narrow_affinity_of_every_arm() {
    let every = |is_narrow: fn(&str) -> bool| {
        let facts = case(6, |arm, _| (crowded(is_narrow(arm), 250 * MS), Some(9_000.0)));
        let causes = Explained::of(&facts).every_arm.causes;
        causes.into_iter().map(|cause| cause.id.rule).collect::<Vec<_>>()
    };
    assert_eq!(every(|_| true), ["narrow-affinity"], "no arm of the study takes it away");
    assert_eq!(every(|arm| arm == "cpu 0"), Vec::<String>::new());
    assert_eq!(every(|arm| arm == "cpu 1"), Vec::<String>::new());
}

#[test]
fn the_load_is_the_limit_of_arms_whose_deciding_trials_show_a_server_with_room() {
    let idle = |mut it: Situation| {
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        (thread.on_cpu.total_ns, thread.run_queue.total_ns) = (10 * MS, 0);
        thread.asleep.total_ns = 990 * MS;
        it
    };
    let mut facts = case(6, |_, _| (idle(situation()), Some(9_000.0)));
    for seen in &mut facts.trials {
        let on_cpu_share = if seen.trial.arm == "cpu 0" { 0.97 } else { 0.44 };
        seen.trial.as_run.server_demand = Some(study::Demand { on_cpu_share, waited_share: None });
    }
    let limits = Explained::of(&facts).every_arm.limit_by_arm;
    assert_eq!(limits["cpu 0"], crate::diagnosis::Limit::Unknown, "the account missed its workers");
    assert_eq!(limits["cpu 1"], crate::diagnosis::Limit::Load);
}
