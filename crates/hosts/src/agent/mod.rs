//! The agent: pinwise on another host, which does what a controller asks over standard streams (`pinwise agent`).
//!
//! It trusts its controller as a shell would: whoever can start it could start anything. It trusts nothing else, and leaves nothing
//! behind: see [`run`].

mod load_parts;
mod machine_facts;

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use load::monotonic_ns;
use machine::{Class, Fault};

use self::load_parts::LoadParts;
use crate::protocol::{Answer, Ask, Failure, Line, PROTOCOL, Reply, Request};
use crate::wire;

/// The verb of the binary that is the agent.
pub const VERB: &str = "agent";

/// How long an agent waits for the first line, and for others until it is told otherwise.
const FIRST_SILENCE: Duration = Duration::from_secs(30);

/// The silences that a controller may ask for, s.
const SILENCES_S: std::ops::RangeInclusive<f64> = 1.0..=600.0;

/// How often a running load is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often an idle agent looks at the flag of signals.
const IDLE: Duration = Duration::from_millis(200);

/// What came in.
enum Heard {
    Request(Request),
    /// The input has ended, or is none of a controller's.
    End(Option<Fault>),
}

/// Answers requests of `input` on `output` until the controller says [`Ask::Bye`], the input ends, nothing is heard for as long as the
/// controller said, or `interrupted` is raised. However it ends, the load is ended and what was changed is taken back first.
///
/// # Errors
/// The input is no controller's; something could not be taken back, which the ledger of this host keeps for `pinwise undo`.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
    interrupted: &AtomicBool,
) -> Result<(), Fault> {
    let heard = listen(input);
    let mut agent =
        Agent { parts: LoadParts::default(), silence: FIRST_SILENCE, heard_at: Instant::now(), over: false };
    let ended = agent.serve(&heard, output, interrupted);
    let left = agent.parts.take_back();
    match (ended, left.is_empty()) {
        (ended, true) => ended,
        (_, false) => Err(Fault::new(
            Class::No,
            "this host",
            format!("not everything could be taken back: {}", left.join("; ")),
            "run 'pinwise undo' there",
        )),
    }
}

/// Reads on a thread of its own, which ends with its input or the process.
fn listen(mut input: impl BufRead + Send + 'static) -> Receiver<Heard> {
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || {
        loop {
            let (next, is_last) = match wire::receive(&mut input, "the controller") {
                Ok(Some(request)) => (Heard::Request(request), false),
                Ok(None) => (Heard::End(None), true),
                Err(fault) => (Heard::End(Some(fault)), true),
            };
            if send.send(next).is_err() || is_last {
                return;
            }
        }
    });
    heard
}

struct Agent {
    parts: LoadParts,
    silence: Duration,
    heard_at: Instant,
    over: bool,
}

