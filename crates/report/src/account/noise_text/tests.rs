//! A made-up measurement, rendered.

use machine::Missing;
use probe::account::Source;
use probe::noise::{
    Alone, BelowThreshold, Cause, CauseNoise, CpuNoise, GapPart, JoinedTo, LineNoise, LongGap, LoopCost,
    Noise, Policy, Series, TaskNoise,
};

use super::*;

fn cause(cause: Cause, gaps: u64, net_ns: u64, way_ns: u64) -> CauseNoise {
    CauseNoise {
        cause,
        gaps,
        events: gaps,
        gap_ns: net_ns + way_ns,
        net_ns,
        entry_and_exit_ns: way_ns,
        longest_gap_ns: 90_000,
        alone: None,
    }
}

fn cpu() -> CpuNoise {
    let tick = Cause::Source(Source::Tick);
    let alone = Some(Alone { gaps: 90, mean_gap_ns: 20_100.0, mean_net_ns: 8_000.0 });
    CpuNoise {
        cpu: 3,
        window_s: 0.4,
        left: None,
        share: 0.005,
        gaps: 101,
        gap_ns: 2_020_000,
        longest_gap_ns: 90_000,
        gap_p50_ns: Some(20_000),
        gap_p99_ns: Some(40_000),
        above_1_us: None,
        above_10_us: Some(101),
        above_100_us: Some(0),
        above_1000_us: Some(0),
        ticks: Some(100),
        ticks_per_s: Some(250.0),
        preempted: Some(1),
        causes: vec![
            CauseNoise { alone, ..cause(tick, 100, 800_000, 1_200_000) },
            cause(Cause::Unexplained, 1, 20_000, 0),
        ],
        entry_and_exit_ns: Some(1_200_000),
        below_threshold: Some(BelowThreshold { events: [(Source::Reschedule, 7)].into(), net_ns: 3_500 }),
        tasks: vec![TaskNoise { tid: 12, pid: 12, comm: "evil\u{1b}[2J".into(), took_ns: 50_000 }],
        lines: vec![LineNoise { irq: 24, name: Some("eth0".into()), count: 5, net_ns: 9_000 }],
        counts: [("LOC".to_string(), 100)].into(),
        loop_cost: LoopCost {
            step_ns: 31,
            shortest_step_ns: 25,
            mean_step_ns: 31.5,
            keeping_ns: 210,
            kept_ns: 40_000,
        },
        series: Series {
            bin_s: 0.1,
            gap_ns: vec![0, 500_000, 1_000_000, 520_000],
            longest_ns: vec![0, 1_000, 90_000, 9_000],
        },
        lengths: Vec::new(),
        longest: vec![LongGap {
            at_s: 0.25,
            length_ns: 90_000,
            parts: vec![GapPart { cause: tick, events: 2, net_ns: 16_000 }],
            entry_and_exit_ns: 74_000,
        }],
    }
}

fn noise(joined_to: JoinedTo) -> Noise {
    Noise {
        asked_s: 0.4,
        threshold_ns: 2_000,
        policy: Policy::Fifo,
        joined_to,
        rounds: vec![machine::CpuSet::single(3)],
        cpus: vec![cpu()],
        missing: vec![Missing::new("steal", "nobody reports it")],
    }
}

fn shown(noise: &Noise) -> String {
    render(noise, &advise::noise::judge(noise), Style::default())
}

#[test]
fn the_verdict_stands_first_and_everything_is_told() {
    let text = shown(&noise(JoinedTo::Events));
    assert!(text.starts_with("CPU 3: quiet enough for real-time loops of 1 ms\n"), "{text}");
    for expected in [
        "SCHED_FIFO; gaps above 2.00 us; gaps joined to the kernel's events",
        "CPU 3     ·▄█▅\n",
        "90: 8.00 us of 20.1 us",
        "7 more events, 3.50 us in all, made no gap",
        "IRQ 24 (eth0) 5 times, 9.00 us",
        "90.0 us at 0.250 s: 2 x timer interrupt (tick) 16.0 us, entry and exit 74.0 us",
        "Not known\n  steal: nobody reports it\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "names cannot drive the terminal");
}

#[test]
fn what_was_not_joined_is_marked() {
    let text = shown(&noise(JoinedTo::Counts));
    assert!(text.contains("gaps NOT joined to events") && text.contains("not joined: LOC 100"), "{text}");
    assert!(!text.contains("ENTRY, EXIT"), "{text}");
}

#[test]
fn a_cpu_that_went_offline_is_named_first_and_is_not_judged() {
    let left = |left| CpuNoise { left: Some(left), window_s: 0.2, ..cpu() };
    let of = |cpu| Noise { cpus: vec![cpu], ..noise(JoinedTo::Events) };
    let text = shown(&of(left(Left::Offline)));
    assert!(text.starts_with("CPU 3 went offline after 0.2 of 0.4 s: it is not judged\n"), "{text}");
    assert!(
        text.contains("CPU 3: went offline after 0.2 of 0.4 s") && !text.contains("quiet enough for real"),
        "{text}"
    );
    let moved = shown(&of(left(Left::Moved)));
    assert!(moved.starts_with("CPU 3 lost its loop") && moved.contains("affinity"), "{moved}");
}
