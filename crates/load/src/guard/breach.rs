//! A guard that was breached.

use std::fmt;

use machine::Outside;
use machine::wording::counted;
use serde::{Deserialize, Serialize};

use super::unanswered;

/// The end of the server, as the figure of a guard.
pub const SERVER_ENDS: &str = "server_ends";
/// For how long nothing was answered, likewise.
const SILENCE: &str = "silence_s";

/// A guard that was breached, and by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breach {
    /// The guard as it is written.
    pub guard: String,
    /// The figure that it is about.
    pub figure: String,
    /// What the figure was in the stretch of the trial that decided it. Of a count, how many there were.
    pub value: f64,
    /// What it could have been, in the unit of the figure. Of a count that is compared to the baseline, how many of it as many requests had
    /// there.
    pub limit: f64,
    /// Requests in that stretch.
    pub requests: u64,
    /// When it was decided, which is the end of a slice: CLOCK_MONOTONIC ns.
    pub seen_ns: u64,
    /// When that slice began, CLOCK_MONOTONIC ns.
    pub slice_began_ns: u64,
    /// How certain it is.
    pub certainty: Certainty,
}

/// How certain a breach is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Certainty {
    /// It was counted: there is nothing to be uncertain of.
    Counted,
    /// It was inferred from a sample.
    Inferred {
        /// With which chance a trial whose figures are within all guards ends so, at most.
        false_breach: f64,
    },
}

impl Breach {
    /// Whether its guard is on wherever there are any, without a limit that the user gives.
    pub fn is_built_in(&self) -> bool {
        [SERVER_ENDS, SILENCE, unanswered::FIGURE].contains(&self.figure.as_str())
    }

    /// The breach in words, for people: one line without a full stop. What is certain of the server need not be the arm's doing.
    pub fn words(&self) -> String {
        let (figure, guard) = (Outside(&self.figure), Outside(&self.guard));
        let (value, limit) = (Plain(self.value), Plain(self.limit));
        let requests = self.requests;
        let what = match self.figure.as_str() {
            SERVER_ENDS => {
                "the server ended; one that is restarted or updated on purpose looks the same".to_string()
            }
            SILENCE => format!(
                "nothing was answered for {value} s while bytes lay unread on {}; one long request that keeps the server from reading \
                 looks the same",
                counted(requests, "connection")
            ),
            _ => format!("{figure} {value} in {requests} requests, where the limit is {limit}"),
        };
        let seen = format!("the guard '{guard}' was breached: {what}");
        match self.certainty {
            Certainty::Counted => seen,
            Certainty::Inferred { false_breach } => {
                format!("{seen}; a trial within its guards ends so with a chance of {false_breach} at most")
            }
        }
    }
}

/// A number with about four digits.
struct Plain(f64);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            number if number.fract() == 0.0 || number.abs() >= 1000.0 => write!(f, "{number:.0}"),
            number if number.abs() >= 1.0 => write!(f, "{number:.2}"),
            number => write!(f, "{number:.5}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breach(certainty: Certainty) -> Breach {
        Breach {
            guard: "latency_p99_us <= 20000".into(),
            figure: "latency_p99_us".into(),
            value: 45_000.0,
            limit: 20_000.0,
            requests: 312,
            seen_ns: 2_000,
            slice_began_ns: 1_000,
            certainty,
        }
    }

    #[test]
    fn words_name_guard_value_limit_and_certainty() {
        assert_eq!(
            breach(Certainty::Inferred { false_breach: 0.001 }).words(),
            "the guard 'latency_p99_us <= 20000' was breached: latency_p99_us 45000 in 312 requests, where the limit is 20000; \
             a trial within its guards ends so with a chance of 0.001 at most"
        );
        assert!(breach(Certainty::Counted).words().ends_with("the limit is 20000"));
        assert_eq!([1.5, 0.25, 1234.4, 7.0].map(|x| Plain(x).to_string()), ["1.50", "0.25000", "1234", "7"]);
    }

    #[test]
    fn what_else_looks_like_a_server_that_stops_or_ends_is_said() {
        let of = |figure: &str, value| Breach {
            guard: format!("{figure} <= 1"),
            figure: figure.into(),
            value,
            requests: 3,
            ..breach(Certainty::Counted)
        };
        let silence = of("silence_s", 1.25);
        let words = silence.words();
        assert!(
            words.contains("for 1.25 s") && words.contains("on 3 connections; one long request"),
            "{words}"
        );
        let ended = of("server_ends", 1.0);
        assert!(
            ended.words().ends_with("restarted or updated on purpose looks the same"),
            "{}",
            ended.words()
        );
        assert!(
            silence.is_built_in() && ended.is_built_in() && of("unanswered_requests", 16.0).is_built_in()
        );
        assert!(!breach(Certainty::Counted).is_built_in(), "its limit can be raised");
    }

    #[test]
    fn a_breach_survives_its_own_json_and_cannot_drive_a_terminal() {
        let breach = Breach { figure: "a\nb".into(), ..breach(Certainty::Inferred { false_breach: 0.001 }) };
        let json = serde_json::to_string(&breach).unwrap();
        assert_eq!(serde_json::from_str::<Breach>(&json).unwrap(), breach);
        assert!(!breach.words().contains('\n'));
    }
}
