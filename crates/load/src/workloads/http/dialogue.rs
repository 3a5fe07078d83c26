//! The client's side of a connection with HTTP/1.1.

use std::net::SocketAddr;
use std::sync::Arc;

use httparse::{EMPTY_HEADER, Header, Response, Status};
use machine::Fault;

use super::body::{Body, Chunk, Piece};
use super::options::HttpLoad;
use crate::drive::answer::shown;
use crate::drive::{Dialogue, News, Refusal};

/// An answer's head is not longer than this, bytes.
const LONGEST_HEAD_BYTES: usize = 64 << 10;
/// Of a body that differs so much is shown, bytes.
const SHOWN_BYTES: usize = 40;
/// Nor has it more header fields.
const MOST_FIELDS: usize = 96;

/// The request and the answer that has to come back, worked out once for all connections.
#[derive(Debug)]
pub struct Plan {
    request: Vec<u8>,
    /// Whether answers have no body whatever they say: HEAD.
    bodiless: bool,
    status: u16,
    body: Option<Vec<u8>>,
}

impl Plan {
    /// Of these options, for this server. Fails, naming the key, when one makes no sense.
    pub fn of(load: &HttpLoad, server: SocketAddr) -> Result<Arc<Self>, Fault> {
        load.check_request()?;
        Ok(Arc::new(Self {
            request: load.request(server),
            bodiless: load.method == "HEAD",
            status: load.status,
            body: load.expect_body.as_ref().map(|body| body.clone().into_bytes()),
        }))
    }
}

/// What is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing.
    Idle,
    /// A request; the head of its answer is not in whole.
    Head,
    /// A request; of its answer's body so many bytes are in.
    Body(Body, usize),
    /// Nothing more can come of this connection.
    Over,
}

/// One connection's client.
#[derive(Debug)]
pub struct Http {
    plan: Arc<Plan>,
    step: Step,
    /// Whether the server keeps the connection after this answer.
    kept: bool,
    first_answer: Option<String>,
}

/// What an answer's head says.
struct Head {
    bytes: usize,
    status: u16,
    reason: String,
    body: Body,
    kept: bool,
}

impl Http {
    /// A client that asks as planned.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan, step: Step::Idle, kept: true, first_answer: None }
    }

    /// Takes the start of `bytes`: how many they were, none when more has to come, and what they mean. Fails with why the connection is
    /// no use any more.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<(usize, Option<News>)>, String> {
        match self.step {
            Step::Idle => Err("bytes came though nothing was asked".into()),
            Step::Over => Ok(Some((bytes.len(), None))),
            Step::Head => self.take_head(bytes),
            Step::Body(mut body, at) => {
                let piece = body.take(bytes).map_err(|why| format!("no HTTP/1.1: {why}"))?;
                self.step = Step::Body(body, at);
                Ok(match piece {
                    Piece::Torn => None,
                    Piece::Framing(n) => Some((n, None)),
                    Piece::End(n) => Some((n, Some(self.ended(at)))),
                    Piece::Data(n, data) => {
                        let in_whole = body == Body::Sized(0);
                        self.step = Step::Body(body, at + n);
                        let differs = self.differs(at, data).map(|why| News::Wrong(0, why));
                        Some((n, differs.or_else(|| in_whole.then(|| self.ended(at + n)))))
                    }
                })
            }
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<(usize, Option<News>)>, String> {
        let Some(head) = head(bytes, self.plan.bodiless)? else {
            return match bytes.len() > LONGEST_HEAD_BYTES {
                true => Err(format!("the head of an answer has no end after {LONGEST_HEAD_BYTES} bytes")),
                false => Ok(None),
            };
        };
        // Interim answers; 101 would be another protocol from here on.
        if (100..200).contains(&head.status) && head.status != 101 {
            return Ok(Some((head.bytes, None)));
        }
        self.kept = head.kept;
        self.step = Step::Body(head.body, 0);
        let is_first = self.first_answer.is_none();
        if is_first {
            let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
            self.first_answer = Some(shown(line));
        }
        let news = match head.status == self.plan.status {
            true => (head.body == Body::Sized(0)).then(|| self.ended(0)),
            false if is_first && head.status >= 400 => Some(News::Refused(self.refusal())),
            false => {
                let came = format!("{} {}", head.status, head.reason);
                Some(News::Wrong(
                    0,
                    format!("status {}, where {} has to be", came.trim_end(), self.plan.status),
                ))
            }
        };
        Ok(Some((head.bytes, news)))
    }

    fn refusal(&self) -> Refusal {
        let first = self.first_answer.as_deref().unwrap_or_default();
        Refusal {
            cause: format!(
                "the first answer is an error: '{first}'; the load expects status {}",
                self.plan.status
            ),
            remedy: "correct path, method, headers or body; if this answer is right, say so with key status",
        }
    }

    fn ended(&self, length: usize) -> News {
        match &self.plan.body {
            Some(expected) if expected.len() != length => {
                News::Wrong(0, format!("a body of {length} bytes, where {} have to be", expected.len()))
            }
            _ => News::Answered(0),
        }
    }

    /// Why this piece of a body, which begins there, is not the expected one.
    fn differs(&self, at: usize, piece: &[u8]) -> Option<String> {
        let expected = self.plan.body.as_ref()?.get(at..).unwrap_or_default();
        match expected.starts_with(piece) {
            true => None,
            false => {
                let same = expected.iter().zip(piece).take_while(|(a, b)| a == b).count();
                let came = &piece[same..piece.len().min(same + SHOWN_BYTES)];
                Some(format!(
                    "the body differs from byte {} on: '{}'",
                    at + same,
                    String::from_utf8_lossy(came)
                ))
            }
        }
    }
}

