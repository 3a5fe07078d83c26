use machine::CpuSet;

use super::*;
use crate::events::{Comm, Left, Task};
use crate::online::looks_made_up as looks;

const BEGAN_NS: u64 = 1_000;
const ENDED_NS: u64 = 9_000;

fn task(tid: u32) -> Task {
    let comm = Comm::from("task");
    Task { tid, pid: tid, comm, priority: 0, of_kernel: true, of_target: false }
}

fn on(cpu: u32, at_ns: u64, what: What) -> Event {
    Event { at_ns, cpu, what }
}

fn switch(at_ns: u64, prev: u32, next: u32) -> Event {
    on(3, at_ns, What::Switch { prev, left: Left::Preempted, next: task(next), reported: true })
}

fn lost(at_ns: u64, ns: u64) -> Event {
    on(3, at_ns, What::Lost { unreported: None, ns })
}

fn unreported(at_ns: u64, prev: u32, next: u32) -> Event {
    on(3, at_ns, What::Unreported { prev, next: task(next) })
}

/// What is in the trace then.
fn with(seen: &[(u64, &str)], mut events: Vec<Event>) -> Trace {
    Trace::sort(&mut events);
    let cpus = (0..4).collect();
    let mut trace = Trace { began_ns: BEGAN_NS, ended_ns: ENDED_NS, cpus, events, ..Trace::default() };
    put_into(&mut trace, &looks(seen));
    trace
}

/// When it was offline, from and to.
fn offline(trace: &Trace) -> Vec<(u32, u64, u64)> {
    let of = |event: &Event| match event.what {
        What::Offline { ns } => Some((event.cpu, event.at_ns, event.at_ns + ns)),
        _ => None,
    };
    trace.events.iter().filter_map(of).collect()
}

const GONE: [(u64, &str); 3] = [(900, "0-3"), (3_000, "0-2"), (8_900, "0-2")];
const BACK: [(u64, &str); 4] = [(900, "0-3"), (3_000, "0-2"), (5_000, "0-2"), (7_000, "0-3")];

#[test]
fn a_cpu_that_is_away_at_the_end_left_after_its_last_event() {
    let trace = with(&GONE, vec![switch(1_500, 0, 30), switch(2_000, 30, 21)]);
    assert_eq!(offline(&trace), [(3, 2_001, ENDED_NS)]);
    // After the switch of the same moment, so that it ends that slice.
    assert_eq!(trace.events.last().map(|event| event.at_ns), Some(2_001));
    let changed = trace.changed_cpus();
    assert_eq!((changed[0].cpu, changed[0].left, changed[0].came, changed[0].wall_ns), (3, 1, 0, 8_000));
}

#[test]
fn what_the_programs_make_of_an_absence_is_taken_out() {
    let events = vec![
        switch(2_000, 0, 21),
        lost(2_001, 4_499),
        unreported(6_500, 21, 0),
        switch(6_500, 0, 40),
        switch(6_600, 40, 0),
        unreported(8_000, 0, 50),
    ];
    let trace = with(&BACK, events);
    assert_eq!(offline(&trace), [(3, 2_001, 6_500)]);
    let kinds = trace.events.iter().map(|event| (event.at_ns, event.what));
    let expected = [
        (2_000, switch(2_000, 0, 21).what),
        (2_001, What::Offline { ns: 4_499 }),
        (6_500, What::Came(task(0))),
        (6_500, switch(6_500, 0, 40).what),
        (6_600, switch(6_600, 40, 0).what),
        (8_000, unreported(8_000, 0, 50).what),
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    assert_eq!(trace.changed_cpus()[0].came, 1);
}

#[test]
fn a_cpu_on_which_nothing_happens_is_back_when_it_is_seen() {
    // What was not reported shows long after.
    let events =
        vec![switch(2_000, 0, 21), lost(2_001, 6_499), unreported(8_500, 21, 0), switch(8_500, 0, 40)];
    let trace = with(&BACK, events);
    assert_eq!(offline(&trace), [(3, 2_001, 7_000)]);
    assert!(
        trace.events.iter().all(|event| !matches!(event.what, What::Lost { .. } | What::Unreported { .. }))
    );
}

#[test]
fn events_between_two_looks_part_two_absences() {
    let events = vec![switch(2_000, 0, 21), switch(3_500, 0, 40), switch(3_600, 40, 21)];
    assert_eq!(offline(&with(&BACK, events)), [(3, 2_001, 3_500), (3, 3_601, 7_000)]);
}

#[test]
fn events_that_found_no_room_stay_lost() {
    let mut events =
        vec![switch(1_500, 0, 30), lost(1_600, 4_900), on(3, 2_000, What::PageFault { tid: 30 })];
    Trace::sort(&mut events);
    let dropped = BTreeMap::from([(3, 5)]);
    let mut trace =
        Trace { began_ns: BEGAN_NS, ended_ns: ENDED_NS, cpus: vec![3], events, dropped, ..Trace::default() };
    put_into(&mut trace, &looks(&BACK));
    assert_eq!(offline(&trace), [(3, 2_001, 6_500)]);
    assert!(trace.events.contains(&lost(1_600, 400)), "{:?}", trace.events);
}

#[test]
fn a_cpu_that_comes_is_offline_from_the_beginning() {
    let trace = with(&[(900, "0-2"), (3_000, "0-2"), (5_000, "0-3")], vec![switch(4_000, 0, 40)]);
    assert_eq!(offline(&trace), [(3, BEGAN_NS + 1, 4_000)]);
    assert_eq!((trace.changed_cpus()[0].left, trace.changed_cpus()[0].came), (0, 1));
}

#[test]
fn siblings_that_leave_together_are_each_offline() {
    let events = vec![
        switch(2_000, 0, 21),
        on(1, 2_100, What::Woken { tid: 5, priority: 120, waker: None, to_cpu: 0 }),
    ];
    let trace = with(&[(900, "0-3"), (3_000, "0,2")], events);
    let cpus: CpuSet = offline(&trace).iter().map(|(cpu, ..)| *cpu).collect();
    assert_eq!((cpus.to_string().as_str(), offline(&trace)[1].0), ("1,3", 1));
}

#[test]
fn where_all_were_online_or_nobody_could_look_nothing_changes() {
    let events = vec![switch(2_000, 0, 21), lost(2_001, 4_499), unreported(6_500, 21, 0)];
    for seen in [&[(900, "0-3"), (3_000, "0-3")][..], &[], &[(900, "0-2"), (3_000, "0-2")]] {
        assert_eq!(with(seen, events.clone()).events, events);
    }
    let mut elsewhere = Trace { ended_ns: ENDED_NS, cpus: vec![0], ..Trace::default() };
    put_into(&mut elsewhere, &looks(&GONE));
    assert!(elsewhere.events.is_empty(), "CPU 3 is not traced");
}
