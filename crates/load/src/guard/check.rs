//! Which guards can be kept, by the name of the figure.

use std::ops::RangeInclusive;

use machine::{Class, Fault};

use super::bound::{Guard, Limit, Relation};
use crate::outcome::latency::quantile_of;

/// How long the name of a figure may be, bytes.
const LONGEST_NAME: usize = 100;
/// The numbers that a limit may be, besides 0. Whatever lies between is written with few digits, and read back as it was.
const NUMBERS: RangeInclusive<f64> = 1e-9..=1e15;
/// Latencies that are means over the requests.
pub(super) const MEAN_LATENCIES: [&str; 3] = ["latency_mean_us", "latency_wait_us", "latency_service_us"];
/// Figures that say how much the clients asked for.
const TRAFFIC: [&str; 5] = ["requests", "requests_per_s", "packets_per_s", "sent_per_s", "completed"];

/// Whether a figure can be named so.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether a limit can be this number.
pub(super) fn is_number(number: f64) -> bool {
    number == 0.0 || NUMBERS.contains(&number)
}

/// What is compared of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Subject {
    /// A quantile of the latency, 0 to 1.
    Quantile(f64),
    /// The longest latency.
    Longest,
    /// How many there were.
    Count,
    /// Its value.
    Value,
}

impl Subject {
    /// What is compared of the figure of this name; none of a latency that a few requests do not have.
    pub(super) fn of(figure: &str) -> Option<Self> {
        match quantile_of(figure) {
            Some(quantile) => Some(Self::Quantile(quantile)),
            None if figure == "latency_max_us" => Some(Self::Longest),
            None if MEAN_LATENCIES.contains(&figure) => Some(Self::Value),
            None if figure.starts_with("latency_") => None,
            None if matches!(figure, "errors" | "failed") || figure.ends_with("_errors") => Some(Self::Count),
            None => Some(Self::Value),
        }
    }
}

impl Guard {
    /// Fails on a guard that would end trials without harm, or none, with what to write instead.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let refused = |cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("guard '{self}'"), cause, remedy))
        };
        let (Limit::Absolute(number) | Limit::OfBaseline(number)) = self.limit;
        if !is_name(&self.figure) || !is_number(number) {
            return refused(
                "its figure has no name, or its limit is out of range",
                "write it as in 'latency_p99_us <= 20000'",
            );
        }
        if TRAFFIC.contains(&self.figure.as_str()) {
            return refused(
                "how much is asked of the server is up to its clients: fewer requests are a lull, and no harm",
                "compare a latency ('latency_p99_us <= 1.5 x baseline') or the cost of a request ('cpu_us_per_request <= 1.3 x baseline')",
            );
        }
        match Subject::of(&self.figure) {
            None => refused(
                "the requests of a slice do not have this latency",
                "choose from latency_p50_us, latency_p90_us, latency_p99_us, latency_p999_us, latency_max_us and latency_mean_us",
            ),
            Some(_) if self.figure.starts_with("latency_") && self.relation != Relation::AtMost => {
                refused("a short latency is no harm", "write <=")
            }
            Some(Subject::Longest) if self.is_of_baseline() => refused(
                "of two stretches with the same latencies, each has the longest in half of all cases",
                "give the limit in us, or compare latency_p999_us",
            ),
            Some(Subject::Count) => self.check_count(),
            Some(subject) => self.check_value(subject, number),
        }
    }

    /// Whether its limit is a multiple of the baseline's figure.
    pub fn is_of_baseline(&self) -> bool {
        matches!(self.limit, Limit::OfBaseline(_))
    }

    fn check_count(&self) -> Result<(), Fault> {
        let (cause, remedy) = match (self.relation, self.limit) {
            (Relation::AtLeast, _) => ("few errors are no harm", "write <="),
            (Relation::Equal, Limit::Absolute(number)) if number != 0.0 => {
                ("a count that is still lower may reach it yet", "write <=")
            }
            (Relation::Equal, Limit::OfBaseline(_)) => ("no two trials count exactly the same", "write <="),
            (Relation::AtMost, Limit::OfBaseline(times)) if times < 1.0 => {
                ("the baseline would be in breach itself", "give 1 x baseline or more")
            }
            _ => return Ok(()),
        };
        Err(Fault::new(Class::Usage, format!("guard '{self}'"), cause, remedy))
    }

    fn check_value(&self, subject: Subject, number: f64) -> Result<(), Fault> {
        let follows_traffic = subject == Subject::Value && self.figure.ends_with("_per_s");
        let (cause, remedy) = match self.relation {
            _ if number == 0.0 => ("a limit of 0 is for counts: errors == 0", "give a limit above 0"),
            Relation::Equal => ("a figure that is measured is never exactly equal", "write <= or >="),
            Relation::AtLeast if follows_traffic => (
                "a rate follows the traffic: it falls in a lull",
                "compare a figure that is per request, or with <=",
            ),
            _ if follows_traffic && self.is_of_baseline() => (
                "a rate follows the traffic: with more requests than the baseline had, it is higher",
                "give the limit as a number, or compare a figure that is per request",
            ),
            Relation::AtMost if self.is_of_baseline() && number < 1.0 => {
                ("the baseline would be in breach itself", "give 1 x baseline or more")
            }
            Relation::AtLeast if self.is_of_baseline() && number > 1.0 => {
                ("the baseline would be in breach itself", "give 1 x baseline or less")
            }
            _ => return Ok(()),
        };
        Err(Fault::new(Class::Usage, format!("guard '{self}'"), cause, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Fault {
        text.parse::<Guard>().err().unwrap_or_else(|| panic!("{text} is accepted"))
    }

    #[test]
    fn a_rate_of_requests_is_refused_with_what_to_compare_instead() {
        for text in ["requests_per_s >= 0.9 x baseline", "requests_per_s <= 100", "completed >= 5"] {
            let fault = refusal(text);
            assert!(fault.cause.contains("lull") && fault.remedy.contains("latency_p99_us"), "{fault}");
        }
    }

    #[test]
    fn guards_that_would_breach_without_harm_are_refused() {
        for text in [
            "latency_p99_us >= 5",
            "latency_p99_us == 5",
            "latency_p99_us <= 0",
            "latency_p99_us <= 0.9 x baseline",
            "latency_p42_us <= 5",
            "latency_jitter_us <= 5",
            "latency_max_us <= 2 x baseline",
            "latency_max_us >= 2",
            "latency_mean_us >= 2",
            "errors >= 1",
            "errors == 3",
            "errors == baseline",
            "errors <= 0.5 x baseline",
            "evictions_per_s >= 5",
            "evictions_per_s <= 2 x baseline",
            "queue_len == 5",
            "queue_len <= 0",
            "queue_len <= 0.5 x baseline",
            "hit_ratio >= 1.1 x baseline",
        ] {
            let fault = refusal(text);
            assert!(!fault.cause.is_empty() && !fault.remedy.is_empty(), "{fault}");
        }
    }

    #[test]
    fn guards_of_each_kind_are_accepted() {
        for text in [
            "latency_p999_us <= 3 x baseline",
            "latency_max_us <= 5e5",
            "latency_wait_us <= 2 x baseline",
            "errors == 0",
            "http_errors <= 5",
            "failed <= 2 x baseline",
            "evictions_per_s <= 5",
            "hit_ratio >= 0.9 x baseline",
            "cpu_us_per_request <= 1.3 x baseline",
        ] {
            assert!(text.parse::<Guard>().is_ok(), "{text}");
        }
    }
}
