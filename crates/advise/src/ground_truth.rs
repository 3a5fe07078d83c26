//! Cases whose cause is known, with the figures of real machines: the right CPU and mechanism must be named, and nothing
//! else.

use machine::{CpuSet, Neighbour};
use study::intervention::Outcome;
use study::{Facts, Proof, Verdict};

use crate::case_builder::CaseBuilder;
use crate::finding::{Finding, Fit, Standing};
use crate::siblings::Siblings;
use crate::{examine, examine_with};

/// Two CPUs with a veth pair whose rps_cpus point to `k` (tried by hand: connection per request).
fn steered_onto(k: u32) -> CaseBuilder {
    let on = move |server: Option<u32>, cpu: u32| server == Some(k) && cpu == k;
    counted(CaseBuilder::of_cpus(2).slow(k, 0.485), on)
        .found("rps-cpus", "a:veth0/rx-0", &k.to_string())
        .found("rps-cpus", "b:veth1/rx-0", &k.to_string())
        .found("rps-cpus", "eth0/rx-0", "")
        .found("rps-cpus", "eth1/rx-0", "0-1")
}

fn counted(case: CaseBuilder, on: impl Fn(Option<u32>, u32) -> bool + Copy + 'static) -> CaseBuilder {
    case.irq("CAL", "Function call interrupts", move |s, c| if on(s, c) { 16_933.0 } else { 11.0 })
        .irq("LOC", "Local timer interrupts", |_, _| 250.0)
        .irq("RES", "Rescheduling interrupts", |_, c| 40.0 + f64::from(c))
        .softirq_share(move |s, c| if on(s, c) { 0.74 } else { 0.24 })
        .net_rx(move |s, c| if on(s, c) { 37_000.0 } else { 63_000.0 })
}

/// Two CPUs with a timer storm on `k` that no one of the study runs.
fn stormed(k: u32) -> CaseBuilder {
    CaseBuilder::of_cpus(2)
        .slow(k, 0.73)
        .irq("LOC", "Local timer interrupts", move |_, c| if c == k { 10_250.0 } else { 250.0 })
        .irq("CAL", "Function call interrupts", |_, _| 11.0)
        .softirq_share(|_, _| 0.24)
        .net_rx(|_, _| 63_000.0)
        .interrupt_cost_ns(27_000.0)
}

/// The Xeon E5-2687W of published experiment E5: IRQ 85 on CPU 5, IRQ 86 on CPU 6; siblings are n and n + 8.
fn e5() -> CaseBuilder {
    CaseBuilder::of_cpus(16)
        .slow(5, 0.763)
        .slow(13, 0.867)
        .slow(14, 0.955)
        .irq("64", "ahci", |_, c| if c == 2 { 30.0 } else { 0.0 })
        .irq("85", "p7p1-rx-0", |_, c| if c == 5 { 15_000.0 } else { 0.0 })
        .irq("86", "p7p1-tx-0", |_, c| if c == 6 { 7_600.0 } else { 0.0 })
        .irq("LOC", "Local timer interrupts", |_, c| if c == 5 { 300.0 } else { 250.0 })
        .irq("RES", "Rescheduling interrupts", |_, c| if c == 0 { 2_000.0 } else { 20.0 })
        .found("irq-affinity", "85", "0-15")
}

fn cores_of_e5() -> Siblings {
    let cores: Vec<CpuSet> = (0..8).map(|c| [c, c + 8].into_iter().collect()).collect();
    Siblings::from_cores(&cores)
}

fn about(findings: &[Finding], cpu: u32) -> Vec<(&str, Standing)> {
    findings.iter().filter(|f| f.cpu == Some(cpu)).map(|f| (f.title.as_str(), f.standing)).collect()
}

