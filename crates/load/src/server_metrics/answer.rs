//! An answer of HTTP/1.1 whose body is wanted: read up to a bound, framed by its length, by chunks, or by the end of the connection. Pure.

use httparse::{EMPTY_HEADER, Header, Response, Status};

use crate::drive::answer::shown;
use crate::workloads::http::content_length;

/// A head, and a line between chunks, are not longer than this, bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// Nor has a head more fields.
const MOST_FIELDS: usize = 96;
/// A body is not longer than this, bytes.
const LONGEST_BODY: usize = 16 << 20;

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// What has come and is not taken yet.
    came: Vec<u8>,
    framing: Framing,
    body: Vec<u8>,
}

/// How the body ends, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Framing {
    /// The head is not in whole.
    #[default]
    Head,
    /// After so many more bytes.
    Sized(usize),
    /// With the connection.
    Closed,
    /// The size of a chunk comes next.
    Size,
    /// So many more bytes of a chunk, and the end of its line.
    Chunk(usize),
    EndOfChunk,
    /// What stands behind the last chunk.
    Trailers,
    /// It is in whole.
    Whole,
}

impl Answer {
    /// Takes what has come; whether the answer is in whole. The error says what is wrong with it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<bool, String> {
        self.came.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(taken) = self.step(at)? {
            at += taken;
        }
        self.came.drain(..at);
        Ok(self.framing == Framing::Whole)
    }

    /// The body, once the connection has ended. The error says that it is not in whole, or no text.
    pub(super) fn closed(self) -> Result<String, String> {
        match self.framing {
            Framing::Whole | Framing::Closed => {
                String::from_utf8(self.body).map_err(|_| "answers with what is not UTF-8 text".into())
            }
            Framing::Head if self.came.is_empty() => Err("ends the connection without an answer".into()),
            _ => Err("ends the connection in the middle of its answer".into()),
        }
    }

    /// Takes one thing from `at` on: how many bytes that were; none when more has to come.
    fn step(&mut self, at: usize) -> Result<Option<usize>, String> {
        let bytes = &self.came[at..];
        match self.framing {
            Framing::Head => {
                let Some((taken, framing)) = head(bytes)? else { return Ok(None) };
                self.framing = framing;
                Ok(Some(taken))
            }
            Framing::Whole => Ok(None),
            Framing::Sized(0) => self.goes_on(0, Framing::Whole),
            Framing::Sized(left) => self.data(at, left, Framing::Sized),
            Framing::Closed => self.data(at, usize::MAX, |_| Framing::Closed),
            Framing::Chunk(0) => self.goes_on(0, Framing::EndOfChunk),
            Framing::Chunk(left) => self.data(at, left, Framing::Chunk),
            Framing::EndOfChunk => match bytes {
                [b'\r', b'\n', ..] => self.goes_on(2, Framing::Size),
                [] | [b'\r'] => Ok(None),
                _ => Err("answers with a chunk that is longer than it says".into()),
            },
            Framing::Size => match httparse::parse_chunk_size(bytes) {
                Ok(Status::Complete((taken, 0))) => self.goes_on(taken, Framing::Trailers),
                Ok(Status::Complete((taken, size))) => {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    self.goes_on(taken, Framing::Chunk(self.bounded(size)?))
                }
                Ok(Status::Partial) => unfinished(bytes),
                Err(_) => Err("answers with a chunk whose size cannot be read".into()),
            },
            Framing::Trailers => match trailers(bytes)? {
                Some(taken) => self.goes_on(taken, Framing::Whole),
                None => Ok(None),
            },
        }
    }

    fn goes_on(&mut self, taken: usize, framing: Framing) -> Result<Option<usize>, String> {
        self.framing = framing;
        Ok(Some(taken))
    }

    /// Takes what is there of so many bytes of the body.
    fn data(
        &mut self,
        at: usize,
        left: usize,
        framing: impl Fn(usize) -> Framing,
    ) -> Result<Option<usize>, String> {
        let taken = left.min(self.came.len() - at);
        self.bounded(taken)?;
        self.body.extend_from_slice(&self.came[at..at + taken]);
        self.framing = framing(left - taken);
        Ok((taken > 0).then_some(taken))
    }

    /// The same, if so many more bytes of a body may come.
    fn bounded(&self, more: usize) -> Result<usize, String> {
        match more <= LONGEST_BODY - self.body.len() {
            true => Ok(more),
            false => Err(too_long()),
        }
    }
}

fn too_long() -> String {
    format!("answers with more than {} MiB", LONGEST_BODY >> 20)
}

fn unfinished(bytes: &[u8]) -> Result<Option<usize>, String> {
    match bytes.len() > LONGEST_HEAD {
        true => {
            Err(format!("answers with a head or a line between chunks of more than {LONGEST_HEAD} bytes"))
        }
        false => Ok(None),
    }
}

/// How long the trailers are; none when they are not in whole.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, String> {
    match httparse::parse_headers(bytes, &mut [EMPTY_HEADER; MOST_FIELDS]) {
        Ok(Status::Complete((taken, _))) => Ok(Some(taken)),
        Ok(Status::Partial) => unfinished(bytes),
        Err(why) => Err(format!("answers with malformed trailers: {why}")),
    }
}

/// How long the head is, and how its body ends; none when it is not in whole. Fails where it is no answer with a body to read.
fn head(bytes: &[u8]) -> Result<Option<(usize, Framing)>, String> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut response = Response::new(&mut fields);
    let taken = match response.parse(bytes) {
        Ok(Status::Complete(taken)) => taken,
        Ok(Status::Partial) => return unfinished(bytes).map(|_| None),
        Err(why) => return Err(format!("does not answer by HTTP/1.1: {why}")),
    };
    let fields = &*response.headers;
    match response.code.unwrap_or_default() {
        // Interim answers, but for another protocol; the head of the answer itself is to come.
        100 | 102..200 => Ok(Some((taken, Framing::Head))),
        200 => framing(fields).map(|framing| Some((taken, framing))),
        code @ 300..400 => {
            let location = field(fields, "location").map_or("nowhere".into(), shown);
            Err(format!(
                "redirects to {location} (status {code}), which is not followed: name the address itself"
            ))
        }
        code => {
            let reason = shown(response.reason.unwrap_or_default().as_bytes());
            Err(format!("answers with status {code} {reason}").trim_end().to_string())
        }
    }
}

fn field<'a>(fields: &[Header<'a>], name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

fn framing(fields: &[Header<'_>]) -> Result<Framing, String> {
    if field(fields, "content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
        return Err("answers in a compressed form, which was not asked for".into());
    }
    if let Some(coding) = field(fields, "transfer-encoding") {
        return match coding.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            true => Ok(Framing::Size),
            false => Err(format!("answers in the transfer coding '{}', which is unknown", shown(coding))),
        };
    }
    let of_name = |field: &&Header<'_>| field.name.eq_ignore_ascii_case("content-length");
    let mut lengths = fields.iter().filter(of_name).map(|field| content_length(field.value));
    match (lengths.next(), lengths.next()) {
        (None, _) => Ok(Framing::Closed),
        (Some(Some(length)), None) => match usize::try_from(length) {
            Ok(length) if length <= LONGEST_BODY => Ok(Framing::Sized(length)),
            _ => Err(too_long()),
        },
        _ => Err("answers with a Content-Length that is not one number".into()),
    }
}

#[cfg(test)]
mod tests;
