//! From the record of a loop to figures with names.

use std::collections::BTreeMap;

use super::gap_loop::OwnCost;
use super::join::{IDLE, Joined, OTHER_TASKS, ROWS, STEAL};
use super::record::{EDGES_NS, Gap, Record, Row};
use super::results::{
    Alone, BelowThreshold, Cause, CauseNoise, CpuNoise, GapPart, LongGap, LoopCost, Series, Step,
};
use crate::account::Source;
use crate::bpf::SOURCES;

/// The figures of a CPU; `joined`: whether the kernel counted.
pub(super) fn cpu(cpu: u32, record: &Record, cost: OwnCost, joined: bool) -> CpuNoise {
    let window_ns = record.ended_ns.saturating_sub(record.began_ns);
    let share = if window_ns > 0 { record.gap_ns as f64 / window_ns as f64 } else { 0.0 };
    let above = |edge: usize| (record.threshold_ns <= EDGES_NS[edge]).then_some(record.above[edge]);
    let tick = Source::Tick as usize;
    let ticks = joined.then(|| record.rows[tick].events + record.small_events[tick]);
    CpuNoise {
        cpu,
        window_s: window_ns as f64 / 1e9,
        share,
        gaps: record.gaps,
        gap_ns: record.gap_ns,
        longest_gap_ns: record.longest_ns,
        gap_p50_ns: record.lengths.quantile_ns(0.5).map(|ns| ns.min(record.longest_ns)),
        gap_p99_ns: record.lengths.quantile_ns(0.99).map(|ns| ns.min(record.longest_ns)),
        above_1_us: above(0),
        above_10_us: above(1),
        above_100_us: above(2),
        above_1000_us: above(3),
        ticks,
        ticks_per_s: ticks.filter(|_| window_ns > 0).map(|ticks| ticks as f64 * 1e9 / window_ns as f64),
        preempted: None,
        left: None,
        causes: if joined { causes(record) } else { Vec::new() },
        entry_and_exit_ns: joined.then(|| record.rows.iter().map(|row| row.around_ns).sum()),
        below_threshold: joined.then(|| below(record)),
        tasks: Vec::new(),
        lines: Vec::new(),
        counts: BTreeMap::new(),
        loop_cost: loop_cost(record, cost, window_ns),
        series: series(record),
        lengths: record.lengths.steps().map(|(from_ns, to_ns, gaps)| Step { from_ns, to_ns, gaps }).collect(),
        longest: longest(record, joined),
    }
}

fn cause_of(row: usize) -> Cause {
    match row {
        0..SOURCES => Cause::Source(Source::ALL[row]),
        OTHER_TASKS => Cause::OtherTasks,
        IDLE => Cause::OffCpuIdle,
        STEAL => Cause::Steal,
        _ => Cause::Unexplained,
    }
}

fn causes(record: &Record) -> Vec<CauseNoise> {
    let there = record.rows.iter().enumerate().filter(|(_, row)| row.gaps > 0);
    let mut causes: Vec<CauseNoise> = there
        .map(|(number, row)| CauseNoise {
            cause: cause_of(number),
            gaps: row.gaps,
            events: row.events,
            gap_ns: row.net_ns + row.around_ns,
            net_ns: row.net_ns,
            entry_and_exit_ns: row.around_ns,
            longest_gap_ns: row.longest_gap_ns,
            alone: alone(row),
        })
        .collect();
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.gap_ns, cause.gaps)));
    causes
}

fn alone(row: &Row) -> Option<Alone> {
    let mean = |ns: u64| ns as f64 / row.alone as f64;
    (row.alone > 0).then(|| Alone {
        gaps: row.alone,
        mean_gap_ns: mean(row.alone_gap_ns),
        mean_net_ns: mean(row.alone_net_ns),
    })
}

fn below(record: &Record) -> BelowThreshold {
    let counted = Source::ALL.into_iter().zip(record.small_events).filter(|(_, events)| *events > 0);
    BelowThreshold { events: counted.collect(), net_ns: record.small_net_ns }
}