impl Agent {
    fn serve(
        &mut self,
        heard: &Receiver<Heard>,
        output: &mut dyn Write,
        interrupted: &AtomicBool,
    ) -> Result<(), Fault> {
        while !self.over {
            if interrupted.load(Ordering::Relaxed) || self.heard_at.elapsed() > self.silence {
                return Ok(());
            }
            let wait = if self.parts.is_running() { LOOK_EVERY } else { IDLE };
            let said = match heard.recv_timeout(wait) {
                Ok(Heard::Request(request)) => Some(self.answer(request, monotonic_ns())),
                Ok(Heard::End(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Heard::End(Some(fault))) => return Err(fault),
                Err(RecvTimeoutError::Timeout) => None,
            };
            let ended = self.parts.poll().map(|parts| Line::Ended { parts });
            for line in said.into_iter().chain(ended) {
                if wire::send(output, &line).is_err() {
                    // Nobody reads: the controller is gone.
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: Request, received_ns: u64) -> Line {
        self.heard_at = Instant::now();
        let result = match self.done(request.ask, received_ns) {
            Ok(answer) => Reply::Done(answer),
            Err(fault) => Reply::Failed(Failure::from(&fault)),
        };
        Line::Reply { id: request.id, result }
    }

    fn done(&mut self, ask: Ask, received_ns: u64) -> Result<Answer, Fault> {
        Ok(match ask {
            Ask::Hello { protocol, silence_s } => {
                self.silence = silence_asked(protocol, silence_s)?;
                Answer::Hello(machine_facts::hello()?)
            }
            Ask::Clock => Answer::Clock { received_ns, sent_ns: monotonic_ns() },
            Ask::Capture => Answer::Capture { archive: machine_facts::capture()? },
            Ask::Prepare(prepare) => Answer::Prepared { cpus: self.parts.prepare(prepare)? },
            Ask::Start { at_ns } => {
                self.parts.start(at_ns)?;
                Answer::Started
            }
            Ask::Stop => {
                self.parts.stop();
                Answer::Stopped
            }
            Ask::Undo => Answer::Undone { left: self.parts.take_back() },
            Ask::Bye => {
                self.over = true;
                Answer::Undone { left: self.parts.take_back() }
            }
        })
    }
}

/// # Errors
/// The controller speaks another protocol, or asks for a silence that makes no sense.
fn silence_asked(protocol: u32, silence_s: f64) -> Result<Duration, Fault> {
    if protocol != PROTOCOL {
        let cause = format!("the controller speaks protocol {protocol}, this pinwise {PROTOCOL}");
        let remedy = "remove the copy of pinwise on that host, so that it is copied again";
        return Err(Fault::new(Class::MachineLacks, "agent", cause, remedy));
    }
    if !SILENCES_S.contains(&silence_s) {
        let remedy = format!("choose {} to {} s", SILENCES_S.start(), SILENCES_S.end());
        return Err(Fault::new(Class::Usage, format!("silence of {silence_s} s"), "out of range", remedy));
    }
    Ok(Duration::from_secs_f64(silence_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Hello;

    fn lines(asks: Vec<Ask>) -> (Vec<Line>, Result<(), Fault>) {
        let mut input = Vec::new();
        for (id, ask) in asks.into_iter().enumerate() {
            wire::send(&mut input, &Request { id: id as u64, ask }).unwrap();
        }
        let mut output = Vec::new();
        let ended = run(std::io::Cursor::new(input), &mut output, &AtomicBool::new(false));
        let mut read = &output[..];
        let lines = std::iter::from_fn(|| wire::receive(&mut read, "agent").unwrap()).collect();
        (lines, ended)
    }

    fn hello() -> Ask {
        Ask::Hello { protocol: PROTOCOL, silence_s: 5.0 }
    }

    #[test]
    fn it_says_who_it_is_and_what_its_clock_reads_and_ends_with_its_input() {
        let before_ns = monotonic_ns();
        let (lines, ended) = lines(vec![hello(), Ask::Clock]);
        ended.unwrap();
        let [Line::Reply { id: 0, result: Reply::Done(Answer::Hello(Hello { boot_id, .. })) }, clock] =
            &lines[..]
        else {
            panic!("{lines:?}")
        };
        assert!(!boot_id.is_empty());
        let Line::Reply { result: Reply::Done(Answer::Clock { received_ns, sent_ns }), .. } = clock else {
            panic!("{clock:?}")
        };
        assert!(before_ns <= *received_ns && received_ns <= sent_ns && *sent_ns <= monotonic_ns());
    }

    #[test]
    fn another_protocol_and_a_senseless_silence_are_refused() {
        let (answers, _) = lines(vec![
            Ask::Hello { protocol: PROTOCOL + 1, silence_s: 5.0 },
            Ask::Hello { protocol: PROTOCOL, silence_s: 0.5 },
            Ask::Start { at_ns: 0 },
        ]);
        assert!(answers.iter().all(|line| matches!(line, Line::Reply { result: Reply::Failed(_), .. })));
        assert_eq!(answers.len(), 3, "{answers:?}");
    }

    #[test]
    fn bye_is_answered_and_what_comes_after_it_is_not() {
        let (answers, ended) = lines(vec![hello(), Ask::Bye, Ask::Clock]);
        ended.unwrap();
        let last = &answers.last().unwrap();
        assert!(answers.len() == 2, "{answers:?}");
        assert!(
            matches!(last, Line::Reply { result: Reply::Done(Answer::Undone { left }), .. } if left.is_empty())
        );
    }

    #[test]
    fn silence_ends_it() {
        /// An input that never ends and never says anything.
        struct Silent;
        impl std::io::Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                std::thread::park();
                Ok(0)
            }
        }
        let heard = listen(std::io::BufReader::new(Silent));
        let mut agent = Agent {
            parts: LoadParts::default(),
            silence: Duration::from_millis(1),
            heard_at: Instant::now(),
            over: false,
        };
        agent.serve(&heard, &mut Vec::new(), &AtomicBool::new(false)).unwrap();
    }

    #[test]
    fn what_is_no_controller_is_an_error() {
        let fault = run(std::io::Cursor::new(b"hello\n".to_vec()), &mut Vec::new(), &AtomicBool::new(false))
            .unwrap_err();
        assert!(fault.to_string().contains("the controller"), "{fault}");
    }
}
