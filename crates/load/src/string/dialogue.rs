//! The string protocol as the load speaks it: a line out, a line back.

use std::sync::Arc;

use super::options::StringLoad;
use super::protocol;
use crate::drive::{Dialogue, News};

/// An answer longer than this is none, bytes.
const LONGEST_ANSWER_BYTES: usize = 64 * 1024;

/// A request line and what must come back.
#[derive(Debug)]
struct Exchange {
    request: Vec<u8>,
    /// The whole answer with its end; none when any one line will do.
    expected: Option<Vec<u8>>,
}

/// The lines to send in turn, each with its answer, so that checking costs the client a comparison.
#[derive(Debug, Clone)]
pub struct Exchanges(Arc<Vec<Exchange>>);

impl Exchanges {
    /// Those of a load. Precomputing the built-in server's answers costs what the server's work costs.
    pub fn of(load: &StringLoad) -> Self {
        let requests = match &load.request {
            Some(line) => vec![with_end(line)],
            None => (0..protocol::LINES).map(protocol::request).collect(),
        };
        let expected = |request: &[u8]| match (load.rounds, &load.expect) {
            (Some(rounds), _) => {
                let mut answer = Vec::new();
                protocol::answer(&request[..request.len() - 1], rounds, &mut answer);
                Some(answer)
            }
            (None, Some(line)) => Some(with_end(line)),
            (None, None) => None,
        };
        let exchange = |request: Vec<u8>| Exchange { expected: expected(&request), request };
        Self(Arc::new(requests.into_iter().map(exchange).collect()))
    }
}

fn with_end(line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

/// One connection of the string load.
#[derive(Debug)]
pub struct StringDialogue {
    exchanges: Exchanges,
    /// The one that is asked.
    now: usize,
}

impl StringDialogue {
    /// A connection that sends these in turn.
    pub fn new(exchanges: Exchanges) -> Self {
        Self { exchanges, now: 0 }
    }
}

impl Dialogue for StringDialogue {
    fn ask(&mut self, _: u32, number: u64, out: &mut Vec<u8>) {
        let exchanges = &self.exchanges.0;
        self.now = (number % exchanges.len() as u64) as usize;
        out.extend_from_slice(&exchanges[self.now].request);
    }

    fn hear(&mut self, came: &[u8], _: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let expected = self.exchanges.0[self.now].expected.as_deref();
        match judge(came, expected) {
            None => return 0,
            Some(true) => news.push(News::Answered(0)),
            Some(false) => news.push(News::Wrong(0, difference(came, expected))),
        }
        came.len()
    }
}

fn difference(came: &[u8], expected: Option<&[u8]>) -> String {
    let shown = String::from_utf8_lossy(&came[..came.len().min(100)]);
    match expected {
        Some(expected) => {
            format!("the first was {shown:?} in place of {:?}", String::from_utf8_lossy(expected))
        }
        None => format!("the first was {shown:?} in place of one line"),
    }
}

/// Whether the bytes so far are the right answer; none when more must come.
fn judge(answer: &[u8], expected: Option<&[u8]>) -> Option<bool> {
    match (answer.iter().position(|b| *b == b'\n'), expected) {
        (Some(end), None) => Some(end + 1 == answer.len()),
        (Some(_), Some(expected)) => Some(answer == expected),
        (None, Some(expected)) if !expected.starts_with(answer) => Some(false),
        (None, _) if answer.len() > LONGEST_ANSWER_BYTES => Some(false),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_when_whole() {
        assert_eq!(judge(b"abc\n", Some(b"abc\n")), Some(true));
        assert_eq!(judge(b"ab", Some(b"abc\n")), None);
        assert_eq!(judge(b"abd", Some(b"abc\n")), Some(false));
        assert_eq!(judge(b"abc\nx", Some(b"abc\n")), Some(false), "more than was asked for");
        assert_eq!(judge(b"anything\n", None), Some(true));
        assert_eq!(judge(b"two\nlines\n", None), Some(false));
        assert_eq!(judge(&vec![b'x'; LONGEST_ANSWER_BYTES + 1], None), Some(false));
    }

    #[test]
    fn a_line_goes_out_and_its_answer_is_known() {
        let exchanges = Exchanges::of(&StringLoad { rounds: Some(3), ..StringLoad::default() });
        let (mut dialogue, mut out, mut news) = (StringDialogue::new(exchanges), Vec::new(), Vec::new());
        for number in [0, 1, protocol::LINES as u64 + 1] {
            out.clear();
            dialogue.ask(0, number, &mut out);
            let mut answer = Vec::new();
            protocol::answer(&out[..out.len() - 1], 3, &mut answer);
            assert_eq!(dialogue.hear(&answer[..2], &mut Vec::new(), &mut news), 0);
            assert_eq!(dialogue.hear(&answer, &mut Vec::new(), &mut news), answer.len());
            assert_eq!(news.pop(), Some(News::Answered(0)));
        }
        assert!(dialogue.hear(b"no\n", &mut Vec::new(), &mut news) == 3);
        assert!(
            matches!(&news[0], News::Wrong(0, words) if words.contains("\"no\\n\" in place of")),
            "{news:?}"
        );
    }
}
