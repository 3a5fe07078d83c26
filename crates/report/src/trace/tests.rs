//! Traces of few events, read back.

use machine::irqs::Irq;
use probe::account::Source;
use probe::events::{Event, Left, What};
use prost::Message as _;

use super::proto::{Data, FtraceEvent, Happened, Kind, Packet, TrackEvent};
use super::unwatched_task::{NOT_WATCHED, NOT_WATCHED_NAME};
use super::*;

const SUSPENDED_NS: u64 = 1_000_000;

fn task(tid: u32, name: &str, of_target: bool) -> probe::events::Task {
    let comm = Comm::from(name);
    probe::events::Task { tid, pid: 10, comm, priority: 120, of_kernel: false, of_target }
}

fn at(at_ns: u64, what: What) -> Event {
    Event { at_ns, cpu: 1, what }
}

fn switch(at_ns: u64, prev: u32, left: Left, next: probe::events::Task) -> Event {
    at(at_ns, What::Switch { prev, left, next, reported: true })
}

fn trace(events: Vec<Event>) -> Trace {
    Trace {
        began_ns: 100,
        ended_ns: 10_000,
        suspended_ns: SUSPENDED_NS,
        means: "tp_btf",
        cpus: vec![1],
        events,
        ..Trace::default()
    }
}

fn written(trace: &Trace) -> Vec<u8> {
    let line = Irq { irq: 32, name: "nvme0q1".into(), ..Irq::default() };
    let machine = Machine { irqs: vec![line], ..Machine::default() };
    let mut bytes = Vec::new();
    write(trace, &machine, "process 10", &mut bytes).unwrap();
    bytes
}

/// The packets of a file.
fn packets(mut bytes: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    while let Some((&key, rest)) = bytes.split_first() {
        assert_eq!(key, 0x0a, "Trace.packet");
        bytes = rest;
        packets.push(Packet::decode_length_delimited(&mut bytes).unwrap());
    }
    packets
}

fn ftrace(packets: &[Packet]) -> Vec<FtraceEvent> {
    let of = |packet: &Packet| match &packet.data {
        Some(Data::FtraceEvents(bundle)) => bundle.event.clone(),
        _ => Vec::new(),
    };
    packets.iter().flat_map(of).collect()
}

/// (time, previous, its state, next) of all switches.
fn switches(packets: &[Packet]) -> Vec<(u64, i32, i64, i32)> {
    let of = |event: FtraceEvent| match event.event {
        Some(Happened::SchedSwitch(switch)) => Some((
            event.timestamp.unwrap() - SUSPENDED_NS,
            switch.prev_pid.unwrap(),
            switch.prev_state.unwrap(),
            switch.next_pid.unwrap(),
        )),
        _ => None,
    };
    ftrace(packets).into_iter().filter_map(of).collect()
}

fn track_events(packets: &[Packet]) -> Vec<(u64, TrackEvent)> {
    let of = |packet: &Packet| match &packet.data {
        Some(Data::TrackEvent(event)) => Some((packet.timestamp.unwrap(), event.clone())),
        _ => None,
    };
    packets.iter().filter_map(of).collect()
}

/// Slices of our own tracks: from, to, name, notes.
fn slices(packets: &[Packet]) -> Vec<(u64, u64, String, Vec<String>)> {
    let mut open: Vec<(u64, u64, String)> = Vec::new();
    let mut slices = Vec::new();
    for (at_ns, event) in track_events(packets) {
        let track = event.track_uuid.unwrap();
        match event.kind {
            Some(kind) if kind == Kind::SliceBegin as u32 => open.push((track, at_ns, event.name.unwrap())),
            Some(kind) if kind == Kind::SliceEnd as u32 => {
                let last = open.iter().rposition(|(other, _, _)| *other == track).unwrap();
                let (_, from, name) = open.remove(last);
                let notes = event.debug_annotations.into_iter().map(|note| note.string_value.unwrap());
                slices.push((from, at_ns, name, notes.collect()));
            }
            _ => {}
        }
    }
    assert_eq!(open, []);
    slices
}