#[test]
fn steering_onto_either_cpu_is_named_with_its_mechanism_and_nothing_else() {
    for k in [0, 1] {
        let findings = examine(&steered_onto(k).build());
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = &findings[0];
        assert_eq!((finding.rule.as_str(), finding.cpu), ("receive-softirq", Some(k)));
        assert_eq!(
            (finding.standing, finding.fit),
            (Standing::Supported, Fit::Agrees),
            "{}",
            finding.agreement
        );
        assert!(finding.claim.contains("a:veth0/rx-0, b:veth1/rx-0 send"), "{}", finding.claim);
        assert!(finding.claim.contains("52 %") && finding.claim.contains("74 %"), "{}", finding.claim);
        let calls = finding.evidence.iter().find(|l| l.what.contains("function-call")).unwrap();
        assert_eq!((calls.bad, calls.good), (16_933.0, 11.0));
        assert!(finding.missing.is_empty());
    }
}

#[test]
fn every_steering_setting_is_moved_and_only_those() {
    let finding = examine(&steered_onto(0).build()).remove(0);
    let intervention = finding.intervention.unwrap();
    for (arm, value) in intervention.arms.iter().zip(["0", "1", "0", "1"]) {
        let settings: Vec<(&str, &str)> =
            arm.placement.settings.iter().map(|s| (s.target.as_str(), s.value.as_str())).collect();
        assert_eq!(settings, [("a:veth0/rx-0", value), ("b:veth1/rx-0", value)], "{}", arm.name);
    }
    assert!(
        finding
            .commands
            .contains(&"ip netns exec a cat /sys/class/net/veth0/queues/rx-0/rps_cpus".to_string()),
        "{:?}",
        finding.commands
    );
    // Nothing is written past the ledger: both queues are moved by one session that undoes itself.
    let applied = finding.commands.iter().find(|command| command.contains("pinwise apply")).unwrap();
    let both =
        "pinwise apply --set rps-cpus:a:veth0/rx-0=1 --set rps-cpus:b:veth1/rx-0=1 --confirm-within 60s";
    assert_eq!(applied, both);
    assert!(finding.commands.iter().all(|command| !command.contains("echo")), "{:?}", finding.commands);
}

#[test]
fn without_known_steering_the_remedy_says_where_to_look() {
    let mut facts = steered_onto(0).build();
    facts.as_found.retain(|s| s.target == "eth1/rx-0");
    let finding = examine(&facts).remove(0);
    assert_eq!(finding.rule, "receive-softirq");
    assert!(finding.intervention.is_none());
    assert!(finding.remedy.contains("rps_sock_flow_entries"), "{}", finding.remedy);
}

#[test]
fn without_softirq_time_the_calls_still_name_it_and_what_is_missing_is_said() {
    let on = |server: Option<u32>, cpu: u32| server == Some(0) && cpu == 0;
    let case = CaseBuilder::of_cpus(2)
        .slow(0, 0.485)
        .irq("CAL", "Function call interrupts", move |s, c| if on(s, c) { 16_933.0 } else { 11.0 })
        .found("rps-cpus", "veth0/rx-0", "0");
    let findings = examine(&case.build());
    assert_eq!(about(&findings, 0), [("receive softirq work lands on CPU 0", Standing::Possible)]);
    let missing: Vec<&str> = findings[0].missing.iter().map(|m| m.fact.as_str()).collect();
    assert_eq!(missing, ["softirq time by CPU", "NET_RX softirqs by CPU"]);
    assert!(findings[0].predicted_loss.is_none() && findings[0].intervention.is_some());
}

#[test]
fn function_calls_without_receive_work_are_interrupts() {
    let case = CaseBuilder::of_cpus(2)
        .slow(0, 0.7)
        .irq("CAL", "Function call interrupts", |_, c| if c == 0 { 12_000.0 } else { 11.0 })
        .softirq_share(|_, _| 0.24)
        .net_rx(|_, _| 63_000.0)
        .interrupt_cost_ns(27_000.0);
    let findings = examine(&case.build());
    let title = "interrupts take CPU 0: function-call interrupts (CAL)";
    assert_eq!(about(&findings, 0), [(title, Standing::Supported)]);
    assert!(findings[0].intervention.is_none());
    assert!(!findings[0].commands.iter().any(|c| c.contains("--prove")), "{:?}", findings[0].commands);
}

