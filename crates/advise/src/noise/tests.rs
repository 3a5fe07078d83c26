use probe::account::Source;
use probe::noise::{GapPart, JoinedTo, LongGap, Policy};

use super::*;

const TICK: Cause = Cause::Source(Source::Tick);

/// A CPU by its longest gap, time in gaps of 10 ms, and what caused both.
fn cpu(cpu: u32, longest_gap_ns: u64, gap_ns: u64, cause: Option<Cause>) -> CpuNoise {
    let causes = cause.map(|cause| probe::noise::CauseNoise {
        cause,
        gaps: 1,
        events: 1,
        gap_ns,
        net_ns: gap_ns,
        entry_and_exit_ns: 0,
        longest_gap_ns,
        alone: None,
    });
    let parts = cause.map(|cause| GapPart { cause, events: 1, net_ns: longest_gap_ns });
    let longest = LongGap {
        at_s: 0.0,
        length_ns: longest_gap_ns,
        parts: parts.into_iter().collect(),
        entry_and_exit_ns: 0,
    };
    CpuNoise {
        cpu,
        window_s: 0.01,
        share: gap_ns as f64 / 1e7,
        gaps: 1,
        gap_ns,
        longest_gap_ns,
        causes: causes.into_iter().collect(),
        longest: vec![longest],
        ..CpuNoise::default()
    }
}

fn noise(cpus: Vec<CpuNoise>) -> Noise {
    Noise {
        asked_s: 0.01,
        threshold_ns: 1_000,
        policy: Policy::Other,
        joined_to: JoinedTo::Events,
        rounds: Vec::new(),
        cpus,
        missing: Vec::new(),
    }
}

#[test]
fn a_cpu_is_judged_by_its_longest_gap_and_by_its_time_in_gaps() {
    let seen = judge_cpu(&cpu(3, 22_000, 47_000, Some(TICK)));
    assert_eq!(seen.quiet, Quiet::RealTime);
    assert_eq!(seen.beyond, [Beyond::Share { share: 0.0047, limit: 0.001, cause: Some(TICK) }]);
    let long = judge_cpu(&cpu(3, 1_200_000, 47_000, Some(Cause::Unexplained)));
    let (length_ns, limit_ns, cause) = (1_200_000, 1_000_000, Some(Cause::Unexplained));
    assert_eq!(long.beyond, [Beyond::LongestGap { length_ns, limit_ns, cause }]);
    assert!(judge_cpu(&CpuNoise::default()).beyond.is_empty(), "there is nothing stricter");
}

#[test]
fn without_the_kernel_no_cause_is_named() {
    let seen = judge(&noise(vec![cpu(0, 120_000, 120_000, None)]));
    assert_eq!(seen.cpus[0].beyond, [Beyond::Share { share: 0.012, limit: 0.01, cause: None }]);
    assert_eq!(seen.largest, None);
}

#[test]
fn cpus_stand_by_class_and_the_largest_cause_is_of_all_of_them() {
    let cpus = vec![
        cpu(3, 0, 0, None),
        cpu(0, 20_000, 30_000, Some(TICK)),
        cpu(1, 20_000, 10_000, Some(Cause::Steal)),
    ];
    let verdict = judge(&noise(cpus));
    let classes: Vec<(Quiet, String)> =
        verdict.classes.iter().map(|class| (class.quiet, class.cpus.to_list())).collect();
    assert_eq!(classes, [(Quiet::BusyPolling, "1,3".into()), (Quiet::RealTime, "0".into())]);
    let largest = verdict.largest.unwrap();
    assert_eq!((largest.cause, largest.share), (TICK, 0.75));
    assert!(largest.remedy.unwrap().contains("nohz_full="));
}

#[test]
fn figures_of_any_size_are_judged() {
    let odd = vec![cpu(0, u64::MAX, u64::MAX, Some(TICK)), cpu(1, u64::MAX, u64::MAX, Some(TICK))];
    let verdict = judge(&noise(odd));
    assert_eq!(verdict.cpus[0].quiet, Quiet::Noisy);
    assert!(verdict.largest.unwrap().share <= 1.0);
}

#[test]
fn a_cpu_whose_loop_was_moved_away_is_not_judged() {
    let left = |left| CpuNoise { left: Some(left), ..cpu(3, 0, 0, None) };
    for why in [probe::noise::Left::Offline, probe::noise::Left::Moved] {
        let verdict = judge(&noise(vec![cpu(2, 0, 0, None), left(why)]));
        assert_eq!(verdict.cpus.iter().map(|seen| seen.cpu).collect::<Vec<_>>(), [2]);
        assert!(verdict.classes.iter().all(|class| !class.cpus.contains(3)), "{:?}", verdict.classes);
    }
}
