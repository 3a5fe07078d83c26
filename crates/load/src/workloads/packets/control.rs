//! What sender and sink say to each other over TCP: one JSON document a line.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use machine::{Class, Fault};
use serde::{Deserialize, Serialize};

/// Length of the intervals that arrivals are counted in: ten a second, as the probes sample.
pub(crate) const INTERVAL_NS: u64 = 100_000_000;

/// How long the sink may take to answer: it may share its CPU with others.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// What the sender asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Count the packets of a run from now on, and forget those of the run before.
    Begin {
        /// What its packets begin with.
        run: u64,
        /// What each carries, bytes.
        payload_bytes: usize,
        /// Their numbers lie below this.
        most: u64,
        /// When the first is sent, CLOCK_MONOTONIC ns.
        from_ns: u64,
    },
    /// Take what still waits to be read, and say what was counted.
    Count,
}

/// What the sink answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It counts.
    Ready,
    /// What it has counted.
    Counted(Counts),
    /// It cannot.
    Refused {
        /// Why.
        why: String,
    },
}

/// What arrived of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Packets, each counted once.
    pub arrived: u64,
    /// How often one came again.
    pub doubled: u64,
    /// Those with other bytes, or with a number that was never sent.
    pub wrong: u64,
    /// Those that came after one with a higher number.
    pub out_of_order: u64,
    /// Those of runs before.
    pub of_other_runs: u64,
    /// The first that was doubled or wrong, in words.
    pub first_wrong: Option<String>,
    /// Arrivals in each [`INTERVAL_NS`] since the run began.
    pub intervals: Vec<u64>,
    /// CPU time of the sink's thread since the run began, ns.
    pub cpu_ns: u64,
}

/// A sender's connection to its sink.
pub(crate) struct Control {
    lines: BufReader<TcpStream>,
    at: SocketAddr,
}

impl Control {
    /// Fails, with the remedy, when nobody listens there.
    pub(crate) fn connect(at: SocketAddr) -> Result<Self, Fault> {
        let remedy = "start the sink there first: pinwise packet-sink --port PORT";
        let stream = TcpStream::connect_timeout(&at, ANSWERS_WITHIN).and_then(|stream| {
            stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        let stream = stream.map_err(|why| Fault::new(Class::WorkloadFailed, at, why, remedy))?;
        Ok(Self { lines: BufReader::new(stream), at })
    }

    /// The address that the sink sees.
    pub(crate) fn local_address(&self) -> Result<SocketAddr, Fault> {
        self.lines.get_ref().local_addr().map_err(|why| self.broken(&why))
    }

    /// Asks, and gives the answer. Fails when the sink has gone or is no sink.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Result<Answer, Fault> {
        let mut line = serde_json::to_string(ask).map_err(|why| self.broken(&why))?;
        line.push('\n');
        let mut answer = String::new();
        let exchanged =
            self.lines.get_mut().write_all(line.as_bytes()).and_then(|()| self.lines.read_line(&mut answer));
        match exchanged {
            Err(why) => Err(self.broken(&why)),
            Ok(0) => Err(self.broken(&"it closed the connection without an answer")),
            Ok(_) => serde_json::from_slice(answer.as_bytes())
                .map_err(|why| self.broken(&format!("its answer is none of a packet sink: {why}"))),
        }
    }

    fn broken(&self, why: &dyn std::fmt::Display) -> Fault {
        let remedy = "see the sink's log; it is started by 'pinwise packet-sink'";
        Fault::new(Class::WorkloadFailed, format!("packet sink {}", self.at), why.to_string(), remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_and_answers_survive_being_written_down() {
        for ask in [Ask::Begin { run: u64::MAX, payload_bytes: 18, most: 9, from_ns: 7 }, Ask::Count] {
            let text = serde_json::to_string(&ask).unwrap();
            assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask);
        }
        let counts = Counts { arrived: 3, intervals: vec![1, 2], ..Counts::default() };
        for answer in [Answer::Ready, Answer::Counted(counts), Answer::Refused { why: "x".into() }] {
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
        }
    }
}
