//! Where the time of a request goes, by what it is divided, and how often threads are woken.

use probe::account::{SleepReason, Source, Stretches};
use probe::{Party, ThreadSeen, TreeSeen};
use proptest::prelude::*;

use super::{MS, case, server, step};
use crate::diagnosis::situation_builder::{SERVER, SituationBuilder, situation};
use crate::explanation::term::{Part, Term, Terms};
use crate::explanation::{Basis, explain};

#[test]
fn more_time_of_its_own_is_not_explained_by_any_rule_and_that_is_a_number() {
    let facts = case(6, |arm, block| {
        let slower = server(block, |mut it, more| {
            let thread = &mut it.account.as_mut().unwrap().threads[0];
            thread.on_cpu.total_ns += 200 * MS + more;
            thread.asleep.total_ns -= 200 * MS + more;
            it
        });
        if arm == "cpu 0" { (slower, Some(8_000.0)) } else { (situation(), Some(8_000.0)) }
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    assert!(explanation.claims.is_empty());
    assert!(explanation.server.own.is_there());
    assert!(explanation.unexplained_share.unwrap() > 0.5, "{:?}", explanation.unexplained_share);
}

#[test]
fn sleep_has_its_reason_and_interrupts_their_source() {
    let facts = case(6, |arm, block| {
        let more = (block as u64 + 1) * MS;
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.asleep_for.insert(SleepReason::Futex, probe::account::Part { count: 9, total_ns: 400 * MS });
        match arm {
            "cpu 0" => {
                thread.interrupted_ns += 90 * MS + more;
                thread.asleep.total_ns -= 90 * MS + more;
                thread
                    .asleep_for
                    .insert(SleepReason::Futex, probe::account::Part { count: 9, total_ns: 310 * MS - more });
                (it.interrupted_by(Source::SoftirqNetRx, 90 * MS + more, 1_000), Some(10_000.0))
            }
            _ => (it, Some(10_000.0)),
        }
    });
    let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
    let interrupted = step(&explanation, Term::Interrupted);
    assert_eq!(interrupted.parts[0].part, Part::Interrupt { source: Source::SoftirqNetRx });
    let asleep = step(&explanation, Term::Asleep);
    assert_eq!(asleep.parts[0].part, Part::Sleep { reason: SleepReason::Futex });
    assert_eq!(explanation.unexplained_share, Some(0.0));
}

#[test]
fn without_requests_shares_of_the_window_are_shown_and_at_a_fixed_rate_it_is_said() {
    let shares = case(6, |_, _| (situation(), None));
    let explanation = explain(&shares, "cpu 0", "cpu 1").unwrap();
    assert_eq!(explanation.basis, Basis::Window);
    assert!((explanation.server.total.from - 1.0).abs() < 1e-12);
    let mut paced = case(6, |_, _| (situation(), Some(500.0)));
    let load = paced.study.recipe.load.driven_mut().unwrap();
    load.set_pace(load::drive::Pace { rate_per_s: Some(500.0), ..load.pace() });
    assert_eq!(explain(&paced, "cpu 0", "cpu 1").unwrap().basis, Basis::RequestAtFixedRate);
}

#[test]
fn the_load_stands_beside_by_its_own_counters() {
    let with_load = |on_cpu_us: u64, waited_us: u64| {
        let thread =
            ThreadSeen { on_cpu_us: Some(on_cpu_us), waited_us: Some(waited_us), ..ThreadSeen::default() };
        let mut it = situation();
        it.observation.beside.insert(Party::Load, TreeSeen { threads: vec![thread], followed_us: 1_000_000 });
        it
    };
    let facts = case(6, |arm, block| match arm {
        "cpu 0" => (with_load(300_000 + 1_000 * block as u64, 100_000), Some(10_000.0)),
        _ => (with_load(200_000, 0), Some(10_000.0)),
    });
    let load = explain(&facts, "cpu 0", "cpu 1").unwrap().load.unwrap();
    assert!((load.total.from - 100.0).abs() < 1e-9 && (load.total.to - 100.0).abs() < 1e-9);
    let own = load.steps.iter().find(|step| step.term == Term::Own).unwrap();
    assert!(own.change.difference() > 9.9 && own.change.is_there(), "{own:?}");
}

proptest! {
    /// Whatever the threads did: the terms of a request add up to threads x window / requests, and steps to the difference.
    #[test]
    fn terms_are_all_of_the_time_of_the_threads_that_worked(
        threads in prop::collection::vec(prop::array::uniform7(1u64..1_000 * MS), 1..6), requests in 1.0..1e6f64,
    ) {
        let facts = case(6, |arm, _| {
            let mut it = situation();
            let model = it.account.as_ref().unwrap().threads[0].clone();
            let stretches = |total_ns| Stretches { count: 1, total_ns, ..Stretches::default() };
            let of = |(at, parts): (usize, &[u64; 7])| probe::account::ThreadAccount {
                tid: SERVER + at as u32,
                wall_ns: parts.iter().sum(),
                on_cpu: stretches(parts[0]),
                interrupted_ns: parts[1],
                preempted: stretches(parts[2]),
                run_queue: stretches(parts[3]),
                throttled: stretches(parts[4]),
                blocked: stretches(parts[5]),
                asleep: stretches(parts[6]),
                ..model.clone()
            };
            if arm == "cpu 0" {
                it.account.as_mut().unwrap().threads = threads.iter().enumerate().map(of).collect();
            }
            (it, Some(requests))
        });
        let terms = Terms::of(&facts.observed[0].observed.as_ref().unwrap().situation).unwrap();
        let explanation = explain(&facts, "cpu 0", "cpu 1").unwrap();
        let per_request = terms.total_ns() / terms.threads as f64 / requests / 1e3;
        prop_assert!((explanation.server.total.to - per_request).abs() <= 1e-9 * per_request);
        let steps: f64 = explanation.server.steps.iter().map(|step| step.change.difference()).sum();
        prop_assert!((steps - explanation.server.total.difference()).abs() <= 1e-6 * per_request.max(explanation.server.total.from));
    }
}

#[test]
fn wake_ups_are_counted_by_request_and_place() {
    let woken = |elsewhere: u64, until_ns: u64| {
        let mut it = situation();
        let thread = &mut it.account.as_mut().unwrap().threads[0];
        thread.run_queue = Stretches { count: 1_000, total_ns: 1_000 * until_ns, ..Stretches::default() };
        thread.woken_elsewhere = elsewhere;
        it
    };
    let facts = case(6, |arm, _| match arm {
        "cpu 0" => (woken(500, 4_000), Some(2_000.0)),
        _ => (woken(0, 1_000), Some(1_000.0)),
    });
    let (arm, against) = explain(&facts, "cpu 0", "cpu 1").unwrap().wakeups.unwrap();
    assert_eq!((arm.per_request, arm.elsewhere_share, arm.until_running_us), (Some(0.5), 0.5, 4.0));
    assert_eq!(
        (against.per_request, against.elsewhere_share, against.until_running_us),
        (Some(1.0), 0.0, 1.0)
    );
}
