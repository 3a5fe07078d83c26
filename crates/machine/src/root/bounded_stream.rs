//! The plain stream of an archive, which ends where a bound is passed.

use std::cell::Cell;
use std::io::{self, Read};

/// Which bound was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// That of the whole stream.
    Stream,
    /// That of the head of one file.
    Head,
}

/// What may still be read.
#[derive(Debug)]
pub(super) struct Bounds {
    stream_bytes: Cell<u64>,
    /// Set while a head is read.
    head_bytes: Cell<Option<u64>>,
    passed: Cell<Option<Passed>>,
    ended: Cell<bool>,
}

impl Bounds {
    /// For a stream of at most so many bytes.
    pub(super) fn new(stream_bytes: u64) -> Self {
        Self {
            stream_bytes: Cell::new(stream_bytes),
            head_bytes: Cell::new(None),
            passed: Cell::new(None),
            ended: Cell::new(false),
        }
    }

    /// From here on a head is read, of at most so many bytes. The library keeps all of it in memory.
    pub(super) fn begin_head(&self, bytes: u64) {
        self.head_bytes.set(Some(bytes));
    }

    /// Ends [`Bounds::begin_head`].
    pub(super) fn end_head(&self) {
        self.head_bytes.set(None);
    }

    /// The bound that was passed.
    pub(super) fn passed(&self) -> Option<Passed> {
        self.passed.get()
    }

    /// Whether the stream was read to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// How much may be read at once; an error when a bound is reached.
    fn left(&self) -> io::Result<usize> {
        let (stream, head) = (self.stream_bytes.get(), self.head_bytes.get().unwrap_or(u64::MAX));
        let left = stream.min(head);
        if left == 0 {
            self.passed.set(Some(if stream == 0 { Passed::Stream } else { Passed::Head }));
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than it may be"));
        }
        Ok(usize::try_from(left).unwrap_or(usize::MAX))
    }

    fn count(&self, read: u64) {
        self.stream_bytes.set(self.stream_bytes.get() - read);
        self.head_bytes.set(self.head_bytes.get().map(|left| left - read));
        self.ended.set(read == 0);
    }
}

/// A stream within bounds.
pub(super) struct BoundedStream<'a, R> {
    stream: R,
    bounds: &'a Bounds,
}

impl<'a, R: Read> BoundedStream<'a, R> {
    /// The stream, no further than the bounds allow.
    pub(super) fn new(stream: R, bounds: &'a Bounds) -> Self {
        Self { stream, bounds }
    }
}

impl<R: Read> Read for BoundedStream<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let most = self.bounds.left()?.min(into.len());
        let read = self.stream.read(&mut into[..most])?;
        self.bounds.count(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_either_bound_and_says_which() {
        let read = |stream: u64, head: Option<u64>| {
            let bounds = Bounds::new(stream);
            head.into_iter().for_each(|bytes| bounds.begin_head(bytes));
            let mut read = Vec::new();
            let ended = BoundedStream::new(io::repeat(7).take(100), &bounds).read_to_end(&mut read);
            assert_eq!(ended.is_ok(), bounds.has_ended());
            (read.len(), bounds.passed())
        };
        assert_eq!(read(101, None), (100, None));
        assert_eq!(read(60, None), (60, Some(Passed::Stream)));
        assert_eq!(read(60, Some(40)), (40, Some(Passed::Head)));
        assert_eq!(read(101, Some(101)), (100, None));
    }
}