#[test]
fn the_bytes_of_a_switch_are_those_of_the_format() {
    let mut out = Vec::new();
    let mut file = File::new(&mut out, 0);
    let mut ftrace = Ftrace::new(BTreeMap::from([(7, Comm::from("a"))]), BTreeMap::new());
    let mut tracks = Tracks::new(&BTreeMap::new());
    let event = Event { cpu: 0, ..switch(300, 7, Left::Waits(1), task(8, "b", false)) };
    ftrace.take(&moments::Moment::Begins(&event), &mut file, &mut tracks).unwrap();
    ftrace.end(&mut file).unwrap();
    let switch = [
        &[0x0a, 1, b'a'][..], // prev_comm
        &[0x10, 7],           // prev_pid
        &[0x18, 0],           // prev_prio: not known
        &[0x20, 1],           // prev_state: asleep
        &[0x2a, 1, b'b'],     // next_comm
        &[0x30, 8],           // next_pid
        &[0x38, 120],         // next_prio
    ]
    .concat();
    let event = [&[0x08, 0xac, 0x02, 0x10, 7, 0x22, switch.len() as u8][..], &switch].concat(); // time, pid
    let bundle = [&[0x08, 0, 0x12, event.len() as u8][..], &event].concat(); // cpu, event
    let packet = [&[0x0a, bundle.len() as u8][..], &bundle, &[0x50, 1, 0x68, 1]].concat(); // sequence, flags
    assert_eq!(out, [&[0x0a, packet.len() as u8][..], &packet].concat());
}

#[test]
fn a_thief_is_a_slice_between_two_of_its_victim_which_waits_meanwhile() {
    let (victim, thief) = (task(11, "victim", true), task(12, "thief", false));
    let packets = packets(&written(&trace(vec![
        at(100, What::Came(victim)),
        switch(1_000, 11, Left::Preempted, thief),
        switch(3_500, 12, Left::Waits(1), victim),
    ])));
    let not_watched = (NOT_WATCHED + 1) as i32;
    assert_eq!(
        switches(&packets),
        [(100, not_watched, 0x80, 11), (1_000, 11, 0x100, 12), (3_500, 12, 1, 11)]
    );
    let notes = vec!["1".to_string(), "thief (12) 2.500 us".to_string()];
    assert_eq!(slices(&packets), [(1_000, 3_500, "preempted by thief (12)".to_string(), notes)]);
}

#[test]
fn a_wait_goes_on_to_the_end_of_the_trace() {
    let worker = task(11, "worker", true);
    let woken = What::Woken { tid: 11, priority: 120, waker: Some(5), to_cpu: 1 };
    let packets = packets(&written(&trace(vec![at(100, What::Met(worker)), at(9_000, woken)])));
    let [(9_000, 10_000, name, _)] = &slices(&packets)[..] else { panic!("{:?}", slices(&packets)) };
    assert_eq!(name, "waits in the run queue");
    let wakings: Vec<_> = ftrace(&packets).into_iter().map(|event| (event.pid, event.event)).collect();
    let [(Some(5), Some(Happened::SchedWaking(waking)))] = &wakings[..] else { panic!("{wakings:?}") };
    assert_eq!((waking.comm.as_deref(), waking.pid, waking.target_cpu), (Some("worker"), Some(11), Some(1)));
}

