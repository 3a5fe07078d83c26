//! Which way a figure is better: known from its name and the unit in it, or not known. Pure.
//!
//! There is no default. A latency that nobody called one would be taken for a throughput, and the placement with the longest tail for
//! the best.

use super::direction::Direction;
use crate::trial_figures;

impl Direction {
    /// The direction that is known of a figure of this name; `None` where name and unit do not say it.
    pub fn known(figure: &str) -> Option<Self> {
        let name = with_per(figure);
        if let Some(figure) = trial_figures::ALL.iter().find(|figure| figure.name == name) {
            return figure.direction;
        }
        if let Some((_, own)) = OWN.iter().find(|(own, _)| *own == name) {
            return Some(*own);
        }
        let (counted, per) = match name.split_once("_per_") {
            Some((counted, per)) => (counted, Some(per)),
            None => (name.as_str(), None),
        };
        let words: Vec<&str> =
            counted.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let any = |of: &[&str]| words.iter().any(|word| of.contains(word));
        if any(&UNDECIDED) {
            return None;
        }
        let last = *words.last()?;
        match per {
            _ if any(&BAD) => Some(Self::Lower),
            // Time or energy spent by the second may be work or waste.
            Some(per) if SECOND.contains(&per) => {
                (!TIME.contains(&last) && !ENERGY.contains(&last)).then_some(Self::Higher)
            }
            // What one gets for a unit of energy, and what one thing costs.
            Some(per) if ENERGY.contains(&per) => Some(Self::Higher),
            Some(_) => (TIME.contains(&last) || ENERGY.contains(&last)).then_some(Self::Lower),
            None if any(&["latency", "latencies"]) => Some(Self::Lower),
            None => match (any(&RATE), TIME.contains(&last) || ENERGY.contains(&last)) {
                (true, false) => Some(Self::Higher),
                // `ops_s` is a rate with its slash left out, or is it a time?
                (false, true) if last != "s" || !any(&COUNTED) => Some(Self::Lower),
                _ => None,
            },
        }
    }
}

/// The name in small letters, with `_per_s` for what is written `/s`, `/sec` or `/second`.
fn with_per(figure: &str) -> String {
    let lower = figure.to_ascii_lowercase();
    let slashed = ["/s", "/sec", "/second"].iter().find_map(|end| lower.strip_suffix(end));
    slashed.map_or(lower.clone(), |counted| format!("{counted}_per_s"))
}

/// Whether a figure of this name counts something by the second.
pub(super) fn is_rate(figure: &str) -> bool {
    with_per(figure).split_once("_per_").is_some_and(|(_, per)| SECOND.contains(&per))
}

/// Figures of pinwise's own loads whose names alone do not say it, or say it wrongly.
const OWN: [(&str, Direction); 14] = [
    // What is taken from a task that only spins, and what is left to it (load::workloads::spin).
    ("between_ticks_ms", Direction::Higher),
    ("gaps_over_100us_per_s", Direction::Lower),
    ("gaps_over_10us_per_s", Direction::Lower),
    ("gaps_over_1us_per_s", Direction::Lower),
    ("moves", Direction::Lower),
    ("taken_share", Direction::Lower),
    ("taken_us_per_s", Direction::Lower),
    ("ticks_per_s", Direction::Lower),
    // Counts of requests and packets.
    ("arrived", Direction::Higher),
    ("completed", Direction::Higher),
    ("out_of_order", Direction::Lower),
    ("send_refused", Direction::Lower),
    ("sent", Direction::Higher),
    ("unfinished", Direction::Lower),
];

/// Words of which less is better, whatever the unit.
const BAD: [&str; 20] = [
    "aborted",
    "discarded",
    "discards",
    "dropped",
    "drops",
    "error",
    "errors",
    "failed",
    "failures",
    "loss",
    "lost",
    "missed",
    "misses",
    "overruns",
    "refused",
    "retransmits",
    "retries",
    "stalled",
    "stalls",
    "timeouts",
];

/// Words that leave it open, whatever the unit: more idle time is good for one and bad for another.
const UNDECIDED: [&str; 22] = [
    "before",
    "between",
    "cycles",
    "failure",
    "idle",
    "instructions",
    "interrupts",
    "interval",
    "irqs",
    "life",
    "lifetime",
    "migrations",
    "mtbf",
    "period",
    "sleep",
    "slept",
    "switches",
    "ticks",
    "until",
    "uptime",
    "wakeups",
    "window",
];

/// Words that are rates, as the name or as its unit.
const RATE: [&str; 15] = [
    "bandwidth",
    "fps",
    "gbps",
    "goodput",
    "iops",
    "kbps",
    "kpps",
    "mbps",
    "mpps",
    "ops",
    "pps",
    "qps",
    "rps",
    "throughput",
    "tps",
];

/// Things that are counted.
const COUNTED: [&str; 18] = [
    "bits",
    "bytes",
    "conns",
    "events",
    "gb",
    "kb",
    "mb",
    "messages",
    "msgs",
    "op",
    "ops",
    "packets",
    "queries",
    "records",
    "req",
    "reqs",
    "requests",
    "transactions",
];

const TIME: [&str; 14] = [
    "h",
    "hours",
    "min",
    "minutes",
    "ms",
    "msec",
    "ns",
    "nsec",
    "s",
    "sec",
    "seconds",
    "us",
    "usec",
    "microseconds",
];

const SECOND: [&str; 3] = ["s", "sec", "second"];

