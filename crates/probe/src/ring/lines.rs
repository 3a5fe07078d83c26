//! The compressed stream of a segment, line by line. A ring may come from anybody: a few bytes could unpack to any length.

use std::io::{self, Read as _, Write};

use zstd::stream::write::Decoder;

use super::frame::{HEAD_BYTES, Head};
use super::segment::WINDOW_BITS;

/// Reads lines, each of a bounded length, and all together.
pub(super) struct Lines {
    stream: Decoder<'static, Line>,
    left_bytes: u64,
}

impl Lines {
    /// Lines of at most `longest` bytes without compression, and `all_bytes` together.
    pub(super) fn new(longest: usize, all_bytes: u64) -> io::Result<Self> {
        let mut stream = Decoder::new(Line { bytes: Vec::new(), longest })?;
        stream.window_log_max(WINDOW_BITS)?;
        Ok(Self { stream, left_bytes: all_bytes })
    }

    /// The line of the next frame; the file stands at its head.
    pub(super) fn next(&mut self, file: &mut impl io::Read, head: &Head) -> io::Result<Vec<u8>> {
        io::copy(&mut file.by_ref().take(HEAD_BYTES as u64), &mut io::sink())?;
        let mut piece = Vec::new();
        file.take(u64::from(head.bytes)).read_to_end(&mut piece)?;
        if piece.len() as u64 != u64::from(head.bytes) || !head.fits(&piece) {
            return Err(damaged("an entry is damaged; it and those after it are left out"));
        }
        self.stream.write_all(&piece)?;
        self.stream.flush()?;
        let line = std::mem::take(&mut self.stream.get_mut().bytes);
        self.left_bytes = self.left_bytes.checked_sub(line.len() as u64).ok_or_else(|| {
            damaged("its entries unpack to more than those of any recorder; this one and those after it are left out")
        })?;
        Ok(line)
    }
}

/// Takes what is unpacked, up to a length.
struct Line {
    bytes: Vec<u8>,
    longest: usize,
}

impl Write for Line {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > self.longest {
            let why = format!(
                "an entry unpacks to more than {} MiB; it and those after it are left out",
                self.longest >> 20
            );
            return Err(damaged(&why));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
