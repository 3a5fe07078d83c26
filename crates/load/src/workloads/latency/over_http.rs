//! Messages with the protocol of an application around them: each is the body of a request of HTTP/1.1, and of its answer.

use std::io::Write;
use std::net::SocketAddr;
use std::ops::Range;

use httparse::{EMPTY_HEADER, Header, Request, Response, Status};

use super::dialogue::EchoDialogue;
use super::options::LARGEST_MESSAGE_BYTES;
use crate::drive::{Dialogue, News};
use crate::workloads::http::content_length;

/// A head is not longer than this, bytes.
const LONGEST_HEAD_BYTES: usize = 8 << 10;

/// Nor has it more fields.
const MOST_FIELDS: usize = 32;

/// One connection of the latency load over HTTP.
#[derive(Debug)]
pub(crate) struct HttpEchoDialogue {
    inner: EchoDialogue,
    message_bytes: usize,
    head: Vec<u8>,
}

impl HttpEchoDialogue {
    /// With messages of this length, of which `lanes` may be under way: answers come in the order of the requests.
    pub(super) fn new(message_bytes: usize, lanes: u32, server: SocketAddr) -> Self {
        let head = format!("POST / HTTP/1.1\r\nHost: {server}\r\nContent-Length: {message_bytes}\r\n\r\n");
        Self { inner: EchoDialogue::new(message_bytes, lanes), message_bytes, head: head.into_bytes() }
    }
}

impl Dialogue for HttpEchoDialogue {
    fn lanes(&self) -> u32 {
        self.inner.lanes()
    }

    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        self.inner.open(out)
    }

    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        self.inner.ask(lane, number, out);
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let mut understood = 0;
        loop {
            let rest = &came[understood..];
            let words = match answer_in(rest) {
                Ok(None) => return understood,
                Ok(Some(body)) if body.len() == self.message_bytes => {
                    understood += body.end;
                    self.inner.hear(&rest[body], out, news);
                    continue;
                }
                Ok(Some(body)) => format!("an answer has {} bytes, not {}", body.len(), self.message_bytes),
                Err(why) => format!("what came is not an answer of HTTP/1.1: {why}"),
            };
            news.push(News::Over(words));
            return came.len();
        }
    }
}

/// Takes whole requests off the start of what came, and puts the answer to each behind `answers`; gives how many bytes were taken. Fails
/// when what came is no request, and nothing more can come of the connection.
pub(super) fn answer(came: &[u8], answers: &mut Vec<u8>) -> Result<usize, String> {
    let mut taken = 0;
    while let Some(body) = request_in(&came[taken..])? {
        let message = &came[taken + body.start..taken + body.end];
        // Writing to a Vec cannot fail.
        let _ = write!(answers, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", message.len());
        answers.extend_from_slice(message);
        taken += body.end;
    }
    Ok(taken)
}

/// Where the body of the first answer lies; none while it is not in whole.
fn answer_in(came: &[u8]) -> Result<Option<Range<usize>>, String> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut answer = Response::new(&mut fields);
    match answer.parse(came).map_err(|why| why.to_string())? {
        Status::Partial => unfinished(came),
        Status::Complete(from) => match answer.code {
            Some(200) => body_of(came, from, answer.headers),
            code => Err(format!("its status is {}", code.unwrap_or_default())),
        },
    }
}

/// Where the body of the first request lies; none while it is not in whole.
fn request_in(came: &[u8]) -> Result<Option<Range<usize>>, String> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut request = Request::new(&mut fields);
    match request.parse(came).map_err(|why| why.to_string())? {
        Status::Partial => unfinished(came),
        Status::Complete(from) => match request.method {
            Some("POST") => body_of(came, from, request.headers),
            _ => Err("its method is not POST".into()),
        },
    }
}

fn unfinished(came: &[u8]) -> Result<Option<Range<usize>>, String> {
    match came.len() > LONGEST_HEAD_BYTES {
        true => Err(format!("its head is longer than {LONGEST_HEAD_BYTES} bytes")),
        false => Ok(None),
    }
}

/// The body behind a head that ends at `from`, if all of it came.
fn body_of(came: &[u8], from: usize, fields: &[Header<'_>]) -> Result<Option<Range<usize>>, String> {
    let said = fields.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length = said
        .and_then(|field| content_length(field.value))
        .filter(|length| *length <= u64::from(LARGEST_MESSAGE_BYTES))
        .ok_or("it does not say how long its body is, or the body is too long")? as usize;
    Ok((came.len().saturating_sub(from) >= length).then_some(from..from + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::dialogue::hear_in_parts;

    fn dialogue() -> HttpEchoDialogue {
        let mut dialogue = HttpEchoDialogue::new(20, 2, SocketAddr::from(([127, 0, 0, 1], 80)));
        assert!(dialogue.open(&mut Vec::new()));
        dialogue
    }

    /// Two requests, and the answers to them.
    fn asked(dialogue: &mut HttpEchoDialogue) -> (Vec<u8>, Vec<u8>) {
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        dialogue.ask(0, 7, &mut requests);
        dialogue.ask(1, 8, &mut requests);
        assert_eq!(answer(&requests, &mut answers), Ok(requests.len()));
        (requests, answers)
    }

    fn heard(answers: &[u8]) -> Vec<News> {
        let mut news = Vec::new();
        let mut dialogue = dialogue();
        asked(&mut dialogue);
        dialogue.hear(answers, &mut Vec::new(), &mut news);
        news
    }

    #[test]
    fn what_is_no_request_is_not_answered() {
        let taken = |came: &str| answer(came.as_bytes(), &mut Vec::new());
        assert_eq!(taken("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), Ok(0), "a body in part");
        assert_eq!(taken("POST / HT"), Ok(0), "a head in part");
        assert!(taken("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").unwrap_err().contains("POST"));
        assert!(taken("POST / HTTP/1.1\r\n\r\n").unwrap_err().contains("how long"));
        assert!(
            taken("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n").unwrap_err().contains("too long")
        );
        assert!(taken(&format!("POST /{}", "x".repeat(9000))).unwrap_err().contains("longer"));
        assert!(taken("\0\0\0").is_err());
    }

    #[test]
    fn what_is_no_answer_ends_the_connection() {
        let over = |answers: &str| matches!(&heard(answers.as_bytes())[..], [News::Over(_)]);
        assert!(over("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
        assert!(over("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"));
        assert!(over("-ERR unknown\r\n"));
    }

    proptest::proptest! {
        #[test]
        fn answers_in_any_parts_are_the_same(cuts in proptest::collection::vec(0usize..1000, 0..5)) {
            let mut dialogue = dialogue();
            let (_, answers) = asked(&mut dialogue);
            let news = hear_in_parts(&mut dialogue, &answers, &cuts, &mut Vec::new());
            proptest::prop_assert_eq!(news, vec![News::Answered(0), News::Answered(1)]);
        }

        #[test]
        fn no_bytes_make_either_end_panic(came in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = answer(&came, &mut Vec::new());
            heard(&came);
        }
    }
}