/// Which of server and load meets the cause on that CPU is not known; the counters show the cause all the same, and no CPU is accused.
#[test]
fn a_cpu_that_may_be_slow_for_the_load_is_explained_and_never_called_unexplained() {
    let inseparable = |case: &CaseBuilder| {
        let mut facts = case.build();
        let worse = facts.evidence.against_other_cpus.iter_mut().filter(|c| c.verdict == Verdict::Worse);
        worse.for_each(|contrast| contrast.whose = Some(study::evidence::Whose::Inseparable));
        assert!(facts.evidence.slow_cpus().is_empty());
        examine(&facts)
    };
    let findings = inseparable(&steered_onto(0));
    assert_eq!(about(&findings, 0), [("receive softirq work lands on CPU 0", Standing::Supported)]);
    assert!(findings[0].intervention.is_some());
    let nothing_counted = counted(CaseBuilder::of_cpus(2).slow(0, 0.7), |_, _| false);
    assert_eq!(inseparable(&nothing_counted), []);
}

/// A server that waits for swap on CPU 0: it sleeps for each page, and is woken by a function call each time.
#[test]
fn interrupts_that_wake_a_server_that_sleeps_take_nothing_from_it() {
    let waiting =
        |calls_per_s: f64, sleeps_per_s: f64| {
            CaseBuilder::of_cpus(2)
                .slow(0, 0.7)
                .irq("CAL", "Function call interrupts", move |s, c| {
                    if (s, c) == (Some(0), 0) { calls_per_s } else { 11.0 }
                })
                .irq("RES", "Rescheduling interrupts", |_, _| 40.0)
                .softirq_share(|_, _| 0.24)
                .net_rx(|_, _| 63_000.0)
                .interrupt_cost_ns(27_000.0)
                .sleeping(move |server| if server == Some(0) { sleeps_per_s } else { 10.0 })
                .build()
        };
    let woken = examine(&waiting(12_000.0, 12_000.0));
    assert_eq!(about(&woken, 0), [("CPU 0 is slow, unexplained", Standing::Unexplained)]);
    // Twelve thousand calls that wake nobody are what they always were.
    let interrupted = examine(&waiting(12_000.0, 300.0));
    assert_eq!(interrupted[0].title, "interrupts take CPU 0: function-call interrupts (CAL)");
}

#[test]
fn sleeps_without_bound_are_added_up() {
    let mut facts =
        CaseBuilder::of_cpus(2).slow(0, 0.7).irq("CAL", "", |_, _| 40.0).sleeping(|_| 10.0).build();
    for observation in facts.trials.iter_mut().filter_map(|seen| seen.observation.as_mut()) {
        observation.threads.extend(observation.threads.clone());
        observation.threads.iter_mut().for_each(|thread| thread.voluntary_switches = Some(u64::MAX));
    }
    assert_eq!(about(&examine(&facts), 0), [("CPU 0 is slow, unexplained", Standing::Unexplained)]);
}

#[test]
fn nothing_is_named_when_nothing_is_slow() {
    let quiet = counted(CaseBuilder::of_cpus(2), |_, _| false);
    assert_eq!(examine(&quiet.build()), []);
    let one_counter_higher =
        counted(CaseBuilder::of_cpus(2), |_, _| false)
            .irq("TLB", "TLB shootdowns", |_, c| if c == 1 { 600.0 } else { 0.0 });
    assert_eq!(examine(&one_counter_higher.build()), []);
}

#[test]
fn a_fast_cpu_with_a_high_counter_is_not_accused() {
    // CPU 3 is slow for reasons unknown; CPU 1 is interrupted a lot and is fast.
    let case = CaseBuilder::of_cpus(4)
        .slow(3, 0.7)
        .irq("40", "eth0-rx", |_, c| if c == 1 { 20_000.0 } else { 0.0 })
        .irq("LOC", "Local timer interrupts", |_, _| 250.0)
        .softirq_share(|_, c| if c == 1 { 0.6 } else { 0.2 })
        .net_rx(|_, _| 9_000.0);
    let findings = examine(&case.build());
    assert_eq!(about(&findings, 3), [("CPU 3 is slow, unexplained", Standing::Unexplained)]);
    assert_eq!(findings.len(), 1, "{findings:#?}");
}