#[test]
fn interrupts_nest_and_those_without_a_form_have_a_track() {
    let interrupt = |source, line, ns| What::Interrupt { source, line, handled: true, ns };
    let packets = packets(&written(&trace(vec![
        at(1_000, interrupt(Source::SoftirqNetRx, None, 500)),
        at(1_100, interrupt(Source::Device, Some(32), 100)),
        at(1_300, interrupt(Source::Tick, None, 200)),
        at(2_000, interrupt(Source::Reschedule, None, 50)),
    ])));
    let named: Vec<(u64, &str)> = ftrace(&packets)
        .iter()
        .map(|event| {
            let name = match event.event.as_ref().unwrap() {
                Happened::SoftirqEntry(vector) if vector.vector == Some(3) => "softirq",
                Happened::SoftirqExit(_) => "end of softirq",
                Happened::IrqHandlerEntry(entry) if entry.name.as_deref() == Some("nvme0q1") => "device",
                Happened::IrqHandlerExit(exit) if exit.ret == Some(1) => "end of device",
                Happened::LocalTimerEntry(_) => "timer",
                Happened::LocalTimerExit(_) => "end of timer",
                other => panic!("{other:?}"),
            };
            (event.timestamp.unwrap() - SUSPENDED_NS, name)
        })
        .collect();
    let expected = [
        (1_000, "softirq"),
        (1_100, "device"),
        (1_200, "end of device"),
        (1_300, "timer"),
        (1_500, "end of timer"),
        (1_500, "end of softirq"),
    ];
    assert_eq!(named, expected);
    assert_eq!(slices(&packets), [(2_000, 2_050, "IPI: reschedule".to_string(), vec![])]);
}

#[test]
fn a_switch_that_was_not_told_cuts_the_slice_and_is_marked() {
    let packets = packets(&written(&trace(vec![
        switch(1_000, 0, Left::Waits(0), task(11, "a", false)),
        at(2_000, What::Unreported { prev: 11, next: task(12, "b", false) }),
        switch(3_000, 12, Left::Waits(1), task(0, "swapper/1", false)),
    ])));
    assert_eq!(
        switches(&packets),
        [(1_000, 0, states::UNKNOWN, 11), (2_000, 11, states::UNKNOWN, 12), (3_000, 12, 1, 0)]
    );
    let marks = track_events(&packets).into_iter().filter_map(|(at_ns, event)| Some((at_ns, event.name?)));
    assert!(
        marks.into_iter().any(|mark| mark == (2_000, "switch not reported by the kernel: cut here".into()))
    );
}

#[test]
fn a_slice_ends_when_its_cpu_goes_offline() {
    let (victim, stopper) = (task(11, "victim", true), task(12, "migration/1", false));
    let packets = packets(&written(&trace(vec![
        at(100, What::Came(victim)),
        switch(1_000, 11, Left::Preempted, stopper),
        at(1_001, What::Offline { ns: 3_999 }),
        at(5_000, What::Came(task(0, "swapper/1", false))),
        switch(5_500, 0, Left::Waits(1), victim),
        at(6_000, What::Offline { ns: 4_000 }),
    ])));
    let seen: Vec<_> =
        switches(&packets).into_iter().map(|(at_ns, prev, _, next)| (at_ns, prev, next)).collect();
    let not_watched = (NOT_WATCHED + 1) as i32;
    let expected = [(100, not_watched, 11), (1_000, 11, 12), (1_001, 12, 0), (5_500, 0, 11), (6_000, 11, 0)];
    assert_eq!(seen, expected);
    let slices = slices(&packets);
    let offline: Vec<_> = slices.iter().filter(|(_, _, name, _)| name == "offline").collect();
    assert_eq!(
        offline.iter().map(|slice| (slice.0, slice.1)).collect::<Vec<_>>(),
        [(1_001, 5_000), (6_000, 10_000)]
    );
    // The thread that stopped the CPU had it for a moment, whatever the thread of the target waited.
    let waited = slices.iter().find(|(_, _, name, _)| name.starts_with("preempted")).unwrap();
    assert!(format!("{:?}", waited.3).contains("migration/1 (12) 0.001 us"), "{waited:?}");
}

#[test]
fn how_long_a_slice_was_before_an_unreported_switch_may_not_be_known() {
    let (victim, thief) = (task(11, "victim", true), task(12, "thief", false));
    let packets = packets(&written(&trace(vec![
        at(100, What::Came(victim)),
        switch(1_000, 11, Left::Preempted, thief),
        at(1_001, What::Lost { unreported: Some(11), ns: 2_999 }),
        at(4_000, What::Unreported { prev: 12, next: victim }),
        switch(4_000, 11, Left::Preempted, thief),
    ])));
    let not_watched = (NOT_WATCHED + 1) as i32;
    let seen: Vec<_> = switches(&packets).into_iter().map(|(at_ns, _, _, next)| (at_ns, next)).collect();
    assert_eq!(seen, [(100, 11), (1_000, 12), (1_001, not_watched), (4_000, 11), (4_000, 12)]);
    let names: Vec<_> = slices(&packets).into_iter().map(|(from, to, name, _)| (from, to, name)).collect();
    let expected = [
        (1_000, 1_001, "preempted by thief (12)".to_string()),
        (1_001, 4_000, "not reported by the kernel".to_string()),
        (4_000, 10_000, "preempted by thief (12)".to_string()),
    ];
    assert_eq!(names, expected);
}

