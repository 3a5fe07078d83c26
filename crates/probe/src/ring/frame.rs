//! The frames of a segment: a head of fixed length, and a piece of the compressed stream.

/// First bytes of a segment.
pub(super) const MAGIC: [u8; 8] = *b"pinwise\x01";

/// Length of a head in bytes.
pub(super) const HEAD_BYTES: usize = 40;

/// Longer ones are no frames.
const LONGEST_BYTES: u32 = 1 << 28;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A [`Session`](super::Session).
    Session = 1,
    /// An entry.
    Entry = 2,
    /// An entry that makes threads known: those after it need it.
    EntryWithThreads = 3,
}

/// What is known of a frame without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// What it holds.
    pub(super) kind: Kind,
    /// Its length in the file after the head, bytes.
    pub(super) bytes: u32,
    /// The interval, ns of CLOCK_MONOTONIC.
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Its end by the wall clock, ns since 1970: for people.
    pub(super) to_unix_ns: u64,
    check: u32,
}

impl Head {
    /// The head of a piece.
    pub(super) fn of(kind: Kind, from_ns: u64, to_ns: u64, to_unix_ns: u64, piece: &[u8]) -> Self {
        let mut head = Self { kind, bytes: piece.len() as u32, from_ns, to_ns, to_unix_ns, check: 0 };
        head.check = head.check_of(piece);
        head
    }

    /// As it stands in the file: length, check, kind, four bytes that are 0, the three times; least significant byte first.
    pub(super) fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let words = [self.bytes, self.check, self.kind as u32, 0].map(u32::to_le_bytes);
        let times = [self.from_ns, self.to_ns, self.to_unix_ns].map(u64::to_le_bytes);
        let all = words.as_flattened().iter().chain(times.as_flattened());
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
        bytes
    }

    /// Reads a head; `None` when it is none.
    pub(super) fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let time = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let kind = match word(8)? {
            1 => Kind::Session,
            2 => Kind::Entry,
            3 => Kind::EntryWithThreads,
            _ => return None,
        };
        let head = Self {
            kind,
            bytes: word(0)?,
            from_ns: time(16)?,
            to_ns: time(24)?,
            to_unix_ns: time(32)?,
            check: word(4)?,
        };
        (head.bytes <= LONGEST_BYTES && head.from_ns <= head.to_ns).then_some(head)
    }

    /// Whether this is its piece, unharmed.
    pub(super) fn fits(&self, piece: &[u8]) -> bool {
        self.check == self.check_of(piece)
    }

    fn check_of(&self, piece: &[u8]) -> u32 {
        let mut check = crc32fast::Hasher::new();
        let head = Self { check: 0, ..*self }.bytes();
        check.update(&head);
        check.update(piece);
        check.finalize()
    }

    /// Length of the interval, ns.
    pub(super) fn interval_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// Its beginning by the wall clock, ns since 1970.
    pub(super) fn began_unix_ns(&self) -> u64 {
        self.to_unix_ns.saturating_sub(self.interval_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = Head::of(Kind::Entry, 5, 9, 1_700_000_000_000_000_000, b"piece");
        let read = Head::read(&head.bytes()).unwrap();
        assert_eq!(read, head);
        assert!(read.fits(b"piece") && !read.fits(b"peace"));
        assert_eq!(read.began_unix_ns(), 1_699_999_999_999_999_996);
    }

    #[test]
    fn one_changed_bit_anywhere_is_seen() {
        let bytes = Head::of(Kind::Session, 5, 9, 77, b"piece").bytes();
        for bit in 0..HEAD_BYTES * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            // The four spare bytes are not looked at.
            if !(12..16).contains(&(bit / 8)) {
                assert!(!Head::read(&bad).is_some_and(|head| head.fits(b"piece")), "bit {bit}");
            }
        }
        assert_eq!(Head::read(&[0; HEAD_BYTES]), None);
    }
}
