//! The body of an answer: where it ends (RFC 9112, 6), and whether it is the expected one.

use httparse::{EMPTY_HEADER, Status};

/// A chunk's size line, or the trailers behind the last chunk, are not longer than this, bytes.
const LONGEST_LINES_BYTES: usize = 64 << 10;

/// How a body ends, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// After so many more bytes.
    Sized(u64),
    /// Chunk by chunk.
    Chunked(Chunk),
}

/// What of chunks comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The size of a chunk.
    Size,
    /// So many more bytes of one.
    Data(u64),
    /// The end of its line.
    End,
    /// What stands behind the last one.
    Trailers,
}

/// What some bytes were.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// So many bytes are a piece of the body.
    Data(usize, &'a [u8]),
    /// So many bytes say how it goes on.
    Framing(usize),
    /// So many bytes, and it is at its end.
    End(usize),
    /// More has to come.
    Torn,
}

impl Body {
    /// Takes the start of `bytes`. Fails with what is wrong with it.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> Result<Piece<'a>, String> {
        match self {
            Self::Sized(0) => Ok(Piece::End(0)),
            Self::Sized(left) => Ok(data(left, bytes)),
            Self::Chunked(chunk) => chunk.take(bytes),
        }
    }
}

impl Chunk {
    fn take<'a>(&mut self, bytes: &'a [u8]) -> Result<Piece<'a>, String> {
        match self {
            Self::Data(left) => {
                let piece = data(left, bytes);
                if *left == 0 {
                    *self = Self::End;
                }
                Ok(piece)
            }
            Self::Size => match httparse::parse_chunk_size(bytes) {
                Ok(Status::Complete((n, size))) => {
                    *self = if size == 0 { Self::Trailers } else { Self::Data(size) };
                    Ok(Piece::Framing(n))
                }
                Ok(Status::Partial) => unfinished(bytes),
                Err(_) => Err("the size of a chunk cannot be read".into()),
            },
            Self::End => match bytes {
                [b'\r', b'\n', ..] => {
                    *self = Self::Size;
                    Ok(Piece::Framing(2))
                }
                [] | [b'\r'] => Ok(Piece::Torn),
                _ => Err("a chunk is longer than it says".into()),
            },
            Self::Trailers => match httparse::parse_headers(bytes, &mut [EMPTY_HEADER; 64]) {
                Ok(Status::Complete((n, _))) => Ok(Piece::End(n)),
                Ok(Status::Partial) => unfinished(bytes),
                Err(why) => Err(format!("trailers behind the last chunk: {why}")),
            },
        }
    }
}

fn data<'a>(left: &mut u64, bytes: &'a [u8]) -> Piece<'a> {
    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
    *left -= n as u64;
    match n {
        0 => Piece::Torn,
        n => Piece::Data(n, &bytes[..n]),
    }
}

fn unfinished<'a>(bytes: &[u8]) -> Result<Piece<'a>, String> {
    match bytes.len() > LONGEST_LINES_BYTES {
        true => Err(format!("a line between chunks has no end after {LONGEST_LINES_BYTES} bytes")),
        false => Ok(Piece::Torn),
    }
}