#[test]
fn where_events_were_dropped_the_slice_is_cut_too() {
    let mut trace = trace(vec![
        switch(1_000, 0, Left::Waits(1), task(11, "a", false)),
        at(1_500, What::Lost { unreported: None, ns: 1_000 }),
        at(2_400, What::Came(task(12, "b", false))),
        switch(3_000, 12, Left::Waits(1), task(13, "c", false)),
    ]);
    trace.dropped = BTreeMap::from([(1, 9)]);
    let packets = packets(&written(&trace));
    let not_watched = (NOT_WATCHED + 1) as i32;
    let expected = [
        (1_000, 0, 1, 11),
        (1_500, 11, states::UNKNOWN, not_watched),
        (2_400, not_watched, states::IDLE, 12),
        (3_000, 12, 1, 13),
    ];
    assert_eq!(switches(&packets), expected);
    assert_eq!(slices(&packets), [(1_500, 2_500, "events lost".to_string(), vec![])]);
    let dropped: Vec<u64> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::FtraceStats(stats)) => stats.cpu_stats[0].dropped_events,
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [0, 9]);
}

#[test]
fn what_is_of_no_concern_is_drawn_as_that() {
    let unreported =
        What::Switch { prev: 11, left: Left::Waits(1), next: task(12, "other", false), reported: false };
    let packets = packets(&written(&trace(vec![
        at(100, What::Came(task(11, "a", true))),
        at(500, unreported),
        at(700, What::Came(task(13, "c", false))),
        switch(900, 13, Left::Preempted, task(11, "a", true)),
    ])));
    let not_watched = (NOT_WATCHED + 1) as i32;
    let seen: Vec<(u64, i32, i32)> =
        switches(&packets).into_iter().map(|(at_ns, prev, _, next)| (at_ns, prev, next)).collect();
    let expected = [(100, not_watched, 11), (500, 11, not_watched), (700, not_watched, 13), (900, 13, 11)];
    assert_eq!(seen, expected);
}

#[test]
fn times_are_monotonic_and_those_of_the_kernels_tracer_are_said_to_be_boottime() {
    let packets = packets(&written(&trace(Vec::new())));
    let Some(Data::ClockSnapshot(clocks)) = &packets[0].data else { panic!("{:?}", packets[0]) };
    let readings: Vec<_> = clocks.clocks.iter().map(|clock| (clock.clock_id, clock.timestamp)).collect();
    assert_eq!(readings, [(Some(3), Some(100)), (Some(6), Some(100 + SUSPENDED_NS))]);
    assert_eq!((clocks.primary_trace_clock, packets[0].sequence_flags), (Some(3), Some(1)));
}

#[test]
fn names_of_what_is_born_come_last_and_what_is_missing_is_noted() {
    let mut trace = trace(vec![
        at(100, What::Met(task(10, "main", true))),
        at(200, What::Born { parent: 10, task: task(15, "child", true) }),
    ]);
    trace.missing = vec![machine::Missing::new("NMIs", "no such trace point")];
    let packets = packets(&written(&trace));
    let trees: Vec<Vec<String>> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::ProcessTree(tree)) => {
                Some(tree.threads.iter().map(|thread| thread.name.clone().unwrap()).collect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(trees, [vec!["main", NOT_WATCHED_NAME], vec!["child"]]);
    let notes: Vec<String> = track_events(&packets).into_iter().filter_map(|(_, event)| event.name).collect();
    assert!(notes.contains(&"missing: NMIs".to_string()), "{notes:?}");
}