const ENERGY: [&str; 11] = ["j", "joule", "joules", "kj", "kwh", "mj", "mw", "uj", "w", "watt", "watts"];

#[cfg(test)]
mod tests {
    use super::*;

    const HIGHER: Option<Direction> = Some(Direction::Higher);
    const LOWER: Option<Direction> = Some(Direction::Lower);

    fn all_are(expected: Option<Direction>, figures: &[&str]) {
        for figure in figures {
            assert_eq!(Direction::known(figure), expected, "{figure}");
        }
    }

    #[test]
    fn a_rate_is_known_however_it_is_written() {
        for figure in ["requests_per_s", "Requests/sec", "ops/s", "messages_per_second"] {
            assert!(is_rate(figure), "{figure}");
        }
        for figure in ["latency_p99_us", "requests", "us_per_request", "requests_per_j"] {
            assert!(!is_rate(figure), "{figure}");
        }
    }

    /// Every figure that a load of pinwise's own reports (crates/load: drive, outcome, workloads/packets, workloads/spin). Those that the
    /// study adds to every trial are held to their directions where they are listed (`trial_figures`).
    #[test]
    fn the_figures_of_loads_are_known() {
        all_are(HIGHER, &["requests_per_s", "packets_per_s", "sent_per_s", "completed", "arrived", "sent"]);
        all_are(HIGHER, &["between_ticks_ms"]);
        all_are(
            LOWER,
            &["latency_p50_us", "latency_p90_us", "latency_p99_us", "latency_p999_us", "latency_max_us"],
        );
        all_are(LOWER, &["latency_jitter_us"]);
        all_are(
            LOWER,
            &["put_p50_us", "put_p99_us", "put_max_us", "get_p50_us", "get_p99_us", "get_max_us", "total_s"],
        );
        all_are(LOWER, &["sender_ns_per_packet", "sink_ns_per_packet", "client_cpu_s"]);
        all_are(
            LOWER,
            &["failed", "failed_refused", "failed_reset", "failed_closed_early", "failed_wrong_answer"],
        );
        all_are(
            LOWER,
            &["failed_timed_out", "failed_connection_over", "failed_no_local_port", "failed_other"],
        );
        all_are(LOWER, &["lost", "lost_share", "out_of_order", "send_refused", "send_errors", "unfinished"]);
        all_are(LOWER, &["taken_us_per_s", "taken_share", "longest_gap_us", "ticks_per_s", "moves"]);
        all_are(LOWER, &["gaps_over_1us_per_s", "gaps_over_10us_per_s", "gaps_over_100us_per_s"]);
        all_are(None, &["client_busy", "sender_busy"]);
    }

    #[test]
    fn a_figure_of_every_trial_is_known_however_it_is_capitalised() {
        all_are(HIGHER, &["memory_local_share", "Memory_Local_Share"]);
        all_are(LOWER, &["server_cpu_us_per_request", "energy_j"]);
        all_are(None, &["softirq_load_cpus"]);
        let is_of_trials = |(own, _): &(&str, Direction)| trial_figures::ALL.iter().any(|of| of.name == *own);
        assert!(!OWN.iter().any(is_of_trials), "each figure has its direction in one place");
    }

    #[test]
    fn figures_of_others_are_known_by_their_units() {
        all_are(
            HIGHER,
            &[
                "transactions_per_s",
                "read_mb_per_s",
                "tps",
                "set_qps",
                "ops",
                "throughput",
                "throughput_mb",
                "Requests/sec",
            ],
        );
        all_are(
            HIGHER,
            &["iops", "MB/s", "requests_per_joule", "requests_per_j", "ops_per_watt", "msgs_per_sec"],
        );
        all_are(
            LOWER,
            &[
                "p99_us",
                "latency",
                "latency_mean",
                "mean-latency-ms",
                "rtt_ms",
                "total_seconds",
                "encode_s",
                "boot_ms",
            ],
        );
        all_are(
            LOWER,
            &[
                "cpu_us_per_op",
                "ops_latency_ms",
                "ops_latency",
                "packet_loss",
                "energy_joules_per_request",
                "package_joules",
                "watts",
                "errors_per_s",
                "timeouts",
            ],
        );
        all_are(
            None,
            &[
                "",
                "x",
                "p99",
                "score",
                "memory_mb",
                "ops_s",
                "mb_s",
                "idle_ms",
                "idle_us_per_s",
                "cpu_ms_per_s",
            ],
        );
        all_are(
            None,
            &[
                "switches_per_s",
                "cycles_per_request",
                "bytes_per_request",
                "hit_share",
                "hit_rate",
                "throughput_ms",
                "___",
                "ipc",
                "mtbf_s",
            ],
        );
    }

    #[test]
    fn recipes_that_we_ship_say_what_is_known() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut seen = 0;
        for path in files.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let recipe: crate::Recipe = toml::from_str(&text).unwrap();
            let deciding = (recipe.metric.clone(), recipe.better);
            let also = recipe.also.iter().map(|also| (also.metric.clone(), also.better));
            for (metric, said) in std::iter::once(deciding).chain(also) {
                let known = Direction::known(&metric);
                // Where a recipe said nothing, higher was meant.
                assert_eq!(known, Some(said.unwrap_or(Direction::Higher)), "{}: {metric}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }

    proptest::proptest! {
        #[test]
        fn any_name_has_a_direction_or_none(name in "\\PC{0,30}", words in "[a-z_/]{0,30}") {
            let _ = (Direction::known(&name), Direction::known(&words));
        }
    }
}