#[test]
fn a_timer_storm_on_either_cpu_is_named_and_can_be_imitated() {
    for k in [0, 1] {
        let findings = examine(&stormed(k).build());
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = &findings[0];
        assert_eq!(finding.title, format!("interrupts take CPU {k}: local timer interrupts (LOC)"));
        assert_eq!((finding.standing, finding.cpu), (Standing::Supported, Some(k)), "{}", finding.agreement);
        let share = finding.predicted_loss.as_ref().unwrap().share;
        assert!((0.24..0.30).contains(&share), "{share}");
        let intervention = finding.intervention.as_ref().unwrap();
        assert_eq!(intervention.arms.len(), 3);
        let storm = Neighbour {
            command: "{exe} storm --cpu {cpu} --rate 10000 --for 600".into(),
            cpus: CpuSet::single(1 - k),
        };
        assert_eq!(intervention.arms[1].placement.neighbours, [storm]);
    }
}

#[test]
fn a_storm_that_a_neighbour_of_the_study_makes_is_moved_not_imitated() {
    let facts = stormed(0).neighbour("{exe} storm --cpu {cpu} --rate 10000 --for 600", "0").build();
    let intervention = examine(&facts).remove(0).intervention.unwrap();
    let on: Vec<String> =
        intervention.arms.iter().map(|a| a.placement.neighbours[0].cpus.to_list()).collect();
    assert_eq!(on, ["0", "1", "0", "1"]);
}

#[test]
fn a_storm_whose_cost_was_not_measured_is_possible_and_not_unexplained() {
    let mut facts = stormed(0).build();
    facts.interrupt_cost_ns = None;
    let findings = examine(&facts);
    assert_eq!(about(&findings, 0).len(), 1);
    assert_eq!((findings[0].standing, findings[0].fit), (Standing::Possible, Fit::Plausible));
    assert!(findings[0].agreement.contains("27.1 us an interrupt"), "{}", findings[0].agreement);
}

#[test]
fn interrupts_that_are_too_cheap_leave_the_cpu_unexplained() {
    let mut facts = stormed(0).build();
    facts.interrupt_cost_ns = Some(2_700.0);
    let findings = examine(&facts);
    let titles = about(&findings, 0);
    assert_eq!(titles[0], ("interrupts take CPU 0: local timer interrupts (LOC)", Standing::Possible));
    assert_eq!(titles[1].1, Standing::Unexplained);
    assert!(findings[1].claim.contains("does not fit in size"), "{}", findings[1].claim);
}

#[test]
fn a_latency_that_grows_is_the_same_loss() {
    let findings = examine(&stormed(0).in_latency().build());
    assert_eq!(findings[0].standing, Standing::Supported, "{}", findings[0].agreement);
    assert!(
        findings[0].claim.contains("p99_us is 37 %") && findings[0].claim.contains("higher"),
        "{}",
        findings[0].claim
    );
}

#[test]
fn neither_a_latency_at_a_fixed_rate_nor_a_tail_says_how_much_speed_was_lost() {
    let mut facts = stormed(0).in_latency().build();
    facts.evidence.metric = "latency_p99_us".into();
    facts.interrupt_cost_ns = Some(2_700.0);
    let tail = examine(&facts);
    assert_eq!((tail.len(), tail[0].fit), (1, Fit::Unknown), "{tail:#?}");
    assert!(tail[0].agreement.contains("latency_p99_us does not change"), "{}", tail[0].agreement);
    facts.evidence.metric = "latency_p50_us".into();
    assert_eq!(examine(&facts)[1].standing, Standing::Unexplained, "too small for a closed loop");
    let load = facts.study.recipe.load.driven_mut().unwrap();
    load.set_pace(load::drive::Pace { rate_per_s: Some(500.0), ..load.pace() });
    let findings = examine(&facts);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].standing, findings[0].fit), (Standing::Possible, Fit::Unknown));
    assert!(findings[0].agreement.contains("latency_p50_us at a fixed rate"), "{}", findings[0].agreement);
}