/// Reads an answer's head; none when it is not there in whole. Fails with what is wrong with it.
fn head(bytes: &[u8], bodiless: bool) -> Result<Option<Head>, String> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut response = Response::new(&mut fields);
    let n = match response.parse(bytes) {
        Ok(Status::Complete(n)) => n,
        Ok(Status::Partial) => return Ok(None),
        Err(why) => return Err(format!("no HTTP/1.1: {why}")),
    };
    let status = response.code.unwrap_or_default();
    let bare = bodiless || matches!(status, 100..200 | 204 | 304);
    let body = if bare { Body::Sized(0) } else { body_of(response.headers)? };
    let kept = match response.version {
        Some(1) => !names(response.headers, "connection", "close"),
        _ => names(response.headers, "connection", "keep-alive"),
    };
    Ok(Some(Head { bytes: n, status, reason: response.reason.unwrap_or_default().into(), body, kept }))
}

fn body_of(fields: &[Header<'_>]) -> Result<Body, String> {
    if names(fields, "transfer-encoding", "chunked") {
        return Ok(Body::Chunked(Chunk::Size));
    }
    let of_name = |field: &&Header<'_>| field.name.eq_ignore_ascii_case("content-length");
    let mut lengths = fields.iter().filter(of_name).map(|field| content_length(field.value));
    match (lengths.next(), lengths.next()) {
        (Some(Some(length)), None) => Ok(Body::Sized(length)),
        (None, _) => {
            Err("the answer does not say how long it is (neither Content-Length nor chunked)".into())
        }
        _ => Err("the answer's Content-Length is not one number".into()),
    }
}

/// The number that a Content-Length says; none where it is not one number.
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Whether a header field has this word among those that commas part.
fn names(fields: &[Header<'_>], name: &str, word: &str) -> bool {
    fields
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case(name))
        .flat_map(|field| field.value.split(|b| *b == b','))
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

impl Dialogue for Http {
    fn open(&mut self, _out: &mut Vec<u8>) -> bool {
        (self.step, self.kept) = (Step::Idle, true);
        true
    }

    fn ask(&mut self, _lane: u32, _number: u64, out: &mut Vec<u8>) {
        self.step = Step::Head;
        out.extend_from_slice(&self.plan.request);
    }

    fn goes_on(&self) -> bool {
        self.kept
    }

    fn first_answer(&self) -> Option<&str> {
        self.first_answer.as_deref()
    }

    fn hear(&mut self, came: &[u8], _out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let mut at = 0;
        while at < came.len() {
            let item = match self.take(&came[at..]) {
                Ok(Some((n, item))) => {
                    at += n;
                    item
                }
                Ok(None) => return at,
                Err(why) => Some(News::Over(why)),
            };
            let Some(item) = item else { continue };
            self.step = match item {
                News::Ready | News::Answered(_) => Step::Idle,
                // What else comes belongs to nobody: the engine makes the connection anew.
                News::Wrong(..) | News::Refused(_) | News::Over(_) => Step::Over,
            };
            news.push(item);
        }
        at
    }
}

#[cfg(test)]
mod tests;
