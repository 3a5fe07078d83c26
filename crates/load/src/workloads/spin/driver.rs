//! The driver `spin`, the load of a spinning task: it asks what was taken from it, and drives nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use machine::Fault;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::noise::{self, Taken};
use super::options::SpinLoad;
use crate::clock::monotonic_ns;
use crate::drive::{Broken, Course, Document, Keys};
use crate::outcome::Outcome;
use crate::workloads::{About, Driven, LoadSpec};

/// What it is.
pub static ABOUT: About = About {
    id: "spin",
    title: "none: what is taken from a task that only spins",
    docs: "Asks the built-in spinning task (`pinwise spin-server --port {port}`) for `seconds` what was taken from it. It reads the clock again \
           and again; where two readings are more than 1 us apart, something else had its CPU. Gives taken_us_per_s (the sum of these gaps; \
           with no gap at all the 1 us that would just have been seen, since nothing has no ratio), taken_share, gaps_over_1us_per_s, \
           gaps_over_10us_per_s, gaps_over_100us_per_s, longest_gap_us, moves (from CPU to CPU), ticks_per_s (interrupts of the local \
           timer of the CPU that it is on: row LOC of /proc/interrupts) and between_ticks_ms (the window parted by its ticks).",
    example: "driver = \"spin\"\nseconds = 2.0\n",
};

/// The answer comes so long after its window at the latest: a task among many gets its CPU late.
const LATEST: Duration = Duration::from_secs(15);

/// The longest answer, bytes.
const LONGEST_BYTES: u64 = 64 << 10;

impl Driven for SpinLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        SpinLoad::check(self)
    }

    fn spec(&self) -> LoadSpec {
        LoadSpec::Spin(self.clone())
    }

    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault> {
        SpinLoad::check(self)?;
        let from_ns = monotonic_ns();
        let answer = asked(server, self.pace().seconds, course.stop);
        let to_ns = monotonic_ns();
        let outcome = Outcome { from_ns, to_ns, ..Outcome::default() };
        let broken = |cause: String| Broken {
            object: server.to_string(),
            cause,
            remedy: "check that the server is 'pinwise spin-server'".into(),
        };
        Ok(match answer.and_then(|answer| parsed(&answer)) {
            Err(why) => Document { outcome, broken: Some(broken(why)), starved: false },
            Ok(taken) => Document { outcome: of(&taken, outcome), broken: None, starved: false },
        })
    }
}

/// The outcome with what was taken.
fn of(taken: &Taken, outcome: Outcome) -> Outcome {
    let figures = taken.figures();
    let units = figures.keys().map(|name| (name.clone(), noise::unit_of(name).to_string())).collect();
    Outcome { figures, units, missing: taken.missing.clone(), ..outcome }
}

/// Asks, and waits for the answer until it is in, overdue, or `stop` becomes readable.
fn asked(server: SocketAddr, seconds: f64, stop: Option<BorrowedFd<'_>>) -> Result<String, String> {
    let mut stream =
        TcpStream::connect_timeout(&server, LATEST).map_err(|why| format!("cannot connect: {why}"))?;
    stream.write_all(format!("watch {seconds}\n").as_bytes()).map_err(|why| format!("cannot ask: {why}"))?;
    let until = Instant::now() + Duration::from_secs_f64(seconds) + LATEST;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&stream, PollFlags::IN)];
        fds.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN)));
        match poll(&mut fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(why) => return Err(format!("poll: {why}")),
            Ok(0) => return Err(format!("no answer within {} s", seconds + LATEST.as_secs_f64())),
            Ok(_) if fds.get(1).is_some_and(|stop| !stop.revents().is_empty()) => {
                return Err("stopped".into());
            }
            Ok(_) => break,
        }
    }
    // One line; a server of another kind may greet and then wait for us.
    let mut answer = String::new();
    stream.set_read_timeout(Some(LATEST)).map_err(|why| format!("its connection: {why}"))?;
    let read = BufReader::new(stream.take(LONGEST_BYTES)).read_line(&mut answer);
    read.map_err(|why| format!("the answer broke off: {why}"))?;
    Ok(answer)
}

fn parsed(answer: &str) -> Result<Taken, String> {
    if let Some(why) = answer.strip_prefix("error: ") {
        return Err(format!("it answered: {}", why.trim_end()));
    }
    let taken: Taken = serde_json::from_slice(answer.as_bytes())
        .map_err(|why| format!("'{}' is not an answer: {why}", answer.trim_end()))?;
    match taken.window_ns {
        0 => Err("it watched for no time at all".into()),
        _ => Ok(taken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_is_named() {
        assert!(parsed("error: say: watch SECONDS\n").unwrap_err().contains("it answered: say"));
        assert!(parsed("").unwrap_err().contains("not an answer"));
        assert!(parsed("hello\n").unwrap_err().contains("'hello' is not an answer"));
        let empty = serde_json::to_string(&Taken::default()).unwrap();
        assert!(parsed(&empty).unwrap_err().contains("no time"));
    }
}
