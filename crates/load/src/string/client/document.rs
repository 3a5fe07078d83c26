//! What the load generator says at the end.

use machine::{Class, Fault, Missing};
use serde::{Deserialize, Serialize};

use super::connection::State;
use super::recorder::Failure;
use super::{Client, End};
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::outcome::{Outcome, unit_of};

/// What the load generator prints: one JSON document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// What was measured, also when the run ended early.
    pub outcome: Outcome,
    /// Why the run ended early or measured nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// Why a run is no use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// The server's address and port.
    pub object: String,
    /// What went wrong.
    pub cause: String,
    /// What the reader can do.
    pub remedy: String,
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        Fault::new(Class::WorkloadFailed, broken.object, broken.cause, broken.remedy)
    }
}

/// An open loop that ends with a request due for longer than this has not kept its rate.
const LATE_NS: u64 = 20_000_000;

impl Client<'_> {
    pub(super) fn document(self, end: End) -> Document {
        let to_ns = monotonic_ns();
        let cpu_ns = thread_cpu_ns() - self.cpu_from_ns;
        let broken = self.broken(&end, to_ns);
        let in_flight =
            self.connections.iter().filter(|c| matches!(c.state, State::Connecting | State::Waiting)).count()
                as u64;
        let until_ns = to_ns.min(self.end_ns);
        let (never_begun, late_ns) = match (self.options.load.max_requests, self.schedule) {
            (None, Some(schedule)) => {
                let late_ns = until_ns.saturating_sub(schedule.next_due_ns());
                (schedule.left_until(until_ns), late_ns)
            }
            _ => (0, 0),
        };
        let mut missing = Vec::new();
        // A few that fell due while the last answers were read are no sign of anything.
        if late_ns > LATE_NS {
            let why = format!(
                "{never_begun} requests were due, the first for {:.3} s, and not yet sent when the run ended: {} \
                 requests/s were too many for the server, and the latencies that are not there would be the longest",
                late_ns as f64 / 1e9,
                self.options.load.rate_per_s.unwrap_or_default()
            );
            missing.push(Missing::new("latency of the last requests", why));
        }
        let (intervals, mut figures) = self.recorder.finish(to_ns);
        figures.insert("unfinished".into(), (in_flight + never_begun) as f64);
        let elapsed_ns = to_ns.saturating_sub(self.from_ns).max(1);
        figures.insert("client_busy".into(), cpu_ns as f64 / elapsed_ns as f64);
        let units = figures.keys().filter_map(|f| Some((f.clone(), unit_of(f)?.to_string()))).collect();
        let outcome =
            Outcome { figures, units, intervals, from_ns: self.from_ns, to_ns, headroom: None, missing };
        Document { outcome, broken }
    }

    fn broken(&self, end: &End, to_ns: u64) -> Option<Broken> {
        let seconds = to_ns.saturating_sub(self.from_ns) as f64 / 1e9;
        let completed = self.recorder.completed();
        let (cause, remedy) = match end {
            End::Stopped => (format!("stopped by a signal after {seconds:.1} s"), "run it again".to_string()),
            End::GaveUp => {
                let (n, last) = self.recorder.failed_since;
                let last = self.failure_words(last);
                let when = (self.recorder.last_success_ns - self.from_ns) as f64 / 1e9;
                let since = match completed {
                    0 => format!("none of {n} requests succeeded; the last: {last}"),
                    _ => {
                        format!(
                            "after {completed} good requests, from {when:.1} s on, {n} failed in a row; the last: {last}"
                        )
                    }
                };
                (since, "see the server's log; check that it still runs and listens on this port".to_string())
            }
            End::Done if completed == 0 => {
                let last = self.failure_words(self.recorder.failed_since.1);
                (
                    format!("no request was answered within {seconds:.1} s ({last})"),
                    "check that the server answers a line with a line, and see its log".to_string(),
                )
            }
            End::Done => return None,
        };
        Some(Broken { object: self.options.server().to_string(), cause, remedy })
    }

    fn failure_words(&self, failure: Option<Failure>) -> String {
        match (failure, &self.first_wrong) {
            (None, _) => "none failed, the server was silent".into(),
            (Some(Failure::WrongAnswer), Some((exchange, wrong))) => {
                let shown = String::from_utf8_lossy(&wrong[..wrong.len().min(100)]).into_owned();
                match &self.exchanges[*exchange].expected {
                    Some(expected) => format!(
                        "wrong answer, the first was {shown:?} in place of {:?}",
                        String::from_utf8_lossy(expected)
                    ),
                    None => format!("wrong answer, the first was {shown:?} in place of one line"),
                }
            }
            (Some(failure), _) => failure.words(),
        }
    }
}