#[test]
fn a_slow_cpu_without_any_excess_is_unexplained_with_leads() {
    let case =
        counted(CaseBuilder::of_cpus(2).slow(1, 0.8), |_, _| false)
            .row("stat", "steal", "", "us", |_, c| if c == 1 { 150_000.0 } else { 10_000.0 });
    let findings = examine(&case.build());
    assert_eq!(about(&findings, 1), [("CPU 1 is slow, unexplained", Standing::Unexplained)]);
    assert!(findings[0].evidence[0].what.contains("steal time"), "{:?}", findings[0].evidence);
    assert!(findings[0].missing.is_empty());
}

#[test]
fn missing_counters_are_named_with_the_reason() {
    let case =
        CaseBuilder::of_cpus(2).slow(0, 0.5).missing("/proc/interrupts", "permission denied; run as root");
    let finding = examine(&case.build()).remove(0);
    assert_eq!((finding.standing, finding.cpu), (Standing::Unexplained, Some(0)));
    assert_eq!(finding.missing.len(), 3);
    assert_eq!(finding.missing[0].why, "permission denied; run as root");
    assert!(finding.claim.contains("/proc/interrupts"), "{}", finding.claim);
}

#[test]
fn trials_without_observations_are_said_to_have_none() {
    let mut facts = stormed(0).build();
    for seen in &mut facts.trials {
        seen.observation = None;
    }
    let finding = examine(&facts).remove(0);
    assert_eq!(finding.standing, Standing::Unexplained);
    assert!(finding.missing.iter().all(|m| m.why.contains("no observation")), "{:?}", finding.missing);
}

#[test]
fn on_sixteen_cpus_the_card_and_its_cpu_are_named() {
    let findings = examine_with(&e5().build(), &cores_of_e5());
    assert_eq!(about(&findings, 5), [("interrupts take CPU 5: IRQ 85 (p7p1-rx-0)", Standing::Possible)]);
    let of_sibling = "interrupts take CPU 5, the SMT sibling of CPU 13: IRQ 85 (p7p1-rx-0)";
    assert_eq!(about(&findings, 13), [(of_sibling, Standing::Possible)]);
    let of_sibling = "interrupts take CPU 6, the SMT sibling of CPU 14: IRQ 86 (p7p1-tx-0)";
    assert_eq!(about(&findings, 14), [(of_sibling, Standing::Possible)]);
    assert_eq!(findings.iter().map(|f| f.cpu).collect::<Vec<_>>(), [Some(5), Some(13), Some(14)]);

    let intervention = findings[0].intervention.as_ref().unwrap();
    assert!(intervention.what.contains("allowed on CPUs 0-15"), "{}", intervention.what);
    let values: Vec<&str> =
        intervention.arms.iter().map(|a| a.placement.settings[0].value.as_str()).collect();
    assert_eq!((values[0], values[2]), ("5", "5"));
    assert!(values[1] == values[3] && !["5", "13", "14"].contains(&values[1]), "{values:?}");
    let beside = findings[1].intervention.as_ref().unwrap();
    assert_eq!((beside.arms[0].cpu, beside.arms[0].placement.settings[0].value.as_str()), (Some(13), "5"));
}

#[test]
fn without_known_siblings_the_second_thread_is_unexplained() {
    let findings = examine(&e5().build());
    assert_eq!(about(&findings, 13), [("CPU 13 is slow, unexplained", Standing::Unexplained)]);
    assert_eq!(findings[0].cpu, Some(5));
}

