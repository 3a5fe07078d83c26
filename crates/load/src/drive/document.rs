//! What the load says at the end.

use std::net::SocketAddr;

use machine::{Class, Fault, Missing};
use serde::{Deserialize, Serialize};

use super::dialogue::Dialogue;
use super::engine::{End, Engine, Left};
use super::pace::Pace;
use super::recorder::{Failure, Recorder};
use crate::outcome::{Outcome, operations, unit_of};

/// What the load prints: one JSON document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// What was measured, also when the run ended early.
    pub outcome: Outcome,
    /// Why the run ended early or measured nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
    /// No request was answered, and none failed but for want of an answer in time: the server, or this load, had no CPU time to
    /// speak of. `broken` says so too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starved: bool,
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

/// What one thread has left.
pub(super) struct Part {
    recorder: Recorder,
    end: End,
    left: Left,
    from_ns: u64,
    first_wrong: Option<String>,
    last_over: Option<String>,
    first_answer: Option<String>,
}

impl Part {
    pub(super) fn of<D: Dialogue>(mut engine: Engine<'_, D>, end: End) -> Self {
        let left = engine.leave();
        let (first_wrong, last_over) = (engine.first_wrong.take(), engine.last_over.take());
        let first_answer = engine.first_answer();
        Self {
            end,
            left,
            from_ns: engine.from_ns,
            first_wrong,
            last_over,
            first_answer,
            recorder: engine.recorder,
        }
    }

    fn worth(&self) -> u32 {
        match &self.end {
            End::Done => 0,
            End::Stopped => 1,
            End::GaveUp => 2,
            End::NeverReady(_) => 3,
            End::Refused(_) => 4,
        }
    }
}

/// What all threads of a load have left, as one.
pub(super) fn of(parts: Vec<Part>, pace: &Pace, server: SocketAddr) -> Option<Document> {
    let mut parts = parts;
    // The worst end speaks for all.
    parts.sort_by_key(Part::worth);
    let worst = parts.pop()?;
    let (mut whole, mut left) = (worst.recorder, worst.left);
    let (mut first_wrong, mut last_over) = (worst.first_wrong, worst.last_over);
    let mut first_answer = worst.first_answer;
    let mut busiest_ns = left.cpu_ns;
    for part in parts {
        whole.add(part.recorder);
        busiest_ns = busiest_ns.max(part.left.cpu_ns);
        first_wrong = first_wrong.or(part.first_wrong);
        last_over = last_over.or(part.last_over);
        first_answer = first_answer.or(part.first_answer);
        left = Left {
            to_ns: left.to_ns.max(part.left.to_ns),
            cpu_ns: left.cpu_ns + part.left.cpu_ns,
            in_flight: left.in_flight + part.left.in_flight,
            never_begun: left.never_begun + part.left.never_begun,
            late_ns: left.late_ns.max(part.left.late_ns),
        };
    }
    let words =
        Words { end: worst.end, from_ns: worst.from_ns, to_ns: left.to_ns, first_wrong, last_over, server };
    let broken = words.broken(&whole);
    let starved = words.waited_to_the_end() && whole.was_silent();
    let from_ns = words.from_ns;
    let missing = missing(&left, pace).into_iter().collect();
    let to_ns = left.to_ns;
    let operations = whole.take_operations();
    let (intervals, mut figures) = whole.finish(to_ns);
    figures.extend(operations::figures(&operations));
    figures.insert("unfinished".into(), (left.in_flight + left.never_begun) as f64);
    // One that never began was not busy for any time.
    if to_ns > from_ns {
        figures.insert("client_busy".into(), busiest_ns as f64 / (to_ns - from_ns) as f64);
        figures.insert("client_cpu_s".into(), left.cpu_ns as f64 / 1e9);
    }
    let units = figures.keys().filter_map(|f| Some((f.clone(), unit_of(f)?.to_string()))).collect();
    let outcome = Outcome {
        figures,
        units,
        intervals,
        operations,
        from_ns,
        to_ns,
        missing,
        first_answer,
        ..Outcome::default()
    };
    Some(Document { outcome, broken, starved })
}

/// A few that fell due while the last answers were read are no sign of anything.
fn missing(left: &Left, pace: &Pace) -> Option<Missing> {
    let Left { never_begun, late_ns, .. } = left;
    let why = format!(
        "{never_begun} requests were due, the first for {:.3} s, and not yet sent when the run ended: {} requests/s were too many \
         for the server, and the latencies that are not there would be the longest",
        *late_ns as f64 / 1e9,
        pace.rate_per_s.unwrap_or_default()
    );
    (*late_ns > LATE_NS).then(|| Missing::new("latency of the last requests", why))
}

/// What an early end is reported with.
struct Words {
    end: End,
    from_ns: u64,
    to_ns: u64,
    first_wrong: Option<String>,
    last_over: Option<String>,
    server: SocketAddr,
}

impl Words {
    /// Whether requests were sent until the time was over, or until it was given up.
    fn waited_to_the_end(&self) -> bool {
        matches!(self.end, End::Done | End::GaveUp)
    }

    fn broken(&self, recorder: &Recorder) -> Option<Broken> {
        let seconds = self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9;
        let (cause, remedy) = match &self.end {
            End::Stopped => (format!("stopped by a signal after {seconds:.1} s"), "run it again"),
            End::NeverReady(words) => (
                format!("no request could be asked: {words}"),
                "see the server's log; check that it speaks this protocol on this port",
            ),
            End::Refused(refusal) => (refusal.cause.clone(), refusal.remedy),
            End::GaveUp => (
                self.gave_up(recorder),
                "see the server's log; check that it still runs and listens on this port",
            ),
            End::Done if recorder.completed() == 0 => {
                let last = self.failure(recorder.failed_since.1);
                let cause = format!("no request was answered within {seconds:.1} s ({last})");
                (cause, "check that the server speaks this protocol, and see its log")
            }
            End::Done => return None,
        };
        Some(Broken { object: self.server.to_string(), cause, remedy: remedy.into() })
    }

    fn gave_up(&self, recorder: &Recorder) -> String {
        let (n, last) = recorder.failed_since;
        let last = self.failure(last);
        let when_s = recorder.last_success_ns.saturating_sub(self.from_ns) as f64 / 1e9;
        match recorder.completed() {
            0 => format!("none of {n} requests succeeded; the last: {last}"),
            completed => format!(
                "after {completed} good requests, from {when_s:.1} s on, {n} failed in a row; the last: {last}"
            ),
        }
    }

    fn failure(&self, failure: Option<Failure>) -> String {
        match failure {
            None => "none failed, the server was silent".into(),
            Some(Failure::WrongAnswer) => match &self.first_wrong {
                Some(words) => format!("wrong answer, {words}"),
                None => Failure::WrongAnswer.words(),
            },
            Some(Failure::Over) => self.last_over.clone().unwrap_or_else(|| Failure::Over.words()),
            Some(failure) => failure.words(),
        }
    }
}
