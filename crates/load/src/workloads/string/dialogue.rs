//! The string protocol as the load speaks it: a line out, a line back.

use std::sync::Arc;

use super::options::StringLoad;
use super::protocol;
use crate::drive::answer::{protocol_of_error, shown};
use crate::drive::{Dialogue, News, Refusal};

/// An answer longer than this is none, bytes.
const LONGEST_ANSWER_BYTES: usize = 64 * 1024;

/// A request line and what must come back.
#[derive(Debug)]
struct Exchange {
    request: Vec<u8>,
    expected: Expected,
}

/// Which answers are right.
#[derive(Debug)]
enum Expected {
    /// Any one line.
    AnyLine,
    /// This one, with its end.
    Line(Vec<u8>),
    /// One that begins with this.
    Prefix(Vec<u8>),
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
        let expected = |request: &[u8]| match (load.rounds, &load.expect, &load.expect_prefix) {
            (Some(rounds), ..) => {
                let mut answer = Vec::new();
                protocol::answer(&request[..request.len() - 1], rounds, &mut answer);
                Expected::Line(answer)
            }
            (None, Some(line), _) => Expected::Line(with_end(line)),
            (None, None, Some(prefix)) => Expected::Prefix(prefix.clone().into_bytes()),
            (None, None, None) => Expected::AnyLine,
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
    first_answer: Option<String>,
}

impl StringDialogue {
    /// A connection that sends these in turn.
    pub fn new(exchanges: Exchanges) -> Self {
        Self { exchanges, now: 0, first_answer: None }
    }
}

impl Dialogue for StringDialogue {
    fn ask(&mut self, _: u32, number: u64, out: &mut Vec<u8>) {
        let exchanges = &self.exchanges.0;
        self.now = (number % exchanges.len() as u64) as usize;
        out.extend_from_slice(&exchanges[self.now].request);
    }

    fn hear(&mut self, came: &[u8], _: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let expected = &self.exchanges.0[self.now].expected;
        let Some(is_right) = judge(came, expected) else { return 0 };
        let refusal = match self.first_answer {
            Some(_) => None,
            None => {
                self.first_answer = Some(shown(came));
                refusal(came, expected)
            }
        };
        news.push(match (refusal, is_right) {
            (Some(refusal), _) => News::Refused(refusal),
            (None, true) => News::Answered(0),
            (None, false) => News::Wrong(0, difference(came, expected)),
        });
        came.len()
    }

    fn first_answer(&self) -> Option<&str> {
        self.first_answer.as_deref()
    }
}

/// Why a first answer is an error, where nothing says what is right.
fn refusal(came: &[u8], expected: &Expected) -> Option<Refusal> {
    let protocol = protocol_of_error(came).filter(|_| matches!(expected, Expected::AnyLine))?;
    let remedy = "give a request that this server answers (key request), or another driver; if this answer is right, say so with key \
                  expect_prefix or expect";
    Some(Refusal {
        cause: format!("the first answer looks like an error of {protocol}: '{}'", shown(came)),
        remedy,
    })
}

fn difference(came: &[u8], expected: &Expected) -> String {
    let shown = String::from_utf8_lossy(&came[..came.len().min(100)]);
    match expected {
        Expected::Line(line) => {
            format!("the first was {shown:?} in place of {:?}", String::from_utf8_lossy(line))
        }
        Expected::Prefix(prefix) => {
            format!(
                "the first was {shown:?} in place of a line that begins with {:?}",
                String::from_utf8_lossy(prefix)
            )
        }
        Expected::AnyLine => format!("the first was {shown:?} in place of one line"),
    }
}

/// Whether the bytes so far are the right answer; none when more must come.
fn judge(answer: &[u8], expected: &Expected) -> Option<bool> {
    match (answer.iter().position(|b| *b == b'\n'), expected) {
        (Some(end), Expected::AnyLine) => Some(end + 1 == answer.len()),
        (Some(end), Expected::Prefix(prefix)) => Some(end + 1 == answer.len() && answer.starts_with(prefix)),
        (Some(_), Expected::Line(line)) => Some(answer == line),
        (None, Expected::Line(line)) if !line.starts_with(answer) => Some(false),
        (None, Expected::Prefix(prefix))
            if !prefix.starts_with(&answer[..answer.len().min(prefix.len())]) =>
        {
            Some(false)
        }
        (None, _) if answer.len() > LONGEST_ANSWER_BYTES => Some(false),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_when_whole() {
        let (any, line) = (Expected::AnyLine, Expected::Line(b"abc\n".to_vec()));
        assert_eq!(judge(b"abc\n", &line), Some(true));
        assert_eq!(judge(b"ab", &line), None);
        assert_eq!(judge(b"abd", &line), Some(false));
        assert_eq!(judge(b"abc\nx", &line), Some(false), "more than was asked for");
        assert_eq!(judge(b"anything\n", &any), Some(true));
        assert_eq!(judge(b"two\nlines\n", &any), Some(false));
        assert_eq!(judge(&vec![b'x'; LONGEST_ANSWER_BYTES + 1], &any), Some(false));
        let prefix = Expected::Prefix(b"+OK".to_vec());
        assert_eq!(judge(b"+OK 5\r\n", &prefix), Some(true));
        assert_eq!(judge(b"+OK 5", &prefix), None);
        assert_eq!(judge(b"+", &prefix), None);
        assert_eq!(judge(b"-", &prefix), Some(false));
        assert_eq!(judge(b"+O\n", &prefix), Some(false));
        assert_eq!(judge(b"+OK\n+OK\n", &prefix), Some(false));
    }

    fn heard(load: StringLoad, answers: &[&[u8]]) -> (Vec<News>, Option<String>) {
        let mut dialogue = StringDialogue::new(Exchanges::of(&load));
        let mut news = Vec::new();
        for answer in answers {
            dialogue.ask(0, 0, &mut Vec::new());
            dialogue.hear(answer, &mut Vec::new(), &mut news);
        }
        (news, dialogue.first_answer().map(String::from))
    }

    #[test]
    fn a_first_answer_that_is_an_error_is_refused_unless_it_is_declared() {
        let error: &[u8] = b"-ERR unknown command\r\n";
        let (news, first) = heard(StringLoad::default(), &[error]);
        let [News::Refused(refusal)] = &news[..] else { panic!("{news:?}") };
        assert!(
            refusal.cause.contains(r"'-ERR unknown command\r\n'") && refusal.cause.contains("Redis"),
            "{refusal:?}"
        );
        assert!(refusal.remedy.contains("expect_prefix"), "{refusal:?}");
        assert_eq!(first.unwrap(), r"-ERR unknown command\r\n");
        let page: &[u8] = b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n";
        assert!(matches!(&heard(StringLoad::default(), &[page]).0[..], [News::Refused(_)]));
        let declared = StringLoad { expect_prefix: Some("-ERR".into()), ..StringLoad::default() };
        assert_eq!(heard(declared.clone(), &[error, error]).0, [News::Answered(0), News::Answered(0)]);
        let (news, _) = heard(declared, &[error, b"+OK\r\n"]);
        assert!(
            matches!(&news[..], [News::Answered(0), News::Wrong(0, words)] if words.contains("begins with")),
            "{news:?}"
        );
        let (news, first) = heard(StringLoad::default(), &[b"+OK\r\n", error]);
        assert_eq!((news.len(), first.unwrap()), (2, r"+OK\r\n".to_string()));
        assert!(
            !news.iter().any(|item| matches!(item, News::Refused(_))),
            "the first answer alone is judged: {news:?}"
        );
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
