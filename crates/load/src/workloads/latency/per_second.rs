//! A run by its seconds, as CSV: each line of its own second alone. A mean over all that came before it hides a change the longer it runs.

use std::fmt::Write;

use crate::outcome::Interval;
use crate::outcome::latency::Latency;

/// Its first line; times in us.
const HEADER: &str = "second,rate_per_s,failed,min_us,max_us,avg_us,p50_us,p99_us,p999_us\n";

const SECOND_NS: u64 = 1_000_000_000;

/// A line for each second that has begun. Where nothing came back its times are left empty.
pub(crate) fn csv(intervals: &[Interval]) -> String {
    let mut text = HEADER.to_string();
    let Some(from_ns) = intervals.first().map(|first| first.from_ns) else { return text };
    let second = |interval: &Interval| interval.from_ns.saturating_sub(from_ns) / SECOND_NS;
    for group in intervals.chunk_by(|a, b| second(a) == second(b)) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{},{}", second(&group[0]), line(group));
    }
    text
}

fn line(group: &[Interval]) -> String {
    let (mut latency, mut failed, mut length_ns) = (Latency::new(), 0, 0);
    for interval in group {
        // Ours can all be read.
        if let Ok(more) = Latency::from_text(&interval.latency) {
            latency.add(&more);
        }
        failed += interval.failed;
        length_ns += interval.to_ns.saturating_sub(interval.from_ns);
    }
    let rate_per_s = latency.count() as f64 * 1e9 / length_ns.max(1) as f64;
    let times = match latency.summary_us() {
        None => ",,,,,".to_string(),
        Some([min, max, mean, p50, p99, p999]) => format!("{min},{max},{mean:.1},{p50},{p99},{p999}"),
    };
    format!("{rate_per_s:.1},{failed},{times}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenth(number: u64, latencies_us: &[u64]) -> Interval {
        let mut latency = Latency::new();
        latencies_us.iter().for_each(|us| latency.record_ns(us * 1000));
        Interval {
            from_ns: 5 + number * 100_000_000,
            to_ns: 5 + (number + 1) * 100_000_000,
            completed: latencies_us.len() as u64,
            failed: u64::from(number == 11),
            latency: latency.to_text(),
        }
    }

    #[test]
    fn a_line_is_of_its_own_second_alone() {
        // A slow first second: a mean over the whole run would still show it in the second one.
        let mut intervals: Vec<Interval> = (0..10).map(|number| tenth(number, &[1000, 1500])).collect();
        intervals.extend((10..20).map(|number| tenth(number, &[10, 20, 30])));
        intervals.push(tenth(20, &[]));
        let csv = csv(&intervals);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[1], "0,20.0,0,1000,1500,1250.0,1000,1500,1500");
        assert_eq!(lines[2], "1,30.0,1,10,30,20.0,20,30,30");
        assert_eq!(lines[3], "2,0.0,0,,,,,,");
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.matches(',').count() == 8));
    }

    #[test]
    fn no_run_has_no_seconds() {
        assert_eq!(csv(&[]), HEADER);
    }
}