fn loop_cost(record: &Record, cost: OwnCost, window_ns: u64) -> LoopCost {
    let quiet_ns = window_ns.saturating_sub(record.gap_ns);
    let steps = record.steps.saturating_sub(record.gaps).max(1);
    LoopCost {
        step_ns: cost.step_ns,
        shortest_step_ns: cost.shortest_step_ns,
        mean_step_ns: quiet_ns as f64 / steps as f64,
        keeping_ns: cost.keeping_ns,
        kept_ns: record.keeping_ns,
    }
}

fn series(record: &Record) -> Series {
    Series {
        bin_s: record.bin_ns() as f64 / 1e9,
        gap_ns: record.bins.iter().map(|bin| bin.gap_ns).collect(),
        longest_ns: record.bins.iter().map(|bin| bin.longest_ns).collect(),
    }
}

fn longest(record: &Record, joined: bool) -> Vec<LongGap> {
    let reported = |gap: &Gap| LongGap {
        at_s: gap.began_ns.saturating_sub(record.began_ns) as f64 / 1e9,
        length_ns: gap.joined.length_ns,
        parts: if joined { parts(&gap.joined) } else { Vec::new() },
        entry_and_exit_ns: gap.joined.all_around_ns(),
    };
    let mut longest: Vec<LongGap> = record.longest[..record.longest_len].iter().map(reported).collect();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns));
    longest
}

fn parts(joined: &Joined) -> Vec<GapPart> {
    let there = (0..ROWS).filter(|row| joined.has(*row));
    let mut parts: Vec<GapPart> = there
        .map(|row| GapPart { cause: cause_of(row), events: joined.events(row), net_ns: joined.net_ns[row] })
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.net_ns));
    parts
}

#[cfg(test)]
mod tests {
    use super::super::cpu_sums::CpuSums;
    use super::*;

    const COST: OwnCost = OwnCost {
        step_ns: 30,
        shortest_step_ns: 25,
        step_p99_ns: 40,
        longest_read_ns: 1_000,
        keeping_ns: 200,
    };

    fn record(gaps: &[(u64, u64)]) -> Record {
        let mut record = Record::new(1_000);
        record.begin(0, 10_000_000);
        for (number, (length_ns, tick_ns)) in gaps.iter().enumerate() {
            let mut seen = CpuSums::NONE;
            let ticks = u64::from(*tick_ns > 0);
            (seen.counts[0], seen.net_ns[0]) = (ticks, *tick_ns);
            record.add_gap(number as u64 * 100_000, *length_ns, seen);
        }
        (record.ended_ns, record.steps) = (10_000_000, 1_000);
        record
    }

    #[test]
    fn figures_add_up_and_causes_are_ranked() {
        let reported = cpu(3, &record(&[(20_000, 8_000), (22_000, 8_000), (5_000, 0)]), COST, true);
        assert_eq!((reported.gap_ns, reported.share), (47_000, 0.0047));
        assert_eq!(reported.causes.iter().map(|cause| cause.gap_ns).sum::<u64>(), reported.gap_ns);
        let tick = reported.causes[0];
        assert_eq!((tick.cause, tick.gaps, tick.net_ns), (Cause::Source(Source::Tick), 2, 16_000));
        assert_eq!((tick.entry_and_exit_ns, reported.entry_and_exit_ns), (26_000, Some(26_000)));
        assert_eq!(tick.alone, Some(Alone { gaps: 2, mean_gap_ns: 21_000.0, mean_net_ns: 8_000.0 }));
        assert_eq!((reported.ticks, reported.ticks_per_s), (Some(2), Some(200.0)));
        assert_eq!(reported.longest[0].length_ns, 22_000);
    }

    #[test]
    fn without_the_kernel_nothing_is_said_about_causes() {
        let reported = cpu(0, &record(&[(120_000, 0)]), COST, false);
        assert!(
            reported.causes.is_empty() && reported.ticks.is_none() && reported.entry_and_exit_ns.is_none()
        );
    }

    #[test]
    fn causes_have_one_name_each_in_json() {
        let names =
            [Cause::Source(Source::SoftirqRcu), Cause::OffCpuIdle].map(|c| serde_json::to_value(c).unwrap());
        assert_eq!(names, ["softirq_rcu", "off_cpu_idle"]);
        for cause in (0..ROWS).map(cause_of) {
            let text = serde_json::to_string(&cause).unwrap();
            assert_eq!(serde_json::from_str::<Cause>(&text).unwrap(), cause);
        }
    }
}