#[test]
fn a_measured_cost_that_explains_the_cards_loss_supports_it() {
    let mut facts = e5().build();
    facts.interrupt_cost_ns = Some(14_000.0);
    assert_eq!(examine(&facts)[0].standing, Standing::Supported);
    // A bare timer interrupt is a lower bound for a card's.
    facts.interrupt_cost_ns = Some(2_000.0);
    let findings = examine(&facts);
    assert_eq!((findings[0].standing, findings[0].fit), (Standing::Possible, Fit::Plausible));
    assert_eq!(about(&findings, 5).len(), 1);
}

#[test]
fn a_refuted_proof_changes_the_standing_and_leaves_the_cpu_unexplained() {
    let mut facts = steered_onto(0).build();
    facts.proofs.push(proof(&facts, Verdict::Equal, Verdict::Equal));
    let standings = |facts: &Facts| examine(facts).iter().map(|f| f.standing).collect::<Vec<_>>();
    assert_eq!(standings(&facts), [Standing::Supported], "it was moved to the only CPU of the load");
    for arm in &mut facts.proofs[0].intervention.arms {
        arm.placement.load_cpus = CpuSet::from_list("2-3").ok();
    }
    assert_eq!(standings(&facts), [Standing::Unexplained, Standing::Refuted]);
    let findings = examine(&facts);
    assert!(findings[0].claim.contains("was refuted"), "{}", findings[0].claim);
    facts.proofs.push(proof(&facts, Verdict::Better, Verdict::Worse));
    let findings = examine(&facts);
    assert_eq!(about(&findings, 0), [("receive softirq work lands on CPU 0", Standing::Proved)]);
}

fn proof(facts: &Facts, slow: Verdict, good: Verdict) -> Proof {
    let finding = examine(&Facts { proofs: Vec::new(), ..facts.clone() }).remove(0);
    let intervention = finding.intervention.unwrap();
    let outcomes = intervention
        .predictions
        .iter()
        .zip([slow, good])
        .map(|(prediction, verdict)| Outcome {
            prediction: prediction.clone(),
            contrast: Some(study::Contrast { verdict, ..finding.observed.clone().unwrap() }),
            held: prediction.expect == verdict,
        })
        .collect();
    Proof { finding: finding.id, intervention, trials: "proofs/1".into(), outcomes }
}

#[test]
fn findings_survive_being_written_and_read() {
    for facts in [steered_onto(0).build(), stormed(1).build(), e5().build()] {
        let findings = examine(&facts);
        let text = serde_json::to_string(&findings).unwrap();
        let again: Vec<Finding> = serde_json::from_str(&text).unwrap();
        assert_eq!(again.len(), findings.len());
        assert_eq!(
            serde_json::to_value(&again).unwrap(),
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        );
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn no_counters_make_a_rule_accuse_a_cpu_that_is_not_slow(
        rates in proptest::collection::vec(proptest::option::of(0u32..3_000_000), 12),
        slow in proptest::option::of(0u32..3),
        cost_ns in proptest::option::of(-1.0f64..1e6),
    ) {
        let at = |row: usize| {
            let own = rates[row * 3..row * 3 + 3].to_vec();
            move |_: Option<u32>, cpu: u32| own[cpu as usize].map(f64::from)
        };
        let mut case = CaseBuilder::of_cpus(3)
            .row_where_known("interrupts", "9", "nic", "events", at(0))
            .row_where_known("interrupts", "CAL", "", "events", at(1))
            .row_where_known("stat", "softirq", "", "us", at(2))
            .row_where_known("softirqs", "NET_RX", "", "events", at(3));
        if let Some(cpu) = slow {
            case = case.slow(cpu, 0.6);
        }
        let mut facts = case.build();
        facts.interrupt_cost_ns = cost_ns;
        let findings = examine_with(&facts, &cores_of_e5());
        proptest::prop_assert_eq!(findings.is_empty(), slow.is_none());
        for finding in findings {
            proptest::prop_assert_eq!(finding.cpu, slow);
            let share = finding.predicted_loss.map_or(0.0, |p| p.share);
            proptest::prop_assert!((0.0..=1.0).contains(&share), "{}", share);
        }
    }
}
