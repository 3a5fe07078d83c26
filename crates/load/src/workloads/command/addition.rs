//! Which figures of several processes become one, by their names: rates and counts add up, nothing else does. Pure.

use super::extract::{is_data, is_time};

/// Why the figures of several processes do not become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// They are times: latencies.
    Times,
    /// They are quantiles, extremes, or spreads.
    Statistics,
    /// They are shares, or amounts for each of something.
    Ratios,
    /// The name does not say what they are.
    Unnamed,
}

impl Apart {
    /// The same in words, behind the name of the figure.
    pub fn words(self) -> &'static str {
        match self {
            Self::Times => "the times of several processes are neither added up nor averaged",
            Self::Statistics => {
                "a quantile, an extreme or a spread of all requests does not follow from those of each process"
            }
            Self::Ratios => "a ratio over all processes does not follow from those of each",
            Self::Unnamed => {
                "its name does not say that it is a rate (requests_per_s) or a count (requests, errors), which add up"
            }
        }
    }
}

/// Words of a name that are no amount of anything.
const STATISTICS: [&str; 18] = [
    "best",
    "iqr",
    "jitter",
    "mad",
    "max",
    "maximum",
    "median",
    "min",
    "minimum",
    "peak",
    "percentile",
    "quantile",
    "sd",
    "spread",
    "stddev",
    "stdev",
    "variance",
    "worst",
];
const RATIOS: [&str; 5] = ["fraction", "percent", "ratio", "share", "utilization"];
const TIMES: [&str; 6] = ["delay", "duration", "elapsed", "latency", "rtt", "time"];

/// What follows `_per_` in a rate.
const PERIODS: [&str; 6] = ["s", "sec", "second", "min", "minute", "hour"];

/// Rates, and things that are counted, as the last word of a name.
const COUNTED: [&str; 39] = [
    "answers",
    "calls",
    "commands",
    "completed",
    "connections",
    "conns",
    "errors",
    "events",
    "failed",
    "failures",
    "hits",
    "iops",
    "iterations",
    "lost",
    "messages",
    "misses",
    "msgs",
    "operations",
    "ops",
    "packets",
    "pkts",
    "qps",
    "queries",
    "reads",
    "received",
    "replies",
    "reqs",
    "requests",
    "responses",
    "retransmits",
    "retries",
    "rps",
    "samples",
    "sent",
    "succeeded",
    "timeouts",
    "tps",
    "transactions",
    "writes",
];

/// What may stand beside it: with another word it may be something else, as `queue_messages` is.
const BESIDE: [&str; 16] = [
    "all",
    "client",
    "dropped",
    "get",
    "good",
    "http",
    "number",
    "of",
    "ok",
    "put",
    "read",
    "set",
    "socket",
    "successful",
    "total",
    "write",
];

/// What makes an amount of data one that was moved: the size of a buffer does not add up.
const MOVED: [&str; 6] = ["copied", "read", "received", "sent", "transferred", "written"];

/// Holds the figure called `name` to adding up over processes that run at the same time.
///
/// # Errors
/// Why it does not.
pub fn adds_up(name: &str) -> Result<(), Apart> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(word));
    if has(&RATIOS) {
        return Err(Apart::Ratios);
    }
    // The minute of a rate is written as the minimum is.
    let rate = name.split_once("_per_");
    let before: Vec<&str> = rate.map_or(words.clone(), |(base, _)| base.split('_').collect());
    if before.iter().any(|word| is_statistic(word)) {
        return Err(Apart::Statistics);
    }
    match rate {
        Some((_, period)) if PERIODS.contains(&period) => Ok(()),
        // `requests_per_s_max`, and all that is counted for each request.
        Some((_, other)) => match other.split('_').skip(1).any(is_statistic) {
            true => Err(Apart::Statistics),
            false => Err(Apart::Ratios),
        },
        None if is_time(&name) || has(&TIMES) => Err(Apart::Times),
        None if is_count(&words) || (is_data(&name) && has(&MOVED)) => Ok(()),
        None => Err(Apart::Unnamed),
    }
}

/// A word of the list, or `p50`, `p999`, `p99.9`.
fn is_statistic(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or_default();
    STATISTICS.contains(&word) || !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Something that is counted, or `failed_` and a reason, as the loads that pinwise drives call it.
fn is_count(words: &[&str]) -> bool {
    let is_counted = |word: &&str| COUNTED.contains(word);
    match words {
        ["failed" | "errors", ..] => true,
        [before @ .., last] => {
            is_counted(last) && before.iter().all(|word| is_counted(word) || BESIDE.contains(word))
                || *last == "total" && words.len() > 1 && before.iter().all(is_counted)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_counts_add_up() {
        for name in [
            "requests_per_s",
            "mean_requests_per_sec",
            "queries_per_min",
            "read_mb_per_s",
            "taken_us_per_s",
            "tps",
            "IOPS",
            "requests",
            "total_requests",
            "requests_total",
            "get_errors",
            "failed_reset",
            "messages_sent",
            "sent_mb",
            "transferred_bytes",
        ] {
            assert_eq!(adds_up(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn nothing_else_does_and_says_why() {
        for (name, why) in [
            ("latency_us", Apart::Times),
            ("mean_latency_ms", Apart::Times),
            ("total_s", Apart::Times),
            ("rtt", Apart::Times),
            ("latency_p99_us", Apart::Statistics),
            ("p99.9", Apart::Statistics),
            ("max_requests_per_s", Apart::Statistics),
            ("requests_per_s_max", Apart::Statistics),
            ("requests_per_s_p99", Apart::Statistics),
            ("latency_max_us", Apart::Statistics),
            ("hit_share", Apart::Ratios),
            ("errors_percent", Apart::Ratios),
            ("cpu_us_per_request", Apart::Ratios),
            ("requests_per_s_per_core", Apart::Ratios),
            ("score", Apart::Unnamed),
            ("queue_messages", Apart::Unnamed),
            ("rss_mb", Apart::Unnamed),
            ("total", Apart::Unnamed),
            ("", Apart::Unnamed),
        ] {
            assert_eq!(adds_up(name), Err(why), "{name}");
        }
    }

    #[test]
    fn the_lists_are_in_order_and_have_no_word_twice() {
        let in_order = |list: &[&str]| list.windows(2).all(|pair| pair[0] < pair[1]);
        for list in [&STATISTICS[..], &RATIOS, &TIMES, &COUNTED, &BESIDE, &MOVED] {
            assert!(in_order(list), "{list:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_name_makes_it_panic(name in "(\\PC|[a-z0-9_.]){0,24}") {
            let _ = adds_up(&name).map_err(Apart::words);
        }
    }
}
